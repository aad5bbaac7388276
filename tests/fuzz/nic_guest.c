// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes a NIC by its guest: the first bytes choose the receive policy and the wire, the others are what the guest
 * writes into its rings (descriptors, available entries) and registers (tails, doorbells), and the pages that leave
 * meanwhile, while frames come in. Whatever it is, each frame is delivered, lost or held, no DMA leaves the guest's
 * memory or meets an absent frame, and all threads end. `nic_guest --seeds DIR` writes first inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/nic/driver_private.h"
#include "injectors/emu/nic/nic_settings.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

#define QUEUES	  2
#define DEPTH	  16
#define RX_BUFFER 2048
#define FRAMES	  40
#define STEPS	  64
#define OFFLOAD	  16 /* of the first byte */
#define LOOP	  32

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One machine at a time: what its driver was given. */
static struct driver_setup guest;

static int guest_create(void **driver, const struct driver_setup *setup)
{
	const struct nic *nic = setup->model;
	__u64 start = setup->channel->queue[0].ring;

	guest = *setup;
	*driver = &guest;
	if (!rx_policies[nic->settings.rx_policy]->pins)
		return 0;
	return machine_pin(setup->machine, setup->index, start, nic->layout.end - start, true);
}

static int guest_start(void *driver)
{
	(void)driver;
	nic_begin(guest.model);
	return 0;
}

static int guest_wait(void *driver, __u64 timeout_ns)
{
	(void)driver;
	(void)timeout_ns;
	return 0;
}

static void guest_nothing(void *driver)
{
	(void)driver;
}

static const struct device_driver guest_driver = {
	.create = guest_create,
	.start = guest_start,
	.wait = guest_wait,
	.stop = guest_nothing,
	.destroy = guest_nothing,
};

/* A buffer of its own, or on some edge of its memory, or anywhere. */
static __u64 take_address(struct bytes *in)
{
	const struct nic *nic = guest.model;
	const struct nic_layout *layout = &nic->layout;
	unsigned int how = take_byte(in);
	__u64 page = how % 32;

	switch (how / 32) {
	case 0:
		return take_number(in);
	case 1:
		return nic->iova_offset + layout->end - take_below(in, 16) * 256ull;
	case 2:
		return nic->iova_offset + 2 * HUGE_BYTES - take_below(in, 16) * 256ull;
	case 3:
		return nic->iova_offset + layout->descriptors + page * 1024;
	default:
		return nic->iova_offset + layout->rx_buffers + page * RX_BUFFER;
	}
}

static __u32 take_length(struct bytes *in, __u32 usual)
{
	return take_below(in, 4) ? usual : (__u32)take_number(in);
}

static void post_received(struct bytes *in, __u32 queue)
{
	const struct nic *nic = guest.model;
	struct nic_descriptor *ring = guest_memory_cpu(
		guest.memory, nic->layout.descriptors + queue * nic->layout.ring_bytes);
	__u32 first = take_below(in, DEPTH), count = take_below(in, DEPTH + 1);

	for (__u32 i = 0; i < count; i++) {
		struct nic_descriptor *one = &ring[(first + i) % DEPTH];

		one->address = take_address(in);
		one->length = take_length(in, RX_BUFFER);
		one->id = take_length(in, (first + i) % DEPTH);
	}
}

/* What is right, so that what comes behind it is seen, too. */
static void post_honestly(__u32 queue)
{
	struct nic *nic = guest.model;
	struct nic_descriptor *ring = guest_memory_cpu(
		guest.memory, nic->layout.descriptors + queue * nic->layout.ring_bytes);
	struct nic_registers *registers = nic_registers(nic, queue);

	for (__u32 i = 0; i < DEPTH; i++)
		ring[i] = (struct nic_descriptor){nic->iova_offset + nic->layout.rx_buffers +
							  (queue * DEPTH + i) * (__u64)RX_BUFFER,
						  RX_BUFFER, i};
	atomic_store(&registers->tail, atomic_load(&registers->head) + DEPTH);
	nic_kick(nic);
}

static void post_sent(struct bytes *in, __u32 queue)
{
	const struct nic *nic = guest.model;
	char *ring = guest_memory_cpu(guest.memory, guest.channel->queue[queue].ring);
	__u32 count = take_below(in, DEPTH + 1);

	for (__u32 i = 0; i < count; i++) {
		struct ring_descriptor *one = (void *)(ring + ring_descriptor_offset((__u16)i));

		take_bytes(in, one, sizeof(*one));
		one->address = take_address(in);
		one->length = take_length(in, 577);
		if (take_below(in, 4)) {
			one->pasid = nic->pasid;
			one->opcode = RING_SEND;
		}
		*(__u16 *)(ring + ring_avail_offset(DEPTH, (__u16)i)) =
			(__u16)take_length(in, take_below(in, DEPTH));
	}
	__atomic_store_n((__u16 *)(ring + ring_avail_index_offset(DEPTH)),
			 (__u16)take_length(in, count), __ATOMIC_RELEASE);
	doorbell_ring(&guest.channel->queue[queue].doorbell);
}

static void step(struct bytes *in, struct machine *machine)
{
	struct nic *nic = guest.model;
	__u32 queue = take_below(in, QUEUES), all = (__u32)(nic->layout.end >> PAGE_BITS);
	struct nic_registers *registers = nic_registers(nic, queue);

	switch (take_below(in, 8)) {
	case 0:
	case 1:
		post_received(in, queue);
		break;
	case 2:
		atomic_store(&registers->tail, take_number(in));
		nic_kick(nic);
		break;
	case 3:
		atomic_store(&registers->tail,
			     atomic_load(&registers->head) + take_below(in, DEPTH + 2));
		nic_kick(nic);
		break;
	case 4:
		post_sent(in, queue);
		break;
	case 5:
		(void)evict_page(machine, 0, (take_byte(in) % all) << PAGE_BITS, EVICT_MINOR);
		break;
	case 6:
		post_honestly(queue);
		break;
	default:
		sleep_until(monotonic_ns() + take_byte(in) * 1000ull);
	}
}

static void describe(uint8_t how, struct tenant_config *tenant, struct device_config *device,
		     struct traffic_config *traffic)
{
	unsigned int policies = 0;

	while (rx_policies[policies])
		policies++;
	*tenant = (struct tenant_config){.name = "vm", .memory = 2 * HUGE_BYTES};
	*traffic = (struct traffic_config){
		.name = "frames",
		.flows = 5,
		.sizes = {64, 1514},
		.size_weights = {1, 1},
		.size_count = 2,
		.rate = 100000,
		.count = FRAMES,
		.seed = 7,
	};
	*(struct nic_settings *)device->settings.bytes = (struct nic_settings){
		.rx_policy = (enum rx_policy_index)(how % 16 % policies),
		.rx_buffer = RX_BUFFER,
		.mtu = how & OFFLOAD ? 9000 : 1500,
		.offload = how & OFFLOAD ? NIC_OFFLOAD_SEGMENTS : NIC_OFFLOAD_NONE,
		.wire = how & LOOP ? NIC_WIRE_LOOP : NIC_WIRE_GENERATOR,
		.interrupt_frames = 1,
		.fault_limit = 2,
		.prefault = 3,
		.cache_bytes = 64 * 1024,
		.backup_entries = 16,
		.bitmap_entries = 64,
	};
}

static void check(const struct frame_totals *frames, const struct machine_totals *totals)
{
	__u64 lost = 0;

	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += reason == LOSS_BEFORE_NIC ? 0 : frames->lost[reason];
	if (frames->in != frames->delivered + lost + frames->held || totals->violations)
		abort();
}

static void run(struct machine *machine, struct bytes *in, bool loop)
{
	struct machine_totals totals;
	struct nic_stats stats;

	for (int i = 0; i < STEPS && in->left; i++)
		step(in, machine);
	/* Whatever the guest has done, its frames are taken off the wire. */
	do {
		sleep_until(monotonic_ns() + 100 * NSEC_PER_USEC);
		nic_stats(guest.model, &stats);
	} while (!loop && stats.in + stats.missed < FRAMES);
	machine_stop(machine);
	machine_totals(machine, &totals);
	check(machine_frames(machine, 0), &totals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct device_class class = nic_class;
	struct device_config device = {
		.name = "net",
		.class = &class,
		.queues = QUEUES,
		.queue_depth = DEPTH,
		.group_pages = 4,
		.msi_cpu = -1,
	};
	struct tenant_config tenant;
	struct traffic_config traffic;
	struct machine_config config = {
		.name = "fuzz",
		.tenant_count = 1,
		.device_count = 1,
		.traffic_count = 1,
		.tenants = &tenant,
		.devices = &device,
		.traffics = &traffic,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 64,
		.premap = true,
		.seed = 1,
	};
	struct bytes in = {data, size};
	uint8_t how = take_byte(&in);
	struct machine *machine;

	class.driver = &guest_driver;
	describe(how, &tenant, &device, &traffic);
	if (machine_create(&machine, &config) || machine_start(machine) || machine_begin(machine))
		abort();
	run(machine, &in, how & LOOP);
	machine_destroy(machine);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	/* A ring that is stopped is told there each time; what the fuzzer itself says goes to the descriptor. */
	if (!directory) {
		stderr = fopen("/dev/null", "w");
		return stderr ? 0 : 1;
	}
	for (uint8_t how = 0; how < 2 * LOOP; how++)
		if (how % OFFLOAD < 5)
			seeds_write_random(directory, how, 1);
	exit(0);
}
