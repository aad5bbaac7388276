// SPDX-License-Identifier: GPL-2.0
/* The rings of a NIC beside each other: the faults of one are its own, whatever they cost it. */
#include "tests/unit/nic_machine.h"

#include <pthread.h>
#include <string.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/nic/driver_private.h"
#include "injectors/emu/port_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define WAIT_NS (60 * NSEC_PER_SEC)
/* Of both rings together, fewer than either has buffers: none runs out of them, however late its guest is. */
#define FRAMES 1000
#define DEPTH  1024
#define SENT   100

static volatile sig_atomic_t no_stop;

/* Whose driver is caught as it is made. */
static struct {
	struct nic_driver *instance;
	struct device_driver driver;
	struct device_class class;
} guest;

static int create(void **driver, const struct driver_setup *setup)
{
	int err = nic_driver.create(driver, setup);

	guest.instance = *driver;
	return err;
}

static void plan_begin(enum rx_policy_index policy, __u64 frames)
{
	nic_plan_begin(policy, frames);
	nic_plan.tenant.memory = 8 * HUGE_BYTES;
	nic_plan.device.class = &guest.class;
	nic_plan.device.queue_depth = DEPTH;
	nic_plan.nic->cache_bytes = 4 << 20;
}

static struct machine *start(void)
{
	struct machine *machine;

	if (machine_create(&machine, &nic_plan.machine))
		fail_msg("%s", failure_text());
	for (__u32 i = 0; i < nic_plan.injection_count; i++)
		assert_int_equal(inject_arm(machine_injections(machine), &nic_plan.injections[i]),
				 0);
	if (machine_start(machine) || machine_begin(machine))
		fail_msg("%s", failure_text());
	return machine;
}

static void stop(struct machine *machine)
{
	machine_stop(machine);
	machine_destroy(machine);
}

/* All receive buffers of queue 0 leave. */
static void evict_first(struct machine *machine)
{
	const struct nic *nic = guest.instance->nic;
	__u64 start = nic->layout.rx_buffers;

	for (__u64 at = 0; at < nic->depth * nic->settings.rx_buffer; at += PAGE_BYTES)
		(void)evict_page(machine, 0, start + at, EVICT_MINOR);
}

static __u64 sum_lost(const struct nic_counters *counters)
{
	__u64 sum = 0;

	for (int reason = 0; reason < LOSS_REASONS; reason++)
		sum += counters->lost[reason];
	return sum;
}

/* Ring 0 meets faults until all has come. */
static void run_beside_faults(enum rx_policy_index policy, struct nic_counters rx[2])
{
	struct machine *machine;
	__u64 until;
	int err;

	plan_begin(policy, FRAMES);
	nic_plan.traffic.rate = 2500;
	nic_plan_inject(INJECT_RESPOND, 100, 2 * NSEC_PER_MSEC);
	machine = start();
	until = monotonic_ns() + WAIT_NS;
	do {
		evict_first(machine);
		err = machine_wait(machine, 40 * NSEC_PER_MSEC, &no_stop);
	} while (err && !nic_wire_ended(guest.instance->nic) && monotonic_ns() < until);
	err = err ? machine_wait(machine, WAIT_NS, &no_stop) : 0;
	pthread_mutex_lock(&guest.instance->nic->lock);
	for (int r = 0; r < 2; r++)
		rx[r] = guest.instance->nic->ring[r].rx;
	pthread_mutex_unlock(&guest.instance->nic->lock);
	stop(machine);
	assert_int_equal(err, 0);
}

static void the_others_lose_nothing(void **state)
{
	(void)state;
	for (enum rx_policy_index policy = 0; rx_policies[policy]; policy++) {
		struct nic_counters rx[2];

		if (rx_policies[policy]->pins)
			continue;
		run_beside_faults(policy, rx);
		print_message(
			"%s: delivered %llu and %llu, lost %llu and %llu, held %llu and %llu\n",
			rx_policies[policy]->name, rx[0].frames, rx[1].frames, sum_lost(&rx[0]),
			sum_lost(&rx[1]), rx[0].held_ever, rx[1].held_ever);
		/* It had faults, and they cost it something. */
		assert_true(sum_lost(&rx[0]) + rx[0].held_ever > 0);
		assert_int_equal(sum_lost(&rx[1]), 0);
		assert_int_equal(rx[1].held_ever, 0);
		assert_true(rx[1].frames > 0);
		assert_int_equal(rx[0].frames + sum_lost(&rx[0]) + rx[1].frames, FRAMES);
	}
}

/* The guest sends `count` frames of one buffer each by a queue that its own driver does not use. */
static void send_frames(struct nic_driver *driver, __u32 index, __u16 count)
{
	struct channel_queue *registers = &driver->channel->queue[index];
	const struct nic *nic = driver->nic;
	char *ring = guest_memory_cpu(driver->memory, registers->ring);

	for (__u16 id = 0; id < count; id++) {
		*(struct ring_descriptor *)(ring + ring_descriptor_offset(id)) =
			(struct ring_descriptor){
				.address = nic->layout.tx_buffers + nic->iova_offset +
					   ((__u64)index * nic->depth + id) * NIC_TX_BUFFER,
				.length = 1000,
				.pasid = nic->pasid,
				.opcode = RING_SEND,
			};
		registers->submitted_ns[id] = monotonic_ns();
		*(__u16 *)(ring + ring_avail_offset(nic->depth, id)) = id;
	}
	__atomic_store_n((__u16 *)(ring + ring_avail_index_offset(nic->depth)), count,
			 __ATOMIC_RELEASE);
	doorbell_ring(&registers->doorbell);
}

static __u64 sent_by(const struct nic *nic, __u32 index)
{
	return __atomic_load_n(&nic->tx[index].frames, __ATOMIC_RELAXED);
}

static bool wait_sent(const struct nic *nic, __u32 index, __u64 frames)
{
	__u64 until = monotonic_ns() + WAIT_NS;

	while (sent_by(nic, index) < frames && monotonic_ns() < until)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	return sent_by(nic, index) == frames;
}

/* Of a busy host the second says that the first has been lost. */
static void wait_answers(struct machine *machine, __u64 answers)
{
	__u64 until = monotonic_ns() + WAIT_NS;
	struct machine_totals totals;

	do {
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
		machine_totals(machine, &totals);
	} while (totals.service.responses[RESPONSE_SUCCESS] < answers && monotonic_ns() < until);
}

/* No answer arrives until the others have sent all that they had. */
static void a_sender_that_faults_pauses_alone(void **state)
{
	struct inject_table *injections;
	struct machine *machine;
	struct nic *nic;
	__u64 until;

	(void)state;
	plan_begin(RX_POLICY_drop, 0);
	nic_plan.traffic.rate = 1;
	nic_plan.traffic.duration_ns = 2 * WAIT_NS;
	nic_plan.device.queues = 3;
	nic_plan.device.response_timeout_ns = 50 * NSEC_PER_MSEC;
	nic_plan_inject(INJECT_RESPONSE_LOST, 100, 0);
	machine = start();
	nic = guest.instance->nic;
	injections = machine_injections(machine);
	assert_int_equal(evict_page(machine, 0, nic->layout.tx_buffers, EVICT_MINOR), 0);
	send_frames(guest.instance, 0, SENT);
	until = monotonic_ns() + WAIT_NS;
	while (!port_blocked_ns(nic->port, 0) && monotonic_ns() < until)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	assert_true(port_blocked_ns(nic->port, 0) > 0);
	send_frames(guest.instance, 1, SENT);
	send_frames(guest.instance, 2, SENT);
	assert_true(wait_sent(nic, 1, SENT));
	assert_true(wait_sent(nic, 2, SENT));
	assert_int_equal(sent_by(nic, 0), 0);
	assert_int_equal(port_blocked_ns(nic->port, 1) + port_blocked_ns(nic->port, 2), 0);
	wait_answers(machine, 2);
	assert_true(inject_disarm(injections, nic_plan.injections[0].id) > 0);
	assert_true(wait_sent(nic, 0, SENT));
	stop(machine);
}

/* What the port waits for now, of its own record. */
struct waiting {
	__u64 pages[256];
	__u32 count;
	__u32 groups[2]; /* of each queue */
};

static void look(struct port *port, struct waiting *waiting)
{
	*waiting = (struct waiting){0};
	pthread_mutex_lock(&port->lock);
	for (__u32 i = 0; i < GROUP_INDEX_MAX; i++) {
		const struct port_group *group = &port->groups[i];

		if (group->state != GROUP_WAITING)
			continue;
		waiting->groups[group->fault->queue]++;
		for (__u32 p = 0; p < group->count && waiting->count < 256; p++)
			waiting->pages[waiting->count++] = group->fault->pages[group->first + p];
	}
	pthread_mutex_unlock(&port->lock);
}

static void check_once_each(const struct waiting *waiting)
{
	for (__u32 i = 0; i < waiting->count; i++)
		for (__u32 j = 0; j < i; j++)
			assert_int_not_equal(waiting->pages[i], waiting->pages[j]);
}

/* With `prefault` a request is for many pages, all in one group. */
static void requests_are_few_and_of_different_pages(enum rx_policy_index policy, __u32 prefault)
{
	__u32 most = 0, samples = 0;
	struct machine *machine;
	struct waiting waiting;
	__u64 until;

	plan_begin(policy, 0);
	nic_plan.traffic.duration_ns = 2 * WAIT_NS;
	nic_plan.device.group_pages = PORT_REQUEST_PAGES;
	nic_plan.nic->prefault = prefault;
	nic_plan.nic->fault_limit = 3;
	nic_plan_inject(INJECT_RESPOND, 100, 2 * NSEC_PER_MSEC);
	machine = start();
	until = monotonic_ns() + WAIT_NS;
	while ((samples < 300 || (most < 3 && policy == RX_POLICY_backup)) &&
	       monotonic_ns() < until) {
		if (samples++ % 20 == 0)
			evict_first(machine);
		look(guest.instance->nic->port, &waiting);
		check_once_each(&waiting);
		for (int q = 0; q < 2; q++) {
			assert_true(waiting.groups[q] <= 3);
			most = waiting.groups[q] > most ? waiting.groups[q] : most;
		}
		sleep_until(monotonic_ns() + 500 * NSEC_PER_USEC);
	}
	stop(machine);
	print_message("%s, prefault %u: at most %u requests of a ring in %u looks\n",
		      rx_policies[policy]->name, prefault, most, samples);
	assert_true(most > 0);
	/* The IOprovider asks for what all held frames need. */
	assert_true(policy != RX_POLICY_backup || most == 3);
}

static void never_two_requests_for_a_page(void **state)
{
	(void)state;
	for (enum rx_policy_index policy = 0; rx_policies[policy]; policy++)
		for (__u32 prefault = 0; prefault < 20 && !rx_policies[policy]->pins; prefault += 7)
			requests_are_few_and_of_different_pages(policy, prefault);
}

static int setup(void **state)
{
	(void)state;
	guest.driver = nic_driver;
	guest.driver.create = create;
	guest.class = nic_class;
	guest.class.driver = &guest.driver;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_others_lose_nothing),
		cmocka_unit_test(a_sender_that_faults_pauses_alone),
		cmocka_unit_test(never_two_requests_for_a_page),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
