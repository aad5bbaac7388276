// SPDX-License-Identifier: GPL-2.0
/* What a host does for guests at an RDMA device: queues and doorbell lines in its own memory, posts that it forwards. */
#include "tests/unit/rdma_both.h"

#include <errno.h>
#include <string.h>

#include "injectors/emu/hyv/hyv_layout.h"
#include "lib/base/clock.h"

/* Queues and doorbells in memory that is not the guest's. */
static struct {
	_Alignas(4096) unsigned char pair[2][16384], queue[2][4096];
	_Alignas(4096) struct verbs_pair_words doorbells[2][VERBS_QUEUE_PAIRS_MAX];
} host;
static atomic_uint notified[2];

static void notify(void *argument, __u32 number)
{
	atomic_fetch_add((atomic_uint *)argument, 1 + (number != 1));
}

static void host_end(int i, __u32 *queue, __u32 *pair)
{
	const struct verbs_queue_setup own_queue = {
		.depth = 64,
		.host = host.queue[i],
		.notify = notify,
		.argument = &notified[i],
		.eventfd = -1,
	};
	struct verbs_pair_setup own = {
		.send_depth = 16,
		.receive_depth = 16,
		.host = host.pair[i],
		.doorbells = host.doorbells[i],
		.shared = VERBS_NO_SRQ,
	};

	assert_int_equal(rdma_queue_create(both.guests[i].device, &own_queue, queue), 0);
	own.send_queue = own.receive_queue = *queue;
	memset(host.doorbells[i], 0xee, sizeof(host.doorbells[i]));
	assert_int_equal(rdma_pair_create(both.guests[i].device, &own, pair), 0);
}

static void wait_turn(int i, __u64 turn)
{
	const struct verbs_completion *entry =
		(const struct verbs_completion *)(host.queue[i] + 64) + turn - 1;
	__u64 deadline = monotonic_ns() + 60 * NSEC_PER_SEC;

	while (__atomic_load_n(&entry->turn, __ATOMIC_ACQUIRE) != turn)
		assert_true(monotonic_ns() < deadline);
	assert_int_equal(entry->status, VERBS_SUCCESS);
}

static void host_connect(const __u32 numbers[2])
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			rdma_pair_modify(both.guests[i].device, numbers[i], VERBS_INIT, 0, false),
			0);
		assert_int_equal(rdma_pair_modify(both.guests[i].device, numbers[i], VERBS_RTR,
						  numbers[!i], false),
				 0);
		assert_int_equal(
			rdma_pair_modify(both.guests[i].device, numbers[i], VERBS_RTS, 0, false),
			0);
	}
}

static void host_post(int i, __u32 number, __u64 count, const struct verbs_send *send)
{
	struct verbs_send *sends = (struct verbs_send *)(host.pair[i] + 64);

	sends[(count - 1) % 16] = *send;
	__atomic_store_n(&host.doorbells[i][number % VERBS_QUEUE_PAIRS_MAX].sent, count,
			 __ATOMIC_RELEASE);
}

static void queues_may_be_the_hosts(void **state)
{
	__u32 numbers[2], host_queues[2];
	struct verbs_send send;

	rdma_plan_begin();
	both_begin();
	memset(&host, 0, sizeof(host));
	for (int i = 0; i < 2; i++) {
		atomic_store(&notified[i], 0);
		host_end(i, &host_queues[i], &numbers[i]);
		assert_int_equal(host_queues[i], 1);
		/* Its line is zero, and no other was touched. */
		assert_int_equal(host.doorbells[i][numbers[i] % VERBS_QUEUE_PAIRS_MAX].sent, 0);
		assert_int_equal(host.doorbells[i][numbers[i] % VERBS_QUEUE_PAIRS_MAX + 1].sent,
				 0xeeeeeeeeeeeeeeee);
	}
	host_connect(numbers);
	/* Words in front of its entries are not read. */
	memset(host.pair[0], 0xff, 64);
	for (__u64 i = 1; i <= 20; i++) {
		both_fill(both.guests[0].memory + both.regions[0].at, 64, i);
		send = guest_send(VERBS_WRITE, &both.regions[0], 0, 64, &both.regions[1], 64 * i);
		host_post(0, numbers[0], i, &send);
		wait_turn(0, i);
		for (__u64 b = 0; b < 64; b++)
			assert_int_equal(both.guests[1].memory[both.regions[1].at + 64 * i + b],
					 both_byte(b, i));
	}
	/* It is armed from the start for the first entry, and told of once. */
	assert_int_equal(atomic_load(&notified[0]), 1);
	assert_int_equal(atomic_load(&notified[1]), 0);
	both_end();
}

static void forwarded_posts_are_looked_at_when_told(void **state)
{
	struct verbs_receive receive;
	struct verbs_send send;
	struct verbs_completion done;

	rdma_plan_begin();
	for (int i = 0; i < 2; i++) {
		rdma_plan.settings[i]->forward_posts = true;
		rdma_plan.settings[i]->mode = RDMA_MODE_HYBRID;
	}
	both_begin();
	assert_int_equal(rdma_pair_posted(both.guests[0].device, 77), -ENOENT);
	send = guest_send(VERBS_SEND, &both.regions[0], 0, 64, NULL, 0);
	for (int round = 0; round < 40; round++) {
		receive = guest_receive(&both.regions[1], 0, 64);
		guest_post_receive(&both.pairs[1], &receive);
		guest_post_send(&both.pairs[0], &send);
		/* Several rounds of the engine, each of which would see it. */
		for (int i = 0; i < 5; i++)
			rdma_totals_now(both.guests[0].device, &both.totals[0]);
		assert_false(guest_poll(&both.queues[0], &done));
		assert_int_equal(both.totals[0].packets, round);
		assert_int_equal(rdma_pair_posted(both.guests[1].device, both.pairs[1].number), 0);
		assert_int_equal(rdma_pair_posted(both.guests[0].device, both.pairs[0].number), 0);
		both_expect(&both.queues[0], VERBS_SEND, VERBS_SUCCESS);
		both_expect(&both.queues[1], VERBS_RECEIVE, VERBS_SUCCESS);
	}
	both_end();
	assert_int_equal(both.totals[1].transport.rnr_sent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_may_be_the_hosts),
		cmocka_unit_test(forwarded_posts_are_looked_at_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
