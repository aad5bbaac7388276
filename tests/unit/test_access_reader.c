// SPDX-License-Identifier: GPL-2.0
/* The access log's consumer against a producer that is slow, fast, or out to break it. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/capture/access_reader.h"

#define CAPACITY 64u

static struct access_ring *ring;
static struct access_reader reader;
static struct access_record out[CAPACITY * 2];
static int fd;

static size_t ring_bytes(size_t records)
{
	return sizeof(struct access_ring) + records * sizeof(struct access_record);
}

static int make_ring(void **state)
{
	fd = memfd_create("access", MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, ring_bytes(CAPACITY)))
		return -1;
	ring = mmap(NULL, ring_bytes(CAPACITY), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ring->magic = ACCESS_LOG_MAGIC;
	ring->capacity = CAPACITY;
	ring->record_size = sizeof(struct access_record);
	memset(&reader, 0, sizeof(reader));
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
}

static int drop_ring(void **state)
{
	access_reader_close(&reader);
	munmap(ring, ring_bytes(CAPACITY));
	return close(fd);
}

static void publish(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		ring->reserved++;
		ring->records[ring->head & (CAPACITY - 1)].time_ns = ring->head;
		ring->head++;
	}
}

static void every_record_arrives_once_and_in_order(void **state)
{
	__u64 expected = 0;

	assert_int_equal(access_reader_open(&reader, fd, 0), 0);
	for (int round = 0; round < 101; round++) {
		long count;

		publish(37);
		count = access_reader_read(&reader, out, 128);
		assert_int_equal(count, 37);
		for (long i = 0; i < count; i++)
			assert_int_equal(out[i].time_ns, expected++);
	}
	assert_int_equal(reader.lost, 0);
}

static void a_late_reader_begins_with_what_comes(void **state)
{
	publish(31);
	ring->discarded = 5;
	assert_int_equal(access_reader_open(&reader, fd, READ_FROM_NOW), 0);
	assert_int_equal(access_reader_read(&reader, out, 128), 0);
	publish(3);
	assert_int_equal(access_reader_read(&reader, out, 128), 3);
	assert_int_equal(out[0].time_ns, 31);
	assert_int_equal(reader.lost, 0);
}

/* What completed since: one that was held up (2) is behind younger ones, and none of ours is passed over. */
static void a_reader_of_old_begins_where_it_is_told(void **state)
{
	static const __u64 times[] = {3, 9, 12, 2, 15, 16};

	publish(6);
	for (size_t i = 0; i < 6; i++)
		ring->records[i].time_ns = times[i];
	assert_int_equal(access_reader_open(&reader, fd, 11), 0);
	assert_int_equal(access_reader_read(&reader, out, 128), 4);
	assert_int_equal(out[0].time_ns, 12);
	assert_int_equal(reader.lost, 0);
	assert_false(reader.late);
	access_reader_close(&reader);
	assert_int_equal(access_reader_open(&reader, fd, 17), 0);
	assert_int_equal(access_reader_read(&reader, out, 128), 0);
	assert_false(reader.late);
}

/* What is there is all younger: what was there before may have been, too. */
static void a_reader_that_comes_too_late_says_so(void **state)
{
	publish(CAPACITY + 5); /* times are 5 and up */
	assert_int_equal(access_reader_open(&reader, fd, 6), 0);
	assert_int_equal(access_reader_read(&reader, out, 128), CAPACITY - 1);
	assert_false(reader.late);
	access_reader_close(&reader);
	assert_int_equal(access_reader_open(&reader, fd, 5), 0);
	assert_int_equal(access_reader_read(&reader, out, 128), CAPACITY);
	assert_true(reader.late);
	access_reader_close(&reader);
	ring->discarded = 1;
	assert_int_equal(access_reader_open(&reader, fd, 6), 0);
	assert_true(reader.late);
}

static void what_was_overwritten_or_discarded_is_lost_exactly(void **state)
{
	assert_int_equal(access_reader_open(&reader, fd, 0), 0);
	publish(CAPACITY + 13);
	ring->discarded = 7;
	assert_int_equal(access_reader_read(&reader, out, 128), CAPACITY);
	assert_int_equal(out[0].time_ns, 13);
	assert_int_equal(reader.lost, 13 + 7);
}

static void records_that_may_be_torn_are_left_out(void **state)
{
	assert_int_equal(access_reader_open(&reader, fd, 0), 0);
	publish(CAPACITY);
	ring->reserved += 11; /* the producer is writing over the eleven oldest */
	assert_int_equal(access_reader_read(&reader, out, 128), CAPACITY - 11);
	assert_int_equal(out[0].time_ns, 11);
	assert_int_equal(reader.lost, 11);
	ring->head += 11;
	assert_int_equal(access_reader_read(&reader, out, 128), 11);
	assert_int_equal(reader.lost, 11);
}

static void a_head_that_goes_back_is_damage(void **state)
{
	publish(29);
	assert_int_equal(access_reader_open(&reader, fd, 0), 0);
	assert_int_equal(access_reader_read(&reader, out, 128), 29);
	ring->head = 3;
	assert_int_equal(access_reader_read(&reader, out, 128), -EPROTO);
}

static void absurd_positions_never_read_outside(void **state)
{
	assert_int_equal(access_reader_open(&reader, fd, 0), 0);
	ring->head = INT64_MAX;
	ring->reserved = UINT64_MAX;
	ring->capacity = 1u << 31; /* changed after it was checked */
	assert_true(access_reader_read(&reader, out, 128) <= (long)CAPACITY);
	ring->head = UINT64_MAX;
	assert_true(access_reader_read(&reader, out, 128) <= (long)CAPACITY);
}

static void assert_refused(void)
{
	assert_int_equal(access_reader_open(&reader, fd, 0), -EPROTO);
	assert_null(reader.ring);
}

static void a_header_that_lies_is_refused(void **state)
{
	static const __u32 capacities[] = {0, 3, CAPACITY * 2, 1u << 31, UINT32_MAX};

	for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
		ring->capacity = capacities[i];
		assert_refused();
	}
	ring->capacity = CAPACITY;
	ring->record_size = 31;
	assert_refused();
	ring->record_size = sizeof(struct access_record);
	ring->magic++;
	assert_refused();
}

static void memory_that_could_shrink_is_refused(void **state)
{
	int open_fd = memfd_create("unsealed", MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(open_fd, ring_bytes(CAPACITY)), 0);
	assert_int_equal(access_reader_open(&reader, open_fd, 0), -EPROTO);
	assert_int_equal(fcntl(open_fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(access_reader_open(&reader, open_fd, 0), -EPROTO); /* no magic */
	close(open_fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_ring, drop_ring)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_record_arrives_once_and_in_order),
		TEST(a_late_reader_begins_with_what_comes),
		TEST(a_reader_of_old_begins_where_it_is_told),
		TEST(a_reader_that_comes_too_late_says_so),
		TEST(what_was_overwritten_or_discarded_is_lost_exactly),
		TEST(records_that_may_be_torn_are_left_out),
		TEST(a_head_that_goes_back_is_damage),
		TEST(absurd_positions_never_read_outside),
		TEST(a_header_that_lies_is_refused),
		TEST(memory_that_could_shrink_is_refused),
	};

	return cmocka_run_group_tests_name("access_reader", tests, NULL, NULL);
}
