// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/unknown.h"

#include <stdio.h>
#include <string.h>

#include "lib/analyze/watched.h"

/*
 * NULL: nothing is. What kinds of events were not asked for is said elsewhere, and by path what a kernel
 * does not have or let us see (watched.h).
 */
static const char *missing(const struct session *s, const struct probe_info *probe)
{
	const struct probe_row *row = probe_row_named(probe->name);

	if (probe->state == PROBE_ON || !row || !row->without)
		return NULL;
	if (probe->state == PROBE_DISABLED ? strcmp(probe->reason, PROBE_LEFT_OUT) != 0
					   : path_of(row) != PATH_EMULATED)
		return NULL;
	return watched_path(s, NULL, path_of(row)).on ? row->without : NULL;
}

bool unknown_probe(const struct session *s, enum probe_id id)
{
	const char *name = probe_row(id)->name;

	for (size_t i = 0; i < session_probe_count(s); i++)
		if (!strcmp(session_probe(s, i)->name, name))
			return missing(s, session_probe(s, i));
	return false;
}

unsigned int unknown_numbers(const struct session *s, __u32 device)
{
	static const struct {
		enum probe_id probe;
		unsigned int numbers;
	} rests[] = {
		{PROBE_FAULT_DETECT, UNKNOWN_BLOCKED},
		{PROBE_FAULT_RESUME, UNKNOWN_BLOCKED},
		{PROBE_FAULT_OVERFLOW, UNKNOWN_OVERFLOWED | UNKNOWN_DISCARDED},
		{PROBE_FAULT_VOID, UNKNOWN_DISCARDED},
		{PROBE_FAULT_ABANDON, UNKNOWN_ABANDONED},
	};
	const struct device_info *info = session_device(s, device);
	unsigned int numbers = 0;

	if (!info || info->kind != DEVICE_EMULATED)
		return 0;
	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++)
		if (unknown_probe(s, rests[i].probe))
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
		const char *what = missing(s, probe);

		if (what)
			fprintf(file, "%s%s: %s", count++ ? "; " : "", probe->name, what);
	}
	return fclose(file) ? NULL : text;
}

int unknown_write(const struct session *s, struct writer *writer)
{
	int error = 0;

	for (size_t i = 0; !error && i < session_probe_count(s); i++) {
		const struct probe_info *probe = session_probe(s, i);
		const char *what = missing(s, probe);

		if (what)
			error = writer_note(writer, "Probe %s is off: %s.", probe->name, what);
	}
	return error;
}
