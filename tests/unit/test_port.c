// SPDX-License-Identifier: GPL-2.0
/* A device's view: DMA that faults, waits, is answered in all the ways there are, and goes on. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/thread.h"
#include "tests/unit/rig/rig.h"

static int dma_once(__u32 device, __u16 queue, __u64 iova, __u64 length, bool *faulted)
{
	struct port *port = rig->devices[device].port;
	struct dma *dma = malloc(sizeof(*dma));
	int error;

	assert_non_null(dma);
	error = port_dma_begin(port, queue, PASID_NONE, iova, length, true, dma);
	if (faulted)
		*faulted = dma->faulted;
	if (!error)
		port_dma_end(port, dma);
	free(dma);
	return error;
}

/* Every request of the log went through all its stages in order. */
static void assert_stages_in_order(size_t requests)
{
	static const __u8 stages[] = {TRUTH_DETECT,   TRUTH_REQUEST, TRUTH_ISR,	     TRUTH_HANDLER,
				      TRUTH_RESOLVED, TRUTH_MAPPED,  TRUTH_RESPONSE, TRUTH_RESUME};
	size_t count, seen = 0;
	const struct truth_record *records = rig_truth(&count);

	for (size_t i = 0; i < count; i++) {
		const struct truth_record *request = &records[i];
		__u64 last = 0;

		if (request->what != TRUTH_REQUEST)
			continue;
		seen++;
		for (size_t n = 0; n < sizeof(stages); n++) {
			const struct truth_record *stage =
				rig_truth_find(stages[n], request->fault, request->address);

			assert_non_null(stage);
			assert_true(stage->time_ns >= last);
			assert_int_equal(stage->group, request->group);
			assert_int_equal(stage->device, request->device);
			last = stage->time_ns;
		}
	}
	assert_int_equal(seen, requests);
}

static void one_fault_is_resolved_and_resumed(void **state)
{
	bool faulted;

	rig_build((struct rig_config){0});
	assert_int_equal(dma_once(0, 1, 5 * PAGE_BYTES + 128, 256, &faulted), 0);
	assert_true(faulted);
	assert_stages_in_order(1);
	assert_int_equal(dma_once(0, 1, 5 * PAGE_BYTES, PAGE_BYTES, &faulted), 0);
	assert_false(faulted);
	assert_int_equal(rig_truth_count(TRUTH_DETECT), 1);
	assert_int_equal(rig_violations(rig), 0);
}

static void data_written_by_dma_is_seen_by_the_cpu(void **state)
{
	const char text[] = "across a page";
	char back[sizeof(text)];
	__u64 iova = 3 * PAGE_BYTES - 5;
	struct port *port;

	rig_build((struct rig_config){.lookup = LOOKUP_ATS});
	port = rig->devices[0].port;
	assert_int_equal(port_dma_write(port, 0, PASID_NONE, iova, text, sizeof(text)), 0);
	assert_memory_equal(guest_memory_cpu(rig->tenants[0].memory, iova), text, sizeof(text));
	assert_int_equal(port_dma_read(port, 0, PASID_NONE, iova, back, sizeof(back)), 0);
	assert_memory_equal(back, text, sizeof(text));
	assert_stages_in_order(2);
	assert_int_equal(rig_violations(rig), 0);
}

static void absent_pages_become_groups_with_last_on_the_final_request(void **state)
{
	const struct truth_record *records;
	size_t count, last = 0;
	__u64 groups = 0;

	rig_build((struct rig_config){.group_pages = 7});
	assert_int_equal(dma_once(0, 0, 100, 23 * PAGE_BYTES, NULL), 0);
	records = rig_truth(&count);
	for (size_t i = 0; i < count; i++) {
		if (records[i].what == TRUTH_REQUEST && records[i].flags & EVENT_LAST)
			last++;
		if (records[i].what == TRUTH_HANDLER)
			groups |= 1ull << records[i].group;
	}
	/* 24 pages, 7 a group, all at once and so under different numbers */
	assert_int_equal(last, 4);
	assert_int_equal(groups, 0xf);
	assert_stages_in_order(24);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_dma_of_513_pages_fits_whatever_the_group_size(void **state)
{
	rig_build((struct rig_config){
		.group_pages = 1, .memory = 2 * HUGE_BYTES, .queue_entries = 1024});
	assert_int_equal(dma_once(0, 0, 100, HUGE_BYTES, NULL), 0);
	assert_stages_in_order(513);
	assert_int_equal(rig_violations(rig), 0);
}

static void invalid_is_efault_and_failure_is_eio(void **state)
{
	struct service_stats stats;

	rig_build((struct rig_config){0});
	/* Inside the device's window, outside the tenant's memory. */
	assert_int_equal(dma_once(0, 0, HUGE_BYTES, PAGE_BYTES, NULL), -EFAULT);
	assert_int_equal(dma_once(0, 0, 4 * HUGE_BYTES, PAGE_BYTES, NULL), -EINVAL);
	assert_int_equal(dma_once(0, 9, 0, PAGE_BYTES, NULL), -EINVAL);
	rig_arm(rig, INJECT_RESPONSE_FAILURE, 0, 1);
	assert_int_equal(dma_once(0, 0, 0, PAGE_BYTES, NULL), -EIO);
	assert_int_equal(dma_once(0, 0, 0, PAGE_BYTES, NULL), 0);
	service_stats(rig->service, &stats);
	assert_int_equal(stats.responses[RESPONSE_INVALID], 1);
	assert_int_equal(stats.responses[RESPONSE_FAILURE], 1);
	assert_int_equal(stats.responses[RESPONSE_SUCCESS], 1);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_lost_response_is_given_up_and_asked_anew(void **state)
{
	struct port_stats stats;
	const struct truth_record *records;
	size_t count;
	__u64 start;

	rig_build((struct rig_config){.response_timeout_ns = 30 * NSEC_PER_MSEC});
	rig_arm(rig, INJECT_RESPONSE_LOST, 0, 2);
	start = monotonic_ns();
	assert_int_equal(dma_once(0, 0, 0, 3 * PAGE_BYTES, NULL), 0);
	assert_true(monotonic_ns() - start >= 60 * NSEC_PER_MSEC);
	port_stats(rig->devices[0].port, &stats);
	/* On a busy machine one that was not lost may come too late as well. */
	assert_true(stats.timeouts >= 2);
	assert_int_equal(stats.groups, stats.timeouts + 1);
	assert_int_equal(stats.requests, 3 * stats.groups);
	records = rig_truth(&count);
	for (size_t i = 0; i < count; i++)
		if (records[i].what == TRUTH_RESUME)
			assert_true(records[i].group >= 2);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 3);
	assert_true(rig_truth_count(TRUTH_RESPONSE) >= 9);
	assert_int_equal(rig_violations(rig), 0);
}

static void lost_indices_come_back_when_all_are_used_up(void **state)
{
	struct port_stats stats;

	rig_build((struct rig_config){
		.response_timeout_ns = NSEC_PER_MSEC, .group_pages = 1, .queue_entries = 1024});
	rig_arm(rig, INJECT_RESPONSE_LOST, 0, 601);
	assert_int_equal(dma_once(0, 0, 0, 101 * PAGE_BYTES, NULL), 0);
	port_stats(rig->devices[0].port, &stats);
	assert_true(stats.timeouts >= 601);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_late_response_frees_its_index(void **state)
{
	struct port_stats stats;

	for (__u64 held_ns = 50 * NSEC_PER_MSEC;; held_ns *= 4) {
		rig_build((struct rig_config){.response_timeout_ns = 20 * NSEC_PER_MSEC});
		rig_arm(rig, INJECT_RESPOND, held_ns, 1);
		assert_int_equal(dma_once(0, 0, 0, PAGE_BYTES, NULL), 0);
		port_stats(rig->devices[0].port, &stats);
		if (stats.timeouts || held_ns > 60 * NSEC_PER_SEC)
			break;
		/* On a slow machine it came before it was given up: it is held for longer. */
		rig_destroy(rig);
	}
	assert_true(stats.timeouts >= 1);
	assert_false(service_pending(rig->service, 0, 0));
	rig_be_patient();
	/* Number 0 is the lowest free one again. */
	rig_truth_clear();
	assert_int_equal(dma_once(0, 0, 7 * PAGE_BYTES, PAGE_BYTES, NULL), 0);
	assert_stages_in_order(1);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_duplicate_is_answered_as_well(void **state)
{
	rig_build((struct rig_config){0});
	rig_arm(rig, INJECT_DUPLICATE, 0, 1);
	assert_int_equal(dma_once(0, 0, 0, 3 * PAGE_BYTES, NULL), 0);
	assert_stages_in_order(6);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 6);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_full_queue_drops_and_the_device_gets_through(void **state)
{
	struct service_stats stats;
	bool faulted;

	rig_build((struct rig_config){.queue_entries = 2});
	assert_int_equal(dma_once(0, 0, 0, 97 * PAGE_BYTES, &faulted), 0);
	assert_true(faulted);
	service_stats(rig->service, &stats);
	assert_true(stats.overflows > 0);
	assert_int_equal(stats.overflows, rig_truth_count(TRUTH_OVERFLOW));
	assert_int_equal(stats.requests, rig_truth_count(TRUTH_REQUEST));
	assert_int_equal(stats.depth_max, 1);
	/* What was taken of groups whose LAST was dropped is discarded, all else was resolved. */
	assert_int_equal(stats.requests - stats.discarded, rig_truth_count(TRUTH_MAPPED));
	assert_int_equal(rig_violations(rig), 0);
}

static void forced_overflows_end_when_disarmed(void **state)
{
	rig_build((struct rig_config){.lookup = LOOKUP_ATS});
	rig_arm(rig, INJECT_OVERFLOW, 0, 29);
	assert_int_equal(dma_once(0, 0, 0, 11 * PAGE_BYTES, NULL), 0);
	assert_true(rig_truth_count(TRUTH_OVERFLOW) >= 29);
	assert_int_equal(rig_violations(rig), 0);
}

static void credits_bound_what_a_device_has_outstanding(void **state)
{
	const struct truth_record *records;
	struct port_stats stats;
	int open = 0, most = 0;
	size_t count;

	rig_build((struct rig_config){.group_pages = 5, .page_requests = 7});
	assert_int_equal(dma_once(0, 0, 0, 101 * PAGE_BYTES, NULL), 0);
	records = rig_truth(&count);
	for (size_t i = 0; i < count; i++) {
		open += records[i].what == TRUTH_REQUEST;
		open -= records[i].what == TRUTH_RESPONSE;
		most = open > most ? open : most;
	}
	assert_int_equal(most, 7);
	port_stats(rig->devices[0].port, &stats);
	assert_true(stats.held_back > 0);
	assert_stages_in_order(101);
	assert_int_equal(rig_violations(rig), 0);
}

static void credits_of_lost_responses_come_back(void **state)
{
	struct port_stats stats;

	rig_build((struct rig_config){
		.response_timeout_ns = NSEC_PER_MSEC, .group_pages = 3, .page_requests = 4});
	rig_arm(rig, INJECT_RESPONSE_LOST, 0, 29);
	assert_int_equal(dma_once(0, 0, 0, 17 * PAGE_BYTES, NULL), 0);
	port_stats(rig->devices[0].port, &stats);
	assert_true(stats.timeouts >= 29);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_failure_disables_page_requests_until_they_are_enabled(void **state)
{
	struct port_stats stats;
	size_t detected;

	rig_build((struct rig_config){.reenable_ns = 3600 * NSEC_PER_SEC, .devices = 2});
	assert_int_equal(dma_once(0, 0, 8 * PAGE_BYTES, PAGE_BYTES, NULL), 0);
	rig_arm(rig, INJECT_RESPONSE_FAILURE, 0, 1);
	assert_int_equal(dma_once(0, 0, 0, PAGE_BYTES, NULL), -EIO);
	detected = rig_truth_count(TRUTH_DETECT);
	for (int i = 0; i < 7; i++)
		assert_int_equal(dma_once(0, 1, 3 * PAGE_BYTES, PAGE_BYTES, NULL), -EIO);
	assert_int_equal(rig_truth_count(TRUTH_DETECT), detected);
	/* What is present needs no page request, and another device's are its own. */
	assert_int_equal(dma_once(0, 1, 8 * PAGE_BYTES, PAGE_BYTES, NULL), 0);
	assert_int_equal(dma_once(1, 1, 3 * PAGE_BYTES, PAGE_BYTES, NULL), 0);
	port_stats(rig->devices[0].port, &stats);
	assert_int_equal(stats.disabled, 1);
	assert_int_equal(stats.refused, 7);
	assert_int_equal(rig_violations(rig), 0);
}

struct waiter {
	pthread_t thread;
	__u32 device;
	__u16 queue;
	__u64 iova, length;
	int result;
};

static void *wait_in_dma(void *argument)
{
	struct waiter *waiter = argument;

	waiter->result =
		dma_once(waiter->device, waiter->queue, waiter->iova, waiter->length, NULL);
	return NULL;
}

static void start(struct waiter *waiter, __u32 device, __u16 queue, __u64 iova, __u64 length)
{
	*waiter = (struct waiter){
		.device = device, .queue = queue, .iova = iova, .length = length, .result = 1};
	assert_int_equal(thread_start(&waiter->thread, NULL, wait_in_dma, waiter, "dma-%u", device),
			 0);
}

static int join(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	return waiter->result;
}

/* Nobody sleeps with an item in hand: all are where the delay holds them, and none beyond. */
static void delays_of_different_groups_overlap(void **state)
{
	static const struct {
		enum inject_point point;
		__u8 reached, beyond;
	} delays[] = {{INJECT_DELIVERY, TRUTH_REQUEST, TRUTH_ISR},
		      {INJECT_DISPATCH, TRUTH_ISR, TRUTH_HANDLER}};
	struct waiter waiters[8];

	for (size_t n = 0; n < 2; n++) {
		rig_build((struct rig_config){.devices = 8});
		rig_arm(rig, delays[n].point, 3600 * NSEC_PER_SEC, -1);
		for (__u32 i = 0; i < 8; i++)
			start(&waiters[i], i, 0, i * 3 * PAGE_BYTES, 2 * PAGE_BYTES);
		while (rig_truth_count(delays[n].reached) < 16)
			sleep_until(monotonic_ns() + NSEC_PER_MSEC);
		assert_int_equal(rig_truth_count(delays[n].beyond), 0);
		rig_stop(rig);
		for (__u32 i = 0; i < 8; i++)
			assert_int_equal(join(&waiters[i]), -ESHUTDOWN);
		assert_int_equal(rig_violations(rig), 0);
		if (!n)
			rig_destroy(rig);
	}
}

static void a_serial_handler_serves_one_group_after_the_other(void **state)
{
	const struct truth_record *records;
	struct waiter waiters[5];
	int open = 0;
	size_t count;

	rig_build((struct rig_config){.tenants = 5});
	rig_arm(rig, INJECT_RESPOND, NSEC_PER_MSEC, -1);
	for (__u32 i = 0; i < 5; i++)
		start(&waiters[i], i, 0, 0, PAGE_BYTES);
	for (__u32 i = 0; i < 5; i++)
		assert_int_equal(join(&waiters[i]), 0);
	records = rig_truth(&count);
	for (size_t i = 0; i < count; i++) {
		open += records[i].what == TRUTH_HANDLER;
		open -= records[i].what == TRUTH_RESPONSE;
		assert_in_range(open, 0, 1);
	}
	assert_int_equal(rig_truth_count(TRUTH_RESPONSE), 5);
	assert_int_equal(rig_violations(rig), 0);
}

static void affined_handlers_serve_tenants_at_once(void **state)
{
	struct waiter waiters[5];

	rig_build((struct rig_config){.tenants = 5, .scheduler = SCHEDULER_AFFINED});
	rig_arm(rig, INJECT_RESPOND, 3600 * NSEC_PER_SEC, -1);
	for (__u32 i = 0; i < 5; i++)
		start(&waiters[i], i, 0, 0, PAGE_BYTES);
	while (rig_truth_count(TRUTH_HANDLER) < 5)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	assert_int_equal(rig_truth_count(TRUTH_RESPONSE), 0);
	rig_stop(rig);
	/* The stop lets the responses go, too. */
	for (__u32 i = 0; i < 5; i++)
		assert_int_not_equal(join(&waiters[i]), 1);
}

static void an_affined_handler_stays_on_its_tenants_cpus(void **state)
{
	struct service_stats stats;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	rig_build((struct rig_config){.scheduler = SCHEDULER_AFFINED, .cpus = &one});
	for (__u64 page = 0; page < 31; page++)
		assert_int_equal(dma_once(0, 0, page * PAGE_BYTES, 1, NULL), 0);
	service_stats(rig->service, &stats);
	assert_int_equal(stats.groups, 31);
	assert_int_equal(stats.off_tenant, 0);
}

static void stop_ends_waits_in_the_middle_of_faults(void **state)
{
	struct waiter waiters[4];
	bool faulted;

	rig_build((struct rig_config){.devices = 2});
	rig_arm(rig, INJECT_DISPATCH, 3600 * NSEC_PER_SEC, -1);
	for (__u32 i = 0; i < 4; i++)
		start(&waiters[i], i % 2, (__u16)(i / 2), i * PAGE_BYTES, PAGE_BYTES);
	while (rig_truth_count(TRUTH_ISR) < 4)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	assert_true(port_blocked_ns(rig->devices[0].port, 0) > 0);
	/* Before rig_stop(), which lets what was held back go: a waiter might get its response. */
	for (__u32 i = 0; i < 2; i++)
		port_stop(rig->devices[i].port);
	for (__u32 i = 0; i < 4; i++)
		assert_int_equal(join(&waiters[i]), -ESHUTDOWN);
	rig_stop(rig);
	assert_int_equal(dma_once(0, 0, 9 * PAGE_BYTES, 1, &faulted), -ESHUTDOWN);
}

static void *fault_all_over(void *argument)
{
	struct waiter *waiter = argument;
	unsigned int seed = waiter->device * 64 + waiter->queue;

	for (int i = 0; i < 211 && !waiter->result; i++) {
		__u64 page = (__u64)rand_r(&seed) % 400;

		waiter->result = dma_once(waiter->device, waiter->queue, page * PAGE_BYTES,
					  (1 + (__u64)rand_r(&seed) % 9) * PAGE_BYTES, NULL);
	}
	return NULL;
}

static void many_tenants_reuse_group_numbers_at_once(void **state)
{
	enum { TENANTS = 128 };
	struct waiter *waiters = calloc(TENANTS, sizeof(*waiters));

	rig_build((struct rig_config){.tenants = TENANTS,
				      .scheduler = SCHEDULER_AFFINED,
				      .group_pages = 3,
				      .queue_entries = 64});
	for (__u32 i = 0; i < TENANTS; i++) {
		waiters[i] = (struct waiter){.device = i, .queue = (__u16)(i % 4)};
		assert_int_equal(thread_start(&waiters[i].thread, NULL, fault_all_over, &waiters[i],
					      "dma-%u", i),
				 0);
	}
	for (__u32 i = 0; i < TENANTS; i++)
		assert_int_equal(join(&waiters[i]), 0);
	assert_int_equal(rig_violations(rig), 0);
	free(waiters);
}

static void round_trips_are_measured_without_a_truth_log(void **state)
{
	struct histogram trips;

	rig_build((struct rig_config){0});
	rig_arm(rig, INJECT_RESOLVE, 5 * NSEC_PER_MSEC, -1);
	for (__u64 page = 0; page < 13; page++)
		assert_int_equal(dma_once(0, 0, page * PAGE_BYTES, 1, NULL), 0);
	histogram_init(&trips);
	port_round_trips(rig->devices[0].port, &trips, NULL);
	assert_int_equal(trips.count, 13);
	assert_true(trips.min >= 5 * NSEC_PER_MSEC);
}

/* The queue is blocked while a fault is open, not while the device eases off after an overflow. */
static void easing_off_blocks_no_queue(void **state)
{
	const __u64 eased_ns = (127 + 22 * 128) * 10 * NSEC_PER_USEC;
	__u64 start_ns, took_ns;

	rig_build((struct rig_config){0});
	rig_arm(rig, INJECT_OVERFLOW, 0, 29);
	start_ns = monotonic_ns();
	assert_int_equal(dma_once(0, 0, 0, 1, NULL), 0);
	took_ns = monotonic_ns() - start_ns;
	/* As long as the host has not taken notice of one, what comes after those that were asked for is dropped, too. */
	assert_true(rig_truth_count(TRUTH_OVERFLOW) >= 29);
	assert_true(port_blocked_ns(rig->devices[0].port, 0) > 0);
	assert_true(port_blocked_ns(rig->devices[0].port, 0) <= took_ns - eased_ns);
}

/* A round trip has the wait for page requests, as the fault of a recording has it. */
static void round_trips_begin_when_a_fault_is_held_back(void **state)
{
	const struct truth_record *records, *resumed;
	struct histogram trips;
	__u64 longest_ns = 0, page = 0;
	size_t count;

	rig_build((struct rig_config){.page_requests = 1});
	rig_arm(rig, INJECT_RESOLVE, 20 * NSEC_PER_MSEC, -1);
	while (!rig_truth_count(TRUTH_HELD) && page < 200) {
		struct waiter waiters[2];

		for (__u16 i = 0; i < 2; i++)
			start(&waiters[i], 0, i, page++ * PAGE_BYTES, 1);
		for (__u32 i = 0; i < 2; i++)
			assert_int_equal(join(&waiters[i]), 0);
	}
	assert_true(rig_truth_count(TRUTH_HELD) > 0);
	records = rig_truth(&count);
	for (size_t i = 0; i < count; i++) {
		if (records[i].what != TRUTH_HELD)
			continue;
		resumed = rig_truth_find(TRUTH_RESUME, records[i].fault, 0);
		assert_non_null(resumed);
		if (resumed->time_ns - records[i].time_ns > longest_ns)
			longest_ns = resumed->time_ns - records[i].time_ns;
	}
	histogram_init(&trips);
	port_round_trips(rig->devices[0].port, &trips, NULL);
	assert_int_equal(trips.count, page);
	assert_true(trips.max >= longest_ns && longest_ns > 20 * NSEC_PER_MSEC);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(one_fault_is_resolved_and_resumed),
		RIG_TEST(data_written_by_dma_is_seen_by_the_cpu),
		RIG_TEST(absent_pages_become_groups_with_last_on_the_final_request),
		RIG_TEST(a_dma_of_513_pages_fits_whatever_the_group_size),
		RIG_TEST(invalid_is_efault_and_failure_is_eio),
		RIG_TEST(a_lost_response_is_given_up_and_asked_anew),
		RIG_TEST(lost_indices_come_back_when_all_are_used_up),
		RIG_TEST(a_late_response_frees_its_index),
		RIG_TEST(a_duplicate_is_answered_as_well),
		RIG_TEST(a_full_queue_drops_and_the_device_gets_through),
		RIG_TEST(forced_overflows_end_when_disarmed),
		RIG_TEST(credits_bound_what_a_device_has_outstanding),
		RIG_TEST(credits_of_lost_responses_come_back),
		RIG_TEST(a_failure_disables_page_requests_until_they_are_enabled),
		RIG_TEST(delays_of_different_groups_overlap),
		RIG_TEST(a_serial_handler_serves_one_group_after_the_other),
		RIG_TEST(affined_handlers_serve_tenants_at_once),
		RIG_TEST(an_affined_handler_stays_on_its_tenants_cpus),
		RIG_TEST(stop_ends_waits_in_the_middle_of_faults),
		RIG_TEST(many_tenants_reuse_group_numbers_at_once),
		RIG_TEST(round_trips_are_measured_without_a_truth_log),
		RIG_TEST(easing_off_blocks_no_queue),
		RIG_TEST(round_trips_begin_when_a_fault_is_held_back),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}
