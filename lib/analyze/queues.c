// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/queues.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/spans.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"

struct queue_key {
	__u32 device;
	__u32 queue;
};

struct queue {
	struct queue_key key;
	struct spans blocked;
	__u64 faults;
	__u64 cut_to;	 /* the last end of those that had begun before their device was watched */
	__u64 open_from; /* the first beginning of those open at the recording's end */
	UT_hash_handle hh;
};

struct queues {
	struct queue *queues;
	const struct session *session;
	const struct faults *faults;
	__u64 late_ns;	 /* a fault is told this long after its beginning at most */
	size_t capacity; /* pieces of all queues */
	__u64 dropped;
};

static struct queue *find(const struct queues *queues, __u32 device, __u16 number)
{
	struct queue_key key = {device, number};
	struct queue *q;

	HASH_FIND(hh, queues->queues, &key, sizeof(key), q);
	return q;
}

static struct queue *make(struct queues *queues, __u32 device, __u16 number)
{
	struct queue *q = find(queues, device, number);

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

/* A queue is known from its first fault on, so that one stuck in it shows while it is open. */
static void on_began(void *self, const struct fault *fault)
{
	make(self, fault->device, fault->queue);
}

/* What is known of it only if nothing was lost is not united with the rest: that turns out later. */
static void note_borders(const struct queues *queues, struct queue *q, const struct fault *fault,
			 __u64 to)
{
	__u64 from = fault_known_ns(fault);

	if (to > q->cut_to && faults_began_before(queues->faults, fault))
		q->cut_to = to;
	if (from && fault->waited_ns == WAITED_TO_END && (!q->open_from || from < q->open_from) &&
	    faults_end_watched(queues->faults, fault))
		q->open_from = from;
}

static void on_finished(void *self, const struct fault *fault)
{
	struct queues *queues = self;
	struct queue *q = make(queues, fault->device, fault->queue);
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

int queues_create(struct queues **queues, const struct session *session, struct faults *faults)
{
	*queues = memory_calloc(1, sizeof(**queues));
	if (!*queues)
		return failed(-ENOMEM, "no memory for the queues");
	(*queues)->session = session;
	(*queues)->faults = faults;
	(*queues)->late_ns = faults_late_ns(faults);
	return faults_subscribe(faults, (struct fault_sink){on_began, on_finished, *queues});
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

/* Then each beginning and each end was seen of what was watched. */
static bool nothing_lost(const struct queues *queues)
{
	const struct loss_info *loss = session_loss(queues->session);

	return !loss->lost && !loss->missed && !loss->state_failed && !loss->damaged_bytes &&
	       !loss->damaged_frames && !loss->unwritten_events;
}

/* The kernel's own devices were watched from the first moment on, an emulated one since it was met. */
static __u64 watched_from(const struct queues *queues, __u32 device)
{
	const struct device_info *info = session_device(queues->session, device);
	__u64 first = session_first_ns(queues->session);

	return info && info->kind == DEVICE_EMULATED && info->first_ns > first ? info->first_ns
									       : first;
}

/* Part of the window that pieces or open faults of one queue cover. */
struct cover {
	struct queue_key key;
	struct spans open; /* pieces of open faults and of the queue, clipped to the window */
	size_t capacity;
	__u64 from, to;
	const struct queues *queues;
	__u64 watched; /* since when; 0: what began before cannot be told */
};

static void cover(struct cover *c, __u64 from, __u64 to)
{
	from = from > c->from ? from : c->from;
	to = to < c->to ? to : c->to;
	if (from < to)
		spans_unite(&c->open, from, to, &c->capacity, UINT64_MAX);
}

static void cover_fault(void *argument, const struct fault *fault)
{
	struct cover *c = argument;
	__u64 from = fault_known_ns(fault);

	if (fault->device != c->key.device || fault->queue != c->key.queue)
		return;
	if (c->watched && c->watched < from && faults_began_before(c->queues->faults, fault))
		from = c->watched;
	if (from)
		cover(c, from, fault_over(fault) ? fault_end_ns(fault) : c->to);
}

static double covered(const struct queues *queues, const struct queue *q, __u64 from, __u64 to)
{
	struct cover c = {.key = q->key, .from = from, .to = to, .queues = queues};
	__u64 sum = 0, before = 0, folded;

	for (size_t i = spans_first_from(&q->blocked, from);
	     i < q->blocked.count && q->blocked.pieces[i].from < to; i++)
		cover(&c, q->blocked.pieces[i].from, q->blocked.pieces[i].to);
	if (nothing_lost(queues))
		c.watched = watched_from(queues, q->key.device);
	if (c.watched)
		cover(&c, c.watched, q->cut_to);
	faults_each_open(queues->faults, cover_fault, &c);
	for (size_t i = 0; i < c.open.count; i++) {
		const struct piece *p = &c.open.pieces[i];

		sum += p->to - p->from;
		if (p->from < q->blocked.folded_to)
			before += (p->to < q->blocked.folded_to ? p->to : q->blocked.folded_to) -
				  p->from;
	}
	/* An open fault may reach back over what was folded: the two are one time, not two. */
	folded = spans_folded_within(&q->blocked, from, to);
	sum += folded > before ? folded - before : 0;
	sum += c.open.folded_ns;
	spans_free(&c.open);
	return (double)sum / (double)(to - from);
}

double queues_blocked_part(const struct queues *queues, __u32 device, __u64 from_ns, __u64 to_ns,
			   __u16 *queue)
{
	double worst = 0;

	if (queue)
		*queue = QUEUE_NONE;
	if (from_ns >= to_ns)
		return 0;
	for (const struct queue *q = queues->queues; q; q = q->hh.next) {
		double part;

		if (q->key.device != device)
			continue;
		part = covered(queues, q, from_ns, to_ns);
		if (part > worst) {
			worst = part;
			if (queue)
				*queue = (__u16)q->key.queue;
		}
	}
	return worst;
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

/* From when its device was watched; to the end of the recording. Empty if that is not known. */
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
	if (q->open_from)
		*last = (struct piece){q->open_from, session_last_ns(queues->session)};
	if (last->from < q->blocked.folded_to)
		last->from = q->blocked.folded_to;
}

static struct queue_blocked total(const struct queues *queues, const struct queue *q)
{
	struct queue_blocked blocked = {
		.device = q->key.device,
		.queue = (__u16)q->key.queue,
		.faults = q->faults,
		.blocked_ns = q->blocked.folded_ns,
		.longest_ns = q->blocked.folded_longest,
		.pieces = q->blocked.folded_pieces,
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
	return blocked;
}

__u64 queues_dropped(const struct queues *queues)
{
	return queues->dropped;
}

int queues_get(const struct queues *queues, __u32 device, __u16 queue,
	       struct queue_blocked *blocked)
{
	const struct queue *q = find(queues, device, queue);

	if (!q)
		return -ENOENT;
	*blocked = total(queues, q);
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
		ns = total(queues, q).blocked_ns;
		*sum_ns += ns;
		if (ns > *worst_ns)
			*worst_ns = ns;
	}
}

static int by_key(const struct queue *a, const struct queue *b)
{
	if (a->key.device != b->key.device)
		return a->key.device < b->key.device ? -1 : 1;
	return a->key.queue < b->key.queue ? -1 : a->key.queue > b->key.queue;
}

int queues_write(const struct queues *queues, const struct session *session, struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 24, false},
		{"queue", NULL, COLUMN_COUNT, 5, false},
		{"faults", NULL, COLUMN_COUNT, 8, false},
		{"blocked", "ns", COLUMN_DURATION, 8, false},
		{"blocked", "percent", COLUMN_REAL, 8, false},
		{"longest", "ns", COLUMN_DURATION, 8, false},
		{"pieces", NULL, COLUMN_COUNT, 8, true},
	};
	static const struct table table = {"queues", "Queues that stood still", columns,
					   sizeof(columns) / sizeof(columns[0])};
	__u64 span = session_last_ns(session) - session_first_ns(session);
	struct queues *sorted = (struct queues *)queues;
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	HASH_SORT(sorted->queues, by_key);
	for (const struct queue *q = queues->queues; !error && q; q = q->hh.next) {
		struct queue_blocked b = total(queues, q);
		unsigned int numbers = unknown_numbers(session, b.device);
		bool unknown = numbers & UNKNOWN_BLOCKED;

		if (!b.faults)
			continue;
		error = writer_row(
			writer,
			(union cell[]){
				{.text = session_device_name(session, b.device, text)},
				cell_if(b.queue != QUEUE_NONE, b.queue),
				cell_if(!(numbers & UNKNOWN_FAULTS), b.faults),
				cell_if(!unknown, b.blocked_ns),
				{.real = unknown ? NAN
					 : span	 ? 100.0 * (double)b.blocked_ns / (double)span
						 : 0},
				cell_if(!unknown, b.longest_ns),
				cell_if(!unknown, b.pieces),
			});
	}
	return error ? error : writer_end(writer);
}
