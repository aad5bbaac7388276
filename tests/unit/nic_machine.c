// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/nic_machine.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/truth.h"
#include "lib/base/fail.h"

struct nic_plan nic_plan;
static volatile sig_atomic_t no_stop;

#define WAIT_NS (60 * NSEC_PER_SEC)

static void plan_traffic(__u64 frames)
{
	nic_plan.traffic = (struct traffic_config){
		.name = "frames",
		.flows = 13,
		.sizes = {64, 577, 1514},
		.size_weights = {3, 2, 1},
		.size_count = 3,
		.rate = 10000,
		.count = frames,
		.verify = true,
		.seed = 7,
	};
}

static void plan_machine(void)
{
	nic_plan.machine = (struct machine_config){
		.name = "test",
		.tenant_count = 1,
		.device_count = 1,
		.traffic_count = 1,
		.tenants = &nic_plan.tenant,
		.devices = &nic_plan.device,
		.traffics = &nic_plan.traffic,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 256,
		.premap = true,
		.seed = 1,
	};
}

void nic_plan_begin(enum rx_policy_index policy, __u64 frames)
{
	memset(&nic_plan, 0, sizeof(nic_plan));
	strcpy(nic_plan.tenant.name, "vm");
	nic_plan.tenant.memory = 4 * HUGE_BYTES;
	strcpy(nic_plan.device.name, "net");
	nic_plan.device.class = &nic_class;
	nic_plan.device.queues = 2;
	nic_plan.device.queue_depth = 64;
	nic_plan.device.group_pages = 8;
	nic_plan.nic = (struct nic_settings *)nic_plan.device.settings.bytes;
	*nic_plan.nic = (struct nic_settings){
		.rx_policy = policy,
		.rx_buffer = 2048,
		.mtu = 1500,
		.wire = NIC_WIRE_GENERATOR,
		.interrupt_frames = 1,
		.fault_limit = 4,
		.cache_bytes = 256 * 1024,
		/* Room for every frame of a short run: none may be lost. */
		.backup_entries = 8192,
		.bitmap_entries = 8192,
	};
	plan_traffic(frames);
	plan_machine();
	nic_plan.pages = 3;
	nic_plan.sides = RING_SIDES;
	nic_plan.pause_ns = 700 * NSEC_PER_USEC;
}

void nic_plan_inject(enum inject_point point, __u32 probability, __u64 delay_ns)
{
	nic_plan.injections[nic_plan.injection_count] = (struct injection){
		.point = point,
		.device = DEVICE_ALL,
		.id = nic_plan.injection_count + 1,
		.probability = probability,
		.interval = 1,
		.times = -1,
		.delay_ns = delay_ns,
		.seed = 3,
	};
	nic_plan.injection_count++;
}

struct evictor {
	struct machine *machine;
	bool stop;
	__u64 evicted, skipped;
};

static struct evict_order next_order(__u32 round)
{
	return (struct evict_order){
		.choice = round % 5 == 0 && nic_plan.sides ? EVICT_RING : EVICT_RANDOM,
		.pages = nic_plan.pages,
		.kind = round % 2 ? EVICT_MAJOR : EVICT_MINOR,
		.sides = nic_plan.sides,
	};
}

/* False: the machine has ended. */
static bool evict_once(struct evictor *evictor, __u32 round)
{
	const struct evict_order order = next_order(round);
	struct evict_outcome outcome = {0};
	long evicted = machine_evict(evictor->machine, 0, &order, &outcome);

	evictor->evicted += evicted > 0 ? (__u64)evicted : 0;
	evictor->skipped += outcome.skipped;
	/* A page may be wanted as fast as it goes. */
	return evicted >= 0 || evicted == -EBUSY;
}

static void *evict(void *argument)
{
	struct evictor *evictor = argument;

	for (__u32 round = 1; !__atomic_load_n(&evictor->stop, __ATOMIC_ACQUIRE) &&
			      (!nic_plan.rounds || round < nic_plan.rounds);
	     round++) {
		if (!evict_once(evictor, round))
			break;
		sleep_until(monotonic_ns() + nic_plan.pause_ns);
	}
	return NULL;
}

/* What is posted (of a ring that is to send: nothing yet, so others) goes before the first frame comes: they meet it, however late
 * a busy machine runs the evictor. */
static void begin_evictions(struct evictor *evictor, pthread_t *thread)
{
	for (__u32 round = 0; !evictor->evicted && !evictor->skipped; round++)
		assert_true(evict_once(evictor, round));
	assert_int_equal(pthread_create(thread, NULL, evict, evictor), 0);
}

/* -ETIMEDOUT: it has not ended by itself, though a busy machine had time enough. */
static int run_machine(struct machine *machine, struct evictor *evictor)
{
	pthread_t thread;
	int err = 0;

	for (__u32 i = 0; i < nic_plan.injection_count; i++)
		assert_int_equal(inject_arm(machine_injections(machine), &nic_plan.injections[i]),
				 0);
	evictor->machine = machine;
	if (nic_plan.evict)
		begin_evictions(evictor, &thread);
	assert_int_equal(machine_begin(machine), 0);
	if (nic_plan.stop_after_ns)
		sleep_until(monotonic_ns() + nic_plan.stop_after_ns);
	else
		err = machine_wait(machine, WAIT_NS, &no_stop);
	__atomic_store_n(&evictor->stop, true, __ATOMIC_RELEASE);
	if (nic_plan.evict)
		pthread_join(thread, NULL);
	machine_stop(machine);
	return err;
}

static void check_sums(const struct nic_outcome *outcome)
{
	const struct frame_totals *frames = &outcome->frames;

	assert_int_equal(frames->in, frames->delivered + outcome->lost + frames->held);
	assert_int_equal(frames->mismatches, 0);
	assert_int_equal(frames->halted, 0);
	assert_int_equal(outcome->machine.violations, 0);
}

void nic_plan_run(struct nic_outcome *outcome)
{
	struct evictor evictor = {0};
	struct machine *machine;
	int err;

	*outcome = (struct nic_outcome){0};
	if (nic_plan.truth && truth_open(nic_plan.truth, true))
		fail_msg("%s", failure_text());
	if (machine_create(&machine, &nic_plan.machine) || machine_start(machine))
		fail_msg("%s", failure_text());
	err = run_machine(machine, &evictor);
	outcome->frames = *machine_frames(machine, 0);
	machine_totals(machine, &outcome->machine);
	machine_destroy(machine);
	if (nic_plan.truth)
		assert_int_equal(truth_close(), 0);
	outcome->evicted = evictor.evicted;
	outcome->skipped = evictor.skipped;
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		outcome->lost += outcome->frames.lost[reason];
	/* What the loop itself lost has never come to the NIC. */
	outcome->lost -= outcome->frames.lost[LOSS_BEFORE_NIC];
	check_sums(outcome);
	assert_int_equal(err, 0);
}
