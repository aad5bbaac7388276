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

/* One frame of SHARE is the honest ring's: its guest may be late by four seconds before its buffers run out. */
#define DEPTH	  1024
#define RATE	  4000
#define SHARE	  16
#define FLOWS	  1021
#define FRAMES_ON 7 /* that the honest ring must get once the other one is stopped */
#define WAIT_NS	  (60 * NSEC_PER_SEC)

/* What the guest does to its queue pair 0 once traffic is under way. */
enum crime {
	ADDRESS_OUTSIDE,
	ADDRESS_WRAPS,
	LENGTH_WRONG,
	ID_BEYOND,
	TAIL_BACKWARDS,
	TAIL_FAR,
	SCATTERED,
	BYTES_RANDOM,
	CRIMES
};
static const char *const crimes[CRIMES] = {
	"address outside", "address wraps", "length",	 "id",
	"tail backwards",  "tail far",	    "scattered", "random bytes"};

/* What the device says of it; of random bytes any. */
static const char *const reasons[CRIMES] = {
	halt_address, halt_descriptor, halt_descriptor, halt_descriptor,
	halt_tail,    halt_tail,       halt_scattered,	NULL};

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
		one->id = (__u32)random_next(random) % (driver->nic->depth * 5 / 4);
	}
}

/* Every one is as it should be, but none lies behind the one before. */
static void scatter(const struct nic_driver *driver)
{
	const struct nic *nic = driver->nic;
	__u64 buffer = nic->settings.rx_buffer;

	for (__u32 i = 0; i < nic->depth; i++)
		descriptors(driver)[i] = (struct nic_descriptor){
			.address = nic->iova_offset + nic->layout.rx_buffers +
				   (nic->depth - 1 - i) * buffer,
			.length = (__u32)buffer,
			.id = nic->depth - 1 - i,
		};
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
	case SCATTERED:
		scatter(driver);
		break;
	default:
		fill_random(driver, random);
		break;
	}
	nic_kick(driver->nic);
}

/* What is known of the two rings, at one time. */
struct rings {
	bool halted[2];
	const char *why;
	__u64 frames[2];
	__u64 lost[2]; /* for any reason that faults and buffers have */
};

static struct rings look(struct nic *nic)
{
	struct rings rings;

	pthread_mutex_lock(&nic->lock);
	for (int r = 0; r < 2; r++) {
		const struct nic_ring *ring = &nic->ring[r];

		rings.halted[r] = ring->halted;
		rings.frames[r] = ring->rx.frames;
		rings.lost[r] = ring->rx.lost[LOSS_FAULT] + ring->rx.lost[LOSS_NO_BUFFER] +
				ring->rx.lost[LOSS_CACHE_FULL] + ring->rx.lost[LOSS_BACKUP_FULL];
	}
	rings.why = nic->ring[0].why;
	pthread_mutex_unlock(&nic->lock);
	return rings;
}

/* The device must have seen what the guest has posted: no tail goes backwards from 0. */
static void wait_for_both(struct nic *nic)
{
	__u64 until = monotonic_ns() + WAIT_NS;
	struct rings now = look(nic);

	while ((!now.frames[0] || !now.frames[1]) && monotonic_ns() < until) {
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
		now = look(nic);
	}
	assert_true(now.frames[0] && now.frames[1]);
}

/* Over and over, while the honest driver of the same ring goes on posting, until it has been seen; then until
 * frames have come for both rings. */
static struct rings break_rules(enum crime crime)
{
	struct random random = {.state = 77 + crime};
	struct nic *nic = ((struct nic_driver *)guest.instance)->nic;
	__u64 until = monotonic_ns() + WAIT_NS, enough;
	struct rings now;

	wait_for_both(nic);
	do {
		commit_crime(crime, &random);
		sleep_until(monotonic_ns() + 300 * NSEC_PER_USEC);
		now = look(nic);
	} while (!now.halted[0] && monotonic_ns() < until);
	enough = now.frames[1] + FRAMES_ON;
	while ((now.frames[1] < enough || !now.lost[0]) && monotonic_ns() < until) {
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
		now = look(nic);
	}
	assert_true(now.frames[1] >= enough);
	return now;
}

/* Frames of 36 buffers: more than two seconds' ones. */
static void plan_long_frames(void)
{
	nic_plan.traffic.rate = 200;
	nic_plan.traffic.sizes[2] = 9000;
	nic_plan.nic->mtu = 9000;
	nic_plan.nic->rx_buffer = 256;
	nic_plan.tenant.memory = 16 * HUGE_BYTES;
}

static void start(struct machine **machine)
{
	struct steering *steering;

	if (machine_create(machine, &nic_plan.machine) || machine_start(*machine))
		fail_msg("%s", failure_text());
	steering = &((struct nic_driver *)guest.instance)->nic->steering;
	for (int i = 0; i < STEERING_ENTRIES; i++)
		steering->queue[i] = i % SHARE == 1;
	if (machine_begin(*machine))
		fail_msg("%s", failure_text());
}

static struct frame_totals run(enum rx_policy_index policy, enum crime crime, struct rings *rings)
{
	struct frame_totals totals;
	struct machine *machine;

	nic_plan_begin(policy, 0);
	nic_plan.traffic.rate = RATE;
	nic_plan.traffic.flows = FLOWS;
	nic_plan.traffic.duration_ns = 2 * WAIT_NS;
	nic_plan.tenant.memory = 8 * HUGE_BYTES;
	nic_plan.device.queue_depth = DEPTH;
	nic_plan.nic->cache_bytes = 4 << 20;
	if (crime == SCATTERED)
		plan_long_frames();
	nic_plan.device.class = &guest.class;
	start(&machine);
	*rings = break_rules(crime);
	machine_stop(machine);
	totals = *machine_frames(machine, 0);
	machine_destroy(machine);
	return totals;
}

static void check_crime(enum rx_policy_index policy, enum crime crime)
{
	struct rings rings;
	struct frame_totals totals = run(policy, crime, &rings);
	__u64 lost = 0;

	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += totals.lost[reason];
	print_message("%s, %s: in %llu delivered %llu lost %llu (none %llu, fault %llu) held %llu, "
		      "halted %llu\n",
		      rx_policies[policy]->name, crimes[crime], totals.in, totals.delivered, lost,
		      totals.lost[LOSS_NO_BUFFER], totals.lost[LOSS_FAULT], totals.held,
		      totals.halted);
	assert_int_equal(totals.in, totals.delivered + lost + totals.held);
	assert_true(rings.halted[0]);
	if (crime != BYTES_RANDOM)
		assert_ptr_equal(rings.why, reasons[crime]);
	assert_false(rings.halted[1]);
	assert_int_equal(rings.lost[1], 0);
	assert_int_equal(totals.halted, 1);
	/* No page was absent: there is no fault to blame. */
	assert_int_equal(totals.lost[LOSS_FAULT], 0);
	assert_true(totals.lost[LOSS_NO_BUFFER] > 0);
}

static void only_its_own_ring_is_stopped(void **state)
{
	(void)state;
	for (enum rx_policy_index policy = 0; rx_policies[policy]; policy++)
		for (int crime = 0; crime < CRIMES; crime++)
			/* With `ooo` no frame has more buffers than pieces: the device's check. */
			if (crime != SCATTERED || policy != RX_POLICY_ooo)
				check_crime(policy, (enum crime)crime);
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
