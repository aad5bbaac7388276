// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/queues.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"

/*
 * Most faults are told in the order of their end; one that was given up, thrown away or dropped is told
 * as late as it stays open. So the pieces that such a fault can reach are held; older ones are folded
 * into a sum when there is no room. A fault that reaches back beyond the fold counts from there, and is
 * counted: the union is a floor then.
 */
#define PIECES_FIRST 16
#define PIECES_MAX   65536	 /* of a queue: 1 MiB */
#define PIECES_TOTAL (1ul << 22) /* of all: 64 MiB */
/* What was folded is still told by time for live windows, which reach back a minute at most. */
#define FOLD_STEP_NS 20000000ull
#define FOLD_STEPS   3072

struct piece {
	__u64 from, to;
};

struct queue_key {
	__u32 device;
	__u32 queue;
};

struct queue {
	struct queue_key key;
	struct piece *pieces; /* disjoint, ascending */
	size_t count, capacity;
	__u64 folded_from, folded_to; /* everything before is in the sums */
	__u64 folded_ns;
	__u64 folded_longest;
	__u64 folded_pieces;
	__u32 *folded_steps; /* ns folded by step, modulo FOLD_STEPS; NULL before the first */
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

static __u64 rest_of_step(__u64 from, __u64 to)
{
	__u64 rest = FOLD_STEP_NS - from % FOLD_STEP_NS;

	return rest < to - from ? rest : to - from;
}

/* Enters a piece that follows all folded ones; steps that are passed over held nothing. */
static void fold_steps(struct queue *q, __u64 from, __u64 to)
{
	__u64 oldest = to / FOLD_STEP_NS >= FOLD_STEPS ? to / FOLD_STEP_NS - FOLD_STEPS + 1 : 0;
	__u64 step = q->folded_to / FOLD_STEP_NS + 1;

	if (!q->folded_steps)
		q->folded_steps = memory_calloc(FOLD_STEPS, sizeof(*q->folded_steps));
	if (!q->folded_steps)
		return;
	for (step = step > oldest ? step : oldest; step <= to / FOLD_STEP_NS; step++)
		q->folded_steps[step % FOLD_STEPS] = 0;
	from = from > oldest * FOLD_STEP_NS ? from : oldest * FOLD_STEP_NS;
	while (from < to) {
		__u64 part = rest_of_step(from, to);

		q->folded_steps[from / FOLD_STEP_NS % FOLD_STEPS] += (__u32)part;
		from += part;
	}
}

/* Of what is older than the steps tell only the sum is known: the window has its share. */
static __u64 folded_before(const struct queue *q, __u64 from, __u64 to, __u64 oldest_ns)
{
	__u64 sum = q->folded_ns;

	to = to < oldest_ns ? to : oldest_ns;
	if (oldest_ns <= q->folded_from || from >= to || !q->folded_steps)
		return 0;
	for (size_t i = 0; i < FOLD_STEPS; i++)
		sum -= sum > q->folded_steps[i] ? q->folded_steps[i] : sum;
	from = from > q->folded_from ? from : q->folded_from;
	return from < to ? (__u64)((double)sum * (double)(to - from) /
				   (double)(oldest_ns - q->folded_from))
			 : 0;
}

/* Of what was folded, the part within the window; a step that the window cuts counts by its share. */
static __u64 folded_within(const struct queue *q, __u64 from, __u64 to)
{
	__u64 newest = q->folded_to / FOLD_STEP_NS, sum = 0;
	__u64 oldest = newest >= FOLD_STEPS ? newest - FOLD_STEPS + 1 : 0;

	to = to < q->folded_to ? to : q->folded_to;
	sum = folded_before(q, from, to, oldest * FOLD_STEP_NS);
	from = from > oldest * FOLD_STEP_NS ? from : oldest * FOLD_STEP_NS;
	while (q->folded_steps && from < to) {
		__u64 part = rest_of_step(from, to), step = from / FOLD_STEP_NS;
		__u64 width = step == newest ? q->folded_to % FOLD_STEP_NS : FOLD_STEP_NS;

		sum += q->folded_steps[step % FOLD_STEPS] * part / width;
		from += part;
	}
	return sum;
}

static void fold_oldest(struct queue *q, size_t count)
{
	if (!count)
		return;
	if (!q->folded_pieces)
		q->folded_from = q->pieces[0].from;
	for (size_t i = 0; i < count; i++) {
		const struct piece *piece = &q->pieces[i];
		__u64 ns = piece->to - piece->from;

		fold_steps(q, piece->from, piece->to);
		q->folded_ns += ns;
		q->folded_pieces++;
		q->folded_to = piece->to;
		if (ns > q->folded_longest)
			q->folded_longest = ns;
	}
	q->count -= count;
	memmove(q->pieces, q->pieces + count, q->count * sizeof(*q->pieces));
}

/* The first piece that ends at `time_ns` or later. */
static size_t first_from(const struct queue *q, __u64 time_ns)
{
	size_t low = 0, high = q->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (q->pieces[middle].to < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool grow(struct queue *q, size_t *total)
{
	size_t capacity = q->capacity ? 2 * q->capacity : PIECES_FIRST;
	struct piece *grown;

	if (capacity > PIECES_MAX || *total + capacity - q->capacity > PIECES_TOTAL)
		return false;
	grown = memory_realloc(q->pieces, capacity * sizeof(*grown));
	if (!grown)
		return false;
	*total += capacity - q->capacity;
	q->pieces = grown;
	q->capacity = capacity;
	return true;
}

/* What no late fault reaches is folded, and if that is little more is held; else the oldest half goes. */
static bool make_room(struct queue *q, size_t *total, __u64 late_ns)
{
	__u64 newest;

	if (q->count < q->capacity)
		return true;
	newest = q->count ? q->pieces[q->count - 1].to : 0;
	if (newest > late_ns)
		fold_oldest(q, first_from(q, newest - late_ns));
	if (q->count <= q->capacity / 2 && q->capacity)
		return true;
	if (!grow(q, total) && q->count == q->capacity)
		fold_oldest(q, (q->count + 1) / 2);
	return q->count < q->capacity;
}

/* False if a part of it is not in the union. */
static bool unite(struct queue *q, __u64 from, __u64 to, size_t *total, __u64 late_ns)
{
	bool room = make_room(q, total, late_ns), whole = from >= q->folded_to;
	size_t first, end;

	if (!whole)
		from = q->folded_to;
	if (from >= to)
		return whole;
	first = first_from(q, from);
	for (end = first; end < q->count && q->pieces[end].from <= to; end++) {
		if (q->pieces[end].from < from)
			from = q->pieces[end].from;
		if (q->pieces[end].to > to)
			to = q->pieces[end].to;
	}
	if (!room && end == first)
		return false;
	memmove(&q->pieces[first + 1], &q->pieces[end], (q->count - end) * sizeof(q->pieces[0]));
	q->pieces[first] = (struct piece){from, to};
	q->count = q->count - (end - first) + 1;
	return whole;
}

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
	if (from && !unite(q, from, to, &queues->capacity, queues->late_ns))
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
		memory_free(q->pieces);
		memory_free(q->folded_steps);
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
	struct queue open; /* pieces of open faults and of the queue, clipped to the window */
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
		unite(&c->open, from, to, &c->capacity, UINT64_MAX);
}

static void cover_fault(void *argument, const struct fault *fault)
{
	struct cover *c = argument;
	__u64 from = fault_known_ns(fault);

	if (fault->device != c->open.key.device || fault->queue != c->open.key.queue)
		return;
	if (c->watched && c->watched < from && faults_began_before(c->queues->faults, fault))
		from = c->watched;
	if (from)
		cover(c, from, fault_over(fault) ? fault_end_ns(fault) : c->to);
}

static double covered(const struct queues *queues, const struct queue *q, __u64 from, __u64 to)
{
	struct cover c = {.open.key = q->key, .from = from, .to = to, .queues = queues};
	__u64 sum = 0, before = 0, folded;

	for (size_t i = first_from(q, from); i < q->count && q->pieces[i].from < to; i++)
		cover(&c, q->pieces[i].from, q->pieces[i].to);
	if (nothing_lost(queues))
		c.watched = watched_from(queues, q->key.device);
	if (c.watched)
		cover(&c, c.watched, q->cut_to);
	faults_each_open(queues->faults, cover_fault, &c);
	for (size_t i = 0; i < c.open.count; i++) {
		const struct piece *p = &c.open.pieces[i];

		sum += p->to - p->from;
		if (p->from < q->folded_to)
			before += (p->to < q->folded_to ? p->to : q->folded_to) - p->from;
	}
	/* An open fault may reach back over what was folded: the two are one time, not two. */
	folded = folded_within(q, from, to);
	sum += folded > before ? folded - before : 0;
	sum += c.open.folded_ns;
	memory_free(c.open.pieces);
	memory_free(c.open.folded_steps);
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
	if (q->folded_pieces && first->to > q->folded_from)
		first->to = q->folded_from;
	if (q->open_from)
		*last = (struct piece){q->open_from, session_last_ns(queues->session)};
	if (last->from < q->folded_to)
		last->from = q->folded_to;
}

static struct queue_blocked total(const struct queues *queues, const struct queue *q)
{
	struct queue_blocked blocked = {
		.device = q->key.device,
		.queue = (__u16)q->key.queue,
		.faults = q->faults,
		.blocked_ns = q->folded_ns,
		.longest_ns = q->folded_longest,
		.pieces = q->folded_pieces,
	};
	struct piece first, last, counted = {0, 0};
	size_t i = 0;

	find_borders(queues, q, &first, &last);
	for (; i < q->count && q->pieces[i].from < first.from; i++)
		count_piece(&blocked, &counted, &q->pieces[i]);
	count_piece(&blocked, &counted, &first);
	for (; i < q->count && q->pieces[i].from < last.from; i++)
		count_piece(&blocked, &counted, &q->pieces[i]);
	count_piece(&blocked, &counted, &last);
	for (; i < q->count; i++)
		count_piece(&blocked, &counted, &q->pieces[i]);
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
