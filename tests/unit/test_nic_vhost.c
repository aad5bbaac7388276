// SPDX-License-Identifier: GPL-2.0
/* The NIC as a guest's virtio-net driver sees it: what it sends comes back, into buffers whose pages leave. */
#include "tests/unit/vhost_rig.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"
#include "tests/unit/scratch.h"

#define SIZE	     64 /* of a virtqueue */
#define HEADER	     sizeof(struct virtio_net_hdr_v1)
#define BUFFER	     (HEADER + 1514) /* as Linux posts them, but for a VLAN's tag */
#define RX_STRIDE    1600	     /* some lie in two pages */
#define RX_AT(q, id) (RIG_DATA + (q)*0x40000ull + (id)*RX_STRIDE)
#define TX_AT(q, id) (RIG_DATA + 0x200000ull + (q)*0x40000ull + (id)*2048ull)
#define FRAME_LEAST  (ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr) + 4)

struct net_rig {
	struct vhost_rig v;
	struct nic *nic;
	__u32 sent, received; /* frames */
	__u32 empty;	      /* buffers that came back with nothing in them */
	__u32 newest[2];      /* number of the frame that a ring received last, + 1 */
};

static struct nic_settings *net_settings(void)
{
	return (struct nic_settings *)vhost_plan.device.settings.bytes;
}

static void net_plan(enum rx_policy_index policy, __u16 pairs)
{
	struct vhost_settings vhost;

	vhost_rig_plan();
	vhost = vhost_plan.block->vhost;
	vhost_plan.device.class = &nic_class;
	vhost_plan.device.queues = pairs;
	*net_settings() = (struct nic_settings){
		.vhost = vhost,
		.rx_policy = policy,
		.rx_buffer = 2048,
		.mtu = 1500,
		.wire = NIC_WIRE_LOOP,
		.interrupt_frames = 1,
		.fault_limit = 4,
		.cache_bytes = 256 * 1024,
		.backup_entries = 1024,
		.bitmap_entries = 1024,
	};
	net_settings()->vhost.on_fault = VHOST_PAUSE;
}

static void net_post(struct net_rig *rig, __u16 pair, __u16 id)
{
	struct frontend *front = &rig->v.front;

	front->queue[2 * pair].busy[id] = true;
	frontend_descriptor(front, 2 * pair, id,
			    (struct vring_desc){frontend_physical(front, RX_AT(pair, id)), BUFFER,
						VRING_DESC_F_WRITE, 0});
	frontend_publish(front, 2 * pair, id);
}

static void net_start(struct net_rig *rig)
{
	__u16 pairs = vhost_plan.device.queues;

	vhost_rig_connect(&rig->v);
	frontend_negotiate(&rig->v.front, ~0ull);
	assert_int_equal(frontend_get(&rig->v.front, VHOST_USER_GET_QUEUE_NUM), pairs);
	for (__u16 q = 0; q < 2 * pairs; q++) {
		frontend_make_queue(&rig->v.front, q, SIZE);
		for (__u16 id = 0; id < SIZE && !(q & 1); id++)
			net_post(rig, q / 2, id);
		assert_int_equal(frontend_start_queue(&rig->v.front, q, 0), 0);
	}
}

static void net_open(struct net_rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	vhost_rig_open(&rig->v);
	rig->nic = rig->v.machine->devices[0].model;
	net_start(rig);
}

static struct frame_totals net_close(struct net_rig *rig)
{
	struct frame_totals totals;
	struct machine_totals machine;
	__u64 lost = 0;

	machine_stop(rig->v.machine);
	totals = *machine_frames(rig->v.machine, 0);
	machine_totals(rig->v.machine, &machine);
	machine_destroy(rig->v.machine);
	frontend_close(&rig->v.front);
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += totals.lost[reason];
	assert_int_equal(totals.in, totals.delivered + lost + totals.held);
	assert_int_equal(machine.violations, 0);
	return totals;
}

static __u32 frame_length(__u32 number)
{
	return (__u32)FRAME_LEAST + number * 677 % (1514 - (__u32)FRAME_LEAST + 1);
}

/* A datagram of one of 13 flows, that says its number. */
static void frame_fill(unsigned char *frame, __u32 number)
{
	__u32 length = frame_length(number);
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.protocol = IPPROTO_UDP,
		.tot_len = htons((__u16)(length - ETH_HLEN)),
		.saddr = htonl(0x0a4d0001),
		.daddr = htonl(0x0a4d0002),
	};
	struct udphdr udp = {.source = htons((__u16)(4000 + number % 13)), .dest = htons(9)};

	memset(frame, (int)number, length);
	frame[12] = ETH_P_IP >> 8;
	frame[13] = ETH_P_IP & 255;
	memcpy(frame + ETH_HLEN, &ip, sizeof(ip));
	memcpy(frame + ETH_HLEN + sizeof(ip), &udp, sizeof(udp));
	memcpy(frame + FRAME_LEAST - 4, &number, 4);
}

static unsigned char *memory_at(struct net_rig *rig, __u64 guest_address)
{
	return guest_memory_cpu(rig->v.memory, guest_address);
}

/* And waits until the device has sent it. */
static void net_send(struct net_rig *rig, __u16 pair)
{
	__u16 id = (__u16)(rig->sent % SIZE), q = 2 * pair + 1;
	unsigned char *at = memory_at(rig, TX_AT(pair, id));
	struct frontend *front = &rig->v.front;

	memset(at, 0, HEADER);
	frame_fill(at + HEADER, rig->sent);
	front->queue[q].busy[id] = true;
	frontend_descriptor(front, q, id,
			    (struct vring_desc){frontend_physical(front, TX_AT(pair, id)),
						(__u32)HEADER + frame_length(rig->sent), 0, 0});
	frontend_publish(front, q, id);
	frontend_kick(front, q);
	assert_int_equal(frontend_reap(front, q, NULL), id);
	rig->sent++;
}

/* What a buffer holds is a frame that was sent, whole, and of each ring in the order of sending. */
static void frame_check(struct net_rig *rig, __u16 pair, __u16 id, __u32 bytes)
{
	const unsigned char *at = memory_at(rig, RX_AT(pair, id));
	const struct virtio_net_hdr_v1 header = {.num_buffers = 1};
	unsigned char expected[1514];
	__u32 number;

	assert_memory_equal(at, &header, HEADER);
	memcpy(&number, at + HEADER + FRAME_LEAST - 4, 4);
	assert_true(number < rig->sent);
	assert_true(number >= rig->newest[pair]);
	rig->newest[pair] = number + 1;
	assert_int_equal(bytes, HEADER + frame_length(number));
	frame_fill(expected, number);
	assert_memory_equal(at + HEADER, expected, frame_length(number));
}

static void net_took(struct net_rig *rig, __u16 pair, int id, __u32 bytes)
{
	assert_true(id >= 0);
	if (bytes) {
		frame_check(rig, pair, (__u16)id, bytes);
		rig->received++;
	} else {
		rig->empty++;
	}
}

/* All that has been received by now; its buffers are posted again. */
static void net_receive(struct net_rig *rig, __u16 pair)
{
	__u32 bytes;
	int id;

	while ((id = frontend_poll(&rig->v.front, 2 * pair, &bytes)) >= 0) {
		net_took(rig, pair, id, bytes);
		net_post(rig, pair, (__u16)id);
		frontend_kick(&rig->v.front, 2 * pair);
	}
}

static __u64 net_lost(struct nic_stats *stats)
{
	__u64 lost = stats->missed;

	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += stats->rx.lost[reason];
	return lost;
}

/* Until every frame has been received or lost. */
static void net_settle(struct net_rig *rig)
{
	struct nic_stats stats = {0};

	do {
		for (__u16 pair = 0; pair < vhost_plan.device.queues; pair++)
			net_receive(rig, pair);
		nic_stats(rig->nic, &stats);
	} while (stats.in + stats.missed < rig->sent ||
		 rig->received + net_lost(&stats) < rig->sent);
}

static void every_frame_comes_back(void **state)
{
	for (int policy = 0; rx_policies[policy]; policy++) {
		struct frame_totals totals;
		struct net_rig rig;

		net_plan((enum rx_policy_index)policy, 2);
		net_open(&rig);
		for (__u32 i = 0; i < 211; i++) {
			net_send(&rig, i % 3 == 0);
			net_receive(&rig, 0);
			net_receive(&rig, 1);
		}
		net_settle(&rig);
		/* Both rings had some of the flows. */
		assert_true(rig.newest[0] && rig.newest[1]);
		totals = net_close(&rig);
		assert_int_equal(rig.received + totals.lost[LOSS_NO_BUFFER], 211);
		assert_int_equal(totals.delivered, rig.received);
		assert_int_equal(totals.sent, 211);
		assert_int_equal(totals.sent_lost, 0);
	}
}

/* Pages of buffers and rings leave all the time. */
static void frames_under_evictions(void **state)
{
	for (int policy = RX_POLICY_drop; rx_policies[policy]; policy++) {
		struct frame_totals totals;
		struct machine_totals machine;
		struct net_rig rig;

		net_plan((enum rx_policy_index)policy, 2);
		vhost_rig_inject(INJECT_RESOLVE, 100, NSEC_PER_MSEC);
		net_open(&rig);
		for (__u32 i = 0; i < 307; i++) {
			__u64 pages[] = {RX_AT(i % 2, i * 7 % SIZE), RX_AT(0, i * 5 % SIZE),
					 TX_AT(0, i % SIZE), FRONTEND_RINGS + (i % 8) * 0x8000ull};

			for (size_t k = 0; k < COUNT(pages); k++)
				if (i % (k + 1) == 0)
					vhost_rig_evict(&rig.v, pages[k] & ~(PAGE_BYTES - 1), 1);
			net_send(&rig, 0);
			net_receive(&rig, 0);
			net_receive(&rig, 1);
		}
		net_settle(&rig);
		machine_stop(rig.v.machine);
		machine_totals(rig.v.machine, &machine);
		totals = net_close(&rig);
		print_message(
			"%-6s received %u, lost %llu for faults, %llu for buffers, held %llu, %llu requests\n",
			rx_policies[policy]->name, rig.received, totals.lost[LOSS_FAULT],
			totals.lost[LOSS_NO_BUFFER], totals.held_ever, machine.faults);
		assert_true(machine.faults > 100);
		if (policy == RX_POLICY_drop)
			assert_true(totals.lost[LOSS_FAULT] > 0);
		if (policy == RX_POLICY_backup || policy == RX_POLICY_cache) {
			assert_true(totals.held_ever > 0);
			assert_int_equal(totals.lost[LOSS_FAULT], 0);
		}
		if (policy == RX_POLICY_backup)
			assert_int_equal(rig.received, 307);
	}
}

/* Until so many frames of the loop have come in. */
static void net_await_in(struct net_rig *rig, __u64 frames)
{
	struct nic_stats stats;

	do
		nic_stats(rig->nic, &stats);
	while (stats.in + stats.missed < frames);
}

/* What is not received yet as a driver stops is lost, no chain is lost or given back twice, and it goes on where it was. */
static void stops_and_goes_on(void **state)
{
	for (int policy = RX_POLICY_drop; rx_policies[policy]; policy++) {
		struct frame_totals totals;
		struct net_rig rig;
		__u32 bytes;
		int base, id;

		net_plan((enum rx_policy_index)policy, 1);
		vhost_rig_inject(INJECT_RESOLVE, 100, 20 * NSEC_PER_MSEC);
		net_open(&rig);
		for (__u32 round = 0; round < 5; round++) {
			/* The page of the next buffer: some behind it are there. */
			__u64 next = rig.v.front.queue[0].reaped % SIZE;

			vhost_rig_evict(&rig.v, RX_AT(0, next) & ~(PAGE_BYTES - 1), 1);
			for (__u32 i = 0; i < 7; i++)
				net_send(&rig, 0);
			net_await_in(&rig, rig.sent);
			base = frontend_stop_queue(&rig.v.front, 0);
			while ((id = frontend_poll(&rig.v.front, 0, &bytes)) >= 0) {
				net_took(&rig, 0, id, bytes);
				net_post(&rig, 0, (__u16)id);
			}
			assert_int_equal(base, rig.v.front.queue[0].reaped);
			assert_int_equal(frontend_start_queue(&rig.v.front, 0, (__u16)base), 0);
			net_send(&rig, 0);
			net_await_in(&rig, rig.sent);
		}
		net_settle(&rig);
		totals = net_close(&rig);
		print_message("%-6s received %u of %u, %u empty buffers\n",
			      rx_policies[policy]->name, rig.received, rig.sent, rig.empty);
		assert_int_equal(totals.in, 40);
		if (policy == RX_POLICY_ooo)
			assert_true(rig.empty > 0);
	}
}

/* A front-end that hangs up in mid-flight, and the next one with new rings. */
static void front_ends_come_and_go(void **state)
{
	struct frame_totals totals;
	struct net_rig rig;

	net_plan(RX_POLICY_backup, 1);
	vhost_rig_inject(INJECT_RESOLVE, 100, 20 * NSEC_PER_MSEC);
	net_open(&rig);
	for (__u32 round = 0; round < 5; round++) {
		vhost_rig_evict(&rig.v, RX_AT(0, 0) & ~(PAGE_BYTES - 1), 1);
		for (__u32 i = 0; i < 3; i++)
			net_send(&rig, 0);
		net_await_in(&rig, rig.sent);
		if (round == 3)
			net_settle(&rig);
		frontend_hang_up(&rig.v.front);
		net_start(&rig);
	}
	net_send(&rig, 0);
	net_await_in(&rig, rig.sent);
	net_settle(&rig);
	totals = net_close(&rig);
	assert_int_equal(totals.in, 16);
	assert_true(totals.lost[LOSS_NO_BUFFER] > 0);
}

/* The memory table comes again between frames: none is lost, whatever waits. */
static void memory_table_in_mid_flight(void **state)
{
	struct net_rig rig;

	net_plan(RX_POLICY_backup, 2);
	vhost_rig_inject(INJECT_RESOLVE, 100, NSEC_PER_MSEC);
	net_open(&rig);
	for (__u32 i = 0; i < 101; i++) {
		if (i % 3 == 0)
			vhost_rig_evict(&rig.v, RX_AT(0, i % SIZE) & ~(PAGE_BYTES - 1), 1);
		net_send(&rig, 0);
		assert_int_equal(frontend_set_memory(&rig.v.front), 0);
		net_receive(&rig, 0);
		net_receive(&rig, 1);
	}
	net_settle(&rig);
	net_close(&rig);
	assert_int_equal(rig.received, 101);
}

/* Chains that no driver makes stop their virtqueue, and no other. */
static void hostile_chains_break_their_queue(void **state)
{
	const struct {
		__u16 queue;
		struct vring_desc chain;
	} cases[] = {
		{2, {RIG_MEMORY / 4, BUFFER, 0, 0}},
		{2, {RIG_MEMORY / 4, 1525, VRING_DESC_F_WRITE, 0}},
		{2, {RIG_MEMORY / 2 - 100, BUFFER, VRING_DESC_F_WRITE, 0}},
		{2, {~0ull - BUFFER, BUFFER, VRING_DESC_F_WRITE, 0}},
		{2, {RIG_MEMORY, 0xffffffff, VRING_DESC_F_WRITE, 0}},
		{3, {RIG_MEMORY / 4, BUFFER, VRING_DESC_F_WRITE, 0}},
		{3, {RIG_MEMORY / 4, BUFFER, VRING_DESC_F_NEXT, 0}},
	};
	struct net_rig rig;

	net_plan(RX_POLICY_drop, 2);
	net_open(&rig);
	for (size_t i = 0; i < COUNT(cases); i++) {
		__u16 q = cases[i].queue;

		frontend_stop_queue(&rig.v.front, q);
		frontend_make_queue(&rig.v.front, q, SIZE);
		frontend_descriptor(&rig.v.front, q, 0, cases[i].chain);
		assert_int_equal(frontend_start_queue(&rig.v.front, q, 0), 0);
		frontend_publish(&rig.v.front, q, 0);
		frontend_kick(&rig.v.front, q);
		assert_true(frontend_broken(&rig.v.front, q));
		net_send(&rig, 0);
		net_receive(&rig, 0);
	}
	/* Shorter than a frame can be, longer than it may: nothing is sent. */
	for (__u32 bytes = 1; bytes < 4000; bytes += 1999) {
		frontend_descriptor(&rig.v.front, 1, 63,
				    (struct vring_desc){RIG_MEMORY / 4, bytes});
		rig.v.front.queue[1].busy[63] = true;
		frontend_publish(&rig.v.front, 1, 63);
		frontend_kick(&rig.v.front, 1);
		assert_int_equal(frontend_reap(&rig.v.front, 1, NULL), 63);
	}
	net_settle(&rig);
	assert_int_equal(net_close(&rig).sent, COUNT(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_comes_back),
		cmocka_unit_test(frames_under_evictions),
		cmocka_unit_test(stops_and_goes_on),
		cmocka_unit_test(front_ends_come_and_go),
		cmocka_unit_test(memory_table_in_mid_flight),
		cmocka_unit_test(hostile_chains_break_their_queue),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
