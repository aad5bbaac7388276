// SPDX-License-Identifier: GPL-2.0
/* The safe order of eviction, beside faults and DMA in flight; the reclaimer. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "tests/unit/rig/rig.h"

static void write_word(__u32 device, __u64 iova, __u64 word)
{
	assert_int_equal(
		port_dma_write(rig->devices[device].port, 0, PASID_NONE, iova, &word, sizeof(word)),
		0);
}

static __u64 read_word(__u32 device, __u64 iova)
{
	__u64 word = 0;

	assert_int_equal(
		port_dma_read(rig->devices[device].port, 0, PASID_NONE, iova, &word, sizeof(word)),
		0);
	return word;
}

static void an_evicted_page_faults_again_with_its_content(void **state)
{
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
		rig_build((struct rig_config){0});
		write_word(0, 3 * PAGE_BYTES, 0x1234567);
		rig_truth_clear();
		assert_int_equal(evict_page(rig, 0, 3 * PAGE_BYTES, (enum evict_kind)kind), 0);
		assert_false(guest_memory_present(rig->tenants[0].memory, 3 * PAGE_BYTES));
		assert_int_equal(read_word(0, 3 * PAGE_BYTES), 0x1234567);
		assert_int_equal(rig_truth_count(TRUTH_DETECT), 1);
		assert_int_equal(rig_truth_count(TRUTH_EVICTED), 1);
		assert_int_equal(rig_violations(rig), 0);
		if (kind == EVICT_MINOR)
			rig_destroy(rig);
	}
}

static void steps_come_in_the_safe_order_for_each_device(void **state)
{
	const struct truth_record *start, *told, *ack, *freed, *evicted;
	size_t count;

	rig_build((struct rig_config){.devices = 3});
	read_word(0, 0);
	read_word(2, 0); /* device 1 has it not mapped: it is left in peace */
	rig_truth_clear();
	assert_int_equal(evict_page(rig, 0, 0, EVICT_MAJOR), 0);
	assert_int_equal(rig_truth_count(TRUTH_INVALIDATE_START), 2);
	rig_truth(&count);
	start = rig_truth_find(TRUTH_INVALIDATE_START, 1, 0);
	told = rig_truth_find(TRUTH_INVALIDATE_DEVICE, 1, 0);
	ack = rig_truth_find(TRUTH_INVALIDATE_ACK, 1, 0);
	freed = rig_truth_find(TRUTH_INVALIDATE_FREED, 1, 0);
	evicted = rig_truth_find(TRUTH_EVICTED, 1, 0);
	assert_true(start->time_ns <= told->time_ns && told->time_ns <= ack->time_ns);
	assert_true(ack->time_ns <= evicted->time_ns && evicted->time_ns <= freed->time_ns);
	assert_true(freed->flags & EVENT_MAJOR);
	assert_int_equal(rig_truth_count(TRUTH_INVALIDATE_FREED), 2);
}

struct evictor {
	pthread_t thread;
	__u64 address;
	int result;
};

static void *evict_one(void *argument)
{
	struct evictor *evictor = argument;

	evictor->result = evict_page(rig, 0, evictor->address, EVICT_MAJOR);
	return NULL;
}

/* Two want it at once: it is taken, and counts, once. */
static void a_page_under_dma_is_not_freed(void **state)
{
	struct evictor evictors[2] = {{.address = PAGE_BYTES}, {.address = PAGE_BYTES}};
	struct dma *dma = malloc(sizeof(*dma));

	for (int kind = LOOKUP_PA_BITMAP; kind <= LOOKUP_ATS; kind++) {
		rig_build((struct rig_config){.lookup = (enum lookup_kind)kind});
		assert_int_equal(port_dma_begin(rig->devices[0].port, 0, PASID_NONE, 0,
						3 * PAGE_BYTES, true, dma),
				 0);
		assert_int_equal(dma->segments, 1);
		for (int i = 0; i < 2; i++)
			assert_int_equal(thread_start(&evictors[i].thread, NULL, evict_one,
						      &evictors[i], "evict"),
					 0);
		sleep_until(monotonic_ns() + 30 * NSEC_PER_MSEC);
		assert_true(guest_memory_present(rig->tenants[0].memory, PAGE_BYTES));
		assert_int_equal(rig_truth_count(TRUTH_INVALIDATE_ACK), 0);
		memset(dma->iov[0].iov_base, 0x5a, dma->iov[0].iov_len);
		port_dma_end(rig->devices[0].port, dma);
		for (int i = 0; i < 2; i++)
			pthread_join(evictors[i].thread, NULL);
		assert_int_equal(evictors[0].result + evictors[1].result, EVICT_GONE);
		assert_int_equal(rig_truth_count(TRUTH_EVICTED), 1);
		assert_int_equal(evict_page(rig, 0, PAGE_BYTES, EVICT_MINOR), EVICT_GONE);
		assert_int_equal(rig_truth_count(TRUTH_EVICTED), 1);
		assert_int_equal(read_word(0, PAGE_BYTES), 0x5a5a5a5a5a5a5a5aull);
		assert_int_equal(rig_violations(rig), 0);
		if (kind == LOOKUP_PA_BITMAP)
			rig_destroy(rig);
	}
	free(dma);
}

static void *write_first_page(void *argument)
{
	write_word(0, 0, 77);
	return argument;
}

static void a_response_that_comes_after_the_eviction_opens_nothing(void **state)
{
	__u64 held_ns = 60 * NSEC_PER_MSEC;
	pthread_t writer;
	bool after;

	for (;; held_ns *= 4) {
		rig_build((struct rig_config){0});
		rig_arm(rig, INJECT_RESPOND, held_ns, 1);
		assert_int_equal(thread_start(&writer, NULL, write_first_page, NULL, "writer"), 0);
		while (!rig_truth_count(TRUTH_MAPPED))
			sleep_until(monotonic_ns() + NSEC_PER_MSEC);
		assert_int_equal(evict_page(rig, 0, 0, EVICT_MAJOR), 0);
		after = !rig_truth_count(TRUTH_RESPONSE);
		pthread_join(writer, NULL);
		if (after || held_ns > 60 * NSEC_PER_SEC)
			break;
		/* On a slow machine it came before: it is held for longer. */
		rig_destroy(rig);
	}
	assert_true(after);
	/* It had to fault once more. */
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 2);
	assert_int_equal(read_word(0, 0), 77);
	assert_int_equal(rig_violations(rig), 0);
}

enum { WORDS = 64, ROUNDS = 1009, EVICTIONS = 101 };

static atomic_bool evicting;

static void *evict_at_random(void *argument)
{
	unsigned int seed = *(unsigned int *)argument;

	while (atomic_load(&evicting)) {
		__u64 page = (__u64)rand_r(&seed) % WORDS;
		enum evict_kind kind = rand_r(&seed) % 2 ? EVICT_MAJOR : EVICT_MINOR;

		if (guest_memory_present(rig->tenants[0].memory, page * PAGE_BYTES))
			(void)evict_page(rig, 0, page * PAGE_BYTES, kind);
	}
	return NULL;
}

/* What was written last is what is read, whatever is taken away in between. */
static void no_write_is_lost_beside_evictions(void **state)
{
	unsigned int seeds[2] = {5, 6}, seed = 4;
	pthread_t threads[2];
	__u64 words[WORDS] = {0};

	for (int kind = LOOKUP_PA_BITMAP; kind <= LOOKUP_ATS; kind++) {
		rig_build((struct rig_config){.lookup = (enum lookup_kind)kind, .devices = 2});
		memset(words, 0, sizeof(words));
		atomic_store(&evicting, true);
		for (int i = 0; i < 2; i++)
			assert_int_equal(thread_start(&threads[i], NULL, evict_at_random, &seeds[i],
						      "evict-%d", i),
					 0);
		for (__u64 round = 1;
		     round <= ROUNDS || rig_truth_count(TRUTH_EVICTED) <= EVICTIONS; round++) {
			__u64 page = (__u64)rand_r(&seed) % WORDS;
			__u32 device = (__u32)rand_r(&seed) % 2;

			assert_int_equal(read_word(device, page * PAGE_BYTES), words[page]);
			words[page] = round;
			write_word(1 - device, page * PAGE_BYTES, round);
		}
		atomic_store(&evicting, false);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(rig_violations(rig), 0);
		if (kind == LOOKUP_PA_BITMAP)
			rig_destroy(rig);
	}
}

static void the_reclaimer_keeps_its_share_out(void **state)
{
	struct guest_memory *memory;
	struct reclaimer *reclaimer;
	__u64 out = 0;

	rig_build((struct rig_config){0});
	memory = rig->tenants[0].memory;
	assert_int_equal(guest_memory_populate(memory, 0, HUGE_BYTES), 0);
	rig->config.premap = true;
	rig->config.reclaim_percent = 30;
	rig->config.reclaim_kind = EVICT_MAJOR;
	rig->config.reclaim_interval_ns = NSEC_PER_MSEC;
	assert_int_equal(reclaimer_start(&reclaimer, rig), 0);
	for (int tries = 0; tries < 500; tries++) {
		if (rig_truth_count(TRUTH_EVICTED) >= 153)
			break;
		sleep_until(monotonic_ns() + 10 * NSEC_PER_MSEC);
	}
	reclaimer_stop(reclaimer);
	for (__u64 page = 0; page < 512; page++)
		out += !guest_memory_present(memory, page * PAGE_BYTES);
	assert_int_equal(out, 512 * 30 / 100);
	assert_int_equal(rig_truth_count(TRUTH_EVICTED), out);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(an_evicted_page_faults_again_with_its_content),
		RIG_TEST(steps_come_in_the_safe_order_for_each_device),
		RIG_TEST(a_page_under_dma_is_not_freed),
		RIG_TEST(a_response_that_comes_after_the_eviction_opens_nothing),
		RIG_TEST(no_write_is_lost_beside_evictions),
		RIG_TEST(the_reclaimer_keeps_its_share_out),
	};

	return cmocka_run_group_tests_name("evict", tests, NULL, NULL);
}
