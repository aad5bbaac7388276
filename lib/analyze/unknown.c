// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/unknown.h"

#include <stdio.h>
#include <string.h>

#include "lib/analyze/fault_probes.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/watched.h"
#include "lib/base/kinds.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FATES	     (UNKNOWN_OVERFLOWED | UNKNOWN_DISCARDED | UNKNOWN_ABANDONED | UNKNOWN_STATES)

static size_t unknown_find(const struct session *s, enum probe_id id)
{
	const char *name = probe_row(id)->name;
	size_t i = 0;

	while (i < session_probe_count(s) && strcmp(session_probe(s, i)->name, name) != 0)
		i++;
	return i;
}

static bool is_on(const struct session *s, enum probe_id id)
{
	const struct probe_info *probe = session_probe(s, unknown_find(s, id));

	return probe && probe->state == PROBE_ON;
}

/* A stage of a fault is passed whatever function serves it; what surrounds faults is not called then. */
static bool is_stage(const struct probe_row *row)
{
	return row->kind >= EVENT_FAULT_DETECT && row->kind <= EVENT_FAULT_DISCARD;
}

/* Whether there are numbers at all that this probe would have made better. */
static bool others_tell(const struct session *s, const struct probe_row *row)
{
	if (path_of(row) == PATH_EMULATED || !is_stage(row) ||
	    (path_of(row) != PATH_CORE && path_of(row) != PATH_MEMORY))
		return watched_path(s, NULL, path_of(row)).on;
	/* Handlers are looked for only where page requests can come. */
	return is_on(s, row->id == PROBE_IOPF_REPORT ? PROBE_IOPF_HANDLER : PROBE_IOPF_REPORT);
}

static bool is_emulated(const struct probe_row *row)
{
	return path_of(row) == PATH_EMULATED || path_of(row) == PATH_LEND ||
	       path_of(row) == PATH_HYV;
}

/* An emulator that cannot tell of a device has none of its kind. */
static bool lacks_device(const struct probe_info *probe, const struct probe_row *row)
{
	return row->optional && is_emulated(row) && probe->state == PROBE_OFF &&
	       strstr(probe->reason, PROBE_NOT_IN_EMULATOR);
}

/* NULL: nothing is, or only as its kind of event was not asked for. */
static const char *unknown_missing(const struct session *s, size_t index)
{
	const struct probe_info *probe = session_probe(s, index);
	const struct probe_row *row = probe ? probe_row_named(probe->name) : NULL;

	if (!row || !row->without)
		return NULL;
	if (probe->state == PROBE_ON)
		return session_probe_is_silent(s, index) ? row->without : NULL;
	if (probe->state == PROBE_DISABLED ? strcmp(probe->reason, PROBE_LEFT_OUT) != 0
					   : !watched_could(probe))
		return NULL;
	if (!is_emulated(row) && (!is_stage(row) || row->optional) && watched_absent(probe))
		return NULL;
	if (lacks_device(probe, row))
		return NULL;
	return others_tell(s, row) ? row->without : NULL;
}

static bool is_asked(const struct session *s, unsigned int kind)
{
	const struct host_info *host = session_host(s);

	return !host || kinds_name(host->kinds, kind);
}

/* A probe of a fault's stages stays on where its kind was not asked for: its events were left out. */
static bool is_left_out(const struct session *s, const struct probe_row *row)
{
	return row && row->without && !is_asked(s, row->kind) && others_tell(s, row);
}

bool unknown_probe(const struct session *s, enum probe_id id)
{
	size_t index = unknown_find(s, id);

	return unknown_missing(s, index) ||
	       (session_probe(s, index) && is_left_out(s, probe_row(id)));
}

bool unknown_kind(const struct session *s, __u16 kind)
{
	if (!is_asked(s, kind))
		return true;
	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_row *row = probe_row_named(session_probe(s, i)->name);

		if (row && row->kind == kind && unknown_missing(s, i))
			return true;
	}
	return false;
}

/* Of which several probes have the kind and not all count it: others tell whose it is, or count other devices'. */
static const struct {
	__u16 kind;
	bool space; /* of iommufd */
	enum probe_id counts[2];
} counted_by[] = {
	{EVENT_IOMMU_MAP, false, {PROBE_IOMMU_MAP, PROBE_IOMMU_MAP}},
	{EVENT_IOMMU_UNMAP, false, {PROBE_IOMMU_UNMAP, PROBE_IOMMU_UNMAP}},
	{EVENT_VFIO_MAP, false, {PROBE_VFIO_MAP, PROBE_VFIO_MAP}},
	{EVENT_VFIO_MAP, true, {PROBE_IOMMUFD_MAP, PROBE_IOMMUFD_MAP}},
	{EVENT_VFIO_UNMAP, false, {PROBE_VFIO_UNMAP, PROBE_VFIO_REMOVE}},
	{EVENT_VFIO_UNMAP, true, {PROBE_IOMMUFD_UNMAP, PROBE_IOMMUFD_UNMAP}},
	{EVENT_VFIO_PIN, false, {PROBE_VFIO_PIN, PROBE_VFIO_PIN}},
	{EVENT_VFIO_PIN, true, {PROBE_IOMMUFD_PIN, PROBE_IOMMUFD_PIN}},
};

bool unknown_count(const struct session *s, __u16 kind, __u32 device)
{
	const struct device_info *info = session_device(s, device);
	bool space = kind >= EVENT_VFIO_MAP && info && !strcmp(info->model, "iommufd");

	for (size_t i = 0; i < COUNT(counted_by); i++)
		if (counted_by[i].kind == kind && counted_by[i].space == space)
			return unknown_probe(s, counted_by[i].counts[0]) ||
			       unknown_probe(s, counted_by[i].counts[1]);
	return unknown_kind(s, kind);
}

static bool is_missing(const struct session *s, enum probe_id id)
{
	return unknown_missing(s, unknown_find(s, id));
}

/* A probe that is off tells capture nothing either, which then takes one group for another. */
static const struct {
	enum probe_id probe;
	unsigned int numbers;
} of_groups[] = {
	{PROBE_FAULT_DETECT, UNKNOWN_FAULTS | FATES},
	{PROBE_FAULT_REQUEST, UNKNOWN_DISCARDED},
	{PROBE_FAULT_RESPONSE, UNKNOWN_ABANDONED | UNKNOWN_STATES},
	{PROBE_FAULT_RESUME, UNKNOWN_OVERFLOWED},
};

bool unknown_groups(const struct session *s)
{
	for (size_t i = 0; i < COUNT(of_groups); i++)
		if (is_missing(s, of_groups[i].probe))
			return true;
	return false;
}

/* Pages are told by their detect, else by what became of their requests. */
static unsigned int of_emulated(const struct session *s)
{
	static const struct {
		enum probe_id probe;
		unsigned int numbers;
	} rests[] = {
		{PROBE_FAULT_DETECT, UNKNOWN_BLOCKED | UNKNOWN_ABANDONED | UNKNOWN_STATES},
		{PROBE_FAULT_REQUEST, UNKNOWN_OVERFLOWED | UNKNOWN_STATES},
		{PROBE_FAULT_RESUME,
		 UNKNOWN_BLOCKED | UNKNOWN_DISCARDED | UNKNOWN_ABANDONED | UNKNOWN_STATES},
		{PROBE_FAULT_OVERFLOW, FATES},
		{PROBE_FAULT_VOID, UNKNOWN_DISCARDED | UNKNOWN_ABANDONED | UNKNOWN_STATES},
		{PROBE_FAULT_ABANDON, UNKNOWN_BLOCKED | UNKNOWN_ABANDONED | UNKNOWN_STATES},
	};
	bool request = unknown_probe(s, PROBE_FAULT_REQUEST),
	     overflow = unknown_probe(s, PROBE_FAULT_OVERFLOW);
	unsigned int numbers = 0;

	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++)
		if (unknown_probe(s, rests[i].probe))
			numbers |= rests[i].numbers;
	for (size_t i = 0; i < COUNT(of_groups); i++)
		if (is_missing(s, of_groups[i].probe))
			numbers |= of_groups[i].numbers;
	if (!is_asked(s, EVENT_IO_COMPLETE))
		numbers |= UNKNOWN_IO;
	/* Capture's own: whom it gave up is unfinished, and blocks until then, whatever comes of it. */
	if (!is_asked(s, EVENT_FAULT_UNFINISHED))
		numbers |= UNKNOWN_STATES | UNKNOWN_BLOCKED;
	if (unknown_probe(s, PROBE_FAULT_DETECT) && (request || overflow))
		numbers |= UNKNOWN_FAULTS | FATES;
	return numbers;
}

/* Told by their report; of RDMA by their event or their handler. */
static unsigned int of_kernel(const struct session *s, enum fault_path path)
{
	unsigned int numbers = is_asked(s, EVENT_BLOCK_COMPLETE) ? 0 : UNKNOWN_IO;
	bool rdma = path == FAULT_PATH_RDMA, handler = is_asked(s, EVENT_FAULT_HANDLER);

	if (rdma ? !is_asked(s, EVENT_FAULT_ISR) || !handler || unknown_probe(s, PROBE_ODP_FAULT) ||
			    unknown_probe(s, PROBE_MLX5_FAULT_HANDLER)
		 : unknown_probe(s, PROBE_IOPF_REPORT))
		numbers |= UNKNOWN_FAULTS | UNKNOWN_BLOCKED | (handler ? 0 : FATES);
	if (!rdma && (unknown_probe(s, PROBE_IOPF_REPORT) || is_missing(s, PROBE_IOPF_DISCARD) ||
		      !is_asked(s, EVENT_FAULT_UNFINISHED)))
		numbers |= UNKNOWN_DISCARDED;
	if (rdma ? !is_asked(s, EVENT_FAULT_RESPONSE) : unknown_probe(s, PROBE_IOPF_RESPONSE))
		numbers |= UNKNOWN_BLOCKED | UNKNOWN_DISCARDED | UNKNOWN_STATES;
	return numbers;
}

unsigned int unknown_numbers(const struct session *s, __u32 device)
{
	const struct device_info *info = session_device(s, device);
	enum fault_path path = info ? fault_path_of(info->kind) : FAULT_PATH_EMULATED;
	struct session_unknown *known = session_unknown(s);

	if (!known->judged[path]) {
		known->judged[path] = true;
		known->numbers[path] =
			path == FAULT_PATH_EMULATED ? of_emulated(s) : of_kernel(s, path);
	}
	return known->numbers[path];
}

unsigned int unknown_of_all(const struct session *s)
{
	unsigned int numbers = 0;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(s, h))
		if (session_device(s, h))
			numbers |= unknown_numbers(s, h);
	return numbers;
}

bool unknown_unwatched(const struct session *s)
{
	static const enum probe_id telling[] = {PROBE_FAULT_DETECT, PROBE_IOPF_REPORT,
						PROBE_ODP_FAULT, PROBE_MLX5_FAULT_HANDLER};

	for (size_t i = 0; i < COUNT(telling); i++) {
		size_t index = unknown_find(s, telling[i]);

		if (unknown_missing(s, index) && session_probe(s, index)->state != PROBE_DISABLED)
			return unknown_of_all(s) & UNKNOWN_FAULTS;
	}
	return false;
}

const char *unknown_state_name(unsigned int numbers, unsigned int state)
{
	static const unsigned int rests[] = {
		[FAULT_OVERFLOWED] = UNKNOWN_OVERFLOWED,
		[FAULT_DISCARDED] = UNKNOWN_DISCARDED,
		[FAULT_ABANDONED] = UNKNOWN_ABANDONED,
	};
	unsigned int rest = state < sizeof(rests) / sizeof(rests[0]) ? rests[state] : 0;

	return numbers & (rest ? rest : UNKNOWN_STATES) ? "unknown" : fault_state_name(state);
}

const char *unknown_kinds(const struct session *s, char text[UNKNOWN_TEXT])
{
	static const struct {
		unsigned int number;
		const char *what;
	} words[] = {
		{UNKNOWN_FAULTS, "faults"},	    {UNKNOWN_STATES, "what became of them"},
		{UNKNOWN_OVERFLOWED, "overflowed"}, {UNKNOWN_DISCARDED, "discarded"},
		{UNKNOWN_ABANDONED, "abandoned"},   {UNKNOWN_BLOCKED, "blocked"},
		{UNKNOWN_IO, "I/Os and footprint"},
	};
	const struct host_info *host = session_host(s);
	unsigned int numbers = host && host->kinds[0] ? unknown_of_all(s) : 0;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (numbers & words[i].number)
			used += (size_t)snprintf(
				text + used, UNKNOWN_TEXT - used, "%s%s",
				used ? ", " : "Unknown from the kinds of events asked for: ",
				words[i].what);
	if (used)
		snprintf(text + used, UNKNOWN_TEXT - used, ".");
	return text;
}

char *unknown_text(const struct session *s)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	char kinds[UNKNOWN_TEXT];
	size_t count = 0;

	if (!file)
		return NULL;
	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_info *probe = session_probe(s, i);
		const char *what = unknown_missing(s, i);

		if (what)
			fprintf(file, "%s%s: %s", count++ ? "; " : "", probe->name, what);
	}
	if (*unknown_kinds(s, kinds))
		fprintf(file, "%skinds: %s", count ? "; " : "", kinds);
	return fclose(file) ? NULL : text;
}

const char *unknown_sentence(const struct session *s, size_t index, char text[UNKNOWN_TEXT])
{
	const struct probe_info *probe = session_probe(s, index);
	const char *what = unknown_missing(s, index);

	text[0] = '\0';
	if (what)
		snprintf(text, UNKNOWN_TEXT, "Probe %s is %s: %s.", probe->name,
			 probe->state == PROBE_ON ? "silent" : "off", what);
	return text;
}

void unknown_write_of_faults(const struct session *s, struct writer *writer)
{
	char text[UNKNOWN_TEXT];

	if (*unknown_kinds(s, text))
		writer_note(writer, "%s", text);
	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_row *row = probe_row_named(session_probe(s, i)->name);

		if (row && (path_of(row) == PATH_EMULATED || is_stage(row)) &&
		    *unknown_sentence(s, i, text))
			writer_note(writer, "%s", text);
	}
}

void unknown_write(const struct session *s, struct writer *writer)
{
	char text[UNKNOWN_TEXT];

	if (*unknown_kinds(s, text))
		writer_note(writer, "%s", text);
	for (size_t i = 0; i < session_probe_count(s); i++)
		if (*unknown_sentence(s, i, text))
			writer_note(writer, "%s", text);
}
