// SPDX-License-Identifier: GPL-2.0
#include "tests/reference/slow_events.h"

#include <stdlib.h>
#include <utlist.h>

static bool happens_before(const struct slow_event *a, const struct slow_event *b)
{
	if (a->time_ps != b->time_ps)
		return a->time_ps < b->time_ps;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->kind == SLOW_ARRIVAL && a->device < b->device;
}

void slow_events_add(struct slow_events *events, uint64_t time_ps, enum slow_kind kind,
		     unsigned int device, struct slow_access *access)
{
	struct slow_event *added = malloc(sizeof(*added));
	struct slow_event *at = events->last_added[kind] ?: events->first;

	if (!added)
		abort();
	*added = (struct slow_event){time_ps, kind, device, access, NULL, NULL};
	/* Behind all that it does not come before: first caused, first to happen. */
	while (at && at->next && !happens_before(added, at->next))
		at = at->next;
	while (at && happens_before(added, at))
		at = at == events->first ? NULL : at->prev;
	DL_APPEND_ELEM(events->first, at, added);
	events->last_added[kind] = added;
}

bool slow_events_take(struct slow_events *events, struct slow_event *event)
{
	struct slow_event *first = events->first;

	if (!first)
		return false;
	*event = *first;
	if (events->last_added[first->kind] == first)
		events->last_added[first->kind] = NULL;
	DL_DELETE(events->first, first);
	free(first);
	return true;
}
