// SPDX-License-Identifier: GPL-2.0
/* The probes of a session: as they were told last, since when they were on, whether they are silent. */
#include <errno.h>
#include <string.h>

#include "lib/analyze/session_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

#define PROBES_MAX 1024 /* more is no recording of ours; they are looked through one by one */

static void change_probe(struct session *s, struct session_probe *changed,
			 const struct probe_info *probe)
{
	const struct probe_info *known = &changed->info;

	if (known->state != probe->state || strcmp(known->reason, probe->reason) != 0)
		s->unknown = (struct session_unknown){0};
	s->probe_changes += known->state != probe->state || known->hits != probe->hits ||
			    known->missed != probe->missed;
	if (probe->state != PROBE_ON)
		changed->since_ns = 0;
	else if (known->state != PROBE_ON)
		changed->since_ns = s->last_ns;
	changed->info = *probe;
}

int session_on_probe(void *self, const struct probe_info *probe)
{
	struct session *s = self;
	const struct probe_row *row;

	for (size_t i = 0; i < s->probe_count; i++) {
		const struct probe_info *known = &s->probes[i].info;

		if (!strcmp(known->name, probe->name) && !strcmp(known->attach, probe->attach)) {
			change_probe(s, &s->probes[i], probe);
			return 0;
		}
	}
	if (s->probe_count == PROBES_MAX) {
		s->dropped++;
		return 0;
	}
	if (!array_grow(&s->probes, &s->probe_room, s->probe_count + 1, sizeof(*s->probes),
			ARRAY_LIMITED))
		return failed(-ENOMEM, "no memory for the probe table");
	row = probe_row_named(probe->name);
	s->probes[s->probe_count++] = (struct session_probe){.info = *probe, .row = row};
	if (row && !s->of_row[row->id])
		s->of_row[row->id] = s->probe_count;
	s->probe_changes++;
	s->unknown = (struct session_unknown){0};
	return 0;
}

size_t session_probe_count(const struct session *s)
{
	return s->probe_count;
}

const struct probe_info *session_probe(const struct session *s, size_t index)
{
	return index < s->probe_count ? &s->probes[index].info : NULL;
}

__u64 session_probe_since(const struct session *s, size_t index)
{
	return index < s->probe_count ? s->probes[index].since_ns : 0;
}

const struct probe_row *session_probe_row(const struct session *s, size_t index)
{
	return index < s->probe_count ? s->probes[index].row : NULL;
}

const struct probe_info *session_probe_of(const struct session *s, unsigned int id)
{
	return id < PROBE_COUNT && s->of_row[id] ? session_probe(s, s->of_row[id] - 1) : NULL;
}

__u64 session_probe_changes(const struct session *s)
{
	return s->probe_changes;
}

bool session_probe_is_silent(const struct session *s, size_t index)
{
	return index < s->probe_count && s->probes[index].silent;
}

void session_set_silent(struct session *s, size_t index, bool silent)
{
	if (index >= s->probe_count || s->probes[index].silent == silent)
		return;
	s->probes[index].silent = silent;
	s->unknown = (struct session_unknown){0};
}
