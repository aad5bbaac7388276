// SPDX-License-Identifier: GPL-2.0
/* The host's side alone: what is queued, how groups come together, what is answered and when. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/service.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define DEVICES	  23
#define RESPONSES 4096

struct response {
	__u32 device, pasid;
	__u16 group;
	enum response_code code;
	__u32 pages; /* resolved since the response before of this device */
};

static struct {
	struct service *service;
	struct inject_table *injections;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct response responses[RESPONSES];
	__u32 count;
	__u32 resolved[DEVICES];
	__u32 inside[CPU_SETSIZE]; /* handlers in resolve, by CPU */
	__u32 running;
	bool closed; /* handlers wait in resolve */
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static __u32 tenant_of(void *machine, __u32 device)
{
	(void)machine;
	return device % 2;
}

static int resolve(void *machine, const struct page_request *request, bool *major, __u64 *physical,
		   page_resolved on_resolved, void *argument)
{
	(void)machine;
	pthread_mutex_lock(&host.lock);
	host.inside[sched_getcpu()]++;
	host.running++;
	pthread_cond_broadcast(&host.changed);
	while (host.closed)
		pthread_cond_wait(&host.changed, &host.lock);
	host.running--;
	host.resolved[request->device]++;
	pthread_mutex_unlock(&host.lock);
	if (request->address >= 1ull << 32)
		return -EFAULT;
	if (request->address >= 1ull << 31)
		return -EIO;
	on_resolved(argument, false, MM_NONE);
	*major = false;
	*physical = request->address;
	return 0;
}

static void respond(void *machine, __u32 device, __u32 pasid, __u16 group, enum response_code code)
{
	(void)machine;
	pthread_mutex_lock(&host.lock);
	if (host.count < RESPONSES)
		host.responses[host.count++] =
			(struct response){device, pasid, group, code, host.resolved[device]};
	host.resolved[device] = 0;
	pthread_cond_broadcast(&host.changed);
	pthread_mutex_unlock(&host.lock);
}

static void build_with(__u32 entries, enum scheduler_kind scheduler, const cpu_set_t *tenant_cpus,
		       const __s32 *device_msi)
{
	static const struct service_ops ops = {
		.tenant_of = tenant_of, .resolve = resolve, .respond = respond};
	struct service_config config = {
		.scheduler = scheduler,
		.queue_entries = entries,
		.devices = DEVICES,
		.tenants = 2,
		.tenant_cpus = tenant_cpus,
		.device_msi = device_msi,
		.handler_backlog = 3,
	};

	assert_int_equal(inject_table_create(&host.injections), 0);
	config.injections = host.injections;
	assert_int_equal(service_create(&host.service, &config, &ops, NULL), 0);
}

static void build(__u32 entries, enum scheduler_kind scheduler)
{
	build_with(entries, scheduler, NULL, NULL);
}

static int teardown(void **state)
{
	service_destroy(host.service);
	inject_table_destroy(host.injections);
	host.service = NULL;
	host.injections = NULL;
	host.count = 0;
	host.closed = false;
	memset(host.resolved, 0, sizeof(host.resolved));
	memset(host.inside, 0, sizeof(host.inside));
	return 0;
}

static void gate(bool closed)
{
	pthread_mutex_lock(&host.lock);
	host.closed = closed;
	pthread_cond_broadcast(&host.changed);
	pthread_mutex_unlock(&host.lock);
}

static struct page_request page(__u32 device, __u16 group, __u64 number, bool last)
{
	return (struct page_request){
		.address = number * PAGE_BYTES,
		.device = device,
		.pasid = PASID_NONE,
		.group = group,
		.flags = (__u8)(EVENT_READ | (last ? EVENT_LAST : 0)),
	};
}

static int raise_request(struct page_request request)
{
	struct request_slot slot;
	int error = service_reserve(host.service, &request, &slot);

	if (!error)
		service_post(host.service, &request, &slot);
	return error;
}

static void wait_responses(__u32 count)
{
	pthread_mutex_lock(&host.lock);
	while (host.count < count)
		pthread_cond_wait(&host.changed, &host.lock);
	pthread_mutex_unlock(&host.lock);
}

static struct service_stats drained(void)
{
	struct service_stats stats;

	service_drain(host.service);
	service_stats(host.service, &stats);
	return stats;
}

static void interleaved_groups_of_many_devices_come_together(void **state)
{
	struct service_stats stats;

	build(1024, SCHEDULER_SERIAL);
	/* Device d's group has d + 1 pages; one page of each device in turn. */
	for (__u64 n = 0; n < DEVICES; n++)
		for (__u32 device = (__u32)n; device < DEVICES; device++)
			assert_int_equal(raise_request(page(device, 5, n, n == device)), 0);
	wait_responses(DEVICES);
	for (__u32 i = 0; i < DEVICES; i++) {
		assert_int_equal(host.responses[i].pages, host.responses[i].device + 1);
		assert_int_equal(host.responses[i].group, 5);
		assert_int_equal(host.responses[i].code, RESPONSE_SUCCESS);
	}
	stats = drained();
	assert_int_equal(stats.requests, DEVICES * (DEVICES + 1) / 2);
	assert_int_equal(stats.groups, DEVICES);
	assert_int_equal(stats.responses[RESPONSE_SUCCESS], DEVICES);
	assert_int_equal(stats.discarded, 0);
}

static void a_number_is_another_group_in_another_pasid(void **state)
{
	struct page_request one = page(3, 7, 1, false), two = page(3, 7, 2, true);

	build(64, SCHEDULER_AFFINED);
	two.pasid = 9;
	assert_int_equal(raise_request(one), 0);
	assert_int_equal(raise_request(two), 0);
	wait_responses(1);
	assert_int_equal(host.responses[0].pasid, 9);
	assert_int_equal(host.responses[0].pages, 1);
	one.flags |= EVENT_LAST;
	assert_int_equal(raise_request(one), 0);
	wait_responses(2);
	assert_int_equal(host.responses[1].pasid, PASID_NONE);
	assert_int_equal(host.responses[1].pages, 2);
}

static void numbers_are_reused_after_the_response(void **state)
{
	build(64, SCHEDULER_AFFINED);
	for (__u32 round = 0; round < 101; round++) {
		assert_int_equal(raise_request(page(0, 0, round, false)), 0);
		assert_int_equal(raise_request(page(0, 0, round + 1, true)), 0);
		wait_responses(round + 1);
		assert_int_equal(host.responses[round].pages, 2);
	}
}

static void the_worst_page_decides_the_code(void **state)
{
	build(64, SCHEDULER_SERIAL);
	assert_int_equal(raise_request(page(0, 0, 1, false)), 0);
	assert_int_equal(raise_request(page(0, 0, 1 << 20, true)), 0);
	wait_responses(1);
	assert_int_equal(host.responses[0].code, RESPONSE_INVALID);
	assert_int_equal(raise_request(page(0, 0, 1 << 20, false)), 0);
	assert_int_equal(raise_request(page(0, 0, 1 << 19, false)), 0);
	assert_int_equal(raise_request(page(0, 0, 1, true)), 0);
	wait_responses(2);
	assert_int_equal(host.responses[1].code, RESPONSE_FAILURE);
}

static void malformed_requests_are_discarded_and_counted(void **state)
{
	struct page_request unaligned = page(0, 0, 1, true), pasid = page(0, 0, 1, true),
			    access = page(0, 0, 1, true);
	struct service_stats stats;

	build(64, SCHEDULER_SERIAL);
	unaligned.address++;
	pasid.pasid = 1 << 20;
	access.flags = EVENT_LAST;
	assert_int_equal(raise_request(unaligned), 0);
	assert_int_equal(raise_request(pasid), 0);
	assert_int_equal(raise_request(access), 0);
	assert_int_equal(raise_request(page(DEVICES, 0, 1, true)), 0);
	assert_int_equal(raise_request(page(0, GROUP_INDEX_MAX, 1, true)), 0);
	stats = drained();
	assert_int_equal(stats.requests, 5);
	assert_int_equal(stats.discarded, 5);
	assert_int_equal(stats.groups, 0);
	assert_false(service_pending(host.service, 0, 0));
}

static void a_group_larger_than_pcie_allows_is_discarded(void **state)
{
	struct service_stats stats;

	build(1024, SCHEDULER_SERIAL);
	for (__u64 n = 0; n <= GROUP_PAGES_MAX; n++)
		assert_int_equal(raise_request(page(1, 2, n, false)), 0);
	stats = drained();
	assert_int_equal(stats.discarded, GROUP_PAGES_MAX + 1);
	assert_false(service_pending(host.service, 1, 2));
}

/* Makes the ISR wait: a request with a delivery time far away keeps its slot. */
static void fill(__u32 device, __u16 group, __u32 count)
{
	for (__u32 n = 0; n < count; n++) {
		struct page_request request = page(device, group, n, false);

		request.deliver_ns = monotonic_ns() + 3600 * NSEC_PER_SEC;
		assert_int_equal(raise_request(request), 0);
	}
}

static void a_full_queue_drops_and_counts(void **state)
{
	struct service_stats stats;
	struct page_request request = page(1, 0, 0, false);
	struct request_slot slot;

	build(8, SCHEDULER_SERIAL);
	fill(0, 0, 6);
	assert_int_equal(service_reserve(host.service, &request, &slot), 0);
	assert_int_equal(slot.depth, 7);
	for (int i = 0; i < 11; i++)
		assert_int_equal(raise_request(page(2, 0, 0, false)), -EOVERFLOW);
	service_post(host.service, &request, &slot);
	stats = drained();
	assert_int_equal(stats.overflows, 11);
	assert_int_equal(stats.overflow_epochs, 1);
	assert_int_equal(stats.depth_max, 7);
	assert_int_equal(stats.requests, 7);
	assert_int_equal(stats.discarded, 7);
}

static void arm(enum inject_point point, __s64 times)
{
	struct injection injection = {.point = point,
				      .device = DEVICE_ALL,
				      .probability = 100,
				      .interval = 1,
				      .times = times};

	assert_int_equal(inject_arm(host.injections, &injection), 0);
}

/* Raises until the overflow bit has been cleared; returns how often that was too early. */
static __u32 insist(struct page_request request)
{
	__u32 refused = 0;

	while (raise_request(request))
		refused++;
	return refused;
}

/* The host must not mix what it had of that group with the next of the same number. */
static void an_overflow_voids_every_unfinished_group(void **state)
{
	struct service_stats stats;
	__u64 dropped = 0;

	build(64, SCHEDULER_SERIAL);
	for (__u32 round = 0; round < 31; round++) {
		assert_int_equal(raise_request(page(4, 1, 10, false)), 0);
		assert_int_equal(raise_request(page(4, 1, 11, false)), 0);
		assert_int_equal(raise_request(page(5, 1, 11, false)), 0);
		arm(INJECT_OVERFLOW, 1);
		assert_int_equal(raise_request(page(4, 1, 12, true)), -EOVERFLOW);
		inject_disarm(host.injections, 0);
		/* Another device's group, unfinished too, loses what came before as well. */
		dropped += 1 + insist(page(5, 1, 13, true));
		assert_int_equal(raise_request(page(4, 1, 13, true)), 0);
		wait_responses(2 * round + 2);
		assert_int_equal(host.responses[2 * round].pages, 1);
		assert_int_equal(host.responses[2 * round + 1].pages, 1);
	}
	stats = drained();
	assert_int_equal(stats.discarded, 93);
	assert_int_equal(stats.overflow_epochs, 31);
	assert_int_equal(stats.overflows, dropped);
	assert_false(service_pending(host.service, 4, 1));
	assert_false(service_pending(host.service, 5, 1));
}

/* The bit is sticky: room alone does not help, only the host's clearing does. */
static void after_an_overflow_requests_are_dropped_until_the_host_has_caught_up(void **state)
{
	struct page_request first = page(1, 0, 1, false), last = page(1, 0, 2, true);
	struct request_slot slot, later;
	struct service_stats stats;

	build(8, SCHEDULER_SERIAL);
	assert_int_equal(service_reserve(host.service, &first, &slot), 0);
	arm(INJECT_OVERFLOW, 1);
	assert_int_equal(raise_request(last), -EOVERFLOW);
	/* The queue holds one request of seven; the host waits for its content. */
	for (int i = 0; i < 13; i++)
		assert_int_equal(raise_request(last), -EOVERFLOW);
	service_post(host.service, &first, &slot);
	while (service_reserve(host.service, &last, &later))
		;
	assert_int_equal(later.epoch, slot.epoch + 1);
	service_post(host.service, &last, &later);
	wait_responses(1);
	assert_int_equal(host.responses[0].pages, 1);
	stats = drained();
	assert_int_equal(stats.overflow_epochs, 1);
	assert_int_equal(stats.discarded, 1);
}

/* However long each request's interrupt is delayed: the queue has one order, that of its slots. */
static void requests_are_taken_in_the_order_of_the_queue(void **state)
{
	enum { REQUESTS = 2154 };

	build(1024, SCHEDULER_SERIAL);
	for (__u64 n = 0; n < REQUESTS; n++) {
		struct page_request request = page(n % DEVICES, (n / DEVICES) % 512, n, true);

		request.deliver_ns = monotonic_ns() + n * 7919 % 401 * NSEC_PER_USEC;
		while (host.count + 900 < n)
			sleep_until(monotonic_ns() + NSEC_PER_MSEC);
		assert_int_equal(raise_request(request), 0);
	}
	wait_responses(REQUESTS);
	for (__u32 n = 0; n < REQUESTS; n++) {
		assert_int_equal(host.responses[n].device, n % DEVICES);
		assert_int_equal(host.responses[n].group, (n / DEVICES) % 512);
	}
}

static void a_group_is_pending_until_it_has_been_answered(void **state)
{
	build(64, SCHEDULER_SERIAL);
	gate(true);
	assert_false(service_pending(host.service, 2, 9));
	assert_int_equal(raise_request(page(2, 9, 0, true)), 0);
	assert_true(service_pending(host.service, 2, 9));
	gate(false);
	wait_responses(1);
	drained();
	assert_false(service_pending(host.service, 2, 9));
}

static void draining_serves_what_is_queued_however_long_its_delay(void **state)
{
	struct service_stats stats;

	build(64, SCHEDULER_AFFINED);
	for (__u16 group = 0; group < 13; group++) {
		struct page_request request = page(group % 3, group, group, true);

		request.deliver_ns = monotonic_ns() + 3600 * NSEC_PER_SEC;
		assert_int_equal(raise_request(request), 0);
	}
	stats = drained();
	assert_int_equal(stats.groups, 13);
	assert_int_equal(host.count, 13);
}

static void wait_running(__u32 count)
{
	pthread_mutex_lock(&host.lock);
	while (host.running < count)
		pthread_cond_wait(&host.changed, &host.lock);
	pthread_mutex_unlock(&host.lock);
}

/* The first two CPUs that this process may use; the same one twice if there is no other. */
static void two_cpus(int found[2])
{
	cpu_set_t all;
	int count = 0;

	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET((size_t)cpu, &all))
			found[count++] = cpu;
	if (count == 1)
		found[1] = found[0];
}

/* Tenant 0 has both CPUs, tenant 1 the second. */
static void build_on_two_cpus(int cpu[2], const __s32 *device_msi)
{
	cpu_set_t sets[2];

	two_cpus(cpu);
	CPU_ZERO(&sets[0]);
	CPU_ZERO(&sets[1]);
	CPU_SET((size_t)cpu[0], &sets[0]);
	CPU_SET((size_t)cpu[1], &sets[0]);
	CPU_SET((size_t)cpu[1], &sets[1]);
	build_with(64, SCHEDULER_AFFINED, sets, device_msi);
}

static void a_polled_device_is_served_by_the_least_loaded_cpu_of_its_tenant(void **state)
{
	struct service_stats stats;
	int cpu[2];

	build_on_two_cpus(cpu, NULL);
	gate(true);
	/* Devices of even number are tenant 0's: one group runs on each of its CPUs, six wait. */
	for (__u16 group = 0; group < 8; group++)
		assert_int_equal(raise_request(page(0, group, group, true)), 0);
	wait_running(cpu[0] == cpu[1] ? 1 : 2);
	assert_int_equal(host.inside[cpu[0]], 1);
	assert_int_equal(host.inside[cpu[1]], 1);
	/* Neither of them holds up the other tenant, not even on the CPU that they share. */
	assert_int_equal(raise_request(page(1, 0, 0, true)), 0);
	wait_running(cpu[0] == cpu[1] ? 2 : 3);
	gate(false);
	wait_responses(9);
	assert_int_equal(host.inside[cpu[1]], cpu[0] == cpu[1] ? 9 : 5);
	stats = drained();
	assert_int_equal(stats.off_tenant, 0);
	assert_int_equal(stats.behind_others, 0);
	assert_int_equal(stats.at_msi + stats.off_msi, 0);
}

static void the_cpu_of_a_devices_msi_comes_first_up_to_its_backlog(void **state)
{
	struct service_stats stats;
	__s32 msi[DEVICES];
	int cpu[2];

	two_cpus(cpu);
	for (int i = 0; i < DEVICES; i++)
		msi[i] = cpu[1];
	build_on_two_cpus(cpu, msi);
	gate(true);
	for (__u16 group = 0; group < 3; group++)
		assert_int_equal(raise_request(page(0, group, group, true)), 0);
	wait_running(1);
	/* Three are there, one of them running: the other CPU, although idle, has none yet. */
	assert_int_equal(host.inside[cpu[1]], 1);
	assert_int_equal(host.running, 1);
	assert_int_equal(raise_request(page(0, 3, 3, true)), 0);
	if (cpu[0] != cpu[1])
		wait_running(2);
	gate(false);
	wait_responses(4);
	stats = drained();
	assert_int_equal(stats.at_msi, 3);
	assert_int_equal(stats.off_msi, 1);
	assert_int_equal(stats.off_tenant, 0);
}

static void a_serial_handler_makes_tenants_wait_for_each_other(void **state)
{
	struct service_stats stats;

	build(64, SCHEDULER_SERIAL);
	gate(true);
	for (__u16 group = 0; group < 5; group++)
		assert_int_equal(raise_request(page(0, group, group, true)), 0);
	for (__u16 group = 0; group < 3; group++)
		assert_int_equal(raise_request(page(1, group, group, true)), 0);
	/* All must have found the handler as it is before it goes on. */
	do {
		sched_yield();
		service_stats(host.service, &stats);
	} while (stats.groups < 8);
	gate(false);
	wait_responses(8);
	stats = drained();
	assert_int_equal(stats.behind_others, 3);
}

static void bad_sizes_are_refused(void **state)
{
	static const __u32 sizes[] = {0, 1, 3, 100, 131072};
	struct service_config config = {.devices = 1, .tenants = 1};
	struct service_ops ops = {.tenant_of = tenant_of, .resolve = resolve, .respond = respond};
	struct service *service;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		config.queue_entries = sizes[i];
		assert_int_equal(service_create(&service, &config, &ops, NULL), -EINVAL);
		assert_non_null(strstr(failure_text(), "2 to 65536"));
	}
	config.queue_entries = 8;
	config.tenants = 0;
	assert_int_equal(service_create(&service, &config, &ops, NULL), -EINVAL);
}

#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(interleaved_groups_of_many_devices_come_together),
		HOST_TEST(a_number_is_another_group_in_another_pasid),
		HOST_TEST(numbers_are_reused_after_the_response),
		HOST_TEST(the_worst_page_decides_the_code),
		HOST_TEST(malformed_requests_are_discarded_and_counted),
		HOST_TEST(a_group_larger_than_pcie_allows_is_discarded),
		HOST_TEST(a_full_queue_drops_and_counts),
		HOST_TEST(an_overflow_voids_every_unfinished_group),
		HOST_TEST(after_an_overflow_requests_are_dropped_until_the_host_has_caught_up),
		HOST_TEST(requests_are_taken_in_the_order_of_the_queue),
		HOST_TEST(a_group_is_pending_until_it_has_been_answered),
		HOST_TEST(draining_serves_what_is_queued_however_long_its_delay),
		HOST_TEST(a_polled_device_is_served_by_the_least_loaded_cpu_of_its_tenant),
		HOST_TEST(the_cpu_of_a_devices_msi_comes_first_up_to_its_backlog),
		HOST_TEST(a_serial_handler_makes_tenants_wait_for_each_other),
		HOST_TEST(bad_sizes_are_refused),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
