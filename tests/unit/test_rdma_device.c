// SPDX-License-Identifier: GPL-2.0
/* Two RDMA devices and their link: what is sent arrives, is counted, and completes once. */
#include "tests/unit/rdma_machine.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define BOTH (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

/* A pair of queue pairs, and a region at each end. */
struct ends {
	struct machine *machine;
	struct rdma_guest guests[2];
	struct guest_queue queues[2];
	struct guest_pair pairs[2];
	struct guest_region regions[2];
	struct rdma_totals totals[2];
	struct machine_totals all;
};

static void ends_begin(struct ends *ends, __u32 depth, __u64 bytes, bool pinned)
{
	ends->machine = rdma_plan_start(ends->guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&ends->guests[i], &ends->queues[i], 4 * depth);
		guest_pair_create(&ends->queues[i], &ends->pairs[i], depth);
		guest_register(&ends->guests[i], &ends->regions[i], bytes, pinned, BOTH);
	}
	guest_connect(&ends->pairs[0], &ends->pairs[1]);
}

static void ends_stop(struct ends *ends)
{
	rdma_plan_stop(ends->machine, ends->totals, &ends->all);
}

static void fill(const struct guest_region *region, __u64 offset, __u64 bytes, __u64 seed)
{
	unsigned char *at = region->guest->memory + region->at + offset;

	for (__u64 i = 0; i < bytes; i++)
		at[i] = (unsigned char)((i * 2654435761u + seed * 97) >> 7);
}

static void check_filled(const struct guest_region *region, __u64 offset, __u64 bytes, __u64 seed)
{
	const unsigned char *at = region->guest->memory + region->at + offset;

	for (__u64 i = 0; i < bytes; i++)
		if (at[i] != (unsigned char)((i * 2654435761u + seed * 97) >> 7))
			fail_msg("byte %llu of %llu is wrong", i, bytes);
}

static void expect(struct guest_queue *queue, enum verbs_opcode opcode, enum verbs_status status)
{
	struct verbs_completion done;

	guest_wait(queue, &done);
	assert_int_equal(done.status, status);
	assert_int_equal(done.opcode, opcode);
}

/* Each operation once, of so many bytes: they land where they should. */
static void move(struct ends *ends, __u32 bytes, __u64 seed)
{
	struct guest_region *a = &ends->regions[0], *b = &ends->regions[1];
	struct verbs_receive receive = guest_receive(b, 0, bytes);
	struct verbs_send send = guest_send(VERBS_SEND, a, 0, bytes, NULL, 0);

	fill(a, 0, bytes, seed);
	guest_post_receive(&ends->pairs[1], &receive);
	guest_post_send(&ends->pairs[0], &send);
	expect(&ends->queues[0], VERBS_SEND, VERBS_SUCCESS);
	expect(&ends->queues[1], VERBS_RECEIVE, VERBS_SUCCESS);
	check_filled(b, 0, bytes, seed);
	fill(a, 0, bytes, seed + 1);
	send = guest_send(VERBS_WRITE, a, 0, bytes, b, 0);
	guest_post_send(&ends->pairs[0], &send);
	expect(&ends->queues[0], VERBS_WRITE, VERBS_SUCCESS);
	check_filled(b, 0, bytes, seed + 1);
	fill(b, 0, bytes, seed + 2);
	send = guest_send(VERBS_READ, a, 0, bytes, b, 0);
	guest_post_send(&ends->pairs[0], &send);
	expect(&ends->queues[0], VERBS_READ, VERBS_SUCCESS);
	check_filled(a, 0, bytes, seed + 2);
}

static const __u32 lengths[] = {1, 64, 4095, 4096, 4097, 65537, 1000003};

static void what_is_sent_arrives(void **state)
{
	const __u32 mtus[] = {1024, 4096};
	struct ends ends;

	for (int m = 0; m < 2; m++) {
		rdma_plan_begin();
		rdma_plan.settings[0]->mtu = rdma_plan.settings[1]->mtu = mtus[m];
		ends_begin(&ends, 16, 1 << 20, true);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			move(&ends, lengths[i], i);
		ends_stop(&ends);
		assert_int_equal(ends.totals[0].faults, 0);
		assert_int_equal(ends.totals[0].transport.operations[VERBS_READ], 7);
		assert_int_equal(ends.totals[1].transport.operations[VERBS_RECEIVE], 7);
		assert_int_equal(ends.totals[0].transport.resent[RDMA_RESEND_TIMEOUT], 0);
	}
}

static void what_is_absent_is_faulted_in(void **state)
{
	struct ends ends;

	for (int prefault = RDMA_PREFAULT_PAGE; prefault <= RDMA_PREFAULT_REQUEST; prefault++) {
		rdma_plan_begin();
		for (int i = 0; i < 2; i++)
			rdma_plan.settings[i]->prefault = (enum rdma_prefault)prefault;
		ends_begin(&ends, 16, 1 << 20, false);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			move(&ends, lengths[i], i);
		ends_stop(&ends);
		assert_true(ends.totals[0].faults > 0);
		assert_true(ends.totals[1].faults > 0);
		/* Nothing was taken away: each of 245 pages faulted at each end, no more than twice (read, then write). */
		assert_in_range(ends.totals[0].fault_pages, 245, 2 * 245);
		assert_in_range(ends.totals[1].fault_pages, 245, 2 * 245);
	}
}

static void a_device_may_talk_to_itself(void **state)
{
	struct guest_pair pairs[2];
	struct guest_queue queue;
	struct ends ends;
	struct verbs_receive receive;
	struct verbs_send send;

	rdma_plan_begin();
	/* What never leaves the device knows of no link. */
	for (int i = 0; i < 2; i++) {
		rdma_plan.settings[i]->link = 1000000;
		rdma_plan.settings[i]->link_delay_ns = 100 * NSEC_PER_MSEC;
		rdma_plan.settings[i]->timeout_ns = 0;
	}
	ends_begin(&ends, 16, 1 << 20, false);
	guest_queue_create(&ends.guests[0], &queue, 64);
	for (int i = 0; i < 2; i++)
		guest_pair_create(&queue, &pairs[i], 16);
	guest_connect(&pairs[0], &pairs[1]);
	fill(&ends.regions[0], 0, 400000, 1);
	receive = guest_receive(&ends.regions[0], 500000, 400000);
	guest_post_receive(&pairs[1], &receive);
	send = guest_send(VERBS_SEND, &ends.regions[0], 0, 400000, NULL, 0);
	guest_post_send(&pairs[0], &send);
	expect(&queue, VERBS_RECEIVE, VERBS_SUCCESS);
	expect(&queue, VERBS_SEND, VERBS_SUCCESS);
	check_filled(&ends.regions[0], 500000, 400000, 1);
	ends_stop(&ends);
	assert_int_equal(ends.totals[1].arrived, 0);
	assert_true(ends.totals[0].arrived > 97);
}

static bool has_event(const struct guest_queue *queue, int timeout_ms)
{
	struct pollfd poll_for = {.fd = queue->eventfd, .events = POLLIN};
	__u64 count;

	return poll(&poll_for, 1, timeout_ms) == 1 && read(queue->eventfd, &count, 8) == 8;
}

static void arm(const struct guest_queue *queue, __u64 value)
{
	struct verbs_completion_words *words = (void *)(queue->guest->memory + queue->at);

	__atomic_store_n(&words->armed, value, __ATOMIC_SEQ_CST);
}

static void a_guest_is_told_once_for_each_time_it_asks(void **state)
{
	struct verbs_send send;
	struct ends ends;

	rdma_plan_begin();
	ends_begin(&ends, 16, 1 << 20, true);
	send = guest_send(VERBS_WRITE, &ends.regions[0], 0, 64, &ends.regions[1], 0);
	guest_post_send(&ends.pairs[0], &send);
	expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	assert_false(has_event(&ends.queues[0], 0));
	/* More than two: the third tells, the fourth does not. */
	arm(&ends.queues[0], 2);
	guest_post_send(&ends.pairs[0], &send);
	expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	assert_false(has_event(&ends.queues[0], 20));
	guest_post_send(&ends.pairs[0], &send);
	assert_true(has_event(&ends.queues[0], 60000));
	expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	guest_post_send(&ends.pairs[0], &send);
	expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	assert_false(has_event(&ends.queues[0], 20));
	arm(&ends.queues[0], 4);
	guest_post_send(&ends.pairs[0], &send);
	assert_true(has_event(&ends.queues[0], 60000));
	ends_stop(&ends);
}

static void a_full_completion_queue_is_an_error(void **state)
{
	struct verbs_completion done;
	enum verbs_pair_state pair_state;
	struct verbs_send send;
	struct ends ends;
	__u32 peer;

	rdma_plan_begin();
	/* 64 entries; nobody takes any. */
	ends_begin(&ends, 16, 1 << 20, true);
	send = guest_send(VERBS_WRITE, &ends.regions[0], 0, 64, &ends.regions[1], 0);
	for (int i = 0; i < 64; i++) {
		while (ends.pairs[0].sent - ends.totals[0].transport.operations[VERBS_WRITE] >= 16)
			rdma_totals_now(ends.guests[0].device, &ends.totals[0]);
		guest_post_send(&ends.pairs[0], &send);
	}
	while (ends.totals[0].transport.operations[VERBS_WRITE] < 64)
		rdma_totals_now(ends.guests[0].device, &ends.totals[0]);
	assert_int_equal(ends.totals[0].overflows, 0);
	guest_post_send(&ends.pairs[0], &send);
	do
		assert_int_equal(rdma_pair_query(ends.guests[0].device, ends.pairs[0].number,
						 &pair_state, &peer),
				 0);
	while (pair_state != VERBS_ERROR);
	rdma_totals_now(ends.guests[0].device, &ends.totals[0]);
	assert_int_equal(ends.totals[0].overflows, 1);
	for (int i = 0; i < 64; i++)
		expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	assert_false(guest_poll(&ends.queues[0], &done));
	ends_stop(&ends);
}

/* Doorbell words that no guest of ours would write; the other queue pair of the same guest does not care. */
static void a_doorbell_of_nonsense_is_an_error(void **state)
{
	const __u64 nonsense[] = {3 + 17, 2, 0, 1ull << 40, ~0ull, 1ull << 63};
	enum verbs_pair_state pair_state;
	struct guest_pair others[2];
	struct verbs_send send;
	struct ends ends;
	__u32 peer;

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		struct verbs_pair_words *words;

		rdma_plan_begin();
		ends_begin(&ends, 16, 1 << 20, true);
		for (int n = 0; n < 2; n++)
			guest_pair_create(&ends.queues[n], &others[n], 16);
		guest_connect(&others[0], &others[1]);
		send = guest_send(VERBS_WRITE, &ends.regions[0], 0, 64, &ends.regions[1], 0);
		for (int n = 0; n < 3; n++) {
			guest_post_send(&ends.pairs[0], &send);
			expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
		}
		words = (void *)(ends.guests[0].memory + ends.pairs[0].at);
		__atomic_store_n(&words->sent, nonsense[i], __ATOMIC_RELEASE);
		do
			assert_int_equal(rdma_pair_query(ends.guests[0].device,
							 ends.pairs[0].number, &pair_state, &peer),
					 0);
		while (pair_state != VERBS_ERROR);
		guest_post_send(&others[0], &send);
		expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
		ends_stop(&ends);
		assert_int_equal(ends.totals[0].hostile, 1);
		assert_int_equal(ends.totals[0].errors, 1);
	}
}

/* What is still sent to a queue pair that has gone is for nobody, its successor least of all. */
static void a_number_is_not_used_again_at_once(void **state)
{
	struct ends ends;
	struct guest_pair next;
	struct verbs_send send;

	rdma_plan_begin();
	rdma_plan.settings[0]->timeout_ns = 100 * NSEC_PER_MSEC;
	ends_begin(&ends, 16, 1 << 20, true);
	assert_int_equal(rdma_queue_destroy(ends.guests[1].device, ends.queues[1].number), -EBUSY);
	assert_int_equal(rdma_pair_destroy(ends.guests[1].device, ends.pairs[1].number), 0);
	assert_int_equal(rdma_pair_destroy(ends.guests[1].device, ends.pairs[1].number), -ENOENT);
	guest_pair_create(&ends.queues[1], &next, 16);
	assert_int_not_equal(next.number, ends.pairs[1].number);
	assert_int_equal(next.number & 1023, ends.pairs[1].number & 1023);
	assert_int_equal(
		rdma_pair_modify(ends.guests[1].device, ends.pairs[1].number, VERBS_RTS, 0, false),
		-ENOENT);
	send = guest_send(VERBS_WRITE, &ends.regions[0], 0, 64, &ends.regions[1], 0);
	guest_post_send(&ends.pairs[0], &send);
	expect(&ends.queues[0], VERBS_WRITE, VERBS_RETRY_EXC_ERR);
	ends_stop(&ends);
	/* Sent eight times, and each time to nobody. */
	assert_int_equal(ends.totals[0].lost[RDMA_LOSS_NO_PAIR], 8);
	assert_int_equal(ends.totals[1].arrived, 0);
}

static void only_the_peer_may_send_to_a_pair(void **state)
{
	struct ends ends;
	struct guest_pair stranger;
	struct verbs_send send;

	rdma_plan_begin();
	rdma_plan.settings[0]->retries = 1;
	ends_begin(&ends, 16, 1 << 20, true);
	guest_pair_create(&ends.queues[0], &stranger, 16);
	assert_int_equal(
		rdma_pair_modify(ends.guests[0].device, stranger.number, VERBS_INIT, 0, false), 0);
	assert_int_equal(rdma_pair_modify(ends.guests[0].device, stranger.number, VERBS_RTR,
					  ends.pairs[1].number, false),
			 0);
	assert_int_equal(
		rdma_pair_modify(ends.guests[0].device, stranger.number, VERBS_RTS, 0, false), 0);
	send = guest_send(VERBS_WRITE, &ends.regions[0], 0, 64, &ends.regions[1], 0);
	guest_post_send(&stranger, &send);
	expect(&ends.queues[0], VERBS_WRITE, VERBS_RETRY_EXC_ERR);
	guest_post_send(&ends.pairs[0], &send);
	expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	ends_stop(&ends);
	assert_int_equal(ends.totals[0].lost[RDMA_LOSS_NO_PAIR], 2);
}

static void what_cannot_be_created_is_refused(void **state)
{
	struct ends ends;
	struct verbs_queue_setup queue = {.depth = 16, .eventfd = -1};
	struct verbs_pair_setup setup;
	__u32 number;

	rdma_plan_begin();
	rdma_plan.settings[0]->queue_pairs = 1;
	ends_begin(&ends, 16, 1 << 20, true);
	setup = (struct verbs_pair_setup){
		ends.pairs[0].at,      16, 16,		ends.queues[0].number,
		ends.queues[0].number, 0,  VERBS_NO_SRQ};
	assert_int_equal(rdma_pair_create(ends.guests[0].device, &setup, &number), -ENOSPC);
	setup.send_depth = 17;
	assert_int_equal(rdma_pair_create(ends.guests[0].device, &setup, &number), -EINVAL);
	setup = (struct verbs_pair_setup){ends.pairs[1].at + 64, 16, 16, 0, 0, 0, VERBS_NO_SRQ};
	assert_int_equal(rdma_pair_create(ends.guests[1].device, &setup, &number), -EINVAL);
	setup = (struct verbs_pair_setup){ends.pairs[1].at, 16, 16, 0, 77, 0, VERBS_NO_SRQ};
	assert_int_equal(rdma_pair_create(ends.guests[1].device, &setup, &number), -ENOENT);
	/* Not pinned, not even there. */
	setup = (struct verbs_pair_setup){ends.guests[1].next, 16, 16, 0, 0, 0, VERBS_NO_SRQ};
	assert_int_equal(rdma_pair_create(ends.guests[1].device, &setup, &number), -EFAULT);
	setup.iova = 1ull << 50;
	assert_int_equal(rdma_pair_create(ends.guests[1].device, &setup, &number), -EFAULT);
	queue.iova = ends.guests[1].next;
	assert_int_equal(rdma_queue_create(ends.guests[1].device, &queue, &number), -EFAULT);
	queue.iova = ends.queues[1].at;
	queue.depth = 8192;
	assert_int_equal(rdma_queue_create(ends.guests[1].device, &queue, &number), -EINVAL);
	assert_int_equal(rdma_queue_destroy(ends.guests[1].device, 77), -ENOENT);
	ends_stop(&ends);
}

/* Wherever they are: with packets under way, faults open, and answers that never come. */
/* Of the sentence's parts each says what the others do not. */
static void what_cannot_start_names_its_device_once(void **state)
{
	struct machine *machine;
	const char *first;

	rdma_plan_begin();
	rdma_plan.tenants[0].memlock = 1;
	assert_int_equal(machine_create(&machine, &rdma_plan.machine), 0);
	assert_int_equal(machine_start(machine), -ENOMEM);
	first = strstr(failure_text(), "device hca: ");
	assert_ptr_equal(first, failure_text());
	assert_null(strstr(first + 1, "device hca: "));
	machine_destroy(machine);
}

static void a_machine_stops_at_any_time(void **state)
{
	struct verbs_send send;
	struct ends ends;

	for (int round = 0; round < 41; round++) {
		rdma_plan_begin();
		rdma_plan.settings[0]->profile = round % 2;
		ends_begin(&ends, 64, 4 << 20, false);
		if (round % 3 == 0)
			assert_int_equal(
				inject_arm(machine_injections(ends.machine),
					   &(struct injection){.point = INJECT_RESPONSE_LOST,
							       .device = DEVICE_ALL,
							       .id = 1,
							       .probability = 50,
							       .interval = 1,
							       .times = -1}),
				0);
		for (int i = 0; i < 2; i++) {
			send = guest_send(VERBS_WRITE, &ends.regions[i], 0, 2 << 20,
					  &ends.regions[!i], 2 << 20);
			for (int n = 0; n < 61; n++)
				guest_post_send(&ends.pairs[i], &send);
		}
		while (round && !ends.totals[0].packets)
			rdma_totals_now(ends.guests[0].device, &ends.totals[0]);
		ends_stop(&ends);
	}
}

static void mapped_follows_what_is_touched(void **state)
{
	struct verbs_send send;
	struct ends ends;
	__u64 before;

	rdma_plan_begin();
	ends_begin(&ends, 16, 4 << 20, false);
	rdma_totals_now(ends.guests[1].device, &ends.totals[1]);
	before = ends.totals[1].mapped;
	assert_int_equal(ends.totals[1].registered, 4 << 20);
	send = guest_send(VERBS_WRITE, &ends.regions[0], 0, 65536, &ends.regions[1], 0);
	guest_post_send(&ends.pairs[0], &send);
	expect(&ends.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	rdma_totals_now(ends.guests[1].device, &ends.totals[1]);
	assert_int_equal(ends.totals[1].mapped, before + 65536);
	assert_int_equal(guest_evict(ends.machine, &ends.guests[1], ends.regions[1].at,
				     5 * PAGE_BYTES, EVICT_MAJOR),
			 5);
	rdma_totals_now(ends.guests[1].device, &ends.totals[1]);
	assert_int_equal(ends.totals[1].mapped, before + 65536 - 5 * PAGE_BYTES);
	assert_int_equal(ends.totals[1].mapped_most, before + 65536);
	ends_stop(&ends);
}

#define LOGGED 65536 /* records that the access log's ring holds */

static const struct access_ring *map_log(const struct machine *machine)
{
	const struct access_ring *ring =
		mmap(NULL, sizeof(*ring) + LOGGED * sizeof(ring->records[0]), PROT_READ, MAP_SHARED,
		     access_log_descriptor(machine->access_log), 0);

	assert_ptr_not_equal(ring, MAP_FAILED);
	assert_int_equal(ring->capacity, LOGGED);
	return ring;
}

/* What of the region a device has touched by this, byte by byte; none of it had been there before. */
static void check_log(const struct access_ring *ring, const struct guest_region *region, __u8 flags,
		      unsigned char touched[24576])
{
	const struct access_record *before = NULL;
	__u64 faulted = 0, parts = 0;

	memset(touched, 0, 24576);
	for (__u64 i = 0; i < ring->head; i++) {
		const struct access_record *record = &ring->records[i];
		__u64 offset = record->address - region->at;

		if (record->device != region->guest->index)
			continue;
		assert_int_equal(record->flags, flags);
		assert_true(offset + record->length <= 24576);
		for (__u32 byte = 0; byte < record->length; byte++)
			touched[offset + byte]++;
		faulted += !!(record->code & IO_FAULTED);
		parts += !!(record->code & IO_PART);
		before = record;
	}
	assert_true(before && !(before->code & IO_PART));
	assert_true(faulted > 0);
	/* A packet that was gathered from two pieces, once or more. */
	assert_int_equal(parts > 0, flags == EVENT_READ);
}

static bool is_marked(const struct machine *machine, const struct guest_region *region, __u64 page)
{
	return machine->tenants[region->guest->index].touched[(region->at >> PAGE_BITS) + page];
}

static void what_is_touched_is_logged_and_marked(void **state)
{
	static unsigned char touched[24576];
	const struct access_ring *ring;
	struct verbs_receive receive;
	struct verbs_send send;
	struct ends ends;

	rdma_plan_begin();
	rdma_plan.machine.memory_limit = 64 * HUGE_BYTES; /* of 32 */
	ends_begin(&ends, 16, 24576, false);
	ring = map_log(ends.machine);
	receive = guest_receive(&ends.regions[1], 16384, 8001);
	send = guest_send(VERBS_SEND, &ends.regions[0], 0, 5000, NULL, 0);
	send.piece[1] = send.piece[0];
	send.piece[1].address += 8192;
	send.piece[1].length = 3001;
	send.pieces = 2;
	guest_post_receive(&ends.pairs[1], &receive);
	guest_post_send(&ends.pairs[0], &send);
	expect(&ends.queues[0], VERBS_SEND, VERBS_SUCCESS);
	expect(&ends.queues[1], VERBS_RECEIVE, VERBS_SUCCESS);
	for (__u64 page = 0; page < 6; page++) {
		assert_int_equal(is_marked(ends.machine, &ends.regions[0], page), page < 3);
		assert_int_equal(is_marked(ends.machine, &ends.regions[1], page), page >= 4);
	}
	ends_stop(&ends);
	check_log(ring, &ends.regions[0], EVENT_READ, touched);
	/* What was dropped was read again. */
	for (int i = 0; i < 24576; i++)
		assert_int_equal(touched[i] > 0, i < 5000 || (i >= 8192 && i < 8192 + 3001));
	check_log(ring, &ends.regions[1], EVENT_WRITE, touched);
	for (int i = 0; i < 24576; i++)
		assert_int_equal(touched[i], i >= 16384 && i < 16384 + 8001);
	munmap((void *)ring, sizeof(*ring) + LOGGED * sizeof(ring->records[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_arrives),
		cmocka_unit_test(what_is_absent_is_faulted_in),
		cmocka_unit_test(a_device_may_talk_to_itself),
		cmocka_unit_test(a_guest_is_told_once_for_each_time_it_asks),
		cmocka_unit_test(a_full_completion_queue_is_an_error),
		cmocka_unit_test(a_doorbell_of_nonsense_is_an_error),
		cmocka_unit_test(a_number_is_not_used_again_at_once),
		cmocka_unit_test(only_the_peer_may_send_to_a_pair),
		cmocka_unit_test(what_cannot_be_created_is_refused),
		cmocka_unit_test(what_cannot_start_names_its_device_once),
		cmocka_unit_test(a_machine_stops_at_any_time),
		cmocka_unit_test(mapped_follows_what_is_touched),
		cmocka_unit_test(what_is_touched_is_logged_and_marked),
	};

	return cmocka_run_group_tests_name("rdma_device", tests, NULL, NULL);
}
