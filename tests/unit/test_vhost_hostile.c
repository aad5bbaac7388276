// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that wants out: whatever its rings, chains and tables say, only its own memory is reached, the device says so, and the next
 * driver is served. The memory table has the first half of the tenant's memory alone: the other half is what must not change.
 */
#include "tests/unit/vhost_rig.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/random.h"
#include "tests/unit/scratch.h"

#define SECTOR 512u
#define HALF   (RIG_MEMORY / 2)
#define BEYOND 11 /* seed of what is in the other half */
#define SIZE   16

static void hostile_open(struct vhost_rig *rig)
{
	vhost_rig_plan();
	vhost_plan.device.queues = 2;
	vhost_rig_open(rig);
	vhost_rig_fill(rig, HALF, HALF, BEYOND);
}

static void hostile_run(struct vhost_rig *rig)
{
	const struct vhost_user_memory low = {.count = 1, .region = {{0, HALF, FRONTEND_USER, 0}}};

	frontend_close(&rig->front);
	memset(&rig->front, 0, sizeof(rig->front));
	vhost_rig_run(rig, 2, SIZE);
	assert_int_equal(frontend_ask(&rig->front, VHOST_USER_SET_MEM_TABLE, &low,
				      8 + sizeof(low.region[0]), &rig->front.file, 1),
			 0);
}

static void hostile_close(struct vhost_rig *rig)
{
	assert_true(vhost_rig_holds(rig, HALF, HALF, BEYOND));
	vhost_rig_close(rig);
}

static const struct vring_desc header = {FRONTEND_OWN, 16, VRING_DESC_F_NEXT, 1};

/* A table of descriptors, of which 0 is made available. */
static void break_by(struct vhost_rig *rig, const struct vring_desc *table, __u16 count)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, 0x400000, SECTOR);
	__u64 before = vhost_rig_stats(rig).broken;

	hostile_run(rig);
	for (__u16 i = 0; i < count; i++)
		frontend_descriptor(&rig->front, 0, i, table[i]);
	frontend_publish(&rig->front, 0, 0);
	frontend_kick(&rig->front, 0);
	assert_true(frontend_broken(&rig->front, 0));
	assert_int_equal(vhost_rig_stats(rig).broken, before + 1);
	/* The other queue goes on; so does this one once it has been set up again. */
	assert_int_equal(frontend_do(&rig->front, 1, &io), VIRTIO_BLK_S_OK);
	assert_true(frontend_stop_queue(&rig->front, 0) >= 0);
	hostile_run(rig);
	assert_int_equal(frontend_do(&rig->front, 0, &io), VIRTIO_BLK_S_OK);
}

static void chains_that_make_no_sense_break_their_queue(void **state)
{
	const __u16 next = VRING_DESC_F_NEXT, write = VRING_DESC_F_WRITE,
		    indirect = VRING_DESC_F_INDIRECT;
	const struct vring_desc loop[] = {{FRONTEND_OWN, 16, next, 1}, {0x400000, 1, next, 0}};
	const struct vring_desc far[] = {{FRONTEND_OWN, 16, next, SIZE}};
	const struct vring_desc order[] = {
		header, {0x400000, 1, (__u16)(write | next), 2}, {0x400000, 1, 0, 0}};
	const struct vring_desc empty[] = {header, {0x400000, 0, write, 0}};
	const struct vring_desc wraps[] = {header, {~0ull - 3, 8, write, 0}};
	const struct vring_desc no_status[] = {header, {0x400000, SECTOR, 0, 0}};
	const struct vring_desc outside[] = {header, {FRONTEND_HIGH, 1, write, 0}};
	const struct vring_desc behind[] = {header, {HALF, 1, write, 0}};
	const struct vring_desc both[] = {{0x400000, 64, (__u16)(indirect | next), 1}};
	const struct vring_desc odd[] = {{0x400000, 17, indirect, 0}};
	const struct vring_desc none[] = {{0x400000, 0, indirect, 0}};
	const struct vring_desc long_table[] = {{0x400000, 16 * 257, indirect, 0}};
	const struct vring_desc huge_table[] = {{0x400000, 0xfffffff0, indirect, 0}};
	const struct vring_desc table_outside[] = {{FRONTEND_HIGH, 32, indirect, 0}};
	const struct vring_desc table_leaves[] = {{HALF - 16, 32, indirect, 0}};
	/* The descriptor table itself as one: an indirect one in an indirect one. */
	const struct vring_desc nested[] = {{FRONTEND_RINGS, 32, indirect, 0}};
	const struct {
		const struct vring_desc *table;
		__u16 count;
	} cases[] = {
		{loop, 2},	 {far, 1},	     {order, 3},	{empty, 2},
		{wraps, 2},	 {no_status, 2},     {outside, 2},	{behind, 2},
		{both, 1},	 {odd, 1},	     {none, 1},		{long_table, 1},
		{huge_table, 1}, {table_outside, 1}, {table_leaves, 1}, {nested, 1},
	};
	struct vhost_rig rig;

	hostile_open(&rig);
	for (size_t i = 0; i < COUNT(cases); i++)
		break_by(&rig, cases[i].table, cases[i].count);
	hostile_close(&rig);
}

static void rings_that_make_no_sense_break_their_queue(void **state)
{
	struct vhost_rig rig;

	hostile_open(&rig);
	hostile_run(&rig);
	frontend_publish(&rig.front, 0, SIZE); /* a head that is no descriptor */
	frontend_kick(&rig.front, 0);
	assert_true(frontend_broken(&rig.front, 0));
	hostile_run(&rig);
	__atomic_store_n(&rig.front.queue[0].ring.avail->idx, SIZE + 1, __ATOMIC_SEQ_CST);
	frontend_kick(&rig.front, 0);
	assert_true(frontend_broken(&rig.front, 0));
	hostile_close(&rig);
}

/* The same head twice while its request waits for pages. */
static void a_head_is_available_once(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, 0x400000, 0x1000);
	struct vhost_rig rig;
	int head;

	vhost_rig_plan();
	vhost_rig_inject(INJECT_RESOLVE, 100, 50 * MS);
	vhost_plan.device.queues = 2;
	vhost_rig_open(&rig);
	vhost_rig_fill(&rig, HALF, HALF, BEYOND);
	hostile_run(&rig);
	vhost_rig_evict(&rig, 0x400000, 0x1000);
	head = frontend_submit(&rig.front, 0, &io);
	frontend_publish(&rig.front, 0, (__u16)head);
	frontend_kick(&rig.front, 0);
	assert_true(frontend_broken(&rig.front, 0));
	hostile_close(&rig);
}

/* Where rings cannot be. */
static void rings_lie_in_memory(void **state)
{
	const struct vhost_user_vring_address bad[] = {
		{0, 0, FRONTEND_USER + HALF, FRONTEND_USER, FRONTEND_USER, 0},
		{0, 0, FRONTEND_USER, FRONTEND_USER + HALF - 2, FRONTEND_USER, 0},
		{0, 0, FRONTEND_USER, FRONTEND_USER, FRONTEND_USER + HALF - 4, 0},
		{0, 0, FRONTEND_USER + 8, FRONTEND_USER, FRONTEND_USER, 0},
		{0, 0, FRONTEND_USER, FRONTEND_USER + 1, FRONTEND_USER, 0},
		{0, 0, FRONTEND_USER, FRONTEND_USER + 2, FRONTEND_USER, 0},
		{0, 0, 0, ~0ull, ~0ull - 16, 0},
	};
	struct vhost_rig rig;

	hostile_open(&rig);
	for (size_t i = 0; i < COUNT(bad); i++) {
		__u64 before = vhost_rig_stats(&rig).broken;

		hostile_run(&rig);
		assert_int_equal(frontend_ask(&rig.front, VHOST_USER_SET_VRING_ADDR, &bad[i],
					      sizeof(bad[i]), NULL, 0),
				 0);
		assert_int_equal(vhost_rig_stats(&rig).broken, before + 1);
	}
	hostile_close(&rig);
}

/* Anything anywhere, with some sense in it, so that it gets far. */
static __u64 random_address(struct random *random)
{
	switch (random_below(random, 6)) {
	case 0:
		return random_next(random);
	case 1:
		return HALF - random_below(random, 64);
	case 2:
		return FRONTEND_HIGH + random_below(random, HALF);
	case 3: /* its own rings */
		return FRONTEND_RINGS + random_below(random, 0x3000);
	default:
		return 0x200000 + random_below(random, HALF - 0x200000);
	}
}

static void random_table(struct random *random, struct vring_desc *table, __u32 count)
{
	static const __u32 lengths[] = {1, 16, 17, 20, 32, 512, 4096, 65536, 0, 0xffffffff};

	for (__u32 i = 0; i < count; i++)
		table[i] = (struct vring_desc){
			.addr = random_address(random),
			.len = random_below(random, 9)
				       ? lengths[random_below(random, COUNT(lengths))]
				       : (__u32)random_next(random),
			.flags = (__u16)random_below(random, random_below(random, 5) ? 4 : 8),
			.next = (__u16)(random_below(random, 7) ? (i + 1) % count
								: random_below(random, 40)),
		};
}

static void random_headers(struct random *random, struct vhost_rig *rig)
{
	/* Reads and what is none: what a guest may do to its disk it may do. */
	static const __u32 types[] = {0, 4, 8, 9, 77, 0};

	for (__u32 i = 0; i < 64; i++) {
		struct virtio_blk_outhdr head = {.type = types[random_below(random, COUNT(types))],
						 .sector = random_below(random, 3)
								   ? random_below(random, 16384)
								   : random_next(random)};

		memcpy(rig->front.memory + 0x200000 + random_below(random, HALF - 0x200000 - 64),
		       &head, sizeof(head));
	}
}

static void random_rings_reach_nothing_else(void **state)
{
	struct random random = {97};
	struct vhost_rig rig;

	hostile_open(&rig);
	for (int round = 0; round < 199; round++) {
		struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, 0x400000, SECTOR);

		hostile_run(&rig);
		random_headers(&random, &rig);
		random_table(&random, rig.front.queue[0].ring.desc, SIZE);
		for (int t = 0; t < 8; t++)
			random_table(&random,
				     (void *)(rig.front.memory + 0x200000 +
					      random_below(&random, 0x5000) * 16),
				     24);
		for (int i = 0; i < SIZE; i++)
			frontend_publish(&rig.front, 0,
					 (__u16)random_below(&random, SIZE + !(round % 5)));
		frontend_kick(&rig.front, 0);
		assert_int_equal(frontend_do(&rig.front, 1, &io), VIRTIO_BLK_S_OK);
		/* While the device reads them. */
		for (int i = 0; i < 200; i++) {
			random_table(&random, rig.front.queue[0].ring.desc, SIZE);
			rig.front.queue[0].ring.avail->ring[random_below(&random, SIZE)] =
				(__u16)random_below(&random, SIZE);
		}
		assert_true(frontend_stop_queue(&rig.front, 0) >= 0);
	}
	assert_true(vhost_rig_stats(&rig).broken > 50);
	hostile_close(&rig);
}

/* What the in-flight region says is the front-end's word, too. */
static void a_random_inflight_region_does_no_harm(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, 0x400000, SECTOR);
	struct random random = {31};
	unsigned char bytes[1024];
	struct vhost_rig rig;

	hostile_open(&rig);
	for (int round = 0; round < 61; round++) {
		hostile_run(&rig);
		assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
		assert_true(frontend_stop_queue(&rig.front, 0) >= 0);
		assert_true(frontend_stop_queue(&rig.front, 1) >= 0);
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(random_below(&random, 2) ? random_next(&random)
									    : 1);
		/* Version and size as they are, half of the time. */
		assert_int_equal(
			pwrite(rig.front.inflight, bytes, sizeof(bytes), round % 2 ? 12 : 0),
			sizeof(bytes));
		(void)frontend_start_queue(&rig.front, 0, 1);
		(void)frontend_start_queue(&rig.front, 1, 1);
		frontend_kick(&rig.front, 0);
		(void)frontend_stop_queue(&rig.front, 0);
	}
	hostile_run(&rig);
	assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
	hostile_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_that_make_no_sense_break_their_queue),
		cmocka_unit_test(rings_that_make_no_sense_break_their_queue),
		cmocka_unit_test(a_head_is_available_once),
		cmocka_unit_test(rings_lie_in_memory),
		cmocka_unit_test(random_rings_reach_nothing_else),
		cmocka_unit_test(a_random_inflight_region_does_no_harm),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
