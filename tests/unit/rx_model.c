// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rx_model.h"

#include <errno.h>
#include <string.h>

static bool is(const struct rx_model *model, const char *policy)
{
	return !strcmp(model->ring.policy->name, policy);
}

static bool model_present(void *self, __u64 position)
{
	struct rx_model *model = self;
	__u32 slot = rx_ring_slot(&model->ring, position);
	struct rx_buffer *buffer = &model->buffers[slot];

	RX_CHECK(model, position >= model->head + model->waiting && position < model->tail);
	RX_CHECK(model, buffer->state == BUFFER_POSTED);
	if (buffer->absent) {
		buffer->told = model->retries;
		return false;
	}
	RX_CHECK(model, model->answer_count < RX_FRAME_BUFFERS);
	model->answers[model->answer_count++] = slot;
	return true;
}

void rx_model_create(struct rx_model *model, struct rx_settings *settings, struct rx_shared *shared)
{
	*model = (struct rx_model){.shared = shared, .id = settings->id};
	settings->present = model_present;
	settings->self = model;
	settings->backup = shared->backup;
	settings->cache = shared->cache;
	if (rx_ring_create(&model->ring, settings) ||
	    rx_queue_create(&model->queue, settings->bitmap_bits, settings->frame_bytes))
		abort();
	/* In the guest's buffers, in the bitmap's, in the cache. */
	model->list_room = 1ull + settings->size + settings->bitmap_bits + shared->cells_free;
	model->list = calloc(model->list_room, sizeof(*model->list));
	model->buffers = calloc(settings->size, sizeof(*model->buffers));
	model->outstanding = calloc(settings->size, sizeof(*model->outstanding));
	model->owners = calloc(settings->bitmap_bits, sizeof(*model->owners));
	if (!model->list || !model->buffers || !model->outstanding || !model->owners)
		abort();
	for (__u32 bit = 0; bit < settings->bitmap_bits; bit++)
		model->owners[bit] = RX_NOBODY;
}

void rx_model_destroy(struct rx_model *model)
{
	rx_ring_destroy(&model->ring);
	rx_queue_destroy(model->queue);
	free(model->list);
	free(model->buffers);
	free(model->outstanding);
	free(model->owners);
}

void rx_fill(char *bytes, __u32 length, __u64 number)
{
	for (__u32 i = 0; i < length; i++)
		bytes[i] = (char)(number >> (i % 8 * 8)) ^ (char)(i * 7);
}

static struct rx_listed *listed(const struct rx_model *model, __u64 index)
{
	return &model->list[index % model->list_room];
}

static void list_add(struct rx_model *model, const struct rx_frame *frame, __u32 count, bool held)
{
	RX_CHECK(model, model->listed_frames - model->consumed_frames < model->list_room);
	*listed(model, model->listed_frames++) = (struct rx_listed){
		.number = frame->number, .length = frame->length, .count = count, .held = held};
}

/* Those before the first that is held are seen. */
static void show_frames(struct rx_model *model)
{
	while (model->visible_frames < model->listed_frames) {
		struct rx_listed *frame = listed(model, model->visible_frames);

		if (frame->held)
			break;
		model->visible_frames++;
		model->head += frame->count;
		model->counters.advanced += frame->count;
		if (is(model, "backup"))
			model->waiting -= frame->count;
	}
}

/* Of the cache; all before it is seen. */
static struct rx_listed *first_held(const struct rx_model *model)
{
	bool any = is(model, "cache") && model->visible_frames < model->listed_frames;

	return any ? listed(model, model->visible_frames) : NULL;
}

static struct rx_listed *find_held(const struct rx_model *model, __u64 number)
{
	for (__u64 i = model->visible_frames; i < model->listed_frames; i++)
		if (listed(model, i)->number == number)
			return listed(model, i);
	return NULL;
}

static void write_buffer(struct rx_model *model, __u32 slot, __u64 number, __u32 part)
{
	struct rx_buffer *buffer = &model->buffers[slot];

	RX_CHECK(model, slot < model->ring.size && buffer->state == BUFFER_POSTED);
	buffer->state = BUFFER_WRITTEN;
	buffer->number = number;
	buffer->part = part;
}

static bool is_told(const struct rx_model *model, __u32 slot)
{
	return model->buffers[slot].told == model->retries;
}

/* The oldest of these that have not been told as absent; what was passed over has been. */
static void take_outstanding(struct rx_model *model, const __u32 *slots, __u32 count)
{
	__u32 at = 0, left = 0;

	for (__u32 i = 0; i < count; i++, at++) {
		for (; at < model->outstanding_count && model->outstanding[at] != slots[i]; at++) {
			RX_CHECK(model, is_told(model, model->outstanding[at]));
			model->outstanding[left++] = model->outstanding[at];
		}
		RX_CHECK(model, at < model->outstanding_count);
	}
	if (left)
		model->counters.skipped++;
	memmove(&model->outstanding[left], &model->outstanding[at],
		(model->outstanding_count - at) * sizeof(*model->outstanding));
	model->outstanding_count -= count;
}

static void stored(struct rx_model *model, const struct rx_verdict *verdict,
		   const struct rx_frame *frame)
{
	RX_CHECK(model, verdict->position == model->head + model->waiting);
	RX_CHECK(model, verdict->position + verdict->count <= model->tail);
	RX_CHECK(model, model->answer_count == verdict->count);
	for (__u32 i = 0; i < verdict->count; i++) {
		__u32 slot = rx_ring_slot(&model->ring, verdict->position + i);

		RX_CHECK(model, slot == model->answers[i]);
		write_buffer(model, slot, frame->number, i);
	}
	if (is(model, "ooo"))
		take_outstanding(model, model->answers, verdict->count);
	model->counters.stored++;
	model->counters.stored_bytes += frame->length;
}

static void held(struct rx_model *model, const struct rx_verdict *verdict, __u64 number)
{
	model->counters.held++;
	model->counters.held_ever++;
	if (verdict->place == RX_CACHE)
		return;
	RX_CHECK(model, verdict->position == model->head + model->waiting);
	for (__u32 i = 0; i < verdict->count; i++) {
		__u64 *owner = &model->owners[(verdict->bit + i) % model->ring.bm_size];

		RX_CHECK(model, *owner == RX_NOBODY);
		*owner = number;
	}
}

/* Absent ones among the next; or too few that are not known as absent. */
static bool is_absent(const struct rx_model *model, __u32 count)
{
	__u64 next = model->head + model->waiting;
	__u32 some = 0;

	if (is(model, "ooo")) {
		for (__u32 i = 0; i < model->outstanding_count && some < count; i++)
			some += !is_told(model, model->outstanding[i]) &&
				!model->buffers[model->outstanding[i]].absent;
		return some < count;
	}
	for (__u32 i = 0; i < count; i++)
		if (model->buffers[rx_ring_slot(&model->ring, next + i)].absent)
			return true;
	return false;
}

struct expected {
	enum rx_place place;
	enum loss_reason reason;
};

static struct expected expect_cached(struct rx_model *model, __u32 length, bool room, bool absent)
{
	if (rx_cells(length) > model->shared->cells_free)
		return (struct expected){RX_LOST, LOSS_CACHE_FULL};
	if (first_held(model))
		return (struct expected){RX_CACHE};
	if (!room)
		return (struct expected){RX_LOST, LOSS_NO_BUFFER};
	if (!absent)
		return (struct expected){RX_STORE};
	model->paused = true;
	return (struct expected){RX_CACHE};
}

static struct expected expect(struct rx_model *model, __u32 length, __u32 count)
{
	bool room = model->head + model->waiting + count <= model->tail;
	bool absent = room && is_absent(model, count);

	if (length > model->ring.frame_bytes || count > RX_FRAME_BUFFERS ||
	    count > model->ring.size)
		return (struct expected){RX_LOST, LOSS_OVERLONG};
	if (is(model, "cache"))
		return expect_cached(model, length, room, absent);
	if (is(model, "backup")) {
		if (room && !absent)
			return (struct expected){RX_STORE};
		if (model->waiting + count <= model->ring.bm_size && model->shared->backup_free)
			return (struct expected){RX_BACKUP};
		return (struct expected){RX_LOST, LOSS_BACKUP_FULL};
	}
	if (!room)
		return (struct expected){RX_LOST, LOSS_NO_BUFFER};
	if (is(model, "pin"))
		model->counters.broken += absent;
	if (is(model, "drop"))
		absent = model->paused = model->paused || absent;
	return absent ? (struct expected){RX_LOST, LOSS_FAULT} : (struct expected){RX_STORE};
}

static void call_ended(struct rx_model *model, __u64 head, __u32 advanced)
{
	show_frames(model);
	RX_CHECK(model, advanced == model->head - head);
	RX_CHECK(model, model->ring.head == model->head);
	RX_CHECK(model, model->ring.head_offset == model->waiting);
}

enum rx_place rx_model_receive(struct rx_model *model, const struct rx_frame *frame)
{
	__u32 bytes = model->ring.buffer_bytes;
	__u32 count = frame->length ? (frame->length + bytes - 1) / bytes : 1;
	struct expected expected = expect(model, frame->length, count);
	struct rx_verdict verdict;
	__u64 head = model->head;

	model->counters.in++;
	model->answer_count = 0;
	rx_ring_receive(&model->ring, frame, &verdict);
	/* What is present again may be found before that is told. */
	if (is(model, "ooo") && expected.reason == LOSS_FAULT && verdict.place == RX_STORE)
		expected.place = RX_STORE;
	RX_CHECK(model, verdict.place == expected.place);
	RX_CHECK(model, verdict.place != RX_LOST || verdict.reason == expected.reason);
	RX_CHECK(model, verdict.count == count);
	if (verdict.place == RX_LOST) {
		model->counters.lost[verdict.reason]++;
	} else {
		if (verdict.place == RX_STORE)
			stored(model, &verdict, frame);
		else
			held(model, &verdict, frame->number);
		list_add(model, frame, count, verdict.place != RX_STORE);
		if (is(model, "backup")) {
			model->counters.skipped += verdict.place == RX_STORE && model->waiting;
			model->waiting += count;
		}
	}
	model->shared->backup_free -= verdict.place == RX_BACKUP;
	if (verdict.place == RX_CACHE)
		model->shared->cells_free -= rx_cells(frame->length);
	call_ended(model, head, verdict.advanced);
	return verdict.place;
}

static void check_bytes(const struct rx_model *model, const struct rx_frame *frame,
			const struct rx_listed *expected)
{
	char bytes[4096];

	RX_CHECK(model, expected && frame->number == expected->number);
	RX_CHECK(model, frame->length == expected->length);
	RX_CHECK(model, frame->arrived_ns == ~expected->number);
	rx_fill(bytes, frame->length, frame->number);
	RX_CHECK(model, !memcmp(bytes, frame->bytes, frame->length));
}

/* A frame that was given up has no place in the order. */
static void list_remove(struct rx_model *model, struct rx_listed *frame)
{
	__u64 at = model->visible_frames;

	while (listed(model, at) != frame)
		at++;
	for (; at + 1 < model->listed_frames; at++)
		*listed(model, at) = *listed(model, at + 1);
	model->listed_frames--;
}

bool rx_model_next(struct rx_model *model)
{
	struct rx_listed *first = first_held(model);
	bool room = first && model->head + first->count <= model->tail && !model->paused;
	bool leaves = room && !is_absent(model, first->count);
	__u64 head = model->head;
	struct rx_verdict verdict;
	struct rx_frame frame;

	model->answer_count = 0;
	RX_CHECK(model, rx_ring_next(&model->ring, &frame, &verdict) == leaves);
	model->paused |= room && !leaves;
	if (!leaves)
		return false;
	check_bytes(model, &frame, first);
	RX_CHECK(model, verdict.place == RX_STORE && verdict.count == first->count);
	stored(model, &verdict, &frame);
	first->held = false;
	model->counters.held--;
	model->shared->cells_free += rx_cells(frame.length);
	call_ended(model, head, verdict.advanced);
	return true;
}

bool rx_model_discard(struct rx_model *model)
{
	struct rx_listed *first = first_held(model);
	struct rx_frame frame;

	RX_CHECK(model, rx_ring_discard(&model->ring, LOSS_UNKNOWN, &frame) == !!first);
	if (!first)
		return false;
	check_bytes(model, &frame, first);
	model->paused = false;
	model->counters.held--;
	model->counters.lost[LOSS_UNKNOWN]++;
	model->shared->cells_free += rx_cells(frame.length);
	list_remove(model, first);
	return true;
}

void rx_model_take(struct rx_model *model)
{
	rx_queue_take(model->queue, model->shared->backup);
	model->shared->backup_free++;
}
bool rx_model_resolve(struct rx_model *model, __u64 number, bool written)
{
	const struct rx_held *entry = rx_queue_at(model->queue, number);
	struct rx_listed *frame = find_held(model, entry->frame.number);
	__u64 head = model->head;

	if (!rx_ring_posted(&model->ring, entry->position, entry->count)) {
		RX_CHECK(model, entry->position + entry->count > model->tail);
		return false;
	}
	RX_CHECK(model, entry->position + entry->count <= model->tail);
	RX_CHECK(model, entry->ring == model->id);
	check_bytes(model, &entry->frame, frame);
	RX_CHECK(model, frame->held && entry->count == frame->count);
	for (__u32 i = 0; i < entry->count; i++) {
		__u64 *owner = &model->owners[(entry->bit + i) % model->ring.bm_size];

		RX_CHECK(model, *owner == frame->number);
		*owner = RX_NOBODY;
		write_buffer(model, rx_ring_slot(&model->ring, entry->position + i),
			     written ? frame->number : RX_NOTHING, i);
	}
	frame->held = false;
	model->counters.held--;
	if (written) {
		model->counters.stored++;
		model->counters.stored_bytes += frame->length;
	} else {
		frame->number = RX_NOTHING;
		model->counters.lost[LOSS_FAULT]++;
	}
	call_ended(model, head,
		   rx_ring_resolve(&model->ring, entry->bit, entry->count, entry->frame.length,
				   written));
	rx_queue_finish(model->queue, number);
	return true;
}

void rx_model_retry(struct rx_model *model)
{
	model->retries++;
	model->paused = false;
	rx_ring_retry(&model->ring);
}

static void post_is_refused(struct rx_model *model, __u64 tail)
{
	RX_CHECK(model, rx_ring_post(&model->ring, tail) == -EINVAL);
	RX_CHECK(model, model->ring.tail == model->tail);
}

void rx_model_post(struct rx_model *model, __u32 count)
{
	__u64 end = model->consumed + model->ring.size;

	if (model->tail)
		post_is_refused(model, model->tail - 1 - count % model->tail);
	post_is_refused(model, model->head + model->ring.size + 1 + count);
	if (count > end - model->tail)
		count = (__u32)(end - model->tail);
	RX_CHECK(model, !rx_ring_post(&model->ring, model->tail + count));
	for (; count; count--, model->tail++) {
		__u32 slot = rx_ring_slot(&model->ring, model->tail);

		RX_CHECK(model, model->buffers[slot].state == BUFFER_FREE);
		model->buffers[slot].state = BUFFER_POSTED;
		model->buffers[slot].told = RX_NOBODY;
		model->outstanding[model->outstanding_count++ % model->ring.size] = (__u16)slot;
		if (!is(model, "ooo"))
			model->outstanding_count = 0;
	}
}

bool rx_model_consume(struct rx_model *model)
{
	struct rx_listed *frame = listed(model, model->consumed_frames);

	if (model->consumed_frames == model->visible_frames)
		return false;
	for (__u32 i = 0; i < frame->count; i++, model->consumed++) {
		struct rx_buffer *buffer =
			&model->buffers[rx_ring_slot(&model->ring, model->consumed)];

		RX_CHECK(model, model->consumed < model->ring.head);
		RX_CHECK(model, buffer->state == BUFFER_WRITTEN);
		RX_CHECK(model, buffer->number == frame->number && buffer->part == i);
		buffer->state = BUFFER_FREE;
	}
	model->consumed_frames++;
	return true;
}

void rx_model_check(const struct rx_model *model)
{
	const struct rx_ring *ring = &model->ring;
	__u64 told = ring->counters.stored + ring->counters.held;

	RX_CHECK(model, !memcmp(&ring->counters, &model->counters, sizeof(model->counters)));
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		told += ring->counters.lost[reason];
	RX_CHECK(model, told == ring->counters.in);
	if (!ring->bitmap)
		return;
	for (__u32 bit = 0; bit < ring->bm_size; bit++)
		RX_CHECK(model, (ring->bitmap[bit / 64] >> bit % 64 & 1) ==
					(model->owners[bit] != RX_NOBODY));
}
