// SPDX-License-Identifier: GPL-2.0
/* The NIC as a guest's virtio-net driver sees it: what it sends comes back, into buffers whose pages leave. */
#include "tests/unit/net_rig.h"

#include "injectors/emu/machine_private.h"
#include "injectors/emu/vhost/vhost_iotlb.h"
#include "lib/base/clock.h"
#include "tests/unit/scratch.h"

static void every_frame_comes_back(void **state)
{
	for (int policy = 0; rx_policies[policy]; policy++) {
		struct frame_totals totals;
		struct net_rig rig;

		net_plan((enum rx_policy_index)policy, 2);
		net_open(&rig, NULL);
		assert_true(rig.v.front.features & FRONTEND_BIT(VIRTIO_NET_F_MQ));
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
		net_open(&rig, NULL);
		for (__u32 i = 0; i < 307; i++) {
			__u64 pages[] = {NET_RX_AT(i % 2, i * 7 % NET_SIZE),
					 NET_RX_AT(0, i * 5 % NET_SIZE), NET_TX_AT(0, i % NET_SIZE),
					 FRONTEND_RINGS + (i % 8) * 0x8000ull};

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

/* Pages of 32 buffers come by one request: of 33 frames that come one after the other two are held, the first and the last. */
static void following_buffers_are_asked_for(void **state)
{
	for (int policy = RX_POLICY_cache; policy <= RX_POLICY_backup; policy++) {
		struct frame_totals totals;
		struct net_rig rig;

		net_plan((enum rx_policy_index)policy, 1);
		net_settings()->prefault = 31;
		net_open(&rig, NULL);
		for (__u32 i = 0; i < NET_SIZE; i++) {
			vhost_rig_evict(&rig.v, NET_RX_AT(0, i) & ~(PAGE_BYTES - 1), 1);
			vhost_rig_evict(&rig.v, (NET_RX_AT(0, i) & ~(PAGE_BYTES - 1)) + PAGE_BYTES,
					1);
		}
		for (__u32 i = 0; i < 33; i++) {
			net_send(&rig, 0);
			net_settle(&rig);
		}
		totals = net_close(&rig);
		assert_int_equal(totals.delivered, 33);
		assert_int_equal(totals.held_ever, 2);
	}
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
		vhost_rig_inject(INJECT_RESOLVE, 100, 100 * NSEC_PER_MSEC);
		net_open(&rig, NULL);
		for (__u32 round = 0; round < 5; round++) {
			/* The page of the next buffer: some behind it are there. */
			__u64 next = rig.v.front.queue[0].reaped % NET_SIZE;

			vhost_rig_evict(&rig.v, NET_RX_AT(0, next) & ~(PAGE_BYTES - 1), 1);
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
	net_open(&rig, NULL);
	for (__u32 round = 0; round < 5; round++) {
		vhost_rig_evict(&rig.v, NET_RX_AT(0, 0) & ~(PAGE_BYTES - 1), 1);
		for (__u32 i = 0; i < 3; i++)
			net_send(&rig, 0);
		net_await_in(&rig, rig.sent);
		frontend_hang_up(&rig.v.front);
		net_start(&rig);
	}
	/* The newest has what comes now. */
	net_send(&rig, 0);
	while (!rig.received)
		net_receive(&rig, 0);
	assert_int_equal(rig.newest[0], 16);
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
	net_open(&rig, NULL);
	for (__u32 i = 0; i < 101; i++) {
		if (i % 3 == 0)
			vhost_rig_evict(&rig.v, NET_RX_AT(0, i % NET_SIZE) & ~(PAGE_BYTES - 1), 1);
		net_send(&rig, 0);
		assert_int_equal(frontend_set_memory(&rig.v.front), 0);
		net_receive(&rig, 0);
		net_receive(&rig, 1);
	}
	net_settle(&rig);
	net_close(&rig);
	assert_int_equal(rig.received, 101);
}

/* A driver behind its IOMMU: it takes a buffer's pages back, and lets others lie there. */
static void remap(struct net_rig *rig, __u16 id)
{
	__u64 at = NET_RX_AT(0, id) & ~(PAGE_BYTES - 1);

	for (__u64 page = at; page < at + 2 * PAGE_BYTES; page += PAGE_BYTES) {
		__u64 now = rig->iommu->page[page / PAGE_BYTES];

		frontend_iommu_map(rig->iommu, page, now == page ? page + 0x300000 : page, 3);
	}
}

static void take_and_remap(struct net_rig *rig)
{
	__u32 bytes;
	int id;

	while ((id = frontend_poll(&rig->v.front, 0, &bytes)) >= 0) {
		net_took(rig, 0, id, bytes);
		remap(rig, (__u16)id);
		net_post(rig, 0, (__u16)id);
		frontend_kick(&rig->v.front, 0);
	}
}

static void buffers_behind_an_iommu(void **state)
{
	for (int policy = RX_POLICY_drop; rx_policies[policy]; policy++) {
		struct frontend_iommu iommu;
		struct vhost_iotlb_stats stats;
		struct frame_totals totals;
		struct net_rig rig;

		net_plan((enum rx_policy_index)policy, 1);
		net_open(&rig, &iommu);
		atomic_store(&iommu.fickle, policy == RX_POLICY_backup);
		for (__u32 i = 0; i < 211; i++) {
			if (i % 5 == 0)
				vhost_rig_evict(&rig.v,
						iommu.page[NET_RX_AT(0, i % NET_SIZE) / PAGE_BYTES],
						1);
			net_send(&rig, 0);
			take_and_remap(&rig);
		}
		/* On a busy machine all may come while the first page is on its way. */
		do {
			if (net_settled(&rig))
				net_send(&rig, 0);
			take_and_remap(&rig);
		} while (!net_settled(&rig) || !rig.received);
		vhost_iotlb_stats(rig.nic->vhost, &stats);
		totals = net_close(&rig);
		print_message(
			"%-6s received %u, lost %llu for faults, %llu for buffers; %llu misses, %llu invalidations\n",
			rx_policies[policy]->name, rig.received, totals.lost[LOSS_FAULT],
			totals.lost[LOSS_NO_BUFFER], stats.misses, stats.invalidations);
		assert_int_equal(stats.refused, 0);
		/* Each buffer that came back was taken back from the device and asked for again. */
		assert_true(rig.received > 0);
		assert_true(stats.invalidations >= 2 * rig.received);
		assert_true(stats.misses > rig.received);
		if (policy == RX_POLICY_backup)
			assert_int_equal(rig.received, rig.sent);
	}
}

/* Chains that no driver makes stop their virtqueue, and no other. */
static void hostile_chains_break_their_queue(void **state)
{
	const struct {
		__u16 queue;
		struct vring_desc chain;
	} cases[] = {
		{2, {RIG_MEMORY / 4, NET_BUFFER, 0, 0}},
		{2, {RIG_MEMORY / 4, 1525, VRING_DESC_F_WRITE, 0}},
		{2, {RIG_MEMORY / 2 - 100, NET_BUFFER, VRING_DESC_F_WRITE, 0}},
		{2, {~0ull - NET_BUFFER, NET_BUFFER, VRING_DESC_F_WRITE, 0}},
		{2, {RIG_MEMORY, 0xffffffff, VRING_DESC_F_WRITE, 0}},
		{3, {RIG_MEMORY / 4, NET_BUFFER, VRING_DESC_F_WRITE, 0}},
		{3, {RIG_MEMORY / 4, NET_BUFFER, VRING_DESC_F_NEXT, 0}},
	};
	struct net_rig rig;

	net_plan(RX_POLICY_drop, 2);
	net_open(&rig, NULL);
	for (size_t i = 0; i < COUNT(cases); i++) {
		__u16 q = cases[i].queue;

		frontend_stop_queue(&rig.v.front, q);
		frontend_make_queue(&rig.v.front, q, NET_SIZE);
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
		cmocka_unit_test(following_buffers_are_asked_for),
		cmocka_unit_test(stops_and_goes_on),
		cmocka_unit_test(front_ends_come_and_go),
		cmocka_unit_test(memory_table_in_mid_flight),
		cmocka_unit_test(buffers_behind_an_iommu),
		cmocka_unit_test(hostile_chains_break_their_queue),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
