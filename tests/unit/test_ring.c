// SPDX-License-Identifier: GPL-2.0
/* The ring reader against rings laid out by hand as the kernel does (kernel/bpf/ringbuf.c). */
#include "tests/unit/test.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/capture/ring.h"

#define RECORD (BPF_RINGBUF_HDR_SZ + sizeof(struct event))
#define BYTES  4096ul

static struct ring ring;
static unsigned long consumer, producer;
static unsigned char *data;
static __u64 taken[128];
static size_t taken_count;

static int map_twice(void **state)
{
	int fd = memfd_create("ring", 0);

	if (fd < 0 || ftruncate(fd, BYTES))
		return -1;
	data = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mmap(data, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != data ||
	    mmap(data + BYTES, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
		    data + BYTES)
		return -1;
	close(fd);
	consumer = producer = 0;
	taken_count = 0;
	ring = (struct ring){
		.consumer = &consumer, .producer = &producer, .data = data, .bytes = BYTES};
	return 0;
}

static int unmap(void **state)
{
	return munmap(data, 2 * BYTES);
}

static __u32 *produce(__u64 value, __u32 flags)
{
	unsigned char *record = data + (producer & (BYTES - 1));
	struct event event = {.value = value};
	__u32 header = sizeof(event) | flags;

	assert_true(producer - consumer + RECORD <= BYTES);
	memcpy(record, &header, sizeof(header));
	memcpy(record + BPF_RINGBUF_HDR_SZ, &event, sizeof(event));
	producer += RECORD;
	return (__u32 *)record;
}

static __u64 refused; /* this value is not taken, 0: every one is */

static int take(void *self, const struct event *event)
{
	(void)self;
	if (refused && event->value == refused)
		return -ENOMEM;
	taken[taken_count++ % 128] = event->value;
	return 0;
}

static long drain(bool *blocked)
{
	return ring_drain(&ring, take, NULL, blocked);
}

static void an_empty_ring_is_not_a_blocked_one(void **state)
{
	bool blocked = true;

	assert_int_equal(drain(&blocked), 0);
	assert_false(blocked);
}

static void a_record_being_written_ends_the_pass_and_is_told(void **state)
{
	bool blocked;
	__u32 *busy;

	produce(1, 0);
	busy = produce(2, BPF_RINGBUF_BUSY_BIT);
	produce(3, 0);
	assert_int_equal(drain(&blocked), 1);
	assert_true(blocked);
	assert_int_equal(consumer, RECORD);
	*busy &= ~BPF_RINGBUF_BUSY_BIT;
	assert_int_equal(drain(&blocked), 2);
	assert_false(blocked);
	assert_int_equal(taken[1], 2);
	assert_int_equal(taken[2], 3);
	assert_int_equal(consumer, producer);
}

static void discarded_records_are_skipped_and_not_counted(void **state)
{
	bool blocked;

	produce(1, BPF_RINGBUF_DISCARD_BIT);
	produce(2, 0);
	produce(3, BPF_RINGBUF_DISCARD_BIT);
	assert_int_equal(drain(&blocked), 1);
	assert_int_equal(taken[0], 2);
	assert_int_equal(consumer, producer);
}

static void records_go_on_across_the_end_of_the_ring(void **state)
{
	__u64 value = 0;

	for (int pass = 0; pass < 31; pass++) {
		bool blocked;

		for (int i = 0; i < 53; i++)
			produce(value++, 0);
		assert_int_equal(drain(&blocked), 53);
		for (size_t i = 0; i < 53; i++)
			assert_int_equal(taken[(taken_count - 53 + i) % 128], value - 53 + i);
	}
}

static void a_record_of_another_size_is_no_event(void **state)
{
	bool blocked;
	__u32 *odd;

	odd = produce(1, 0);
	*odd = sizeof(struct event) - 8;
	producer -= 8;
	produce(2, 0);
	assert_int_equal(drain(&blocked), 1);
	assert_int_equal(taken[0], 2);
}

static void what_is_not_taken_ends_the_pass(void **state)
{
	bool blocked;

	for (__u64 value = 1; value <= 4; value++)
		produce(value, 0);
	refused = 2;
	assert_int_equal(drain(&blocked), -ENOMEM);
	assert_false(blocked);
	assert_int_equal(taken_count, 1);
	assert_int_equal(consumer, 2 * RECORD);
	refused = 0;
	assert_int_equal(drain(&blocked), 2);
	assert_int_equal(taken[1], 3);
	assert_int_equal(consumer, producer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, map_twice, unmap)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_ring_is_not_a_blocked_one),
		TEST(a_record_being_written_ends_the_pass_and_is_told),
		TEST(discarded_records_are_skipped_and_not_counted),
		TEST(records_go_on_across_the_end_of_the_ring),
		TEST(a_record_of_another_size_is_no_event),
		TEST(what_is_not_taken_ends_the_pass),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
