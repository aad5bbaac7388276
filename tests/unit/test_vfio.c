// SPDX-License-Identifier: GPL-2.0
/* The account of VFIO containers: one by one, in sums, and from damaged recordings. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/histogram.h"
#include "lib/analyze/vfio.h"

#define CONTAINER 3
#define CARD	  4

static struct event event(__u16 kind, __u64 length, __u64 value, __u8 code)
{
	return (struct event){.time_ns = 5000000000ull,
			      .device = CONTAINER,
			      .kind = kind,
			      .queue = QUEUE_NONE,
			      .length = length,
			      .value = value,
			      .code = code};
}

static void push(struct vfio *vfio, struct event e)
{
	struct stream stream = vfio_stream(vfio);

	assert_int_equal(stream.ops->events(stream.self, &e, 1), 0);
}

static void push_sum(struct vfio *vfio, const struct aggregate_row *row, __u32 bucket)
{
	struct stream stream = vfio_stream(vfio);
	struct aggregate_bin bin = {bucket, (__u32)row->counts.count};
	struct aggregate_frame frame = {
		.window = 5, .row_count = 1, .rows = row, .bin_count = 1, .bins = &bin};

	assert_int_equal(stream.ops->aggregate(stream.self, &frame), 0);
}

static void test_one_by_one(void **state)
{
	struct vfio *vfio;
	const struct vfio_container *c;
	struct event run;

	assert_int_equal(vfio_create(&vfio, false, NULL), 0);
	assert_null(vfio_container(vfio, CONTAINER));
	assert_int_equal(vfio_containers(vfio), 0);
	push(vfio, event(EVENT_VFIO_MAP, 8192, 1000, 0));
	push(vfio, event(EVENT_VFIO_MAP, 4096, 3000, 0));
	push(vfio, event(EVENT_VFIO_UNMAP, 8192, 500, 0));
	run = event(EVENT_VFIO_PIN, 12288, 100, 0);
	run.queue = 1;
	push(vfio, run);
	push(vfio, event(EVENT_VFIO_UNPIN, 8192, 0, 0));
	run = event(EVENT_VFIO_UNMAP, 4096, 400, 0);
	run.flags = EVENT_PRIV;
	push(vfio, run);
	c = vfio_container(vfio, CONTAINER);
	assert_int_equal(vfio_containers(vfio), 1);
	assert_int_equal(c->maps, 2);
	assert_int_equal(c->mapped, 12288);
	assert_int_equal(c->most_maps, 2);
	assert_int_equal(c->unmaps, 1);
	assert_int_equal(c->closed, 1);
	assert_int_equal(c->unmapped, 12288);
	assert_int_equal(c->pinned - c->unpinned, 4096);
	assert_int_equal(c->runs[1], 1);
	assert_int_equal(c->run_bytes[1], 12288);
	assert_int_equal(c->latency[VFIO_MAP_NS].count, 2);
	assert_int_equal(c->latency[VFIO_MAP_NS].max, 3000);
	assert_int_equal(c->latency[VFIO_UNMAP_NS].count,
			 1); /* what the kernel took back took nobody's time */
	vfio_destroy(vfio);
}

static void test_sums_are_the_same(void **state)
{
	struct aggregate_row row = {
		.key = {.device = CONTAINER, .kind = EVENT_VFIO_MAP, .queue = QUEUE_NONE},
		.counts = {.count = 7, .bytes = 7 * 4096, .latency_max_ns = 1234},
		.bins = 1,
	};
	const struct vfio_container *c;
	struct vfio *vfio;

	assert_int_equal(vfio_create(&vfio, false, NULL), 0);
	push_sum(vfio, &row, histogram_bucket(1200));
	row.counts.latency_max_ns = 1230;
	push_sum(vfio, &row, histogram_bucket(1229));
	c = vfio_container(vfio, CONTAINER);
	assert_int_equal(c->maps, 14);
	assert_int_equal(c->mapped, 14 * 4096);
	assert_int_equal(c->most_maps, 14);
	assert_int_equal(c->latency[VFIO_MAP_NS].count, 14);
	assert_int_equal(c->latency[VFIO_MAP_NS].max, 1234); /* exact, whatever the buckets */
	row.key.kind = EVENT_VFIO_PIN;
	row.key.queue = 9;
	push_sum(vfio, &row, histogram_bucket(100));
	assert_int_equal(c->runs[9], 7);
	row.key.kind = EVENT_VFIO_IRQ;
	row.key.device = CARD;
	push_sum(vfio, &row, 0);
	assert_int_equal(vfio_device(vfio, CARD)->interrupts, 7);
	vfio_destroy(vfio);
}

static void test_failures(void **state)
{
	const struct vfio_container *c;
	struct vfio *vfio;

	assert_int_equal(vfio_create(&vfio, false, NULL), 0);
	push(vfio, event(EVENT_VFIO_MAP, 4096, 10, ENOMEM));
	push(vfio, event(EVENT_VFIO_MAP, 4096, 10, ENOMEM));
	push(vfio, event(EVENT_VFIO_PIN, 0, 10, ENOMEM));
	push(vfio, event(EVENT_VFIO_UNMAP, 0, 10, ENOENT));
	c = vfio_container(vfio, CONTAINER);
	assert_int_equal(c->maps, 0);
	assert_int_equal(c->mapped, 0);
	assert_int_equal(c->failed, 3); /* requests: a failed pin is why one of them failed */
	assert_int_equal(c->failure_count, 3);
	assert_int_equal(c->failures[0].count, 2);
	/* More kinds of failure than there is room for: none is forgotten, none is out of bounds. */
	for (unsigned int i = 1; i <= 200; i++)
		push(vfio, event(EVENT_VFIO_MAP, 0, 0, (__u8)i));
	assert_int_equal(c->failure_count, VFIO_FAILURES);
	assert_int_equal(c->failed, 203);
	vfio_destroy(vfio);
}

static void test_limits(void **state)
{
	const struct vfio_container *c;
	struct vfio *vfio;
	struct event e;

	assert_int_equal(vfio_create(&vfio, false, NULL), 0);
	push(vfio, event(EVENT_VFIO_LIMIT, 65536, 61440, LIMIT_MEMLOCK));
	push(vfio, event(EVENT_VFIO_LIMIT, 65536, 4096, LIMIT_MEMLOCK));
	e = event(EVENT_VFIO_LIMIT, 23, 22, LIMIT_DMA_ENTRIES);
	e.flags = EVENT_PRIV;
	push(vfio, e);
	push(vfio, event(EVENT_VFIO_LIMIT, 1, 1, 77)); /* of a later version: no such limit here */
	c = vfio_container(vfio, CONTAINER);
	assert_int_equal(c->limits[LIMIT_MEMLOCK].peak, 61440);
	assert_int_equal(c->limits[LIMIT_MEMLOCK].used, 4096);
	assert_false(c->limits[LIMIT_MEMLOCK].exempt);
	assert_int_equal(c->limits[LIMIT_DMA_ENTRIES].limit, 23);
	assert_true(c->limits[LIMIT_DMA_ENTRIES].exempt);
	vfio_destroy(vfio);
}

static void test_devices(void **state)
{
	const struct vfio_device_use *use;
	struct vfio *vfio;
	struct event e;

	assert_int_equal(vfio_create(&vfio, false, NULL), 0);
	e = event(EVENT_VFIO_RESET, 0, 1000, 0);
	e.device = CARD;
	push(vfio, e);
	e.value = 3000;
	push(vfio, e);
	e.code = EINVAL;
	push(vfio, e);
	e = event(EVENT_VFIO_VECTOR, 0, 5, 2);
	e.device = CARD;
	push(vfio, e);
	e.length = EBUSY;
	push(vfio, e);
	use = vfio_device(vfio, CARD);
	assert_int_equal(use->resets, 2);
	assert_int_equal(use->reset_max_ns, 3000);
	assert_int_equal(use->reset_failed, 1);
	assert_int_equal(use->vectors, 5);
	assert_int_equal(use->vectors_failed, 1);
	assert_int_equal(vfio_containers(vfio), 0); /* a card is no container */
	vfio_destroy(vfio);
}

static void test_any_numbers_are_survived(void **state)
{
	struct aggregate_row row = {
		.key = {.device = UINT32_MAX, .kind = EVENT_VFIO_PIN, .queue = 60000},
		.counts = {.count = UINT64_MAX},
		.histogram = UINT32_MAX,
		.bins = UINT32_MAX,
	};
	struct vfio *vfio;
	struct event e = event(EVENT_VFIO_PIN, UINT64_MAX, UINT64_MAX, 0);

	assert_int_equal(vfio_create(&vfio, false, NULL), 0);
	push_sum(vfio, &row, 0);
	row.key.device = CONTAINER;
	push_sum(vfio, &row, 0);
	e.queue = VFIO_ORDERS;
	push(vfio, e);
	e.device = UINT32_MAX;
	for (e.kind = EVENT_VFIO_MAP; e.kind <= EVENT_VFIO_IRQ; e.kind++)
		push(vfio, e);
	assert_null(vfio_container(vfio, UINT32_MAX));
	assert_int_equal(vfio_container(vfio, CONTAINER)->runs[VFIO_ORDERS - 1], 0);
	vfio_destroy(vfio);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_by_one), cmocka_unit_test(test_sums_are_the_same),
		cmocka_unit_test(test_failures),   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_devices),	   cmocka_unit_test(test_any_numbers_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
