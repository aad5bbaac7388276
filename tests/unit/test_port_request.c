// SPDX-License-Identifier: GPL-2.0
/* Page requests of a device that does not wait: told once, of everything that may come, at any instant. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/thread.h"
#include "tests/unit/rig/requests.h"

struct asked {
	struct port_request request;
	atomic_int told; /* times */
	int error;
	char teller[THREAD_NAME];
	/* as seen by done() */
	size_t resumed, abandoned, responses, detected;
	__u16 group;
	__u64 truth_fault;
	int group_found;
	void (*then)(struct asked *asked);
};

static void told(struct port_request *request, int error)
{
	struct asked *asked = (struct asked *)request;

	ALWAYS(!raising);
	asked->error = error;
	pthread_getname_np(pthread_self(), asked->teller, sizeof(asked->teller));
	asked->resumed = rig_truth_count(TRUTH_RESUME);
	asked->abandoned = rig_truth_count(TRUTH_ABANDON);
	asked->responses = rig_truth_count(TRUTH_RESPONSE);
	asked->group_found = port_request_group(request, 0, &asked->group, &asked->truth_fault);
	if (asked->then)
		asked->then(asked);
	atomic_fetch_add(&asked->told, 1);
}

static int ask(struct asked *asked, __u64 page, __u32 count)
{
	void (*then)(struct asked *) = asked->then;

	/* Nothing is expected of what is the port's own. */
	memset(asked, 0xa5, sizeof(*asked));
	asked->request.own = NULL;
	asked->request.queue = 1;
	asked->request.access = EVENT_WRITE;
	asked->request.count = count;
	asked->request.done = told;
	for (__u32 i = 0; i < count && i < PORT_REQUEST_PAGES; i++)
		asked->request.pages[i] = (page + i) * PAGE_BYTES;
	asked->then = then;
	atomic_init(&asked->told, 0);
	return raise_it(&asked->request);
}

static void wait_told(struct asked *asked)
{
	while (!atomic_load(&asked->told))
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
}

static void wait_logged(__u8 what, size_t count)
{
	while (rig_truth_count(what) < count)
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
}

/* How many pages of the range are absent to the device. */
static int absent(__u64 page, __u32 count)
{
	struct port *port = rig->devices[0].port;
	struct dma *dma = malloc(sizeof(*dma));
	__u64 pages[PORT_REQUEST_PAGES];
	int result;

	assert_non_null(dma);
	result = port_dma_try(port, 1, PASID_NONE, page * PAGE_BYTES, count * PAGE_BYTES, true, dma,
			      pages, PORT_REQUEST_PAGES);
	if (!result)
		port_dma_end(port, dma);
	free(dma);
	return result;
}

/* Which index the next group takes. */
static __u16 next_index(__u64 page)
{
	struct asked asked = {0};

	assert_int_equal(ask(&asked, page, 1), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.error, 0);
	return asked.group;
}

static void a_try_takes_the_pages_or_names_the_absent_ones(void **state)
{
	struct port *port;
	struct dma *dma = malloc(sizeof(*dma));
	__u64 pages[3], words[2] = {0};
	struct histogram lookups;

	rig_build((struct rig_config){0});
	port = rig->devices[0].port;
	words[0] = 0x1234567;
	assert_int_equal(port_dma_write(port, 0, PASID_NONE, 2 * PAGE_BYTES, words, 16), 0);
	assert_int_equal(absent(0, 6), 5);
	assert_int_equal(port_dma_try(port, 0, PASID_NONE, PAGE_BYTES + 5, 4 * PAGE_BYTES, true,
				      dma, pages, 3),
			 3);
	assert_int_equal(pages[0], PAGE_BYTES);
	assert_int_equal(pages[1], 3 * PAGE_BYTES);
	assert_int_equal(pages[2], 4 * PAGE_BYTES);
	assert_int_equal(
		port_dma_try(port, 0, PASID_NONE, 2 * PAGE_BYTES, 16, false, dma, pages, 3), 0);
	assert_int_equal(dma->segments, 1);
	assert_memory_equal(dma->iov[0].iov_base, words, 16);
	assert_false(dma->faulted);
	port_dma_end(port, dma);
	/* One that is timed, as the first of its queue. */
	memset(dma, 0, sizeof(*dma));
	assert_int_equal(
		port_dma_try(port, 2, PASID_NONE, 2 * PAGE_BYTES, 16, false, dma, pages, 3), 0);
	assert_int_equal(dma->segments, 1);
	assert_memory_equal(dma->iov[0].iov_base, words, 16);
	port_dma_end(port, dma);
	assert_int_equal(port_dma_try(port, 0, 7, 0, 16, false, dma, pages, 3), -EINVAL);
	assert_int_equal(port_dma_try(port, 4, PASID_NONE, 0, 16, false, dma, pages, 3), -EINVAL);
	assert_int_equal(port_dma_try(port, 0, PASID_NONE, 0, 0, false, dma, pages, 3), -EINVAL);
	assert_int_equal(port_dma_try(port, 0, PASID_NONE, 0, HUGE_BYTES + 1, false, dma, pages, 3),
			 -EINVAL);
	assert_int_equal(port_dma_try(port, 0, PASID_NONE, 0, 16, false, dma, pages, 0), -EINVAL);
	assert_int_equal(
		port_dma_try(port, 0, PASID_NONE, 4 * HUGE_BYTES, 16, false, dma, pages, 3),
		-EINVAL);
	/* Only the write waited; of each queue's lookups the first was timed. */
	assert_int_equal(stats_now().groups, 1);
	histogram_init(&lookups);
	port_lookup_times(port, &lookups);
	assert_int_equal(lookups.count, 3);
	free(dma);
}

static void an_answer_is_told_while_the_fault_is_open(void **state)
{
	const struct truth_record *detect;
	struct asked asked = {0};

	rig_build((struct rig_config){0});
	assert_int_equal(absent(5, 1), 1);
	assert_int_equal(ask(&asked, 5, 1), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, 0);
	assert_int_equal(asked.resumed, 0);
	assert_int_equal(asked.responses, 1);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 1);
	assert_int_equal(absent(5, 1), 0);
	assert_int_equal(asked.group_found, 0);
	detect = rig_truth_find(TRUTH_DETECT, asked.truth_fault, 5 * PAGE_BYTES);
	assert_non_null(detect);
	assert_int_equal(detect->group, asked.group);
	assert_int_equal(detect->queue, 1);
	assert_true(detect->flags & EVENT_WRITE);
	assert_non_null(rig_truth_find(TRUTH_RESUME, asked.truth_fault, 5 * PAGE_BYTES));
	assert_int_equal(next_index(6), 0);
	assert_int_equal(stats_now().groups, 2);
	assert_int_equal(trips_now(), 2);
	assert_int_equal(port_blocked_ns(rig->devices[0].port, 1), 0);
	assert_int_equal(port_fault_end_ns(rig->devices[0].port, 1), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static void all_groups_of_a_request_are_answered_first(void **state)
{
	struct asked asked = {0};
	__u64 fault, groups = 0;
	__u16 group;

	rig_build((struct rig_config){.group_pages = 7});
	rig_arm(rig, INJECT_RESPOND, 3600 * NSEC_PER_SEC, -1);
	assert_int_equal(ask(&asked, 0, 23), 0);
	/* The serial handler holds the first: all of it is open still. */
	for (__u32 i = 0; i < 23; i++) {
		const struct truth_record *detect;

		assert_int_equal(port_request_group(&asked.request, i, &group, &fault), 0);
		assert_int_equal(group, i / 7);
		detect = rig_truth_find(TRUTH_DETECT, fault, i * PAGE_BYTES);
		assert_non_null(detect);
		assert_int_equal(detect->group, group);
		groups |= 1ull << group;
	}
	assert_int_equal(groups, 0xf);
	assert_int_equal(port_request_group(&asked.request, 23, &group, &fault), -ENOENT);
	inject_stop(rig->injections); /* wakes the handler */
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, 0);
	assert_int_equal(asked.responses, 23);
	assert_int_equal(asked.resumed, 0);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 23);
	assert_int_equal(absent(0, 23), 0);
	assert_int_equal(trips_now(), 4);
	assert_int_equal(rig_violations(rig), 0);
}

/* A whole work request's pages, in the caller's arrays: told as ever, and open until the caller says so. */
#define OWN_PAGES 1031

static struct port_request_own own;
static __u64 own_pages[OWN_PAGES];
static __u16 own_groups[GROUP_INDEX_MAX];

static void fill_own(struct asked *asked, __u64 page, __u32 count, __u64 found_ns)
{
	memset(asked, 0xa5, sizeof(*asked));
	for (__u32 i = 0; i < count && i < OWN_PAGES; i++)
		own_pages[i] = (page + i) * PAGE_BYTES;
	own = (struct port_request_own){own_pages, own_groups, found_ns};
	asked->request.own = &own;
	asked->request.queue = 1;
	asked->request.access = EVENT_WRITE;
	asked->request.count = count;
	asked->request.done = told;
	asked->then = NULL;
	atomic_init(&asked->told, 0);
}

static int ask_own(struct asked *asked, __u64 page, __u32 count, __u64 found_ns)
{
	fill_own(asked, page, count, found_ns);
	return raise_it(&asked->request);
}

static int claim(struct asked *asked, __u64 page, __u32 count)
{
	fill_own(asked, page, count, 0);
	return port_request_claim(rig->devices[0].port, &asked->request);
}

static int send_claimed(struct asked *asked)
{
	int error;

	raising = true;
	error = port_request_send(&asked->request);
	raising = false;
	return error;
}

/* By the truth log: of all groups, from the first request to the response to the last page. */
static __u64 waited_for_the_last(struct asked *asked, __u64 last_fault)
{
	const struct truth_record *last =
		rig_truth_find(TRUTH_RESPONSE, last_fault, (OWN_PAGES - 1) * PAGE_BYTES);
	__u64 waited_ns = 0, fault, first = ~0ull;
	__u16 group;

	assert_non_null(last);
	for (__u32 page = 0; page < OWN_PAGES; page++) {
		const struct truth_record *request;

		assert_int_equal(port_request_group(&asked->request, page, &group, &fault), 0);
		if (group == first)
			continue;
		first = group;
		request = rig_truth_find(TRUTH_REQUEST, fault, page * PAGE_BYTES);
		assert_non_null(request);
		waited_ns += last->time_ns - request->time_ns;
	}
	return waited_ns;
}

static void own_pages_are_raised_at_once_and_resume_when_they_are_told_to(void **state)
{
	struct asked asked = {0}, other = {0};
	struct round_trip_parts parts = {0};
	struct histogram trips;
	__u64 fault, waited_ns;
	__u16 group;

	rig_build((struct rig_config){.memory = 4 * HUGE_BYTES, .queue_entries = 4096});
	assert_int_equal(ask_own(&asked, 0, OWN_PAGES, 0), 0);
	/* All of its groups, before anything was answered or after. */
	assert_int_equal(stats_now().groups, 3);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.error, 0);
	assert_int_equal(asked.group_found, 0);
	assert_int_equal(absent(0, PORT_REQUEST_PAGES), 0);
	assert_int_equal(rig_truth_count(TRUTH_RESPONSE), OWN_PAGES);
	/* Open still: nothing has resumed, no index is free, each page is known by its group. */
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 0);
	assert_int_equal(port_request_group(&asked.request, 0, &group, &fault), 0);
	assert_int_equal(group, 0);
	assert_int_equal(port_request_group(&asked.request, OWN_PAGES - 1, &group, &fault), 0);
	assert_int_equal(group, 2);
	waited_ns = waited_for_the_last(&asked, fault);
	assert_non_null(rig_truth_find(TRUTH_DETECT, fault, (OWN_PAGES - 1) * PAGE_BYTES));
	assert_int_equal(ask(&other, OWN_PAGES, 1), 0);
	wait_told(&other);
	wait_closed();
	assert_int_equal(other.group, 3);
	assert_int_equal(trips_now(), 1);
	port_request_resume(&asked.request);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), OWN_PAGES + 1);
	assert_int_equal(trips_now(), 4);
	histogram_init(&trips);
	port_round_trips(rig->devices[0].port, &trips, &parts);
	assert_true(parts.host_ns >= waited_ns);
	assert_int_equal(next_index(OWN_PAGES + 1), 0);
	assert_int_equal(asked.told, 1);
	assert_int_equal(rig_violations(rig), 0);
}

static void what_was_held_back_says_since_when(void **state)
{
	const __u64 found_ns = monotonic_ns() - NSEC_PER_SEC;
	const struct truth_record *detect, *held;
	struct round_trip_parts parts = {0};
	struct asked asked = {0};
	struct histogram trips;

	rig_build((struct rig_config){0});
	assert_int_equal(ask_own(&asked, 3, 2, found_ns), 0);
	wait_told(&asked);
	wait_closed();
	port_request_resume(&asked.request);
	detect = rig_truth_find(TRUTH_DETECT, asked.truth_fault, 3 * PAGE_BYTES);
	held = rig_truth_find(TRUTH_HELD, asked.truth_fault, 3 * PAGE_BYTES);
	assert_non_null(detect);
	assert_non_null(held);
	assert_int_equal(detect->time_ns, found_ns);
	assert_int_equal(held->time_ns, found_ns);
	histogram_init(&trips);
	port_round_trips(rig->devices[0].port, &trips, &parts);
	assert_true(histogram_mean(&trips) >= NSEC_PER_SEC);
	/* What it was held back for is the device's part. */
	assert_int_equal(trips.count, 1);
	assert_true(parts.device_least_ns >= NSEC_PER_SEC);
	assert_true(parts.host_ns > 0);
	assert_int_equal(parts.host_least_ns, parts.host_ns);
	assert_int_equal(parts.host_ns + parts.device_least_ns, trips.max);
}

static void a_claim_is_known_before_it_is_sent(void **state)
{
	struct round_trip_parts parts = {0};
	const struct truth_record *detect;
	struct asked asked = {0};
	struct histogram trips;
	__u64 fault;
	__u16 group;

	rig_build((struct rig_config){.group_pages = 2});
	assert_int_equal(claim(&asked, 3, 5), 0);
	for (__u32 i = 0; i < 5; i++) {
		assert_int_equal(port_request_group(&asked.request, i, &group, &fault), 0);
		assert_int_equal(group, i / 2);
		detect = rig_truth_find(TRUTH_DETECT, fault, (3 + i) * PAGE_BYTES);
		assert_non_null(detect);
		assert_int_equal(detect->group, group);
	}
	assert_int_equal(port_request_group(&asked.request, 5, &group, &fault), -ENOENT);
	sleep_until(monotonic_ns() + 20 * NSEC_PER_MSEC);
	assert_int_equal(rig_truth_count(TRUTH_DETECT), 5);
	assert_int_equal(rig_truth_count(TRUTH_REQUEST), 0);
	assert_int_equal(send_claimed(&asked), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, 0);
	assert_int_equal(absent(3, 5), 0);
	port_request_resume(&asked.request);
	assert_int_equal(rig_truth_count(TRUTH_DETECT), 5);
	assert_int_equal(rig_truth_count(TRUTH_REQUEST), 5);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 5);
	/* It had its indices all the while. */
	assert_int_equal(rig_truth_count(TRUTH_HELD), 0);
	histogram_init(&trips);
	port_round_trips(rig->devices[0].port, &trips, &parts);
	assert_int_equal(trips.count, 3);
	assert_true(parts.device_least_ns >= 20 * NSEC_PER_MSEC);
	assert_int_equal(stats_now().groups, 3);
	assert_int_equal(stats_now().requests, 5);
	assert_int_equal(next_index(30), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_claim_that_is_dropped_is_abandoned(void **state)
{
	struct asked asked = {0}, second = {0};

	rig_build((struct rig_config){.group_pages = 2, .page_requests = 5});
	assert_int_equal(claim(&asked, 0, 5), 0);
	assert_int_equal(ask(&second, 20, 1), -EAGAIN);
	port_request_drop(&asked.request);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 5);
	assert_int_equal(rig_truth_count(TRUTH_REQUEST), 0);
	assert_int_equal(stats_now().timeouts, 3);
	/* What it had is others', although no response ever comes for it. */
	assert_int_equal(next_index(20), 0);
	assert_int_equal(claim(&asked, 0, 5), 0);
	assert_int_equal(send_claimed(&asked), 0);
	wait_told(&asked);
	port_request_resume(&asked.request);
	assert_int_equal(absent(0, 5), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_claim_that_cannot_be_sent_is_over(void **state)
{
	struct asked asked = {0}, other = {0};

	rig_build((struct rig_config){.reenable_ns = 3600 * NSEC_PER_SEC, .page_requests = 4});
	rig_arm(rig, INJECT_RESPONSE_FAILURE, 0, 1);
	assert_int_equal(claim(&asked, 0, PORT_REQUEST_OWN_PAGES + 1), -EINVAL);
	assert_int_equal(claim(&asked, 0, 3), 0);
	assert_int_equal(ask(&other, 20, 1), 0);
	wait_told(&other);
	wait_closed();
	/* Page requests are disabled. */
	assert_int_equal(send_claimed(&asked), -EIO);
	assert_int_equal(rig_truth_count(TRUTH_REQUEST), 1);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 3);
	assert_int_equal(claim(&asked, 0, 3), -EIO);
	assert_int_equal(asked.told, 0);
	assert_int_equal(stats_now().refused, 2);
	assert_int_equal(rig_truth_count(TRUTH_DETECT), 4);
}

static void no_claim_is_told_by_stop(void **state)
{
	struct asked asked = {0}, other = {0};

	rig_build((struct rig_config){.page_requests = 4});
	assert_int_equal(claim(&asked, 0, 4), 0);
	assert_int_equal(ask(&other, 20, 1), -EAGAIN);
	assert_int_equal(rig_truth_count(TRUTH_DETECT), 4);
	port_stop(rig->devices[0].port);
	assert_int_equal(asked.told, 0);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 0);
	assert_int_equal(send_claimed(&asked), -ESHUTDOWN);
	assert_int_equal(asked.told, 0);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 4);
	assert_int_equal(rig_truth_count(TRUTH_REQUEST), 0);
	assert_int_equal(claim(&asked, 0, 4), -ESHUTDOWN);
}

static void a_claim_that_overflows_is_told_by_the_return(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.group_pages = 2});
	rig_arm(rig, INJECT_OVERFLOW, 0, -1);
	assert_int_equal(claim(&asked, 0, 7), 0);
	assert_int_equal(send_claimed(&asked), -EAGAIN);
	assert_int_equal(stats_now().automatic, 4);
	assert_int_equal(rig_truth_count(TRUTH_DETECT), 7);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 7);
	assert_int_equal(asked.told, 0);
}

static void a_claim_has_duplicates_as_well(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.group_pages = 1});
	rig_arm(rig, INJECT_DUPLICATE, 0, 1);
	assert_int_equal(claim(&asked, 0, 7), 0);
	assert_int_equal(send_claimed(&asked), 0);
	wait_told(&asked);
	port_request_resume(&asked.request);
	assert_int_equal(asked.error, 0);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 8);
	assert_int_equal(absent(0, 7), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static void own_pages_that_are_given_up_are_abandoned_when_they_resume(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.response_timeout_ns = 50 * NSEC_PER_MSEC});
	rig_arm(rig, INJECT_RESPONSE_LOST, 0, 1);
	assert_int_equal(ask_own(&asked, 0, 5, 0), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.error, -ETIMEDOUT);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 0);
	port_request_resume(&asked.request);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 5);
	assert_int_equal(ask_own(&asked, 0, PORT_REQUEST_OWN_PAGES + 1, 0), -EINVAL);
	assert_int_equal(ask_own(&asked, 0, 0, 0), -EINVAL);
}

static void own_pages_resume_after_the_port_has_stopped(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){0});
	rig_arm(rig, INJECT_RESPONSE_LOST, 0, -1);
	assert_int_equal(ask_own(&asked, 0, 5, 0), 0);
	port_stop(rig->devices[0].port);
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, -ESHUTDOWN);
	assert_int_equal(rig_truth_count(TRUTH_RESUME) + rig_truth_count(TRUTH_ABANDON), 0);
	port_request_resume(&asked.request);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 5);
}

static void a_duplicate_is_waited_for_as_well(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.group_pages = 1});
	rig_arm(rig, INJECT_DUPLICATE, 0, 1);
	assert_int_equal(ask(&asked, 0, PORT_REQUEST_PAGES), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.error, 0);
	assert_int_equal(asked.responses, PORT_REQUEST_PAGES + 1);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), PORT_REQUEST_PAGES + 1);
	assert_int_equal(rig_violations(rig), 0);
}

static void what_overflows_at_once_is_told_by_the_return(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.group_pages = 2});
	rig_arm(rig, INJECT_OVERFLOW, 0, -1);
	assert_int_equal(ask(&asked, 0, 7), -EAGAIN);
	assert_int_equal(stats_now().groups, 4);
	assert_int_equal(stats_now().automatic, 4);
	assert_int_equal(trips_now(), 0);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 7);
	inject_disarm(rig->injections, 1);
	/* As long as the host has not noticed, what comes is dropped, too. */
	while (ask(&asked, 7, 1) == -EAGAIN)
		;
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, 0);
	assert_int_equal(asked.group, 0);
	assert_int_equal(absent(0, 8), 7);
	assert_int_equal(rig_violations(rig), 0);
}

/* The interrupt of those that fit comes late, so that the rest overflows. */
static void what_overflows_in_part_is_told_once_the_rest_has_come(void **state)
{
	struct asked asked = {0};
	int told_before;

	for (__u64 held_ns = 300 * NSEC_PER_MSEC;; held_ns *= 4) {
		rig_build((struct rig_config){.group_pages = 1, .queue_entries = 4});
		rig_arm(rig, INJECT_DELIVERY, held_ns, -1);
		assert_int_equal(ask(&asked, 0, 23), 0);
		told_before = atomic_load(&asked.told);
		wait_told(&asked);
		wait_closed();
		if ((!told_before && stats_now().automatic) || held_ns > 60 * NSEC_PER_SEC)
			break;
		/* On a slow machine it comes before all have been sent: it is held for longer. */
		rig_teardown(NULL);
	}
	assert_int_equal(told_before, 0);
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, -EAGAIN);
	assert_int_equal(asked.resumed, 0);
	assert_true(stats_now().automatic > 0 && trips_now() > 0);
	assert_int_equal(stats_now().automatic + trips_now(), 23);
	assert_int_equal(absent(0, 23), stats_now().automatic);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 23);
	assert_int_equal(rig_violations(rig), 0);
}

static void what_was_given_up_keeps_its_index_until_its_late_response(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.response_timeout_ns = 20 * NSEC_PER_MSEC,
				      .scheduler = SCHEDULER_AFFINED,
				      .devices = 2});
	rig_arm(rig, INJECT_RESPOND, 3600 * NSEC_PER_SEC, 1);
	assert_int_equal(ask(&asked, 3, 2), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, -ETIMEDOUT);
	assert_string_equal(asked.teller, "port-timer");
	assert_int_equal(asked.abandoned, 0);
	assert_int_equal(asked.group_found, 0);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 2);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 0);
	assert_int_equal(rig->devices[0].port->groups[0].state, GROUP_ABANDONED);
	assert_int_equal(rig->devices[0].port->outstanding, 2);
	/* The one index that is lower than it would be is not to be had. */
	asked.then = NULL;
	assert_int_equal(ask(&asked, 9, 1), 0);
	wait_told(&asked);
	assert_int_equal(asked.group, 1);
	wait_closed();
	assert_int_equal(stats_now().timeouts, 2);
	rig_be_patient();
	inject_stop(rig->injections); /* wakes the handler */
	while (service_pending(rig->service, 0, 0) || service_pending(rig->service, 0, 1))
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
	assert_int_equal(rig->devices[0].port->groups[0].state, GROUP_FREE);
	assert_int_equal(rig->devices[0].port->outstanding, 0);
	assert_int_equal(next_index(12), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static struct asked other;

static void hold_until_the_late_response(struct asked *asked)
{
	rig_be_patient();
	inject_stop(rig->injections); /* wakes the handler */
	wait_logged(TRUTH_RESPONSE, 1);
	while (service_pending(rig->service, 0, asked->group))
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
	/* It came, and still nobody may have the index. */
	ALWAYS(port_request_group(&asked->request, 0, &asked->group, &asked->truth_fault) == 0);
	ALWAYS(ask(&other, 9, 1) == 0);
}

static void a_response_while_its_end_is_told_frees_the_index_afterwards(void **state)
{
	struct asked asked = {.then = hold_until_the_late_response};

	rig_build((struct rig_config){.response_timeout_ns = 100 * NSEC_PER_MSEC});
	rig_arm(rig, INJECT_RESPOND, 3600 * NSEC_PER_SEC, 1);
	assert_int_equal(ask(&asked, 3, 1), 0);
	wait_told(&asked);
	wait_told(&other);
	wait_closed();
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, -ETIMEDOUT);
	assert_int_equal(other.group, 1);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 1);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 1); /* the other's */
	assert_int_equal(next_index(20), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static void some_groups_are_given_up_others_answered(void **state)
{
	struct rig_config config = {.response_timeout_ns = 200 * NSEC_PER_MSEC, .group_pages = 2};
	struct asked asked = {0};

	for (;; config.response_timeout_ns *= 4) {
		rig_build(config);
		rig_arm(rig, INJECT_RESPONSE_LOST, 0, 2);
		assert_int_equal(ask(&asked, 0, 10), 0);
		wait_told(&asked);
		wait_closed();
		assert_int_equal(asked.told, 1);
		assert_int_equal(asked.error, -ETIMEDOUT);
		if (stats_now().timeouts == 2 || config.response_timeout_ns > 60 * NSEC_PER_SEC)
			break;
		/* A slow machine answers others too late as well: it is given more time. */
		rig_teardown(NULL);
	}
	assert_int_equal(stats_now().timeouts, 2);
	assert_int_equal(trips_now(), 3);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 4);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 6);
	assert_int_equal(absent(0, 10), 4);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_failure_disables_requests_as_it_does_dmas(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.reenable_ns = 3600 * NSEC_PER_SEC});
	rig_arm(rig, INJECT_RESPONSE_FAILURE, 0, 1);
	assert_int_equal(ask(&asked, 0, 1), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.error, -EIO);
	assert_int_equal(ask(&asked, 1, 1), -EIO);
	assert_int_equal(asked.told, 0);
	assert_int_equal(stats_now().disabled, 1);
	assert_int_equal(stats_now().refused, 1);
	assert_int_equal(stats_now().groups, 1);
}

static void *disable_at_random(void *argument)
{
	const atomic_bool *stop = argument;
	unsigned int seed = 5;

	while (!atomic_load(stop)) {
		/* Of no group: it disables, and is a violation. */
		port_respond(rig->devices[0].port, PASID_NONE, GROUP_INDEX_MAX, RESPONSE_FAILURE);
		sleep_until(monotonic_ns() + (__u64)rand_r(&seed) % 300 * NSEC_PER_USEC);
	}
	return NULL;
}

/* All that was raised is answered well; the rest never was. */
static void what_a_failure_cut_short_is_told_so(void **state)
{
	atomic_bool stop = false, seen = false;
	pthread_t thread;
	__u64 groups, start = monotonic_ns();

	rig_build((struct rig_config){.reenable_ns = 30 * NSEC_PER_USEC, .group_pages = 1});
	assert_int_equal(thread_start(&thread, NULL, disable_at_random, &stop, "disable"), 0);
	while (!seen && monotonic_ns() - start < 30 * NSEC_PER_SEC) {
		struct asked asked = {0};

		groups = stats_now().groups;
		if (ask(&asked, 0, PORT_REQUEST_PAGES))
			continue;
		wait_told(&asked);
		groups = stats_now().groups - groups;
		assert_int_equal(asked.error, groups < PORT_REQUEST_PAGES ? -EIO : 0);
		seen = groups < PORT_REQUEST_PAGES;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	assert_true(seen);
	wait_closed();
}

static void what_cannot_be_asked_is_refused(void **state)
{
	static const struct {
		__u64 page;
		__u32 count;
		__u16 queue;
		__u8 access;
		int error;
	} cases[] = {
		{0, 0, 0, EVENT_READ, -EINVAL}, {0, PORT_REQUEST_PAGES + 1, 0, EVENT_READ, -EINVAL},
		{0, 1, 4, EVENT_READ, -EINVAL}, {0, 1, 0, EVENT_READ | EVENT_WRITE, -EINVAL},
		{0, 1, 0, 0, -EINVAL},		{64, 1, 0, EVENT_READ, -EINVAL},
		{0, 1, 3, EVENT_READ, 0},
	};
	struct asked asked = {0};

	rig_build((struct rig_config){0});
	for (size_t i = 0; i < COUNT(cases); i++) {
		asked = (struct asked){.request = {.queue = cases[i].queue,
						   .access = cases[i].access,
						   .count = cases[i].count,
						   .pages = {cases[i].page},
						   .done = told}};
		assert_int_equal(raise_it(&asked.request), cases[i].error);
	}
	wait_told(&asked);
	assert_int_equal(stats_now().groups, 1);
	asked.then = NULL;
	/* Inside of the device's window, outside of the tenant's memory: in one of two groups. */
	assert_int_equal(ask(&asked, HUGE_BYTES / PAGE_BYTES, 1), 0);
	wait_told(&asked);
	wait_closed();
	assert_int_equal(asked.error, -EFAULT);
	assert_int_equal(asked.told, 1);
	assert_int_equal(rig_violations(rig), 0);
}

static void credits_bound_requests_too(void **state)
{
	struct asked first = {0}, second = {0};

	rig_build((struct rig_config){.group_pages = 3, .page_requests = 4});
	rig_arm(rig, INJECT_RESPOND, 3600 * NSEC_PER_SEC, 1);
	assert_int_equal(ask(&first, 0, 9), 0);
	assert_int_equal(stats_now().requests, 4);
	assert_int_equal(ask(&second, 20, 1), -EAGAIN);
	assert_int_equal(stats_now().held_back, 2 + 1);
	inject_stop(rig->injections); /* wakes the handler */
	wait_told(&first);
	wait_closed();
	assert_int_equal(first.error, 0);
	assert_int_equal(absent(0, 9), 5);
	assert_int_equal(ask(&second, 20, 1), 0);
	wait_told(&second);
	wait_closed();
	assert_int_equal(rig_truth_count(TRUTH_HELD), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static void raise_another(struct asked *asked)
{
	/* Its index is not free yet: this takes another, and so does the same request again. */
	struct asked *again = asked->request.pages[0] ? NULL : asked;

	if (!again)
		return;
	again->request.pages[0] = PAGE_BYTES;
	ALWAYS(raise_it(&again->request) == 0);
}

static void a_request_is_raised_again_from_inside(void **state)
{
	struct asked asked = {.then = raise_another};

	rig_build((struct rig_config){0});
	assert_int_equal(ask(&asked, 0, 1), 0);
	while (atomic_load(&asked.told) < 2)
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
	wait_closed();
	assert_int_equal(asked.group, 1);
	assert_int_equal(asked.error, 0);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 2);
	for (__u64 page = 0; page < 2; page++)
		assert_int_equal(absent(page, 1), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static atomic_uint gone;

static void free_it(struct port_request *request, int error)
{
	ALWAYS(!raising);
	ALWAYS(error == 0);
	memset(request, 0x5a, sizeof(*request));
	free(request);
	atomic_fetch_add(&gone, 1);
}

/* The closing of a fault names the same pages, group and queue as its beginning. */
static void assert_resumed_as_detected(size_t requests)
{
	const struct truth_record *records, *resume;
	size_t count, seen = 0;

	records = rig_truth(&count);
	for (size_t i = 0; i < count; i++) {
		if (records[i].what != TRUTH_DETECT)
			continue;
		resume = rig_truth_find(TRUTH_RESUME, records[i].fault, records[i].address);
		assert_non_null(resume);
		assert_int_equal(resume->group, records[i].group);
		assert_int_equal(resume->queue, records[i].queue);
		seen++;
	}
	assert_int_equal(seen, requests);
}

/* What is read of it afterwards is found in the truth log, and by the address sanitizer. */
static void a_request_may_be_freed_as_soon_as_it_was_told(void **state)
{
	enum { REQUESTS = 401 };

	rig_build((struct rig_config){.group_pages = 2, .queue_entries = 4096});
	atomic_store(&gone, 0);
	for (__u32 n = 0; n < REQUESTS; n++) {
		struct port_request *request = calloc(1, sizeof(*request));

		*request = (struct port_request){.access = EVENT_READ, .count = 3, .done = free_it};
		for (__u32 i = 0; i < 3; i++)
			request->pages[i] = (n + i) * PAGE_BYTES;
		assert_int_equal(raise_it(request), 0);
		/* There is an index for each group. */
		while (n + 1 - atomic_load(&gone) > 100)
			sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
	}
	while (atomic_load(&gone) < REQUESTS)
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
	wait_closed();
	assert_resumed_as_detected(3 * REQUESTS);
	assert_int_equal(rig_violations(rig), 0);
}

static void *take_the_lock(void *argument)
{
	const atomic_bool *stop = argument;
	struct port *port = rig->devices[0].port;

	while (!atomic_load(stop)) {
		pthread_mutex_lock(&port->lock);
		pthread_mutex_unlock(&port->lock);
	}
	return NULL;
}

/* The response may be there before port_request() has returned: another thread tells. */
static void an_answer_that_comes_while_it_is_raised_is_told_by_the_timer(void **state)
{
	__u64 start = monotonic_ns(), page = 0;
	atomic_bool stop = false;
	pthread_t thread;
	bool seen = false;

	rig_build((struct rig_config){0});
	assert_int_equal(thread_start(&thread, NULL, take_the_lock, &stop, "lock"), 0);
	while (!seen && monotonic_ns() - start < 60 * NSEC_PER_SEC) {
		struct asked asked = {0};

		assert_int_equal(ask(&asked, page++ % 500, 1), 0);
		wait_told(&asked);
		wait_closed();
		assert_int_equal(asked.told, 1);
		assert_int_equal(asked.error, 0);
		seen = !strcmp(asked.teller, "port-timer");
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	assert_true(seen);
	assert_int_equal(rig_violations(rig), 0);
}

static void stop_tells_all_that_is_pending(void **state)
{
	enum { PENDING = 31 };
	struct asked *asked = calloc(PENDING, sizeof(*asked));
	__u32 n;

	rig_build((struct rig_config){.group_pages = 2});
	rig_arm(rig, INJECT_DISPATCH, 3600 * NSEC_PER_SEC, -1);
	for (n = 0; n < PENDING; n++)
		assert_int_equal(ask(&asked[n], 5 * n, 5), 0);
	for (n = 0; n < PENDING; n++)
		assert_int_equal(asked[n].told, 0);
	port_stop(rig->devices[0].port);
	for (n = 0; n < PENDING; n++) {
		assert_int_equal(asked[n].told, 1);
		assert_int_equal(asked[n].error, -ESHUTDOWN);
		assert_int_equal(asked[n].group_found, 0);
		assert_int_equal(asked[n].abandoned, 5 * n);
	}
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 5 * PENDING);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 0);
	assert_int_equal(ask(&asked[0], 0, 1), -ESHUTDOWN);
	assert_int_equal(asked[0].told, 0);
	assert_int_equal(stats_now().groups, stats_now().timeouts);
	rig_stop(rig);
	service_drain(rig->service);
	for (n = 1; n < PENDING; n++)
		assert_int_equal(asked[n].told, 1);
	assert_int_equal(rig->devices[0].port->outstanding, 0);
	assert_int_equal(rig_violations(rig), 0);
	free(asked);
}

static void stop_is_told_before_other_errors(void **state)
{
	struct asked asked = {0};

	rig_build((struct rig_config){.group_pages = 1});
	rig_arm(rig, INJECT_RESPONSE_LOST, 0, 1);
	assert_int_equal(ask(&asked, HUGE_BYTES / PAGE_BYTES - 1, 2), 0);
	while (rig->devices[0].port->groups[1].state != GROUP_ANSWERED)
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
	assert_int_equal(asked.told, 0);
	port_stop(rig->devices[0].port);
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, -ESHUTDOWN);
	assert_int_equal(rig_truth_count(TRUTH_ABANDON), 1);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 1);
}

static atomic_bool entered, may_leave, stopped;

static void stay(struct asked *asked)
{
	struct asked late = {0};

	atomic_store(&entered, true);
	while (!atomic_load(&may_leave))
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	/* The port was asked to stop meanwhile. */
	ALWAYS(ask(&late, 9, 1) == -ESHUTDOWN);
}

static void *stop_it(void *argument)
{
	port_stop(rig->devices[0].port);
	atomic_store(&stopped, true);
	return NULL;
}

static void stop_waits_for_what_is_being_told(void **state)
{
	struct asked asked = {.then = stay};
	pthread_t thread;

	rig_build((struct rig_config){0});
	atomic_store(&entered, false);
	atomic_store(&may_leave, false);
	atomic_store(&stopped, false);
	assert_int_equal(ask(&asked, 0, 1), 0);
	while (!atomic_load(&entered))
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	assert_int_equal(thread_start(&thread, NULL, stop_it, NULL, "stop"), 0);
	while (!rig->devices[0].port->stopping)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	sleep_until(monotonic_ns() + 50 * NSEC_PER_MSEC);
	assert_false(atomic_load(&stopped));
	atomic_store(&may_leave, true);
	pthread_join(thread, NULL);
	assert_int_equal(asked.told, 1);
	assert_int_equal(asked.error, 0);
	assert_int_equal(rig_truth_count(TRUTH_RESUME), 1);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_try_takes_the_pages_or_names_the_absent_ones),
		RIG_TEST(an_answer_is_told_while_the_fault_is_open),
		RIG_TEST(all_groups_of_a_request_are_answered_first),
		RIG_TEST(own_pages_are_raised_at_once_and_resume_when_they_are_told_to),
		RIG_TEST(what_was_held_back_says_since_when),
		RIG_TEST(a_claim_is_known_before_it_is_sent),
		RIG_TEST(a_claim_that_is_dropped_is_abandoned),
		RIG_TEST(a_claim_that_cannot_be_sent_is_over),
		RIG_TEST(no_claim_is_told_by_stop),
		RIG_TEST(a_claim_that_overflows_is_told_by_the_return),
		RIG_TEST(a_claim_has_duplicates_as_well),
		RIG_TEST(own_pages_that_are_given_up_are_abandoned_when_they_resume),
		RIG_TEST(own_pages_resume_after_the_port_has_stopped),
		RIG_TEST(a_duplicate_is_waited_for_as_well),
		RIG_TEST(what_overflows_at_once_is_told_by_the_return),
		RIG_TEST(what_overflows_in_part_is_told_once_the_rest_has_come),
		RIG_TEST(what_was_given_up_keeps_its_index_until_its_late_response),
		RIG_TEST(a_response_while_its_end_is_told_frees_the_index_afterwards),
		RIG_TEST(some_groups_are_given_up_others_answered),
		RIG_TEST(a_failure_disables_requests_as_it_does_dmas),
		RIG_TEST(what_a_failure_cut_short_is_told_so),
		RIG_TEST(what_cannot_be_asked_is_refused),
		RIG_TEST(credits_bound_requests_too),
		RIG_TEST(a_request_is_raised_again_from_inside),
		RIG_TEST(a_request_may_be_freed_as_soon_as_it_was_told),
		RIG_TEST(an_answer_that_comes_while_it_is_raised_is_told_by_the_timer),
		RIG_TEST(stop_tells_all_that_is_pending),
		RIG_TEST(stop_is_told_before_other_errors),
		RIG_TEST(stop_waits_for_what_is_being_told),
	};

	return cmocka_run_group_tests_name("port_request", tests, NULL, NULL);
}
