// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bpf/event.h"
#include "injectors/emu/access_log.h"
#include "lib/base/clock.h"

#define START_NS 1000000000000ull

/* A consumer as lib/capture/access_log.h describes it. */
struct consumer {
	const struct access_ring *ring;
	size_t bytes;
	__u64 capacity, cursor, received, lost, wrong;
};

static void add(struct access_log *log, __u32 device, __u16 queue, __u64 address, __u32 length,
		__u8 flags, __u8 code, __u64 start_ns, __u64 end_ns)
{
	const struct io_range range = {address, length, flags, code, start_ns, end_ns};

	access_log_add(log, device, queue, &range, 1);
}

static void consumer_open(struct consumer *consumer, const struct access_log *log)
{
	int descriptor = access_log_descriptor(log);

	*consumer = (struct consumer){.bytes = (size_t)lseek(descriptor, 0, SEEK_END)};
	consumer->ring = mmap(NULL, consumer->bytes, PROT_READ, MAP_SHARED, descriptor, 0);
	assert_ptr_not_equal(consumer->ring, MAP_FAILED);
	assert_true(consumer->ring->magic == ACCESS_LOG_MAGIC);
	assert_int_equal(consumer->ring->record_size, sizeof(struct access_record));
	consumer->capacity = consumer->ring->capacity;
}

/* Record n of a device carries n in three places: a torn copy does not agree with itself. */
static void fill(struct access_log *log, __u32 device, __u64 n)
{
	add(log, device, n % 64, n * 61, n % ((2 << 20) + 1), EVENT_WRITE,
	    n % 7 ? IO_OK : IO_FAULTED, START_NS + n * 640 - (n % 1000) * 64, START_NS + n * 640);
}

static bool holds(const struct access_record *record)
{
	__u64 n = (record->time_ns - START_NS) / 640;

	return record->address == n * 61 && record->length == n % ((2 << 20) + 1) &&
	       record->queue == n % 64 && record->latency == n % 1000 &&
	       record->flags == EVENT_WRITE && record->code == (n % 7 ? IO_OK : IO_FAULTED);
}

/* Reads what there is; `dawdle` makes the copy slow, so that it is overtaken. */
static void consume(struct consumer *c, __u64 last_of[], __u32 devices, bool dawdle)
{
	static struct access_record copy[1 << 16];
	__u64 head = __atomic_load_n(&c->ring->head, __ATOMIC_ACQUIRE), tail, torn = 0, count;

	if (head - c->cursor > c->capacity) {
		c->lost += head - c->cursor - c->capacity;
		c->cursor = head - c->capacity;
	}
	count = head - c->cursor;
	for (__u64 i = 0; i < count; i++) {
		copy[i] = c->ring->records[(c->cursor + i) & (c->capacity - 1)];
		if (dawdle && i % 64 == 0)
			usleep(200);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	tail = __atomic_load_n(&c->ring->reserved, __ATOMIC_ACQUIRE);
	if (tail - c->cursor > c->capacity)
		torn = tail - c->cursor - c->capacity;
	if (torn > count)
		torn = count;
	c->lost += torn;
	for (__u64 i = torn; i < count; i++) {
		__u32 device = copy[i].device;

		c->received++;
		if (device >= devices || !holds(&copy[i]) || copy[i].time_ns <= last_of[device])
			c->wrong++;
		else
			last_of[device] = copy[i].time_ns;
	}
	c->cursor = head;
}

struct producer {
	struct access_log *log;
	__u32 device;
	__u64 records;
	__u32 pause_every; /* 0: never */
	bool patient;	   /* pauses until what was taken is not far behind */
};

/* Whether what was taken lags by more than a few of the pauses of all producers. */
static bool is_behind(struct access_log *log)
{
	struct access_log_stats stats;

	access_log_stats(log, &stats);
	return stats.produced - stats.republished > 3000;
}

static void *produce(void *argument)
{
	const struct producer *p = argument;

	for (__u64 n = 1; n <= p->records; n++) {
		fill(p->log, p->device, n);
		if (p->pause_every && n % p->pause_every == 0)
			do
				usleep(1000);
			while (p->patient && is_behind(p->log));
	}
	return NULL;
}

static void run_producers(struct producer *producers, pthread_t *threads, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
}

static void join_all(pthread_t *threads, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void a_patient_producer_loses_nothing(void **state)
{
	struct access_log_config config = {.devices = 3, .ring_records = 65536};
	struct producer producers[3];
	__u64 last[3] = {0};
	struct access_log_stats stats;
	struct consumer consumer;
	struct access_log *log;
	pthread_t threads[3];

	assert_int_equal(access_log_create(&log, &config), 0);
	consumer_open(&consumer, log);
	for (__u32 i = 0; i < 3; i++)
		producers[i] = (struct producer){log, i, 10007, 200, true};
	run_producers(producers, threads, 3);
	join_all(threads, 3);
	access_log_stop(log);
	consume(&consumer, last, 3, false);
	access_log_stats(log, &stats);
	assert_int_equal(stats.produced, 3 * 10007);
	assert_int_equal(stats.republished, 3 * 10007);
	assert_int_equal(stats.discarded, 0);
	assert_int_equal(consumer.received, 3 * 10007);
	assert_int_equal(consumer.lost + consumer.wrong, 0);
	access_log_destroy(log);
}

/* Everything too small and a slow reader: each loss is counted where it happens. */
static void every_loss_is_counted(void **state)
{
	struct access_log_config config = {.devices = 2,
					   .buffers = 2,
					   .buffer_records = 97,
					   .ring_records = 1024,
					   .interval_ns = 200000};
	struct producer producers[2];
	__u64 last[2] = {0};
	struct access_log_stats stats;
	struct consumer consumer;
	struct access_log *log;
	pthread_t threads[2];

	assert_int_equal(access_log_create(&log, &config), 0);
	consumer_open(&consumer, log);
	for (__u32 i = 0; i < 2; i++)
		producers[i] = (struct producer){log, i, 500009, i ? 0 : 50};
	run_producers(producers, threads, 2);
	for (int i = 0; i < 300; i++)
		consume(&consumer, last, 2, i % 3 == 0);
	join_all(threads, 2);
	access_log_stop(log);
	consume(&consumer, last, 2, false);
	access_log_stats(log, &stats);
	assert_int_equal(stats.produced, 2 * 500009);
	assert_int_equal(stats.republished + stats.discarded, stats.produced);
	assert_int_equal(consumer.ring->discarded, stats.discarded);
	assert_true(stats.discarded > 0);
	assert_int_equal(consumer.received + consumer.lost, stats.republished);
	assert_true(consumer.lost > 0);
	assert_int_equal(consumer.wrong, 0);
	access_log_destroy(log);
}

/* Past the first pass of the owner's thread, which then has nothing to do for an hour. */
static void wait_until_the_owner_sleeps(void)
{
	glob_t threads;
	bool sleeps = false;

	while (!sleeps) {
		assert_int_equal(glob("/proc/self/task/*/stat", 0, NULL, &threads), 0);
		for (size_t i = 0; i < threads.gl_pathc; i++) {
			FILE *file = fopen(threads.gl_pathv[i], "r");
			char text[64] = "";

			if (file) {
				sleeps |= fgets(text, sizeof(text), file) &&
					  strstr(text, " (access-log) S ");
				fclose(file);
			}
		}
		globfree(&threads);
		sched_yield();
	}
}

static void devices_are_merged_by_time(void **state)
{
	struct access_log_config config = {.devices = 5, .interval_ns = 3600 * NSEC_PER_SEC};
	struct consumer consumer;
	struct access_log *log;
	__u64 before = 0;

	assert_int_equal(access_log_create(&log, &config), 0);
	wait_until_the_owner_sleeps();
	for (__u32 device = 0; device < 5; device++)
		for (__u64 n = 1; n <= 101; n++)
			fill(log, device, 5 * n + device);
	access_log_stop(log);
	consumer_open(&consumer, log);
	assert_int_equal(consumer.ring->head, 505);
	for (int i = 0; i < 505; i++) {
		assert_true(consumer.ring->records[i].time_ns > before);
		before = consumer.ring->records[i].time_ns;
	}
	access_log_destroy(log);
}

static void count_taken(void *argument, const struct access_record *record)
{
	__u64 *next = argument;

	assert_int_equal(record->address, *next * 61);
	__atomic_store_n(next, *next + 1, __ATOMIC_RELAXED);
}

/* With an owner that nobody wakes what the buffers hold is all that there is; it hears of that, and in order. */
static void a_punctual_owner_lets_the_rest_be_lost(void **state)
{
	__u64 next = 0;
	struct access_log_config config = {.devices = 1,
					   .buffers = 2,
					   .buffer_records = 11,
					   .interval_ns = 3600 * NSEC_PER_SEC,
					   .punctual = true,
					   .taken = count_taken,
					   .argument = &next};
	struct access_log_stats stats;
	struct access_log *log;

	assert_int_equal(access_log_create(&log, &config), 0);
	wait_until_the_owner_sleeps();
	for (__u64 n = 0; n < 101; n++)
		fill(log, 0, n);
	/* One that comes all the same has time to. */
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	for (__u64 n = 101; n < 202; n++)
		fill(log, 0, n);
	access_log_stop(log);
	access_log_stats(log, &stats);
	assert_int_equal(stats.produced, 202);
	assert_int_equal(stats.discarded, 202 - 22);
	assert_int_equal(next, 22);
	access_log_destroy(log);
}

/* Seconds between two I/Os do not fit into a compact record: a new buffer begins. */
static void long_silences_keep_exact_times(void **state)
{
	struct access_log_config config = {.devices = 1, .interval_ns = NSEC_PER_SEC};
	struct consumer consumer;
	struct access_log *log;

	assert_int_equal(access_log_create(&log, &config), 0);
	for (__u64 i = 0; i < 5; i++)
		add(log, 0, 63, (1ull << 48) - 64, 2 << 20, EVENT_READ, IO_ERROR | IO_FAULTED, 1,
		    START_NS + i * 3 * NSEC_PER_SEC + 7);
	/* A queue that was overtaken between its clock and the log. */
	add(log, 0, 1, 64, 64, EVENT_READ, IO_OK, START_NS, START_NS + 12 * NSEC_PER_SEC);
	access_log_stop(log);
	consumer_open(&consumer, log);
	assert_int_equal(consumer.ring->head, 6);
	for (__u64 i = 0; i < 5; i++) {
		const struct access_record *record = &consumer.ring->records[i];

		assert_true(record->time_ns == START_NS + i * 3 * NSEC_PER_SEC + 7);
		assert_true(record->address == (1ull << 48) - 64);
		assert_int_equal(record->length, 2 << 20);
		assert_int_equal(record->queue, 63);
		assert_int_equal(record->code, IO_ERROR | IO_FAULTED);
		assert_true(access_latency_ns(record) == (record->time_ns - 1) / 64 * 64);
	}
	assert_true(consumer.ring->records[5].time_ns == START_NS + 12 * NSEC_PER_SEC);
	access_log_destroy(log);
}

/* 17 ms do not fit into a compact record, 274 s not into 32 bits: all are whole, in buffers of any filling. */
static void long_latencies_are_whole(void **state)
{
	static const __u64 units[] = {1,	  (1 << 18) - 2, (1 << 18) - 1, 1 << 18,
				      UINT32_MAX, 1ull << 32,	 1 << 16,	(1ull << 40) + 5};
	const __u64 count = sizeof(units) / sizeof(units[0]), total = 5 * count;
	struct access_log_config config = {
		.devices = 1, .buffers = 40, .buffer_records = 1, .interval_ns = NSEC_PER_SEC};
	const __u64 end_ns = 1ull << 47;
	struct consumer consumer;
	struct access_log *log;

	assert_int_equal(access_log_create(&log, &config), -EINVAL);
	for (config.buffer_records = 2; config.buffer_records < 6; config.buffer_records++) {
		assert_int_equal(access_log_create(&log, &config), 0);
		for (__u64 i = 0; i < total; i++)
			add(log, 0, i % 64, i * 64, 64, EVENT_WRITE, IO_OK,
			    end_ns + i - units[i % count] * 64, end_ns + i);
		access_log_stop(log);
		consumer_open(&consumer, log);
		assert_int_equal(consumer.ring->discarded, 0);
		assert_int_equal(consumer.ring->head, total);
		for (__u64 i = 0; i < total; i++) {
			const struct access_record *record = &consumer.ring->records[i];

			assert_true(access_latency_ns(record) == units[i % count] * 64);
			assert_true(record->time_ns == end_ns + i);
			assert_true(record->address == i * 64);
		}
		access_log_destroy(log);
	}
}

/* A chain's ranges, then a copy's source and destination: what belongs to what comes over. */
static void parts_of_an_io_are_told_apart(void **state)
{
	static const struct {
		__u8 flags, code;
	} told[] = {{EVENT_WRITE, IO_PART | IO_FAULTED},
		    {EVENT_WRITE, IO_FAULTED},
		    {EVENT_READ, IO_PART | IO_SOURCE},
		    {EVENT_WRITE, IO_OK},
		    {EVENT_READ, IO_PART | IO_SOURCE | IO_ERROR},
		    {EVENT_WRITE, IO_ERROR}};
	struct access_log_config config = {.devices = 1, .interval_ns = NSEC_PER_SEC};
	struct consumer consumer;
	struct access_log *log;

	assert_int_equal(access_log_create(&log, &config), 0);
	for (__u64 i = 0; i < 6; i++)
		add(log, 0, 1, i << 12, 4096, told[i].flags, told[i].code, START_NS, START_NS + i);
	access_log_stop(log);
	consumer_open(&consumer, log);
	assert_int_equal(consumer.ring->head, 6);
	for (__u64 i = 0; i < 6; i++) {
		assert_int_equal(consumer.ring->records[i].flags, told[i].flags);
		assert_int_equal(consumer.ring->records[i].code, told[i].code);
	}
	access_log_destroy(log);
}

static void readers_cannot_change_it(void **state)
{
	struct access_log_config config = {.devices = 1};
	struct access_log *log;

	assert_int_equal(access_log_create(&log, &config), 0);
	assert_int_equal(ftruncate(access_log_descriptor(log), 0), -1);
	assert_ptr_equal(
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, access_log_descriptor(log), 0),
		MAP_FAILED);
	access_log_destroy(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_patient_producer_loses_nothing),
		cmocka_unit_test(every_loss_is_counted),
		cmocka_unit_test(devices_are_merged_by_time),
		cmocka_unit_test(a_punctual_owner_lets_the_rest_be_lost),
		cmocka_unit_test(long_silences_keep_exact_times),
		cmocka_unit_test(long_latencies_are_whole),
		cmocka_unit_test(parts_of_an_io_are_told_apart),
		cmocka_unit_test(readers_cannot_change_it),
	};

	return cmocka_run_group_tests_name("access_log", tests, NULL, NULL);
}
