// SPDX-License-Identifier: GPL-2.0
/* Thousands of page requests at once beside DMAs that wait, evictions and all that can go wrong: each is told
 * once, each group comes to one end. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/thread.h"
#include "tests/unit/rig/requests.h"

enum { ASKERS = 3, SLOTS = 6, ROUNDS = 1500, PAGES = 400 };

struct asker {
	pthread_t thread;
	unsigned int seed;
	struct slot {
		struct port_request request;
		atomic_uint raised, told;
	} slots[SLOTS];
	__u64 refused;
	_Atomic __u64 told[6];
};

static struct asker askers[ASKERS];
static atomic_bool port_stopped;
static const int errors[6] = {0, -EAGAIN, -ETIMEDOUT, -EIO, -EFAULT, -ESHUTDOWN};

static void slot_told(struct port_request *request, int error)
{
	struct slot *slot = (struct slot *)request;
	struct asker *asker = &askers[request->queue];
	size_t which = 0;

	ALWAYS(!raising);
	ALWAYS(!atomic_load(&port_stopped));
	while (which < COUNT(errors) && errors[which] != error)
		which++;
	ALWAYS(which < COUNT(errors));
	atomic_fetch_add(&asker->told[which], 1);
	/* Nobody else touches it: the next round may write over it from now on. */
	memset(request->pages, 0x5a, sizeof(request->pages));
	atomic_fetch_add(&slot->told, 1);
}

/* False if it has to be tried again later. */
static bool slot_raise(struct asker *asker, struct slot *slot)
{
	struct port_request *request = &slot->request;
	__u64 page = (__u64)rand_r(&asker->seed) % PAGES;
	int error;

	memset(request, 0xa5, sizeof(*request));
	request->own = NULL;
	request->queue = (__u16)(asker - askers);
	request->access = rand_r(&asker->seed) % 2 ? EVENT_READ : EVENT_WRITE;
	request->count = 1 + (__u32)rand_r(&asker->seed) % 9;
	request->done = slot_told;
	for (__u32 i = 0; i < request->count; i++)
		request->pages[i] = (page + i) * PAGE_BYTES;
	/* Some are outside of memory. */
	if (rand_r(&asker->seed) % 64 == 0)
		request->pages[0] += HUGE_BYTES;
	atomic_fetch_add(&slot->raised, 1);
	error = raise_it(request);
	if (!error)
		return true;
	ALWAYS(error == -EAGAIN || error == -EIO || error == -ESHUTDOWN);
	atomic_fetch_sub(&slot->raised, 1);
	asker->refused++;
	return error == -ESHUTDOWN;
}

static void *ask_all_over(void *argument)
{
	struct asker *asker = argument;

	for (int round = 0; round < ROUNDS; round++) {
		struct slot *slot = &asker->slots[rand_r(&asker->seed) % SLOTS];

		while (atomic_load(&slot->told) != atomic_load(&slot->raised))
			sleep_until(monotonic_ns() + 20 * NSEC_PER_USEC);
		while (!slot_raise(asker, slot))
			sleep_until(monotonic_ns() + 50 * NSEC_PER_USEC);
	}
	return NULL;
}

static void *wait_all_over(void *argument)
{
	const atomic_bool *stop = argument;
	unsigned int seed = 3;
	__u64 word = 0;

	while (!atomic_load(stop)) {
		int error = port_dma_write(rig->devices[0].port, 3, PASID_NONE,
					   (__u64)rand_r(&seed) % PAGES * PAGE_BYTES, &word, 8);

		ALWAYS(!error || error == -EIO || error == -ESHUTDOWN);
	}
	return NULL;
}

static void *evict_all_over(void *argument)
{
	const atomic_bool *stop = argument;
	unsigned int seed = 4;

	while (!atomic_load(stop))
		evict_page(rig, 0, (__u64)rand_r(&seed) % PAGES * PAGE_BYTES, EVICT_MINOR);
	return NULL;
}

static void shake(enum inject_point point, __u32 id, __u32 probability, __u64 longest_ns)
{
	struct injection injection = {
		.point = point,
		.device = DEVICE_ALL,
		.id = id,
		.probability = probability,
		.interval = 1,
		.times = -1,
		.distribution = INJECT_UNIFORM,
		.delay_max_ns = longest_ns,
		.seed = id,
	};

	assert_int_equal(inject_arm(rig->injections, &injection), 0);
}

static void everything_is_shaken(void)
{
	shake(INJECT_DELIVERY, 1, 10, 100 * NSEC_PER_USEC);
	shake(INJECT_DISPATCH, 2, 100, 400 * NSEC_PER_USEC);
	shake(INJECT_RESPOND, 3, 5, 3 * NSEC_PER_MSEC);
	shake(INJECT_RESPONSE_LOST, 4, 1, 0);
	shake(INJECT_RESPONSE_FAILURE, 5, 1, 0);
	shake(INJECT_OVERFLOW, 6, 1, 0);
	shake(INJECT_DUPLICATE, 7, 5, 0);
}

/* Each group that was raised has come to one end, each request that was taken has been told once. */
static void assert_all_accounted(void)
{
	struct port_stats stats = stats_now();
	__u64 raised = 0, told = 0, by_error = 0;

	for (__u32 i = 0; i < ASKERS; i++) {
		for (__u32 n = 0; n < SLOTS; n++) {
			assert_int_equal(askers[i].slots[n].told, askers[i].slots[n].raised);
			raised += askers[i].slots[n].raised;
			told += askers[i].slots[n].told;
		}
		raised += askers[i].refused;
		told += askers[i].refused;
		for (size_t e = 0; e < COUNT(errors); e++)
			by_error += askers[i].told[e];
		by_error += askers[i].refused;
	}
	assert_int_equal(told, raised);
	assert_int_equal(by_error, raised);
	assert_int_equal(stats.groups, trips_now() + stats.automatic + stats.timeouts);
	assert_int_equal(stats.requests, rig_truth_count(TRUTH_DETECT));
	assert_int_equal(stats.requests,
			 rig_truth_count(TRUTH_RESUME) + rig_truth_count(TRUTH_ABANDON));
	assert_int_equal(stats.violations, 0);
}

static void run_askers(bool cut_short)
{
	atomic_bool stop = false;
	pthread_t waiter, evictor;

	memset(askers, 0, sizeof(askers));
	atomic_store(&port_stopped, false);
	assert_int_equal(thread_start(&waiter, NULL, wait_all_over, &stop, "wait"), 0);
	assert_int_equal(thread_start(&evictor, NULL, evict_all_over, &stop, "evict"), 0);
	for (__u32 i = 0; i < ASKERS; i++) {
		askers[i].seed = i + 1;
		assert_int_equal(thread_start(&askers[i].thread, NULL, ask_all_over, &askers[i],
					      "ask-%u", i),
				 0);
	}
	if (cut_short) {
		sleep_until(monotonic_ns() + 7 * NSEC_PER_MSEC);
		port_stop(rig->devices[0].port);
		atomic_store(&port_stopped, true);
	}
	for (__u32 i = 0; i < ASKERS; i++)
		pthread_join(askers[i].thread, NULL);
	atomic_store(&stop, true);
	pthread_join(evictor, NULL);
	pthread_join(waiter, NULL);
	for (__u32 i = 0; i < ASKERS; i++)
		for (__u32 n = 0; n < SLOTS; n++)
			while (askers[i].slots[n].told != askers[i].slots[n].raised)
				sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	wait_closed();
}

static cpu_set_t two_cpus(void)
{
	cpu_set_t all, some;
	int left = 2;

	CPU_ZERO(&some);
	pthread_getaffinity_np(pthread_self(), sizeof(all), &all);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && left; cpu++)
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, &some);
			left--;
		}
	return some;
}

static void build_shaken(__u32 page_requests)
{
	static cpu_set_t cpus;

	cpus = two_cpus();
	rig_build((struct rig_config){.group_pages = 3,
				      .queue_entries = 32,
				      .page_requests = page_requests,
				      .scheduler = SCHEDULER_AFFINED,
				      .cpus = &cpus,
				      .reenable_ns = 100 * NSEC_PER_USEC,
				      .response_timeout_ns = 2 * NSEC_PER_MSEC});
	everything_is_shaken();
}

static void thousands_of_requests_are_told_once_each(void **state)
{
	__u64 told[6] = {0};

	build_shaken(60);
	run_askers(false);
	assert_all_accounted();
	for (__u32 i = 0; i < ASKERS; i++)
		for (size_t e = 0; e < COUNT(errors); e++)
			told[e] += askers[i].told[e];
	/* All of it was met. */
	for (size_t e = 0; e < 5; e++)
		if (!told[e])
			fail_msg("no request was told %d", errors[e]);
	assert_int_equal(told[5], 0);
	rig_stop(rig);
	service_drain(rig->service);
	/* What was lost is all that is out of use. */
	for (__u32 i = 0; i < GROUP_INDEX_MAX; i++)
		assert_true(rig->devices[0].port->groups[i].state == GROUP_FREE ||
			    rig->devices[0].port->groups[i].state == GROUP_ABANDONED);
	assert_int_equal(rig_violations(rig), 0);
}

static void a_stop_in_the_middle_tells_the_rest(void **state)
{
	for (int i = 0; i < 61; i++) {
		build_shaken(0);
		run_askers(true);
		for (__u32 a = 0; a < ASKERS; a++)
			for (__u32 n = 0; n < SLOTS; n++)
				assert_int_equal(askers[a].slots[n].told,
						 askers[a].slots[n].raised);
		assert_int_equal(rig_violations(rig), 0);
		if (i < 60)
			rig_destroy(rig);
	}
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(thousands_of_requests_are_told_once_each),
		RIG_TEST(a_stop_in_the_middle_tells_the_rest),
	};

	return cmocka_run_group_tests_name("port_storm", tests, NULL, NULL);
}
