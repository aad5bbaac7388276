// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/unknown.h"

#include <stdio.h>
#include <string.h>

#include "lib/analyze/fault_probes.h"
#include "lib/analyze/watched.h"

static size_t find(const struct session *s, enum probe_id id)
{
	const char *name = probe_row(id)->name;
	size_t i = 0;

	while (i < session_probe_count(s) && strcmp(session_probe(s, i)->name, name) != 0)
		i++;
	return i;
}

static bool is_on(const struct session *s, enum probe_id id)
{
	const struct probe_info *probe = session_probe(s, find(s, id));

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

/* NULL: nothing is. What kinds of events were not asked for is said elsewhere. */
static const char *missing(const struct session *s, size_t index)
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
	if (path_of(row) != PATH_EMULATED && !is_stage(row) && watched_absent(probe))
		return NULL;
	return others_tell(s, row) ? row->without : NULL;
}

bool unknown_probe(const struct session *s, enum probe_id id)
{
	return missing(s, find(s, id));
}

bool unknown_kind(const struct session *s, __u16 kind)
{
	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_row *row = probe_row_named(session_probe(s, i)->name);

		if (row && row->kind == kind && missing(s, i))
			return true;
	}
	return false;
}

unsigned int unknown_numbers(const struct session *s, __u32 device)
{
	static const struct {
		enum fault_path path;
		enum probe_id probe;
		unsigned int numbers;
	} rests[] = {
		{FAULT_PATH_EMULATED, PROBE_FAULT_DETECT, UNKNOWN_BLOCKED},
		{FAULT_PATH_EMULATED, PROBE_FAULT_RESUME, UNKNOWN_BLOCKED},
		{FAULT_PATH_EMULATED, PROBE_FAULT_OVERFLOW, UNKNOWN_OVERFLOWED | UNKNOWN_DISCARDED},
		{FAULT_PATH_EMULATED, PROBE_FAULT_VOID, UNKNOWN_DISCARDED},
		{FAULT_PATH_EMULATED, PROBE_FAULT_ABANDON, UNKNOWN_ABANDONED},
		{FAULT_PATH_CORE, PROBE_IOPF_REPORT, UNKNOWN_BLOCKED | UNKNOWN_BEGAN},
		{FAULT_PATH_CORE, PROBE_IOPF_RESPONSE, UNKNOWN_BLOCKED},
	};
	const struct device_info *info = session_device(s, device);
	unsigned int numbers = 0;

	if (!info)
		return 0;
	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++)
		if (rests[i].path == fault_path_of(info->kind) && unknown_probe(s, rests[i].probe))
			numbers |= rests[i].numbers;
	return numbers;
}

char *unknown_text(const struct session *s)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	size_t count = 0;

	if (!file)
		return NULL;
	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_info *probe = session_probe(s, i);
		const char *what = missing(s, i);

		if (what)
			fprintf(file, "%s%s: %s", count++ ? "; " : "", probe->name, what);
	}
	return fclose(file) ? NULL : text;
}

const char *unknown_sentence(const struct session *s, size_t index, char text[UNKNOWN_TEXT])
{
	const struct probe_info *probe = session_probe(s, index);
	const char *what = missing(s, index);

	text[0] = '\0';
	if (what)
		snprintf(text, UNKNOWN_TEXT, "Probe %s is %s: %s.", probe->name,
			 probe->state == PROBE_ON ? "silent" : "off", what);
	return text;
}

int unknown_write_of_faults(const struct session *s, struct writer *writer)
{
	char text[UNKNOWN_TEXT];
	int error = 0;

	for (size_t i = 0; !error && i < session_probe_count(s); i++) {
		const struct probe_row *row = probe_row_named(session_probe(s, i)->name);

		if (row && (path_of(row) == PATH_EMULATED || is_stage(row)) &&
		    *unknown_sentence(s, i, text))
			error = writer_note(writer, "%s", text);
	}
	return error;
}

int unknown_write(const struct session *s, struct writer *writer)
{
	char text[UNKNOWN_TEXT];
	int error = 0;

	for (size_t i = 0; !error && i < session_probe_count(s); i++)
		if (*unknown_sentence(s, i, text))
			error = writer_note(writer, "%s", text);
	return error;
}
