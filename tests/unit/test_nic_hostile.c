// SPDX-License-Identifier: GPL-2.0
/* A guest that breaks the rules: whatever it posts, its own ring is stopped at most, and the others go on. */
#include "tests/unit/nic_machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/nic/driver_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

#define FRAMES 1009

/* What the guest does to its queue pair 0 once traffic is under way. */
enum crime {
	ADDRESS_OUTSIDE,
	ADDRESS_WRAPS,
	LENGTH_WRONG,
	ID_BEYOND,
	TAIL_BACKWARDS,
	TAIL_FAR,
	BYTES_RANDOM,
	CRIMES
};
static const char *const crimes[CRIMES] = {"address outside", "address wraps", "length",      "id",
					   "tail backwards",  "tail far",      "random bytes"};

static struct {
	const struct device_driver *driver; /* the honest one */
	void *instance;
	struct device_driver bad;
	struct device_class class;
} guest;

static int create(void **driver, const struct driver_setup *setup)
{
	int err = guest.driver->create(driver, setup);

	guest.instance = *driver;
	return err;
}

static struct nic_descriptor *descriptors(const struct nic_driver *driver)
{
	return guest_memory_cpu(driver->memory, driver->nic->layout.descriptors);
}

static void fill_descriptors(const struct nic_driver *driver, struct nic_descriptor value)
{
	for (__u32 i = 0; i < driver->nic->depth; i++)
		descriptors(driver)[i] = value;
}

static void fill_random(const struct nic_driver *driver, struct random *random)
{
	for (__u32 i = 0; i < driver->nic->depth; i++) {
		struct nic_descriptor *one = &descriptors(driver)[i];

		/* Where the window begins and ends nobody else has anything. */
		one->address = random_next(random) >> (random_next(random) % 40);
		if (random_next(random) % 2)
			one->address = driver->nic->iova_offset + driver->nic->layout.rx_buffers +
				       random_below(random, (driver->nic->depth - 1) * 2048ull);
		one->length = random_next(random) % 4 ? 2048 : (__u32)random_next(random);
		one->id = (__u32)random_next(random) % 80;
	}
}

static void commit_crime(enum crime crime, struct random *random)
{
	struct nic_driver *driver = guest.instance;
	struct nic_registers *registers = driver->queue[0].registers;
	__u64 tail = atomic_load(&registers->tail);

	switch (crime) {
	case ADDRESS_OUTSIDE:
		fill_descriptors(driver, (struct nic_descriptor){1ull << 40, 2048, 1});
		break;
	case ADDRESS_WRAPS:
		fill_descriptors(driver, (struct nic_descriptor){~0ull - 100, 2048, 1});
		break;
	case LENGTH_WRONG:
		fill_descriptors(driver, (struct nic_descriptor){4096, ~0u, 1});
		break;
	case ID_BEYOND:
		fill_descriptors(driver, (struct nic_descriptor){4096, 2048, ~0u});
		break;
	case TAIL_BACKWARDS:
		atomic_store(&registers->tail, tail / 2);
		break;
	case TAIL_FAR:
		atomic_store(&registers->tail, random_next(random) | 1ull << 63);
		break;
	default:
		fill_random(driver, random);
		break;
	}
	nic_kick(driver->nic);
}

static struct frame_totals run(enum rx_policy_index policy, enum crime crime, __u64 after[3])
{
	struct random random = {.state = 77 + crime};
	struct nic_driver *driver;
	struct frame_totals totals;
	struct machine *machine;
	__u64 until;

	nic_plan_begin(policy, FRAMES);
	nic_plan.nic->cache_bytes = 4 << 20;
	nic_plan.device.class = &guest.class;
	if (machine_create(&machine, &nic_plan.machine) || machine_start(machine))
		fail_msg("%s", failure_text());
	driver = guest.instance;
	/* Over and over, while the honest driver of the same ring goes on posting. */
	until = monotonic_ns() + 60 * NSEC_PER_SEC;
	while (!nic_wire_ended(driver->nic) && monotonic_ns() < until) {
		commit_crime(crime, &random);
		sleep_until(monotonic_ns() + 300 * NSEC_PER_USEC);
	}
	assert_true(nic_wire_ended(driver->nic));
	pthread_mutex_lock(&driver->nic->lock);
	after[0] = driver->nic->ring[0].halted;
	after[1] = driver->nic->ring[1].halted;
	after[2] = driver->nic->ring[1].rx.lost[LOSS_FAULT] +
		   driver->nic->ring[1].rx.lost[LOSS_NO_BUFFER] +
		   driver->nic->ring[1].rx.lost[LOSS_CACHE_FULL];
	pthread_mutex_unlock(&driver->nic->lock);
	machine_stop(machine);
	totals = *machine_frames(machine, 0);
	machine_destroy(machine);
	return totals;
}

static void only_its_own_ring_is_stopped(void **state)
{
	(void)state;
	for (enum rx_policy_index policy = 0; rx_policies[policy]; policy++)
		for (int crime = 0; crime < CRIMES; crime++) {
			__u64 after[3], lost = 0;
			struct frame_totals totals = run(policy, (enum crime)crime, after);

			for (int reason = 0; reason < LOSS_REASONS; reason++)
				lost += totals.lost[reason];
			print_message(
				"%s, %s: in %llu delivered %llu lost %llu (none %llu, fault %llu) held %llu, "
				"halted %llu\n",
				rx_policies[policy]->name, crimes[crime], totals.in,
				totals.delivered, lost, totals.lost[LOSS_NO_BUFFER],
				totals.lost[LOSS_FAULT], totals.held, totals.halted);
			assert_int_equal(totals.in, FRAMES);
			assert_int_equal(totals.in, totals.delivered + lost + totals.held);
			assert_int_equal(after[0], true);
			assert_int_equal(after[1], false);
			assert_int_equal(after[2], 0);
			assert_int_equal(totals.halted, 1);
			/* No page was absent: there is no fault to blame. */
			assert_int_equal(totals.lost[LOSS_FAULT], 0);
			assert_true(totals.lost[LOSS_NO_BUFFER] > 0);
		}
}

static int setup(void **state)
{
	(void)state;
	guest.driver = &nic_driver;
	guest.bad = nic_driver;
	guest.bad.create = create;
	guest.class = nic_class;
	guest.class.driver = &guest.bad;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_its_own_ring_is_stopped),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
