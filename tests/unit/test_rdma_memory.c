// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA to and from memory that comes and goes: 200,003 operations (in full a million) whose every byte is looked at, while
 * pages are taken away; regions that go while they are used.
 */
#include "tests/unit/rdma_machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/pins.h"
#include "injectors/emu/thread.h"
#include "lib/base/random.h"
#include "tests/unit/amount.h"

#define BOTH (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

#define OPERATIONS amount(1000003, 200003)
#define STREAMS \
	6 /* queue pairs that begin something: two of each guest to the other, one of each to itself */
#define DEPTH	32 /* of each under way at once */
#define LONGEST 8192
#define GUARD	8
#define SLOT	(LONGEST + 2 * GUARD + 1000) /* so that they begin anywhere in a page */
#define NOISE	(LONGEST + 4093)

static unsigned char noise[NOISE];

struct operation {
	enum verbs_opcode opcode;
	__u32 length, seed;
};

struct rdma_stream {
	struct guest_pair *from, *to;
	struct guest_region *near, *far;
	__u64 base; /* of its slots in either region */
	__u64 begun, done;
	struct operation operations[DEPTH];
};

struct world {
	struct machine *machine;
	struct rdma_guest guests[2];
	struct guest_queue queues[2], answers[2]; /* of those who begin, and of the others */
	struct guest_pair from[STREAMS], to[STREAMS];
	struct guest_region regions[2];
	struct rdma_stream streams[STREAMS];
	struct random random;
	__u64 begun, done, received, receives;
};

static __u64 below(struct world *world, __u64 limit)
{
	return random_below(&world->random, limit);
}

static unsigned char *slot_at(const struct rdma_stream *stream, const struct guest_region *region,
			      __u64 slot)
{
	return region->guest->memory + region->at + stream->base + slot * SLOT;
}

static __u64 offset_of(const struct rdma_stream *stream, __u64 slot)
{
	return stream->base + slot * SLOT + GUARD;
}

/* Where an operation's bytes come from and go to: its number's slot in the one half and in the other. */
static const struct guest_region *source_of(const struct rdma_stream *stream,
					    enum verbs_opcode opcode)
{
	return opcode == VERBS_READ ? stream->far : stream->near;
}

static const struct guest_region *target_of(const struct rdma_stream *stream,
					    enum verbs_opcode opcode)
{
	return opcode == VERBS_READ ? stream->near : stream->far;
}

static const unsigned char *bytes_of(const struct operation *operation)
{
	return noise + operation->seed % 4093;
}

static void prepare(const struct rdma_stream *stream, const struct operation *operation, __u64 slot)
{
	unsigned char *to = slot_at(stream, target_of(stream, operation->opcode), DEPTH + slot);

	memcpy(slot_at(stream, source_of(stream, operation->opcode), slot) + GUARD,
	       bytes_of(operation), operation->length);
	memset(to, 0xa5, GUARD);
	memset(to + GUARD, ~bytes_of(operation)[0], operation->length);
	memset(to + GUARD + operation->length, 0xa5, GUARD);
}

static void begin(struct world *world, struct rdma_stream *stream)
{
	__u64 slot = stream->begun % DEPTH;
	struct operation *operation = &stream->operations[slot];
	struct verbs_receive receive;
	struct verbs_send send;

	*operation = (struct operation){
		.opcode = (enum verbs_opcode)below(world, 3),
		.length = 1 + (__u32)below(world, below(world, 8) ? 256 : LONGEST),
		.seed = (__u32)below(world, 1u << 31),
	};
	prepare(stream, operation, slot);
	if (operation->opcode == VERBS_SEND) {
		receive = guest_receive(stream->far, offset_of(stream, DEPTH + slot),
					operation->length);
		guest_post_receive(stream->to, &receive);
		send = guest_send(VERBS_SEND, stream->near, offset_of(stream, slot),
				  operation->length, NULL, 0);
		world->receives++;
	} else if (operation->opcode == VERBS_WRITE) {
		send = guest_send(VERBS_WRITE, stream->near, offset_of(stream, slot),
				  operation->length, stream->far, offset_of(stream, DEPTH + slot));
	} else {
		send = guest_send(VERBS_READ, stream->near, offset_of(stream, DEPTH + slot),
				  operation->length, stream->far, offset_of(stream, slot));
	}
	send.id = stream->begun++;
	guest_post_send(stream->from, &send);
	world->begun++;
}

static void verify(struct world *world, struct rdma_stream *stream,
		   const struct verbs_completion *completion)
{
	__u64 slot = stream->done % DEPTH;
	const struct operation *operation = &stream->operations[slot];
	const unsigned char *to =
		slot_at(stream, target_of(stream, operation->opcode), DEPTH + slot);
	static const unsigned char guard[GUARD] = {0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5};

	assert_int_equal(completion->status, VERBS_SUCCESS);
	assert_int_equal(completion->id, stream->done);
	assert_int_equal(completion->opcode, operation->opcode);
	if (memcmp(to, guard, GUARD) != 0 ||
	    memcmp(to + GUARD, bytes_of(operation), operation->length) != 0 ||
	    memcmp(to + GUARD + operation->length, guard, GUARD) != 0)
		fail_msg("operation %llu: %u bytes are not what was sent", stream->done,
			 operation->length);
	stream->done++;
	world->done++;
}

static void collect(struct world *world)
{
	struct verbs_completion completion;

	for (int i = 0; i < 2; i++) {
		while (guest_poll(&world->queues[i], &completion)) {
			for (int s = 0; s < STREAMS; s++)
				if (world->from[s].guest == &world->guests[i] &&
				    world->from[s].number == completion.queue_pair)
					verify(world, &world->streams[s], &completion);
		}
		while (guest_poll(&world->answers[i], &completion)) {
			assert_int_equal(completion.status, VERBS_SUCCESS);
			assert_int_equal(completion.opcode, VERBS_RECEIVE);
			world->received++;
		}
	}
}

static void build_streams(struct world *world)
{
	for (int s = 0; s < STREAMS; s++) {
		int from = s % 2, to = s < 4 ? !from : from;

		guest_pair_create(&world->queues[from], &world->from[s], DEPTH);
		guest_pair_create(&world->answers[to], &world->to[s], DEPTH);
		guest_connect(&world->from[s], &world->to[s]);
		world->streams[s] = (struct rdma_stream){
			.from = &world->from[s],
			.to = &world->to[s],
			.near = &world->regions[from],
			.far = &world->regions[to],
			.base = (__u64)s * 2 * DEPTH * SLOT,
		};
	}
}

struct evictor {
	struct world *world;
	struct random random;
	atomic_bool stop;
	__u64 evicted;
};

static void *take_away(void *argument)
{
	struct evictor *evictor = argument;

	while (!atomic_load(&evictor->stop)) {
		struct guest_region *region =
			&evictor->world->regions[random_below(&evictor->random, 2)];
		__u64 page = random_below(&evictor->random, region->bytes / PAGE_BYTES);

		evictor->evicted += (__u64)guest_evict(
			evictor->world->machine, region->guest, region->at + page * PAGE_BYTES,
			PAGE_BYTES, random_below(&evictor->random, 2) ? EVICT_MINOR : EVICT_MAJOR);
		sleep_until(monotonic_ns() + 50 * NSEC_PER_USEC);
	}
	return NULL;
}

static void build(struct world *world, bool evicted)
{
	__u64 bytes = (STREAMS * 2ull * DEPTH * SLOT + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

	memset(world, 0, sizeof(*world));
	world->random.state = 13;
	for (int i = 0; i < NOISE; i++)
		noise[i] = (unsigned char)below(world, 256);
	world->machine = rdma_plan_start(world->guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&world->guests[i], &world->queues[i], 256);
		guest_queue_create(&world->guests[i], &world->answers[i], 256);
		guest_register(&world->guests[i], &world->regions[i], bytes, !evicted, BOTH);
	}
	build_streams(world);
}

static void run(struct world *world, __u64 operations)
{
	while (world->done < operations) {
		for (int s = 0; s < STREAMS; s++)
			while (world->streams[s].begun - world->streams[s].done < DEPTH &&
			       world->begun < operations)
				begin(world, &world->streams[s]);
		collect(world);
		sched_yield();
	}
	while (world->received < world->receives)
		collect(world);
}

static void check_operations(const struct world *world, const struct rdma_totals totals[2])
{
	__u64 all = 0;

	for (int i = 0; i < 2; i++)
		for (int opcode = 0; opcode < VERBS_RECEIVE; opcode++)
			all += totals[i].transport.operations[opcode];
	assert_int_equal(all, world->done);
	assert_int_equal(totals[0].transport.operations[VERBS_RECEIVE] +
				 totals[1].transport.operations[VERBS_RECEIVE],
			 world->receives);
}

static void a_million_operations_while_pages_go(void **state)
{
	static struct world world;
	struct evictor evictor = {.world = &world};
	struct rdma_totals totals[2];
	struct machine_totals all;
	pthread_t thread;

	rdma_plan_begin();
	build(&world, true);
	evictor.random.state = 5;
	assert_int_equal(pthread_create(&thread, NULL, take_away, &evictor), 0);
	run(&world, OPERATIONS);
	atomic_store(&evictor.stop, true);
	pthread_join(thread, NULL);
	rdma_plan_stop(world.machine, totals, &all);
	check_operations(&world, totals);
	assert_true(evictor.evicted > 1000);
	assert_true(totals[0].faults > 100);
	assert_true(totals[1].faults > 100);
	assert_true(totals[0].transport.rnr_sent > 0);
}

/* The same with a wire that loses, repeats and delays. */
static void operations_over_a_bad_wire(void **state)
{
	static const enum inject_point points[] = {INJECT_PACKET_LOSS, INJECT_PACKET_DUPLICATE,
						   INJECT_NACK_LOST};
	static struct world world;
	struct evictor evictor = {.world = &world};
	struct rdma_totals totals[2];
	struct machine_totals all;
	pthread_t thread;

	rdma_plan_begin();
	/* Seven in a row end a connection: no busy machine keeps a device waiting for as long. */
	for (int i = 0; i < 2; i++)
		rdma_plan.settings[i]->timeout_ns = 60 * NSEC_PER_MSEC;
	build(&world, true);
	for (__u32 i = 0; i < 3; i++)
		assert_int_equal(inject_arm(machine_injections(world.machine),
					    &(struct injection){.point = points[i],
								.device = DEVICE_ALL,
								.id = i + 1,
								.probability = i == 2 ? 20 : 1,
								.interval = 1,
								.times = -1,
								.seed = 7 + i}),
				 0);
	evictor.random.state = 5;
	assert_int_equal(pthread_create(&thread, NULL, take_away, &evictor), 0);
	run(&world, 20011);
	atomic_store(&evictor.stop, true);
	pthread_join(thread, NULL);
	rdma_plan_stop(world.machine, totals, &all);
	check_operations(&world, totals);
	assert_true(totals[0].lost[RDMA_LOSS_INJECTED] > 0);
	assert_true(totals[0].duplicated > 0);
	assert_true(totals[0].transport.resent[RDMA_RESEND_TIMEOUT] > 0);
}

/* It is deregistered while others write to it and read from it: from then on nobody does, and its key opens nothing. */
static void what_is_deregistered_is_not_touched(void **state)
{
	struct guest_queue queues[2];
	struct guest_pair pairs[2];
	struct rdma_guest guests[2];
	struct guest_region source, target;
	struct rdma_totals totals[2];
	struct machine_totals all;
	struct verbs_completion done;
	struct machine *machine;
	__u64 successes = 0, refused = 0;

	rdma_plan_begin();
	machine = rdma_plan_start(guests);
	for (int i = 0; i < 2; i++)
		guest_queue_create(&guests[i], &queues[i], 256);
	guest_register(&guests[0], &source, 65536, false, BOTH);
	memset(guests[0].memory + source.at, 0x11, source.bytes);
	for (int round = 0; round < 307; round++) {
		struct verbs_send send;
		__u64 next = guests[1].next;

		for (int i = 0; i < 2; i++)
			guest_pair_create(&queues[i], &pairs[i], 64);
		guest_connect(&pairs[0], &pairs[1]);
		guest_register(&guests[1], &target, 65536, round % 2, BOTH);
		send = guest_send(VERBS_WRITE, &source, 0, 65536, &target, 0);
		for (int i = 0; i < 64; i++)
			guest_post_send(&pairs[0], &send);
		for (int i = 0; i < round % 5; i++)
			guest_wait(&queues[0], &done);
		guest_deregister(&target);
		memset(guests[1].memory + target.at, 0x77, target.bytes);
		for (int i = round % 5; i < 64; i++) {
			guest_wait(&queues[0], &done);
			successes += done.status == VERBS_SUCCESS;
			refused += done.status == VERBS_REM_ACCESS_ERR;
			assert_true(done.status == VERBS_SUCCESS ||
				    done.status == VERBS_REM_ACCESS_ERR ||
				    done.status == VERBS_WR_FLUSH_ERR);
		}
		for (__u64 i = 0; i < target.bytes; i++)
			if (guests[1].memory[target.at + i] != 0x77)
				fail_msg(
					"round %d: byte %llu was written after its region had gone",
					round, i);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(rdma_pair_destroy(guests[i].device, pairs[i].number), 0);
			assert_int_equal(machine_unpin(machine, (__u32)i, pairs[i].at,
						       verbs_pair_bytes(64, 64)),
					 0);
			memset(guests[i].memory + pairs[i].at, 0, 64);
		}
		/* The next round's may be where this one's was. */
		guests[1].next = next;
		guests[0].next = pairs[0].at;
	}
	rdma_plan_stop(machine, totals, &all);
	/* Rounds were cut short, each by one refusal; how many, is the scheduler's. */
	assert_in_range(refused, 1, 307);
}

/* Every key that there ever was, on a region that is there again at the same place. */
static void no_former_key_works(void **state)
{
	__u32 former[503];
	struct rdma_guest guests[2];
	struct guest_queue queues[2];
	struct guest_region source, target;
	struct rdma_totals totals[2];
	struct machine_totals all;
	struct machine *machine;

	rdma_plan_begin();
	machine = rdma_plan_start(guests);
	for (int i = 0; i < 2; i++)
		guest_queue_create(&guests[i], &queues[i], 256);
	guest_register(&guests[0], &source, PAGE_BYTES, true, BOTH);
	for (int i = 0; i < 503; i++) {
		__u64 next = guests[1].next;

		guest_register(&guests[1], &target, PAGE_BYTES, false, BOTH);
		former[i] = target.key;
		guest_deregister(&target);
		guests[1].next = next;
	}
	guest_register(&guests[1], &target, PAGE_BYTES, true, BOTH);
	memset(guests[1].memory + target.at, 0x77, PAGE_BYTES);
	for (int i = 0; i < 503; i += 7) {
		enum verbs_opcode opcode = i % 2 ? VERBS_WRITE : VERBS_READ;
		struct verbs_completion done;
		struct guest_pair pairs[2];
		struct verbs_send send;

		for (int n = 0; n < 2; n++)
			guest_pair_create(&queues[n], &pairs[n], 2);
		guest_connect(&pairs[0], &pairs[1]);
		send = guest_send(opcode, &source, 0, 64, &target, 0);
		send.remote_key = former[i];
		guest_post_send(&pairs[0], &send);
		guest_wait(&queues[0], &done);
		assert_int_equal(done.status, VERBS_REM_ACCESS_ERR);
		for (int n = 0; n < 2; n++)
			assert_int_equal(rdma_pair_destroy(guests[n].device, pairs[n].number), 0);
	}
	for (__u64 i = 0; i < PAGE_BYTES; i++)
		assert_int_equal(guests[1].memory[target.at + i], 0x77);
	rdma_plan_stop(machine, totals, &all);
	assert_int_equal(totals[1].transport.useful_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_operations_while_pages_go),
		cmocka_unit_test(operations_over_a_bad_wire),
		cmocka_unit_test(what_is_deregistered_is_not_touched),
		cmocka_unit_test(no_former_key_works),
	};

	return cmocka_run_group_tests_name("rdma_memory", tests, NULL, NULL);
}
