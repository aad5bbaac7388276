// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rx_world.h"

static __u64 draw(struct rx_world *world, __u64 bound)
{
	return world->draw(world->self, bound);
}

/* Small ones most often, as there everything meets its end soon. */
static __u32 draw_size(struct rx_world *world, __u32 limit)
{
	static const __u32 some[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 64, 255, 1024, 4095, 4096};
	__u32 size = some[draw(world, sizeof(some) / sizeof(some[0]))];

	if (!draw(world, 4))
		size = 1 + (__u32)draw(world, 100);
	return size < limit ? size : limit;
}

void rx_world_create(struct rx_world *world, const struct rx_policy *policy, __u32 size)
{
	static const __u32 bytes[] = {1, 16, 64, 100, 200};
	__u32 entries;

	world->ring_count = 1 + (__u32)draw(world, RX_WORLD_RINGS);
	world->buffer_bytes = bytes[draw(world, sizeof(bytes) / sizeof(bytes[0]))];
	world->frame_bytes = 5 * world->buffer_bytes;
	world->cells = draw_size(world, size);
	entries = draw_size(world, size);
	world->calm = 1u << draw(world, 6);
	world->shared = (struct rx_shared){.backup_free = entries, .cells_free = world->cells};
	world->number = world->steps = 0;
	world->bytes = malloc(world->frame_bytes + 1);
	if (!world->bytes || rx_backup_create(&world->shared.backup, entries, world->frame_bytes) ||
	    rx_cache_create(&world->shared.cache, (__u64)world->cells * RX_CACHE_CELL,
			    world->frame_bytes))
		abort();
	for (__u32 i = 0; i < world->ring_count; i++) {
		struct rx_settings settings = {
			.policy = policy,
			.id = i,
			.size = draw_size(world, size),
			.buffer_bytes = world->buffer_bytes,
			.frame_bytes = world->frame_bytes,
			.bitmap_bits = draw_size(world, size),
		};

		rx_model_create(&world->rings[i], &settings, &world->shared);
		rx_model_post(&world->rings[i], (__u32)draw(world, 2 * settings.size));
	}
}

void rx_world_destroy(struct rx_world *world)
{
	for (__u32 i = 0; i < world->ring_count; i++)
		rx_model_destroy(&world->rings[i]);
	rx_backup_destroy(world->shared.backup);
	rx_cache_destroy(world->shared.cache);
	free(world->bytes);
}

static void receive(struct rx_world *world, struct rx_model *model)
{
	__u32 count = draw(world, 2) ? 1 : 1 + (__u32)draw(world, 5);
	struct rx_frame frame = {
		.length = count * world->buffer_bytes - (__u32)draw(world, world->buffer_bytes),
		/* In every byte, so that none is taken for another's. */
		.number = ++world->number * 0x9e3779b97f4a7c15ull,
	};

	if (!draw(world, 512))
		frame.length = draw(world, 2) ? 0 : world->frame_bytes + 1;
	frame.arrived_ns = ~frame.number;
	frame.bytes = world->bytes + world->frame_bytes + 1 - frame.length;
	rx_fill((char *)frame.bytes, frame.length, frame.number);
	rx_model_receive(model, &frame);
}

static void lose(struct rx_world *world, struct rx_model *model)
{
	enum loss_reason reason = draw(world, 2) ? LOSS_WIRE : LOSS_BEFORE_NIC;

	rx_ring_lose(&model->ring, reason);
	model->counters.in++;
	model->counters.lost[reason]++;
}

static void set_absent(struct rx_world *world, struct rx_model *model, __u32 count, bool absent)
{
	__u32 slot = (__u32)draw(world, model->ring.size);

	for (__u32 i = 0; i < count && i < model->ring.size; i++)
		model->buffers[(slot + i) % model->ring.size].absent = absent;
}

/* Pages come: of what a frame was kept from most often, as somebody has asked for them. */
static void pages_come(struct rx_world *world, struct rx_model *model)
{
	if (model->ring.absent != RX_NO_SLOT && draw(world, 4))
		model->buffers[model->ring.absent].absent = false;
	set_absent(world, model, draw(world, 16) ? 2 : model->ring.size, false);
	if (draw(world, 8))
		rx_model_retry(model);
}

static void take_all(struct rx_world *world, __u64 count)
{
	const struct rx_held *first;

	while (count-- && (first = rx_backup_first(world->shared.backup)))
		rx_model_take(&world->rings[first->ring]);
}

static void resolve(struct rx_world *world, struct rx_model *model)
{
	__u64 first = rx_queue_head(model->queue), count = rx_queue_tail(model->queue) - first;
	__u64 number = first + (count ? draw(world, count < 4 || draw(world, 2) ? count : 4) : 0);

	if (count && !rx_queue_at(model->queue, number)->finished)
		rx_model_resolve(model, number, draw(world, 64));
}

static void guest_takes(struct rx_model *model, __u64 count)
{
	while (count-- && rx_model_consume(model))
		;
}

static void hold_together(struct rx_world *world)
{
	const struct rx_shared *shared = &world->shared;

	if (rx_cache_used(shared->cache) !=
		    (__u64)(world->cells - shared->cells_free) * RX_CACHE_CELL ||
	    rx_backup_has_room(shared->backup) != !!shared->backup_free)
		abort();
	/* Looking at all bits of a large bitmap takes longer than a step. */
	for (__u32 i = 0; i < world->ring_count; i++)
		if (world->rings[i].ring.bm_size <= 64 || world->steps % 1024 == 0)
			rx_model_check(&world->rings[i]);
}

void rx_world_step(struct rx_world *world)
{
	struct rx_model *model = &world->rings[draw(world, world->ring_count)];
	__u64 what = draw(world, 128);

	if (what < 56)
		receive(world, model);
	else if (what < 70)
		guest_takes(model, 1 + draw(world, 8));
	else if (what < 84)
		rx_model_post(
			model,
			(__u32)draw(world, 1 + (model->ring.size < 8 ? 8 : model->ring.size)));
	else if (what < 94)
		set_absent(world, model, draw(world, world->calm) ? 0 : 1 + (__u32)draw(world, 3),
			   true);
	else if (what < 104)
		pages_come(world, model);
	else if (what < 112)
		while (rx_model_next(model) && draw(world, 8))
			;
	else if (what < 118)
		take_all(world, 1 + draw(world, 4));
	else if (what < 125)
		resolve(world, model);
	else if (what == 125)
		lose(world, model);
	else if (what == 126)
		rx_model_retry(model);
	else if (!draw(world, 4))
		rx_model_discard(model);
	else if (!draw(world, 4 * world->calm))
		set_absent(world, model, model->ring.size, true);
	world->steps++;
	hold_together(world);
}

/* True while something moves. */
static bool drain(struct rx_world *world, struct rx_model *model)
{
	__u64 tail = model->tail;
	bool moved = false;

	set_absent(world, model, model->ring.size, false);
	rx_model_retry(model);
	take_all(world, ~0ull);
	for (__u64 at = rx_queue_head(model->queue); at < rx_queue_tail(model->queue); at++)
		if (!rx_queue_at(model->queue, at)->finished)
			moved |= rx_model_resolve(model, at, true);
	while (rx_model_next(model))
		moved = true;
	while (rx_model_consume(model))
		moved = true;
	rx_model_post(model, model->ring.size);
	return moved || model->tail != tail;
}

void rx_world_finish(struct rx_world *world)
{
	bool moved;

	do {
		moved = false;
		for (__u32 i = 0; i < world->ring_count; i++)
			moved |= drain(world, &world->rings[i]);
	} while (moved);
	for (__u32 i = 0; i < world->ring_count; i++) {
		struct rx_model *model = &world->rings[i];

		rx_model_check(model);
		RX_CHECK(model, !model->ring.counters.held && !model->ring.head_offset);
		RX_CHECK(model, model->consumed_frames == model->listed_frames);
		RX_CHECK(model, model->consumed == model->ring.head);
	}
	if (rx_cache_used(world->shared.cache) || rx_backup_used(world->shared.backup))
		abort();
}
