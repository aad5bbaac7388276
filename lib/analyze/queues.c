// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/queues.h"

#include <errno.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/queues_private.h"
#include "lib/analyze/stage.h"
#include "lib/base/fail.h"

static struct queue *queues_find(const struct queues *queues, __u32 device, __u16 number)
{
	struct queue_key key = {device, number};
	struct queue *q;

	HASH_FIND(hh, queues->queues, &key, sizeof(key), q);
	return q;
}

static struct queue *queues_make(struct queues *queues, __u32 device, __u16 number)
{
	struct queue *q = queues_find(queues, device, number);

	if (q || HASH_COUNT(queues->queues) >= QUEUES_MAX)
		return q;
	q = memory_calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->key = (struct queue_key){device, number};
	HASH_ADD(hh, queues->queues, key, sizeof(q->key), q);
	if (!q->hh.tbl) {
		memory_free(q);
		return NULL;
	}
	return q;
}

/* Then each beginning and each end was seen of what was watched. */
static bool nothing_lost(const struct queues *queues)
{
	const struct loss_info *loss = session_loss(queues->session);

	return !loss_of_events(loss) && !loss->state_failed;
}

/* `seen`: its end was. After a loss that may have been lost, too, and long before. */
static void hang_ends(struct queues *queues, struct queue *q, __u64 until, bool seen)
{
	__u64 from = q->hang.from;

	if (nothing_lost(queues) && until > from) {
		q->assumed_ns += seen ? 0 : until - from;
		if (!spans_unite(&q->blocked, from, until, &queues->capacity, queues->late_ns))
			queues->dropped++;
	}
	q->hang = (struct hang){0};
	queues->hanging--;
}

/* What a queue does after it was given up shows that it goes on. */
static void is_alive(struct queues *queues, struct queue *q, __u64 time_ns)
{
	if (!q->hang.faults || time_ns <= q->hang.given_up)
		return;
	q->alive_ns = time_ns;
	hang_ends(queues, q, time_ns, false);
}

/*
 * A queue is known from its first fault on, so that one stuck in it shows while it is open. A fault that its
 * device held back may have begun, and waited, before the queue was given up.
 */
static void queues_on_began(void *self, const struct fault *fault)
{
	struct queue *q = queues_make(self, fault->device, fault->queue);

	if (q)
		is_alive(self, q, fault_over(fault) ? fault_end_ns(fault) : fault_begin_ns(fault));
}

static void hang_on(struct queues *queues, struct queue *q, const struct fault *fault, __u64 to)
{
	struct hang *hang = &q->hang;

	queues->hanging += !hang->faults;
	if (!hang->faults++ || to < hang->from)
		hang->from = to;
	if (fault->given_up_ns > hang->given_up)
		hang->given_up = fault->given_up_ns;
}

/* What is known of it only if nothing was lost is not united with the rest: that turns out later. */
static void note_borders(struct queues *queues, struct queue *q, const struct fault *fault,
			 __u64 to)
{
	__u64 from = fault_known_ns(fault);

	if (to > q->cut_to && faults_began_before(queues->faults, fault))
		q->cut_to = to;
	if (from && fault->waited_ns == WAITED_TO_END && (!q->open_from || from < q->open_from) &&
	    faults_end_watched(queues->faults, fault))
		q->open_from = from;
	if (from && fault->given_up_ns && faults_end_watched(queues->faults, fault))
		hang_on(queues, q, fault, to);
}

static void queues_on_finished(void *self, const struct fault *fault)
{
	struct queues *queues = self;
	struct queue *q = queues_make(queues, fault->device, fault->queue);
	__u64 from = fault_known_ns(fault), to = fault_end_ns(fault);

	if (!q) {
		queues->dropped++;
		return;
	}
	q->faults++;
	if (fault->waited_ns != WAITED_TO_END && fault->waited_ns > to)
		to = fault->waited_ns;
	note_borders(queues, q, fault, to);
	if (from && !spans_unite(&q->blocked, from, to, &queues->capacity, queues->late_ns))
		queues->dropped++;
}

static void on_ended(void *self, const struct fault_end *end)
{
	struct queues *queues = self;
	struct queue *q = queues_find(queues, end->device, end->queue);
	struct hang *hang = q ? &q->hang : NULL;

	/* Those that were given up before the queue was seen to be alive have been settled then. */
	if (!hang || !hang->faults || end->given_up_ns <= q->alive_ns)
		return;
	if (end->time_ns > hang->until)
		hang->until = end->time_ns;
	hang->faults -= end->faults < hang->faults ? end->faults : hang->faults;
	if (!hang->faults)
		hang_ends(queues, q, hang->until, end->seen);
}

/* With the device all of its queues are over. */
static void device_gone(struct queues *queues, const struct event *e)
{
	for (struct queue *q = queues->queues; q; q = q->hh.next)
		if (q->key.device == e->device && q->hang.faults)
			hang_ends(queues, q, e->time_ns, true);
}

/* An I/O that the device took after the queue was given up shows so from then on. */
static void io_done(struct queues *queues, const struct event *e)
{
	struct queue *q = queues_find(queues, e->device, e->queue);
	__u64 taken = e->time_ns > e->value ? e->time_ns - e->value : 0;

	if (q)
		is_alive(queues, q, taken > q->hang.given_up ? taken : e->time_ns);
}

static int queues_on_events(void *self, const struct event *events, size_t count)
{
	struct queues *queues = self;

	for (size_t i = 0; queues->hanging && i < count; i++) {
		if (events[i].kind == EVENT_DEVICE_GONE)
			device_gone(queues, &events[i]);
		else if (events[i].kind == EVENT_IO_COMPLETE)
			io_done(queues, &events[i]);
	}
	return 0;
}

/* I/Os that were neither slow nor faulted are told by the second. */
static int queues_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct queues *queues = self;
	__u64 from = frame->window * AGGREGATE_WINDOW_NS;

	for (size_t i = 0; queues->hanging && i < frame->row_count; i++) {
		const struct aggregate_key *key = &frame->rows[i].key;
		struct queue *q = key->kind == EVENT_IO_COMPLETE
					  ? queues_find(queues, key->device, key->queue)
					  : NULL;

		if (q)
			is_alive(queues, q, from);
	}
	return 0;
}

struct stream queues_stream(struct queues *queues)
{
	static const struct stream_ops ops = {.events = queues_on_events,
					      .aggregate = queues_on_aggregate};

	return (struct stream){&ops, queues};
}

int queues_create(struct queues **queues, const struct session *session, struct faults *faults)
{
	*queues = memory_calloc(1, sizeof(**queues));
	if (!*queues)
		return failed(-ENOMEM, "no memory for the queues");
	(*queues)->session = session;
	(*queues)->faults = faults;
	(*queues)->late_ns = faults_late_ns(faults);
	return faults_subscribe(faults, (struct fault_sink){.began = queues_on_began,
							    .finished = queues_on_finished,
							    .ended = on_ended,
							    .self = *queues});
}

void queues_destroy(struct queues *queues)
{
	struct queue *q, *next;

	if (!queues)
		return;
	HASH_ITER(hh, queues->queues, q, next) {
		HASH_DEL(queues->queues, q);
		spans_free(&q->blocked);
		memory_free(q);
	}
	memory_free(queues);
}

/* The kernel's own devices were watched from the first moment on, an emulated one since it was met. */
static __u64 watched_from(const struct queues *queues, __u32 device)
{
	const struct device_info *info = session_device(queues->session, device);
	__u64 first = session_first_ns(queues->session);

	return info && info->kind == DEVICE_EMULATED && info->first_ns > first ? info->first_ns
									       : first;
}

/* Since when a fault of it is open that was handed over: given up, or at the recording's end; 0: none is. */
static __u64 open_since(const struct queue *q)
{
	if (!q->hang.faults || (q->open_from && q->open_from < q->hang.from))
		return q->open_from;
	return q->hang.from;
}

/* A device's queues in a window: what pieces and open faults of each cover, clipped to it. */
struct cover {
	const struct queues *queues;
	__u32 device; /* DEVICE_NONE: of all */
	__u64 from, to;
};

static void queues_cover(const struct cover *c, struct queue *q, __u64 from, __u64 to)
{
	from = from > c->from ? from : c->from;
	to = to < c->to ? to : c->to;
	if (from < to)
		spans_unite(&q->cover.open, from, to, &q->cover.capacity, UINT64_MAX);
}

static void cover_queue(const struct cover *c, struct queue *q)
{
	q->cover = (struct queue_cover){0};
	for (size_t i = spans_first_from(&q->blocked, c->from);
	     i < q->blocked.count && q->blocked.pieces[i].from < c->to; i++)
		queues_cover(c, q, q->blocked.pieces[i].from, q->blocked.pieces[i].to);
	if (nothing_lost(c->queues))
		q->cover.watched = watched_from(c->queues, c->device);
	if (q->cover.watched)
		queues_cover(c, q, q->cover.watched, q->cut_to);
	if (q->cover.watched && open_since(q))
		queues_cover(c, q, open_since(q), c->to);
}

static void cover_fault(void *argument, const struct fault *fault)
{
	const struct cover *c = argument;
	__u64 from = fault_known_ns(fault);
	struct queue *q;

	if (c->device != DEVICE_NONE && fault->device != c->device)
		return;
	q = queues_find(c->queues, fault->device, fault->queue);
	if (!q)
		return;
	if (q->cover.watched && q->cover.watched < from &&
	    faults_began_before(c->queues->faults, fault))
		from = q->cover.watched;
	if (from)
		queues_cover(c, q, from, fault_over(fault) ? fault_end_ns(fault) : c->to);
}

static __u64 queues_covered(const struct cover *c, struct queue *q)
{
	const struct spans *open = &q->cover.open;
	__u64 sum = 0, before = 0, folded;

	for (size_t i = 0; i < open->count; i++) {
		const struct piece *p = &open->pieces[i];

		sum += p->to - p->from;
		if (p->from < q->blocked.folded_to)
			before += (p->to < q->blocked.folded_to ? p->to : q->blocked.folded_to) -
				  p->from;
	}
	/* An open fault may reach back over what was folded: the two are one time, not two. */
	folded = spans_folded_within(&q->blocked, c->from, c->to);
	sum += folded > before ? folded - before : 0;
	sum += open->folded_ns;
	spans_free(&q->cover.open);
	return sum;
}

static struct queue *queues_first_of(struct queue *q, __u32 device)
{
	while (q && q->key.device != device)
		q = q->hh.next;
	return q;
}

/* Open faults are gone over once, however many queues there are. */
double queues_blocked_part(struct queues *queues, __u32 device, __u64 from_ns, __u64 to_ns,
			   __u16 *queue)
{
	struct cover c = {.queues = queues, .device = device, .from = from_ns, .to = to_ns};
	double worst = 0;

	if (queue)
		*queue = QUEUE_NONE;
	if (from_ns >= to_ns)
		return 0;
	for (struct queue *q = queues_first_of(queues->queues, device); q;
	     q = queues_first_of(q->hh.next, device))
		cover_queue(&c, q);
	faults_each_open(queues->faults, cover_fault, &c);
	for (struct queue *q = queues_first_of(queues->queues, device); q;
	     q = queues_first_of(q->hh.next, device)) {
		double part = (double)queues_covered(&c, q) / (double)(to_ns - from_ns);

		if (part > worst) {
			worst = part;
			if (queue)
				*queue = (__u16)q->key.queue;
		}
	}
	return worst;
}

void queues_each(struct queues *queues, __u64 now_ns,
		 void (*each)(void *argument, __u32 device, __u64 blocked_ns), void *argument)
{
	struct cover c = {.queues = queues, .device = DEVICE_NONE, .from = 0, .to = now_ns};

	for (struct queue *q = queues->queues; q; q = q->hh.next) {
		c.device = q->key.device;
		cover_queue(&c, q);
	}
	c.device = DEVICE_NONE;
	faults_each_open(queues->faults, cover_fault, &c);
	for (struct queue *q = queues->queues; q; q = q->hh.next)
		each(argument, q->key.device, queues_covered(&c, q));
}

/* Spans come by their beginning. */
static void count_piece(struct queue_blocked *blocked, struct piece *last, const struct piece *next)
{
	__u64 from = next->from > last->to ? next->from : last->to;

	if (next->from >= next->to)
		return;
	if (next->from > last->to || !last->to) {
		last->from = next->from;
		blocked->pieces++;
	}
	if (next->to > from) {
		blocked->blocked_ns += next->to - from;
		last->to = next->to;
	}
	if (last->to - last->from > blocked->longest_ns)
		blocked->longest_ns = last->to - last->from;
}

/* From when its device was watched; to the end of the recording. Both are empty if that is not known. */
static void find_borders(const struct queues *queues, const struct queue *q, struct piece *first,
			 struct piece *last)
{
	*first = *last = (struct piece){0, 0};
	if (!nothing_lost(queues))
		return;
	if (q->cut_to)
		*first = (struct piece){watched_from(queues, q->key.device), q->cut_to};
	if (q->blocked.folded_pieces && first->to > q->blocked.folded_from)
		first->to = q->blocked.folded_from;
	if (open_since(q))
		*last = (struct piece){open_since(q), session_last_ns(queues->session)};
	if (last->from < q->blocked.folded_to)
		last->from = q->blocked.folded_to;
}

struct queue_blocked queues_total(const struct queues *queues, const struct queue *q)
{
	struct queue_blocked blocked = {
		.device = q->key.device,
		.queue = (__u16)q->key.queue,
		.faults = q->faults,
		.blocked_ns = q->blocked.folded_ns,
		.longest_ns = q->blocked.folded_longest,
		.pieces = q->blocked.folded_pieces,
		.assumed_ns = q->assumed_ns,
	};
	struct piece first, last, counted = {0, 0};
	size_t i = 0;

	find_borders(queues, q, &first, &last);
	for (; i < q->blocked.count && q->blocked.pieces[i].from < first.from; i++)
		count_piece(&blocked, &counted, &q->blocked.pieces[i]);
	count_piece(&blocked, &counted, &first);
	for (; i < q->blocked.count && q->blocked.pieces[i].from < last.from; i++)
		count_piece(&blocked, &counted, &q->blocked.pieces[i]);
	count_piece(&blocked, &counted, &last);
	for (; i < q->blocked.count; i++)
		count_piece(&blocked, &counted, &q->blocked.pieces[i]);
	if (q->hang.faults && last.to > q->hang.from)
		blocked.assumed_ns += last.to - q->hang.from;
	return blocked;
}

bool queues_hangs(const struct queues *queues, struct queues_hangs *hangs)
{
	*hangs = (struct queues_hangs){0};
	for (const struct queue *q = queues->queues; q; q = q->hh.next) {
		struct queue_blocked b = queues_total(queues, q);

		if (!b.assumed_ns)
			continue;
		hangs->queues++;
		hangs->still += !!q->hang.faults;
		hangs->assumed_ns += b.assumed_ns;
		if (b.assumed_ns > hangs->worst.assumed_ns)
			hangs->worst = b;
	}
	return hangs->queues;
}

__u64 queues_dropped(const struct queues *queues)
{
	return queues->dropped;
}

int queues_get(const struct queues *queues, __u32 device, __u16 queue,
	       struct queue_blocked *blocked)
{
	const struct queue *q = queues_find(queues, device, queue);

	if (!q)
		return -ENOENT;
	*blocked = queues_total(queues, q);
	return 0;
}

void queues_device(const struct queues *queues, __u32 device, __u64 *sum_ns, __u64 *worst_ns)
{
	*sum_ns = 0;
	*worst_ns = 0;
	for (const struct queue *q = queues->queues; q; q = q->hh.next) {
		__u64 ns;

		if (q->key.device != device)
			continue;
		ns = queues_total(queues, q).blocked_ns;
		*sum_ns += ns;
		if (ns > *worst_ns)
			*worst_ns = ns;
	}
}
