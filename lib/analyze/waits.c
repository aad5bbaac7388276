// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/packets.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slots.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

struct wait_machine {
	__u64 start_ns;
	__u32 pid;
};

struct waits {
	const struct session *session;
	struct wait_machine *machines;
	size_t machine_count, machine_room;
	struct slots numbers;	      /* __u32: a device's machine, from 1 */
	struct wait *known;	      /* open or lingering */
	struct wait *oldest, *newest; /* that linger */
	struct pool pool;	      /* struct wait */
	struct blame blame;
	struct wait **kept;
	size_t kept_count, kept_room;
	__u64 count, unheeded, serial,
		dropped; /* count: of those that are over and no longer known */
};

/* When a process began is told for each device of it by itself, a little different each time. */
static bool is_same_machine(const struct wait_machine *machine, const struct device_info *info)
{
	__u64 a = machine->start_ns, b = info->pid_start_ns;

	return machine->pid == info->pid && (a > b ? a - b : b - a) < PID_START_TICK_NS / 2;
}

/* 0: there is no room. */
static __u32 machine_number(struct waits *w, const struct device_info *info)
{
	for (size_t i = 0; i < w->machine_count; i++)
		if (is_same_machine(&w->machines[i], info))
			return (__u32)i + 1;
	if (!array_grow(&w->machines, &w->machine_room, w->machine_count + 1, sizeof(*w->machines),
			ARRAY_LIMITED))
		return 0;
	w->machines[w->machine_count] = (struct wait_machine){info->pid_start_ns, info->pid};
	return (__u32)++w->machine_count;
}

static struct wait_key wait_key_of(struct waits *w, const struct event *e)
{
	const struct device_info *info = session_device(w->session, e->device);
	__u32 *number = info ? slots_make(&w->numbers, e->device) : NULL;

	if (number && !*number)
		*number = machine_number(w, info);
	if (number && *number)
		return (struct wait_key){e->value, *number};
	/* A device that the dictionary lacks shares its tokens with nobody. */
	return (struct wait_key){e->value, 1ull << 32 | e->device};
}

static void linger_leave(struct waits *w, struct wait *wait)
{
	if (!wait->stamp_ns)
		return;
	if (wait->older)
		wait->older->newer = wait->newer;
	else
		w->oldest = wait->newer;
	if (wait->newer)
		wait->newer->older = wait->older;
	else
		w->newest = wait->older;
	wait->older = wait->newer = NULL;
	wait->stamp_ns = 0;
}

static void linger_join(struct waits *w, struct wait *wait, __u64 now_ns)
{
	linger_leave(w, wait);
	wait->stamp_ns = now_ns;
	wait->older = w->newest;
	if (w->newest)
		w->newest->newer = wait;
	else
		w->oldest = wait;
	w->newest = wait;
}

/* NULL: the event is of none, or there is no room. */
static struct wait *wait_make(struct waits *w, const struct event *e)
{
	const struct wait_key key = wait_key_of(w, e);
	struct wait *wait;

	if (!key.token)
		return NULL;
	HASH_FIND(hh, w->known, &key, sizeof(key), wait);
	if (wait)
		return wait;
	wait = HASH_COUNT(w->known) < WAITS_AT_ONCE ? pool_take(&w->pool) : NULL;
	if (wait) {
		wait->key = key;
		wait->side = RDMA_SIDES;
		wait->serial = ++w->serial;
		HASH_ADD(hh, w->known, key, sizeof(wait->key), wait);
		if (wait->hh.tbl) {
			linger_join(w, wait, e->time_ns);
			return wait;
		}
		pool_give(&w->pool, wait);
	}
	w->dropped++;
	return NULL;
}

static bool waits_longer(const struct wait *a, const struct wait *b, __u64 now_ns)
{
	__u64 x = wait_ns(a, now_ns), y = wait_ns(b, now_ns);

	if (x != y)
		return x > y;
	return a->from_ns != b->from_ns ? a->from_ns < b->from_ns : a->serial < b->serial;
}

static int waits_order(const void *a, const void *b, void *now_ns)
{
	const struct wait *x = *(const struct wait *const *)a;
	const struct wait *y = *(const struct wait *const *)b;

	return waits_longer(x, y, *(__u64 *)now_ns) ? -1 : 1;
}

static void wait_forget(struct waits *w, struct wait *wait)
{
	blame_release(&w->blame, &wait->blamed);
	pool_give(&w->pool, wait);
}

static void waits_keep(struct waits *w, struct wait *wait)
{
	__u64 now_ns = 0;

	if (!array_grow(&w->kept, &w->kept_room, w->kept_count + 1, sizeof(struct wait *),
			ARRAY_LIMITED)) {
		wait_forget(w, wait);
		return;
	}
	w->kept[w->kept_count++] = wait;
	if (w->kept_count < (size_t)2 * WAITS_KEPT)
		return;
	qsort_r(w->kept, w->kept_count, sizeof(struct wait *), waits_order, &now_ns);
	while (w->kept_count > WAITS_KEPT)
		wait_forget(w, w->kept[--w->kept_count]);
}

/* Nothing of it comes any more. */
static void wait_settle(struct waits *w, struct wait *wait)
{
	const struct period *period = session_period(w->session);

	if (!wait->from_ns && wait->peer && period_has(period, wait->stamp_ns))
		w->unheeded++;
	linger_leave(w, wait);
	HASH_DEL(w->known, wait);
	if (!wait->from_ns || !period_has(period, wait->from_ns)) {
		wait_forget(w, wait);
		return;
	}
	w->count++;
	waits_keep(w, wait);
}

static void settle_until(struct waits *w, __u64 now_ns)
{
	while (w->oldest && w->oldest->stamp_ns + WAIT_LINGER_NS < now_ns)
		wait_settle(w, w->oldest);
}

static void wait_blames(struct waits *w, struct wait *wait, const struct event *e)
{
	if (e->instance)
		blame_add(&w->blame, &wait->blamed, e);
}

static void waits_take_nak(struct waits *w, struct wait *wait, const struct event *e)
{
	wait->kind = RDMA_WAIT_RNR;
	wait->peer = e->device;
	wait->peer_pair = e->tid;
	wait->timer_ns = e->length;
	wait->side = e->code;
	wait->nothing_posted = e->address >> 32 == RDMA_DROP_NO_RECEIVE;
	wait_blames(w, wait, e);
}

/* It waits since, unless more is known. */
static void wait_begins(struct wait *wait, const struct event *e, __u64 from_ns)
{
	wait->device = e->device;
	wait->pair = e->tid;
	if (!wait->from_ns || from_ns < wait->from_ns)
		wait->from_ns = from_ns;
}

/* Of RNR the NAK says where the page is absent. */
static void wait_on_side(struct wait *wait, const struct event *e)
{
	if (e->code != RDMA_WAIT_RNR)
		wait->side = (__u8)e->address;
}

static void waits_take_paused(struct waits *w, struct wait *wait, const struct event *e)
{
	wait_begins(wait, e, e->time_ns);
	wait->kind = e->code;
	wait_on_side(wait, e);
	wait_blames(w, wait, e);
	if (!wait->to_ns)
		linger_leave(w, wait);
}

static void wait_ends(struct waits *w, struct wait *wait, const struct event *e)
{
	wait->to_ns = e->time_ns;
	linger_join(w, wait, e->time_ns);
}

static void waits_take_resumed(struct waits *w, struct wait *wait, const struct event *e)
{
	wait_begins(wait, e, e->length && e->length < e->time_ns ? e->length : e->time_ns);
	wait->kind = e->code;
	wait_on_side(wait, e);
	wait->ended = e->group;
	wait_ends(w, wait, e);
}

/* A timeout is a wait by itself; whatever else went back did so because of one, or of no wait. */
static void waits_take_rewound(struct waits *w, struct wait *wait, const struct event *e)
{
	if (e->code != RDMA_RESEND_TIMEOUT)
		return;
	wait->kind = RDMA_WAIT_TIMEOUT;
	wait_begins(wait, e, e->length && e->length < e->time_ns ? e->length : e->time_ns);
	wait_ends(w, wait, e);
}

/* With its device, or its pair (then in error), every wait of it ends that nobody has told the end of. */
static void open_waits_end(struct waits *w, const struct event *e)
{
	bool gone = e->kind == EVENT_DEVICE_GONE;

	for (struct wait *wait = w->known; wait; wait = wait->hh.next) {
		if (!wait->from_ns || wait->to_ns || wait->device != e->device ||
		    (!gone && wait->pair != e->tid))
			continue;
		wait->ended = true;
		wait->status = gone ? 0 : e->code;
		wait_ends(w, wait, e);
	}
}

static bool is_of_wait(const struct event *e)
{
	return e->kind >= EVENT_RNR_SENT && e->kind <= EVENT_QP_RESUMED &&
	       e->kind != EVENT_FAULT_SUPPRESSED;
}

static void waits_take(struct waits *w, const struct event *e)
{
	struct wait *wait = wait_make(w, e);

	if (!wait)
		return;
	switch (e->kind) {
	case EVENT_RNR_SENT:
		waits_take_nak(w, wait, e);
		break;
	case EVENT_RNR_RECEIVED:
		wait->timer_ns = e->length;
		break;
	case EVENT_PACKETS_DROPPED:
		wait->dropped += packets_count(e);
		break;
	case EVENT_PACKETS_RESENT:
		wait->resent += packets_count(e);
		break;
	case EVENT_QP_REWOUND:
		waits_take_rewound(w, wait, e);
		break;
	case EVENT_QP_PAUSED:
		waits_take_paused(w, wait, e);
		break;
	default:
		waits_take_resumed(w, wait, e);
	}
}

static int waits_on_events(void *self, const struct event *events, size_t count)
{
	struct waits *w = self;

	for (size_t i = 0; i < count; i++)
		if (is_of_wait(&events[i])) {
			settle_until(w, events[i].time_ns);
			waits_take(w, &events[i]);
		} else if (events[i].kind == EVENT_QP_ERROR ||
			   events[i].kind == EVENT_DEVICE_GONE) {
			open_waits_end(w, &events[i]);
		}
	return 0;
}

static int waits_on_tick(void *self, __u64 now_ns)
{
	settle_until(self, now_ns);
	return 0;
}

static int waits_on_end(void *self, __u64 end_ns)
{
	struct waits *w = self;

	(void)end_ns;
	while (w->oldest)
		wait_settle(w, w->oldest);
	return 0;
}

static void waits_on_finished(void *self, const struct fault *fault)
{
	struct waits *w = self;

	if (packets_device(session_device(w->session, fault->device)))
		blame_finished(&w->blame, fault);
}

int waits_create(struct waits **waits, const struct session *session, struct faults *faults)
{
	struct waits *w = memory_calloc(1, sizeof(*w));

	*waits = w;
	if (!w)
		return failed(-ENOMEM, "no memory for the waits of queue pairs");
	w->session = session;
	slots_init(&w->numbers, sizeof(__u32));
	pool_init(&w->pool, sizeof(struct wait));
	blame_init(&w->blame);
	/* A fault that began before the period may have made somebody wait within it. */
	return faults_subscribe(faults, (struct fault_sink){NULL, waits_on_finished, w, true});
}

struct stream waits_stream(struct waits *w)
{
	static const struct stream_ops ops = {
		.events = waits_on_events, .tick = waits_on_tick, .end = waits_on_end};

	return (struct stream){&ops, w};
}

void waits_destroy(struct waits *w)
{
	if (!w)
		return;
	HASH_CLEAR(hh, w->known);
	pool_free(&w->pool);
	blame_destroy(&w->blame);
	slots_free(&w->numbers);
	memory_free(w->machines);
	memory_free(w->kept);
	memory_free(w);
}

static bool wait_is_told(const struct waits *w, const struct wait *wait)
{
	return wait->from_ns && period_has(session_period(w->session), wait->from_ns);
}

__u64 waits_count(const struct waits *w)
{
	__u64 count = w->count;

	for (const struct wait *wait = w->known; wait; wait = wait->hh.next)
		count += wait_is_told(w, wait);
	return count;
}

__u64 waits_unheeded(const struct waits *w)
{
	return w->unheeded;
}

__u64 waits_dropped(const struct waits *w)
{
	return w->dropped + w->blame.dropped;
}

const struct wait **waits_longest(const struct waits *w, __u64 now_ns, size_t *count)
{
	const struct wait **list =
		calloc(w->kept_count + HASH_COUNT(w->known) + 1, sizeof(struct wait *));

	if (!list)
		return NULL;
	*count = w->kept_count;
	for (size_t i = 0; i < w->kept_count; i++)
		list[i] = w->kept[i];
	for (const struct wait *wait = w->known; wait; wait = wait->hh.next)
		if (wait_is_told(w, wait))
			list[(*count)++] = wait;
	qsort_r(list, *count, sizeof(struct wait *), waits_order, &now_ns);
	return list;
}
