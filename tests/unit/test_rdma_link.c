// SPDX-License-Identifier: GPL-2.0
/* The link of two RDMA devices: order, time, loss; what was sent arrived or is known to be lost. */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "injectors/emu/rdma/rdma_link.h"
#include "lib/base/clock.h"

static struct rdma_settings settings;
static struct inject_table *injections;
static struct rdma_link_end *ends[2];
static struct rdma_totals totals[2];

static void open_ends(__u64 rate, __u64 delay_ns)
{
	settings = (struct rdma_settings){.link = rate, .link_delay_ns = delay_ns, .mtu = 1024};
	assert_int_equal(inject_table_create(&injections), 0);
	for (__u32 i = 0; i < 2; i++) {
		const struct rdma_link_config config = {
			.machine = (void *)&settings,
			.device = 5 + i,
			.peer = 6 - i,
			.settings = &settings,
			.injections = injections,
			.totals = &totals[i],
		};

		totals[i] = (struct rdma_totals){0};
		assert_int_equal(rdma_link_open(&ends[i], &config), 0);
	}
}

static void close_ends(void)
{
	for (int i = 0; i < 2; i++) {
		rdma_link_totals(ends[i], &totals[i]);
		rdma_link_close(ends[i]);
	}
	inject_table_destroy(injections);
}

static void arm(enum inject_point point, __u32 probability)
{
	const struct injection injection = {
		.point = point,
		.device = 5,
		.id = 1 + point,
		.probability = probability,
		.interval = 1,
		.times = -1,
		.seed = 3,
	};

	assert_int_equal(inject_arm(injections, &injection), 0);
}

static bool give(int from, bool loopback, __u32 psn, __u32 bytes, __u64 now)
{
	struct rdma_packet *packet = rdma_link_room(ends[from], loopback, now);

	if (!packet)
		return false;
	*packet = (struct rdma_packet){
		.psn = psn, .kind = psn % 3 ? RDMA_SEND : RDMA_NAK, .bytes = bytes};
	for (__u32 i = 0; i < bytes; i++)
		packet->payload[i] = (unsigned char)(psn + i);
	rdma_link_send(ends[from], loopback, now);
	return true;
}

static void what_is_sent_arrives_in_order_after_its_time(void **state)
{
	const struct rdma_packet *packet;
	/* 1 bit a ns: a byte takes 8. 26 bytes of headers, 4 more for a NAK. */
	const __u64 first = 1000 + (26 + 4 + 74) * 8, second = first + (26 + 100) * 8;
	bool lost;

	open_ends(1000000000, 5000);
	assert_true(give(0, false, 0, 74, 1000));
	assert_true(give(0, false, 1, 100, 1000));
	assert_null(rdma_link_arrived(ends[1], false, first + 4999, &lost));
	assert_int_equal(rdma_link_next_ns(ends[1], 1000), first + 5000);
	packet = rdma_link_arrived(ends[1], false, first + 5000, &lost);
	assert_non_null(packet);
	assert_false(lost);
	assert_int_equal(packet->psn, 0);
	assert_int_equal(packet->payload[73], 73);
	rdma_link_take(ends[1], false, true);
	assert_null(rdma_link_arrived(ends[1], false, second + 4999, &lost));
	packet = rdma_link_arrived(ends[1], false, second + 5000, &lost);
	assert_non_null(packet);
	assert_int_equal(packet->psn, 1);
	rdma_link_take(ends[1], false, true);
	assert_null(rdma_link_arrived(ends[1], false, ~0ull, &lost));
	assert_null(rdma_link_arrived(ends[0], false, ~0ull, &lost));
	close_ends();
	assert_int_equal(totals[0].wire_bytes, 26 + 4 + 74 + 26 + 100);
	assert_int_equal(totals[0].packets, 2);
	assert_int_equal(totals[1].arrived, 2);
}

static void no_more_is_taken_than_the_wire_can_send_soon(void **state)
{
	__u32 sent = 0;

	open_ends(1000000000, 0);
	while (give(0, false, 1, 1024, 0))
		sent++;
	/* 8400 ns each: those that begin within the first 20 us, and not one more. */
	assert_int_equal(sent, 3);
	assert_int_equal(rdma_link_next_ns(ends[0], 0), 3 * 8400 - RDMA_LINK_AHEAD_NS);
	assert_false(give(0, false, 1, 1024, 3 * 8400 - RDMA_LINK_AHEAD_NS - 1));
	assert_true(give(0, false, 1, 1024, 3 * 8400 - RDMA_LINK_AHEAD_NS));
	/* The other direction, and what never leaves the device, are apart. */
	assert_true(give(1, false, 1, 1024, 0));
	assert_true(give(0, true, 1, 1024, 0));
	close_ends();
	/* Nobody has taken them. */
	assert_int_equal(totals[0].lost[RDMA_LOSS_STOPPED], 5);
	assert_int_equal(totals[1].lost[RDMA_LOSS_STOPPED], 1);
}

static void a_slow_wire_has_packets_to_send_while_nobody_wakes_up(void **state)
{
	__u32 sent = 0;

	open_ends(100000000, 0);
	while (give(0, false, 1, 1024, 0))
		sent++;
	/* 84 us each: one, and those that begin within two more. */
	assert_int_equal(sent, 1 + RDMA_LINK_AHEAD_PACKETS);
	assert_int_equal(rdma_link_next_ns(ends[0], 0), 84000);
	assert_false(give(0, false, 1, 1024, 83999));
	assert_true(give(0, false, 1, 1024, 84000));
	close_ends();
}

static void a_full_ring_takes_nothing(void **state)
{
	__u32 sent = 0;
	bool lost;

	open_ends(0, 0);
	while (give(0, false, sent, 0, 0))
		sent++;
	assert_in_range(sent, 256, 4096);
	assert_non_null(rdma_link_arrived(ends[1], false, 0, &lost));
	rdma_link_take(ends[1], false, false);
	assert_true(give(0, false, sent, 0, 0));
	assert_false(give(0, false, sent, 0, 0));
	close_ends();
	assert_int_equal(totals[0].packets, sent + 1);
	assert_int_equal(totals[0].lost[RDMA_LOSS_NO_PAIR], 1);
	assert_int_equal(totals[0].lost[RDMA_LOSS_STOPPED], sent);
	assert_int_equal(totals[1].lost[RDMA_LOSS_STOPPED], 0);
}

static void what_is_injected_is_counted_by_reason(void **state)
{
	__u64 seen = 0, lost_seen = 0, nacks = 0, twice = 0;
	__u32 last = ~0u;

	open_ends(0, 0);
	arm(INJECT_PACKET_LOSS, 7);
	arm(INJECT_NACK_LOST, 11);
	arm(INJECT_PACKET_DUPLICATE, 5);
	for (__u32 i = 0; i < 100003; i++) {
		const struct rdma_packet *packet;
		bool lost;

		assert_true(give(0, false, i, 8, i));
		/* The other direction is another device's, to whom nothing is done. */
		assert_true(give(1, false, i, 8, i));
		while ((packet = rdma_link_arrived(ends[1], false, i, &lost))) {
			assert_int_equal(packet->psn, i);
			assert_int_equal(packet->payload[7], (unsigned char)(i + 7));
			nacks += lost && packet->kind == RDMA_NAK;
			lost_seen += lost;
			seen += !lost;
			twice += last == i;
			last = i;
			rdma_link_take(ends[1], false, true);
		}
		assert_non_null(rdma_link_arrived(ends[0], false, i, &lost));
		assert_false(lost);
		rdma_link_take(ends[0], false, true);
	}
	close_ends();
	assert_int_equal(totals[0].packets + totals[0].duplicated,
			 totals[1].arrived + totals[0].lost[RDMA_LOSS_INJECTED] +
				 totals[0].lost[RDMA_LOSS_NACK]);
	assert_int_equal(totals[1].arrived, seen);
	assert_int_equal(totals[0].duplicated, twice);
	assert_int_equal(lost_seen,
			 totals[0].lost[RDMA_LOSS_INJECTED] + totals[0].lost[RDMA_LOSS_NACK]);
	/* A third are NAKs: about 3667 of them lost as such, and 7% of all the others beside. */
	assert_in_range(totals[0].lost[RDMA_LOSS_NACK], 3000, 4400);
	assert_in_range(totals[0].lost[RDMA_LOSS_INJECTED], 6000, 7600);
	assert_in_range(totals[0].duplicated, 4000, 5200);
	assert_true(nacks >= totals[0].lost[RDMA_LOSS_NACK]);
	assert_int_equal(totals[1].lost[RDMA_LOSS_INJECTED], 0);
}

#define MANY 1000003

static void *give_many(void *argument)
{
	for (__u32 i = 0; i < MANY;)
		if (give(0, false, i, i % 97, 0))
			i++;
		else
			sched_yield();
	return NULL;
}

static void two_threads_lose_nothing(void **state)
{
	pthread_t thread;

	open_ends(0, 0);
	assert_int_equal(pthread_create(&thread, NULL, give_many, NULL), 0);
	for (__u32 i = 0; i < MANY;) {
		bool lost;
		const struct rdma_packet *packet = rdma_link_arrived(ends[1], false, 0, &lost);

		if (!packet) {
			sched_yield();
			continue;
		}
		if (packet->psn != i || packet->bytes != i % 97 ||
		    (packet->bytes &&
		     packet->payload[packet->bytes - 1] != (unsigned char)(i + packet->bytes - 1)))
			fail_msg("packet %u came as number %u", packet->psn, i);
		rdma_link_take(ends[1], false, true);
		i++;
	}
	pthread_join(thread, NULL);
	close_ends();
	assert_int_equal(totals[1].arrived, MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_arrives_in_order_after_its_time),
		cmocka_unit_test(no_more_is_taken_than_the_wire_can_send_soon),
		cmocka_unit_test(a_slow_wire_has_packets_to_send_while_nobody_wakes_up),
		cmocka_unit_test(a_full_ring_takes_nothing),
		cmocka_unit_test(what_is_injected_is_counted_by_reason),
		cmocka_unit_test(two_threads_lose_nothing),
	};

	return cmocka_run_group_tests_name("rdma_link", tests, NULL, NULL);
}
