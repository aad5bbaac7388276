// SPDX-License-Identifier: GPL-2.0
/* Which injections were under way, which may have been, and which of them evicted a page. */
#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/unknown.h"
#include "lib/base/array.h"

static void remember_bounds(struct explain *e, const struct event *event)
{
	bool all = event->device == DEVICE_NONE || event->device == DEVICE_ALL;
	const struct explain_injection new = {.id = event->value,
					      .from_ns = event->time_ns,
					      .device = all ? DEVICE_ALL : event->device,
					      .pid = event->pid,
					      .tid = event->tid,
					      .point = event->code};

	if (event->kind == EVENT_INJECT_START) {
		if (e->injection_count < EXPLAIN_INJECTIONS_MAX &&
		    array_grow(&e->injections, &e->injection_room, e->injection_count + 1,
			       sizeof(new), ARRAY_LIMITED))
			e->injections[e->injection_count++] = new;
		return;
	}
	for (size_t i = e->injection_count; i-- > 0;) {
		struct explain_injection *old = &e->injections[i];

		if (old->id != new.id || old->device != new.device || old->pid != new.pid ||
		    old->to_ns)
			continue;
		old->to_ns = event->time_ns;
		return;
	}
}

/* An injection is of one kind: what its own thread evicted says which. */
static void learn_eviction(struct explain *e, const struct event *event)
{
	for (size_t i = 0; i < e->injection_count; i++) {
		struct explain_injection *injection = &e->injections[i];

		if (injection->point != INJECT_EVICT || injection->tid != event->tid ||
		    injection->from_ns > event->time_ns ||
		    (injection->to_ns && injection->to_ns < event->time_ns))
			continue;
		if (event->flags & EVENT_MAJOR)
			injection->wrote = true;
		else
			injection->wrote_not = true;
	}
}

void explain_remember_injection(struct explain *e, const struct event *event)
{
	if (event->kind == EVENT_INJECT_START || event->kind == EVENT_INJECT_STOP)
		remember_bounds(e, event);
	else if (event->kind == EVENT_INVALIDATE_FREED)
		learn_eviction(e, event);
}

static int foresee_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		explain_remember_injection(self, &events[i]);
	return 0;
}

static bool lacks_events(const struct loss_info *loss)
{
	static const unsigned int lack =
		1u << FLOOR_LOST | 1u << FLOOR_MISSED | 1u << FLOOR_DAMAGED | 1u << FLOOR_UNWRITTEN;

	return floor_of_loss(loss, 0) & lack;
}

static int foresee_loss(void *self, const struct loss_info *loss)
{
	struct explain *e = self;

	e->lossy |= lacks_events(loss);
	return 0;
}

static int foresee_end(void *self, __u64 end_ns)
{
	(void)end_ns;
	((struct explain *)self)->foreseen = true;
	return 0;
}

struct stream explain_foresight(struct explain *e)
{
	static const struct stream_ops ops = {
		.events = foresee_events, .loss = foresee_loss, .end = foresee_end};

	return e ? (struct stream){&ops, e} : (struct stream){0};
}

static bool injection_means(const struct explain *e, const struct explain_injection *injection,
			    __u32 device)
{
	const struct device_info *info;

	if (injection->device != DEVICE_ALL)
		return injection->device == device;
	info = session_device(e->analysis->session, device);
	return info && info->pid == injection->pid;
}

bool explain_lossy(const struct explain *e)
{
	return e->lossy || lacks_events(session_loss(e->analysis->session)) ||
	       (e->wish->lossy && e->wish->lossy(e->wish->self));
}

static bool has_id(const struct explain_injected *injected, __u64 id)
{
	for (size_t i = 0; i < injected->count; i++)
		if (injected->all[i]->id == id)
			return true;
	return false;
}

static struct explain_injected find_injected(const struct explain *e, __u32 device,
					     unsigned int point, __u64 from_ns, __u64 to_ns,
					     bool end_seen)
{
	struct explain_injected injected = {0};

	for (size_t i = 0; i < e->injection_count && injected.count < EXPLAIN_INJECTED_MOST; i++) {
		const struct explain_injection *injection = &e->injections[i];

		if (injection->point == point && injection->from_ns <= to_ns &&
		    (injection->to_ns ? end_seen && injection->to_ns >= from_ns : !end_seen) &&
		    injection_means(e, injection, device) && !has_id(&injected, injection->id))
			injected.all[injected.count++] = injection;
	}
	return injected;
}

static bool ends_are_seen(const struct explain *e)
{
	return !explain_lossy(e) && !unknown_probe(e->analysis->session, PROBE_INJECT_STOP);
}

struct explain_injected explain_injected(const struct explain *e, __u32 device, unsigned int point,
					 __u64 from_ns, __u64 to_ns)
{
	struct explain_injected injected = find_injected(e, device, point, from_ns, to_ns, true);
	struct explain_injected open;

	if (!ends_are_seen(e))
		return injected;
	open = find_injected(e, device, point, from_ns, to_ns, false);
	for (size_t i = 0; i < open.count && injected.count < EXPLAIN_INJECTED_MOST; i++)
		if (!has_id(&injected, open.all[i]->id))
			injected.all[injected.count++] = open.all[i];
	return injected;
}

struct explain_injected explain_perhaps_injected(const struct explain *e, __u32 device,
						 unsigned int point, __u64 from_ns, __u64 to_ns)
{
	if (ends_are_seen(e))
		return (struct explain_injected){0};
	return find_injected(e, device, point, from_ns, to_ns, false);
}

static bool may_have_evicted(const struct explain_injection *injection,
			     const struct taken_time *taken)
{
	return taken->written ? injection->wrote || !injection->wrote_not
			      : injection->wrote_not || !injection->wrote;
}

bool explain_freed(const struct explain_injected *injected, const struct taken_time *taken)
{
	return injected->count && taken->freed_ns && injected->all[0]->tid == taken->tid;
}

void explain_evicted_by(struct explain_injected *injected, const struct taken_time *taken)
{
	size_t kept = 0;

	/* Neither who freed it nor whether it was written was seen. */
	if (!taken->freed_ns)
		return;
	for (size_t i = 0; i < injected->count; i++)
		if (injected->all[i]->tid == taken->tid) {
			*injected = (struct explain_injected){{injected->all[i]}, 1};
			return;
		}
	for (size_t i = 0; i < injected->count; i++)
		if (may_have_evicted(injected->all[i], taken))
			injected->all[kept++] = injected->all[i];
	injected->count = kept;
}
