// SPDX-License-Identifier: GPL-2.0
/*
 * Guests with a lent device, and the target that mediates: host a runs both users, b has the disk. One process: each agent is a
 * thread with a struct cluster of its own, of which only the numbers of agent and host differ.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <pthread.h>
#include <string.h>

#include "injectors/cluster/agent_run.h"
#include "injectors/cluster/guest_private.h"
#include "injectors/cluster/inject.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/message.h"
#include "injectors/cluster/nvme.h"
#include "lib/base/fail.h"
#include "tests/unit/cluster_fixture.h"

#define A     0
#define B     1
#define LOW   (2ull << 20)
#define HIGH  (1ull << 20)
#define ADDED (256ull << 10)
#define IOS   211

static struct cluster_fixture fixture;
static struct vm_config vm;
static struct target_config target;
static struct cluster_injection injection;

static struct {
	struct cluster views[2];
	pthread_t threads[2];
	bool stopping;
} hosts;

static const struct io_config guest_io = {
	.ios = IOS, .depth = 3, .block = 4096, .write_percent = 40, .verify = true};

static void with_guest(struct cluster_config *config)
{
	vm = (struct vm_config){
		.name = "vm", .host = A, .device = 0, .low = LOW, .high = HIGH, .io = guest_io};
	config->vms = &vm;
	config->vm_count = 1;
	config->injections = &injection;
	config->injection_count = 1;
	injection = (struct cluster_injection){.name = "lost",
					       .kind = CLUSTER_IRQ_LOST,
					       .host = CLUSTER_NONE,
					       .adapter = CLUSTER_NONE,
					       .device = 0,
					       .agent = CLUSTER_NONE,
					       .step = CLUSTER_NONE,
					       .probability = 100};
}

static void with_target(struct cluster_config *config)
{
	target = (struct target_config){.name = "target",
					.host = B,
					.device = 0,
					.initiator_host = A,
					.stage_ns = 500,
					.io = guest_io};
	config->targets = &target;
	config->target_count = 1;
}

static void *host_thread(void *argument)
{
	struct cluster *view = argument;

	while (!__atomic_load_n(&hosts.stopping, __ATOMIC_ACQUIRE))
		messages_serve(view, 5 * MS);
	return NULL;
}

static void hosts_begin(const char *text, void (*change)(struct cluster_config *config))
{
	fixture_open(&fixture, text, change);
	hosts.stopping = false;
	for (__u32 h = A; h <= B; h++) {
		hosts.views[h] = *fixture.cluster;
		hosts.views[h].self = hosts.views[h].host = h;
	}
	for (__u32 i = 0; i < agent_count(fixture.cluster); i++)
		agent_state_set(fixture.cluster, i, AGENT_RUNS);
	cluster_begin(fixture.cluster);
	assert_int_equal(nvmes_start(&hosts.views[B]), 0);
	assert_int_equal(guests_start(&hosts.views[B]), 0);
	assert_int_equal(lend_register(&hosts.views[B], 0), 0);
	for (__u32 h = A; h <= B; h++)
		assert_int_equal(
			pthread_create(&hosts.threads[h], NULL, host_thread, &hosts.views[h]), 0);
}

static void hosts_end(void)
{
	guests_stop(&hosts.views[B]);
	__atomic_store_n(&hosts.stopping, true, __ATOMIC_RELEASE);
	for (__u32 h = A; h <= B; h++)
		pthread_join(hosts.threads[h], NULL);
	lend_unregister(&hosts.views[B], 0);
	cluster_phase_set(fixture.cluster, CLUSTER_CLOSING);
	nvmes_stop(&hosts.views[B]);
	fixture_close(&fixture);
}

static struct cluster view_of(__u32 agent)
{
	struct cluster view = *fixture.cluster;

	view.self = agent;
	view.host = agent_info(&view, agent)->host;
	return view;
}

/* Nothing is left of a guest or a target: windows, requesters' entries, domains, pins and pages. */
static void nothing_left(__u32 agent)
{
	for (__u32 h = A; h <= B; h++) {
		struct host_iommu_stats iommu;
		struct ntb_stats ntb;

		host_iommu_stats(fixture.cluster, h, &iommu);
		ntb_stats(fixture.cluster, fixture_node(&fixture, h == A ? "na" : "nb"), &ntb);
		assert_int_equal(iommu.mapped_bytes, 0);
		assert_int_equal(ntb.windows_used, 0);
		assert_int_equal(ntb.bytes_mapped, 0);
		assert_int_equal(host_memory_pinned(fixture.cluster, h), 0);
	}
	assert_int_equal(host_memory_release(fixture.cluster, agent), 0);
	assert_int_equal(lends_left(fixture.cluster), 0);
}

static struct bus_guest *private_of(const struct bus *bus)
{
	return bus->private;
}

static void open_guest(struct bus *bus, struct cluster *view)
{
	*view = view_of(2);
	if (bus_guest_open(bus, view, 0))
		fail_msg("%s", failure_text());
}

static void set_bus_master(struct bus *bus)
{
	bus->ops->config_write(bus, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	if (bus->ops->state(bus))
		fail_msg("%s", failure_text());
}

static void ram_is_scattered_and_whole(void **state)
{
	struct cluster view;
	struct bus bus;
	__u32 neighbours = 0;
	__u64 host, next, address;
	__u8 *memory;

	hosts_begin(fixture_two(true), with_guest);
	open_guest(&bus, &view);
	for (__u64 at = 0; at + GUEST_CHUNK < LOW; at += GUEST_CHUNK) {
		assert_int_equal(guest_resolve(private_of(&bus), at, &host), 0);
		assert_int_equal(guest_resolve(private_of(&bus), at + GUEST_CHUNK, &next), 0);
		neighbours += next == host + GUEST_CHUNK;
	}
	assert_true(neighbours < LOW / GUEST_CHUNK / 2);
	assert_int_equal(guest_resolve(private_of(&bus), LOW, &host), -EFAULT);
	assert_int_equal(guest_resolve(private_of(&bus), GUEST_HIGH - 1, &host), -EFAULT);
	assert_int_equal(guest_resolve(private_of(&bus), GUEST_HIGH + HIGH - 1, &host), 0);
	assert_int_equal(guest_resolve(private_of(&bus), GUEST_HIGH + HIGH, &host), -EFAULT);
	/* What its CPU writes is in its host's RAM, where the address says, across a chunk's end. */
	memory = bus.ops->memory(&bus, 3 * GUEST_CHUNK);
	assert_non_null(memory);
	assert_int_equal(bus.ops->dma_map(&bus, memory, 3 * GUEST_CHUNK, DMA_BOTH, &address), 0);
	for (__u64 at = 0; at < 3 * GUEST_CHUNK; at += 4099) {
		memory[at] = (__u8)(at / 4099 + 1);
		assert_int_equal(guest_resolve(private_of(&bus), address + at, &host), 0);
		assert_int_equal(*(__u8 *)host_memory(&view, A, host, 1), (__u8)(at / 4099 + 1));
	}
	assert_int_equal(bus.ops->dma_map(&bus, &host, 8, DMA_BOTH, &address), -EFAULT);
	bus.ops->memory_free(&bus, memory, 3 * GUEST_CHUNK);
	bus_guest_close(&bus);
	nothing_left(2);
	hosts_end();
}

static void both_parts_are_used(void **state)
{
	struct cluster view;
	struct bus bus;
	__u64 addresses[4];
	void *memory[4];
	__u32 high = 0;

	hosts_begin(fixture_two(true), with_guest);
	open_guest(&bus, &view);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(bus.ops->dma_alloc(&bus, 4096, &memory[i], &addresses[i]), 0);
		high += addresses[i] >= GUEST_HIGH;
	}
	assert_int_equal(high, 2);
	/* A device that can make 32 bits only is given low memory. */
	bus.mask = 0xffffffffu;
	for (int i = 0; i < 4; i++) {
		bus.ops->dma_free(&bus, 4096, memory[i], addresses[i]);
		assert_int_equal(bus.ops->dma_alloc(&bus, 4096, &memory[i], &addresses[i]), 0);
		assert_true(addresses[i] < LOW);
	}
	bus_guest_close(&bus);
	nothing_left(2);
	hosts_end();
}

static enum access_status device_write(__u64 address, __u64 bytes)
{
	struct initiator from = function_initiator(fixture.cluster, 0);
	struct access_result result;
	__u8 data[64];

	memset(data, 0x5a, sizeof(data));
	access_write(fixture.cluster, &from, PURPOSE_DATA, address, data, bytes, &result);
	return result.status;
}

static void bus_master_opens_the_memory(void **state)
{
	struct cluster view;
	struct bus bus;
	struct ntb_stats ntb;
	__u64 host;

	hosts_begin(fixture_two(true), with_guest);
	open_guest(&bus, &view);
	assert_int_equal(lend_state(&view, 0), LEND_AVAILABLE);
	if (guest_boot(&bus))
		fail_msg("%s", failure_text());
	assert_int_equal(lend_state(&view, 0), LEND_MAPPED);
	assert_true(guest_bar_address(&view, 0, 0) >= GUEST_LOW_BARS);
	/* Early DMA: nothing is mapped, nothing is pinned. */
	assert_int_equal(device_write(4096, 8), ACCESS_REFUSED);
	assert_int_equal(host_memory_pinned(&view, A), 0);
	set_bus_master(&bus);
	assert_int_equal(host_memory_pinned(&view, A), LOW + HIGH);
	assert_int_equal(guest_results_of(&view, 0)->pinned_low, LOW);
	assert_int_equal(guest_results_of(&view, 0)->pinned_high, HIGH);
	assert_int_equal(guest_results_of(&view, 0)->windows, LOW + HIGH);
	ntb_stats(&view, fixture_node(&fixture, "nb"), &ntb);
	assert_int_equal(ntb.bytes_mapped, LOW + HIGH);
	/* Edges of both parts. */
	assert_int_equal(device_write(0, 8), ACCESS_DONE);
	assert_int_equal(device_write(LOW - 8, 8), ACCESS_DONE);
	assert_int_equal(guest_resolve(private_of(&bus), LOW - 8, &host), 0);
	assert_int_equal(*(__u64 *)host_memory(&view, A, host, 8), 0x5a5a5a5a5a5a5a5aull);
	assert_int_equal(device_write(LOW, 8), ACCESS_REFUSED);
	assert_int_equal(device_write(GUEST_HIGH - 8, 8), ACCESS_REFUSED);
	assert_int_equal(device_write(GUEST_HIGH, 8), ACCESS_DONE);
	assert_int_equal(device_write(GUEST_HIGH + HIGH - 8, 8), ACCESS_DONE);
	assert_int_equal(device_write(GUEST_HIGH + HIGH, 8), ACCESS_REFUSED);
	/* What is plugged in later is not mapped, and stays so. */
	vm.added = ADDED;
	assert_int_equal(guest_memory_added(&bus), 0);
	assert_int_equal(guest_resolve(private_of(&bus), GUEST_HIGH + HIGH, &host), 0);
	assert_int_equal(device_write(GUEST_HIGH + HIGH, 8), ACCESS_REFUSED);
	assert_int_equal(guest_results_of(&view, 0)->added, ADDED);
	bus_guest_close(&bus);
	assert_int_equal(lend_state(&view, 0), LEND_AVAILABLE);
	nothing_left(2);
	hosts_end();
}

/* Memory that is there before Bus Master is found by the probe. */
static void probe_finds_all_that_is_there(void **state)
{
	struct cluster view;
	struct bus bus;

	hosts_begin(fixture_two(true), with_guest);
	open_guest(&bus, &view);
	assert_int_equal(guest_boot(&bus), 0);
	vm.added = ADDED;
	assert_int_equal(guest_memory_added(&bus), 0);
	set_bus_master(&bus);
	assert_int_equal(guest_results_of(&view, 0)->pinned_high, HIGH + ADDED);
	assert_int_equal(guest_results_of(&view, 0)->added, 0);
	assert_int_equal(device_write(GUEST_HIGH + HIGH + ADDED - 8, 8), ACCESS_DONE);
	assert_int_equal(device_write(GUEST_HIGH + HIGH + ADDED, 8), ACCESS_REFUSED);
	bus_guest_close(&bus);
	nothing_left(2);
	hosts_end();
}

static void without_iommus_refused(void **state)
{
	struct cluster view;
	struct bus bus;

	for (__u32 off = A; off <= B; off++) {
		hosts_begin(fixture_two(true), with_guest);
		fixture.config.hosts[off].iommu = false;
		view = view_of(2);
		assert_int_equal(bus_guest_open(&bus, &view, 0), -EPERM);
		assert_non_null(
			strstr(failure_text(), off == A ? "that of a is off" : "that of b is off"));
		nothing_left(2);
		hosts_end();
	}
}

static void more_memory_than_the_bar_refused(void **state)
{
	struct cluster view;
	struct bus bus;

	hosts_begin(fixture_two(true), with_guest);
	fixture.config.fabric->nodes[fixture_node(&fixture, "nb")].bar_bytes = LOW + HIGH;
	open_guest(&bus, &view);
	assert_int_equal(guest_boot(&bus), 0);
	bus.ops->config_write(&bus, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	assert_int_equal(bus.ops->state(&bus), -ENOSPC);
	assert_int_equal(device_write(0, 8), ACCESS_REFUSED);
	bus_guest_close(&bus);
	nothing_left(2);
	hosts_end();
}

static void run_guest(const struct guest_results **results, const struct io_counts **counts)
{
	struct cluster view = view_of(2);

	if (guest_run(&view))
		fail_msg("%s", failure_text());
	*results = guest_results_of(fixture.cluster, 0);
	*counts = io_counts_of(fixture.cluster, &vm.io);
	assert_int_equal((*counts)->ios + (*counts)->errors, IOS);
	assert_int_equal((*results)->borrows, 1);
	assert_int_equal((*results)->pinned_low + (*results)->pinned_high, 0);
	nothing_left(2);
}

static void stock_driver_in_a_guest(void **state)
{
	const struct guest_results *results;
	const struct io_counts *counts;
	struct host_iommu_stats iommu;

	hosts_begin(fixture_two(true), with_guest);
	run_guest(&results, &counts);
	assert_int_equal(counts->errors + counts->wrong, 0);
	assert_int_equal(results->most_pinned, LOW + HIGH);
	assert_true(results->interrupts > 0);
	assert_int_equal(results->interrupts_lost, 0);
	for (__u32 h = A; h <= B; h++) {
		host_iommu_stats(fixture.cluster, h, &iommu);
		assert_int_equal(iommu.faults, 0);
	}
	hosts_end();
}

static void intx(struct cluster_config *config)
{
	with_guest(config);
	vm.intx = true;
}

/* Masked for who borrows it, relayed to a guest. */
static void legacy_interrupts_arrive(void **state)
{
	const struct guest_results *results;
	const struct io_counts *counts;

	hosts_begin(fixture_two(true), intx);
	run_guest(&results, &counts);
	assert_int_equal(counts->errors + counts->wrong, 0);
	assert_true(results->interrupts > 0);
	assert_int_equal(interrupt_count(fixture.cluster, B, 0, 1), 0);
	assert_true(interrupt_count(fixture.cluster, B, 0, 0) >= results->interrupts);
	hosts_end();
}

/* A device of the guest's own host: one IOMMU, no window. */
static void local(struct cluster_config *config)
{
	with_guest(config);
	vm.host = B;
}

static void local_pass_through(void **state)
{
	const struct guest_results *results;
	const struct io_counts *counts;

	hosts_begin(fixture_two(true), local);
	run_guest(&results, &counts);
	assert_int_equal(counts->errors + counts->wrong, 0);
	assert_int_equal(results->most_pinned, LOW + HIGH);
	assert_int_equal(results->windows, 0);
	hosts_end();
}

static void added(struct cluster_config *config)
{
	with_guest(config);
	vm.added = ADDED;
	vm.added_ns = 1;
}

static void added_memory_fails_its_ios_alone(void **state)
{
	const struct guest_results *results;
	const struct io_counts *counts;
	struct path_stats data;

	hosts_begin(fixture_two(true), added);
	run_guest(&results, &counts);
	assert_int_equal(results->added, ADDED);
	assert_true(results->unmapped > 0);
	/* A device is told of reads that are refused; what it posts vanishes: stale data, which its user finds. */
	assert_int_equal(counts->errors + counts->wrong, results->unmapped);
	path_stats(fixture.cluster, 0, PURPOSE_DATA, &data);
	assert_int_equal(data.refused, results->unmapped);
	hosts_end();
}

/* The driver looks when it has waited: later, but all of it. */
static void few(struct cluster_config *config)
{
	with_guest(config);
	config->dead_ns = 2 * SECOND;
	vm.io.depth = 1;
}

static void lost_interrupts_lose_no_data(void **state)
{
	const struct guest_results *results;
	const struct io_counts *counts;
	__u32 posted = 0;

	hosts_begin(fixture_two(true), few);
	injection.probability = 10;
	cluster_inject_set(fixture.cluster, 0, true);
	run_guest(&results, &counts);
	assert_int_equal(counts->errors + counts->wrong, 0);
	assert_true(results->interrupts_lost > 0);
	assert_true(results->interrupts > 0);
	for (__u32 vector = 0; vector < GUEST_VECTORS; vector++)
		posted += interrupt_count(fixture.cluster, B, 0, vector);
	/* Those that were lost have not arrived as well. */
	assert_true(results->interrupts + results->interrupts_lost <= posted);
	hosts_end();
}

static void late_interrupts_arrive(void **state)
{
	const struct guest_results *results;
	const struct io_counts *counts;

	hosts_begin(fixture_two(true), few);
	injection.kind = CLUSTER_IRQ_LATE;
	injection.delay_ns = MS;
	injection.probability = 5;
	cluster_inject_set(fixture.cluster, 0, true);
	run_guest(&results, &counts);
	assert_true(results->interrupts_late > 0);
	assert_true(results->relay_longest_ns >= MS);
	hosts_end();
}

static void forged_messages_refused(void **state)
{
	struct message message = {.type = MESSAGE_GUEST_INTERRUPT};

	hosts_begin(fixture_two(true), with_guest);
	/* Of its own host, which has no such device; of a vector, and of a VM that there is not. */
	message.from = A;
	assert_int_equal(guest_serve_interrupt(&hosts.views[A], &message), -EPERM);
	message.from = B;
	message.words[1] = GUEST_VECTORS;
	assert_int_equal(guest_serve_interrupt(&hosts.views[A], &message), -EPERM);
	message.words[1] = 0;
	message.words[0] = 1ull << 32 | 7;
	assert_int_equal(guest_serve_interrupt(&hosts.views[A], &message), -EPERM);
	message.words[0] = 0;
	assert_int_equal(guest_serve_interrupt(&hosts.views[A], &message), 0);
	message = (struct message){
		.type = MESSAGE_GUEST_MIRROR, .from = 2, .words = {1, 0, 0, 4096, 0}};
	assert_int_equal(guest_serve_mirror(&hosts.views[B], &message), -EPERM);
	hosts_end();
}

static void *target_thread(void *argument)
{
	struct cluster view = view_of(2);

	*(int *)argument = target_run(&view);
	return NULL;
}

static void mediated(bool iommu, __u64 *model_ns)
{
	const struct io_counts *counts;
	struct cluster view;
	pthread_t thread;
	int err = -1;

	hosts_begin(fixture_two(iommu), with_target);
	view = view_of(3);
	assert_int_equal(pthread_create(&thread, NULL, target_thread, &err), 0);
	if (initiator_run(&view))
		fail_msg("%s", failure_text());
	pthread_join(thread, NULL);
	assert_int_equal(err, 0);
	counts = io_counts_of(fixture.cluster, &target.io);
	assert_int_equal(counts->ios, IOS);
	assert_int_equal(counts->errors + counts->wrong, 0);
	assert_int_equal(counts->software_stages, 5 * IOS);
	assert_int_equal(counts->copies, IOS);
	*model_ns = counts->model_ns / counts->ios;
	nothing_left(2);
	nothing_left(3);
	hosts_end();
}

/* E23: mediated is slower than direct, in the model's time. */
static void mediator_copies(void **state)
{
	const struct guest_results *results;
	const struct io_counts *counts;
	__u64 mediated_ns, direct_ns;

	mediated(false, &mediated_ns);
	mediated(true, &mediated_ns);
	hosts_begin(fixture_two(true), with_guest);
	run_guest(&results, &counts);
	assert_int_equal(counts->software_stages + counts->copies, 0);
	direct_ns = counts->model_ns / counts->ios;
	hosts_end();
	assert_true(direct_ns > 0);
	assert_true(mediated_ns > direct_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ram_is_scattered_and_whole),
		cmocka_unit_test(both_parts_are_used),
		cmocka_unit_test(bus_master_opens_the_memory),
		cmocka_unit_test(probe_finds_all_that_is_there),
		cmocka_unit_test(without_iommus_refused),
		cmocka_unit_test(more_memory_than_the_bar_refused),
		cmocka_unit_test(stock_driver_in_a_guest),
		cmocka_unit_test(legacy_interrupts_arrive),
		cmocka_unit_test(local_pass_through),
		cmocka_unit_test(added_memory_fails_its_ios_alone),
		cmocka_unit_test(lost_interrupts_lose_no_data),
		cmocka_unit_test(late_interrupts_arrive),
		cmocka_unit_test(forged_messages_refused),
		cmocka_unit_test(mediator_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
