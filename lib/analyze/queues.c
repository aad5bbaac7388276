// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/stage.h"
#include "lib/base/fail.h"

/*
 * Faults finish in the order of their resume, so only the newest pieces of the union can still
 * change. Older ones are folded into a sum; a fault that reaches back beyond counts from there.
 */
#define QUEUE_PIECES 128
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
	struct piece pieces[QUEUE_PIECES]; /* disjoint, ascending */
	size_t count;
	__u64 folded_to; /* everything before is in the sums */
	__u64 folded_ns;
	__u64 folded_longest;
	__u64 folded_pieces;
	__u32 *folded_steps; /* ns folded by step, modulo FOLD_STEPS; NULL before the first */
	__u64 faults;
	UT_hash_handle hh;
};

struct queues {
	struct queue *queues;
	const struct faults *faults;
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
		q->folded_steps = calloc(FOLD_STEPS, sizeof(*q->folded_steps));
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

/* Of what was folded, the part within the window; a step that the window cuts counts by its share. */
static __u64 folded_within(const struct queue *q, __u64 from, __u64 to)
{
	__u64 newest = q->folded_to / FOLD_STEP_NS, sum = 0;
	__u64 oldest = newest >= FOLD_STEPS ? newest - FOLD_STEPS + 1 : 0;

	from = from > oldest * FOLD_STEP_NS ? from : oldest * FOLD_STEP_NS;
	to = to < q->folded_to ? to : q->folded_to;
	while (q->folded_steps && from < to) {
		__u64 part = rest_of_step(from, to), step = from / FOLD_STEP_NS;
		__u64 width = step == newest ? q->folded_to % FOLD_STEP_NS : FOLD_STEP_NS;

		sum += q->folded_steps[step % FOLD_STEPS] * part / width;
		from += part;
	}
	return sum;
}

static void fold_oldest(struct queue *q)
{
	__u64 ns = q->pieces[0].to - q->pieces[0].from;

	fold_steps(q, q->pieces[0].from, q->pieces[0].to);
	q->folded_ns += ns;
	q->folded_pieces++;
	q->folded_to = q->pieces[0].to;
	if (ns > q->folded_longest)
		q->folded_longest = ns;
	q->count--;
	memmove(&q->pieces[0], &q->pieces[1], q->count * sizeof(q->pieces[0]));
}

static void unite(struct queue *q, __u64 from, __u64 to)
{
	size_t first = q->count, end;

	if (from < q->folded_to)
		from = q->folded_to;
	if (from >= to)
		return;
	while (first > 0 && q->pieces[first - 1].to >= from)
		first--;
	for (end = first; end < q->count && q->pieces[end].from <= to; end++) {
		if (q->pieces[end].from < from)
			from = q->pieces[end].from;
		if (q->pieces[end].to > to)
			to = q->pieces[end].to;
	}
	if (end == first && q->count == QUEUE_PIECES) {
		fold_oldest(q);
		if (first > 0)
			first--;
		end = first;
		if (from < q->folded_to)
			from = q->folded_to;
		if (from >= to)
			return;
	}
	memmove(&q->pieces[first + 1], &q->pieces[end], (q->count - end) * sizeof(q->pieces[0]));
	q->pieces[first] = (struct piece){from, to};
	q->count = q->count - (end - first) + 1;
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
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->key = (struct queue_key){device, number};
	HASH_ADD(hh, queues->queues, key, sizeof(q->key), q);
	if (!q->hh.tbl) {
		free(q);
		return NULL;
	}
	return q;
}

/* A queue is known from its first fault on, so that one stuck in it shows while it is open. */
static void on_began(void *self, const struct fault *fault)
{
	make(self, fault->device, fault->queue);
}

static void on_finished(void *self, const struct fault *fault)
{
	struct queues *queues = self;
	struct queue *q = make(queues, fault->device, fault->queue);

	if (!q) {
		queues->dropped++;
		return;
	}
	q->faults++;
	if (fault_begin_ns(fault))
		unite(q, fault_begin_ns(fault), fault_end_ns(fault));
}

int queues_create(struct queues **queues, struct faults *faults)
{
	*queues = calloc(1, sizeof(**queues));
	if (!*queues)
		return failed(-ENOMEM, "no memory for the queues");
	(*queues)->faults = faults;
	return faults_subscribe(faults, (struct fault_sink){on_began, on_finished, *queues});
}

void queues_destroy(struct queues *queues)
{
	struct queue *q, *next;

	if (!queues)
		return;
	HASH_ITER(hh, queues->queues, q, next) {
		HASH_DEL(queues->queues, q);
		free(q->folded_steps);
		free(q);
	}
	free(queues);
}

/* Part of the window that pieces or open faults of one queue cover. */
struct cover {
	struct queue open; /* pieces of open faults and of the queue, clipped to the window */
	__u64 from, to;
};

static void cover_fault(void *argument, const struct fault *fault)
{
	struct cover *cover = argument;
	__u64 from = fault_begin_ns(fault);
	__u64 to = fault_over(fault) ? fault_end_ns(fault) : cover->to;

	if (fault->device != cover->open.key.device || fault->queue != cover->open.key.queue ||
	    !from)
		return;
	from = from > cover->from ? from : cover->from;
	to = to < cover->to ? to : cover->to;
	if (from < to)
		unite(&cover->open, from, to);
}

static double covered(const struct queues *queues, const struct queue *q, __u64 from, __u64 to)
{
	struct cover cover = {.open.key = q->key, .from = from, .to = to};
	__u64 sum = 0, before = 0, folded;

	for (size_t i = 0; i < q->count; i++) {
		__u64 low = q->pieces[i].from > from ? q->pieces[i].from : from;
		__u64 high = q->pieces[i].to < to ? q->pieces[i].to : to;

		if (low < high)
			unite(&cover.open, low, high);
	}
	faults_each_open(queues->faults, cover_fault, &cover);
	for (size_t i = 0; i < cover.open.count; i++) {
		const struct piece *p = &cover.open.pieces[i];

		sum += p->to - p->from;
		if (p->from < q->folded_to)
			before += (p->to < q->folded_to ? p->to : q->folded_to) - p->from;
	}
	/* An open fault may reach back over what was folded: the two are one time, not two. */
	folded = folded_within(q, from, to);
	sum += folded > before ? folded - before : 0;
	return (double)(sum + cover.open.folded_ns) / (double)(to - from);
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

static struct queue_blocked total(const struct queue *q)
{
	struct queue_blocked blocked = {
		.device = q->key.device,
		.queue = (__u16)q->key.queue,
		.faults = q->faults,
		.blocked_ns = q->folded_ns,
		.longest_ns = q->folded_longest,
		.pieces = q->folded_pieces + q->count,
	};

	for (size_t i = 0; i < q->count; i++) {
		__u64 ns = q->pieces[i].to - q->pieces[i].from;

		blocked.blocked_ns += ns;
		if (ns > blocked.longest_ns)
			blocked.longest_ns = ns;
	}
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
	*blocked = total(q);
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
		ns = total(q).blocked_ns;
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
	char text[NAME_TEXT];
	int error = writer_begin(writer, &table);

	HASH_SORT(sorted->queues, by_key);
	for (const struct queue *q = queues->queues; !error && q; q = q->hh.next) {
		struct queue_blocked b = total(q);

		if (!b.faults)
			continue;
		error = writer_row(
			writer,
			(union cell[]){
				{.text = session_device_name(session, b.device, text)},
				{.count = b.queue == QUEUE_NONE ? CELL_NONE : b.queue},
				{.count = b.faults},
				{.count = b.blocked_ns},
				{.real = span ? 100.0 * (double)b.blocked_ns / (double)span : 0},
				{.count = b.longest_ns},
				{.count = b.pieces},
			});
	}
	return error ? error : writer_end(writer);
}
