// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the control path of the verbs by its guest: bytes are commands, by their parts or whole, indices of the command ring,
 * and pages that leave meanwhile. The device behind it (tests/unit/verbs_fake.h) takes note of whatever it should not have been
 * told. Whatever comes, no memory but the device's own is pinned or written, all that was made goes as the machine
 * stops, and all threads end. `verbs_guest --seeds DIR` writes first inputs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/thread.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"
#include "tests/unit/verbs_fake.h"

#define STEPS	64
#define SEEDS	16
#define MEMORY	(2 * HUGE_BYTES)
#define MEMLOCK (HUGE_BYTES / 4)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One machine at a time. */
static struct {
	struct verbs_fake fake;
	struct verbs_backend *backend;
	const struct channel *channel;
	struct verbs_command *commands;
	__u64 next;
} guest;

static int fuzzed_start(void **device, struct port *port, const struct device_setup *setup)
{
	const struct verbs_backend_config config = {
		.machine = setup->machine,
		.port = port,
		.channel = setup->channel,
		.index = setup->index,
		.name = setup->name,
		.ops = &verbs_fake_ops,
		.device = &guest.fake,
	};

	verbs_fake_init(&guest.fake, port, setup->channel);
	guest.channel = setup->channel;
	guest.next = 0;
	*device = &guest;
	return verbs_backend_create(&guest.backend, &config);
}

static void fuzzed_stop(void *device)
{
	(void)device;
	verbs_backend_destroy(guest.backend);
}

static int fuzzed_driver_create(void **driver, const struct driver_setup *setup)
{
	guest.commands = guest_memory_cpu(setup->memory, setup->channel->data_address);
	*driver = NULL;
	return 0;
}

static const struct device_driver fuzzed_driver = {.create = fuzzed_driver_create};

static const struct device_class fuzzed_class = {
	.name = "verbs",
	.depth_max = 2,
	.start = fuzzed_start,
	.stop = fuzzed_stop,
	.driver = &fuzzed_driver,
};

static __u64 take_address(struct bytes *in)
{
	__u64 start = guest.channel->data_address + PAGE_BYTES;
	unsigned int how = take_byte(in);

	switch (how / 32) {
	case 0:
		return take_number(in);
	case 1:
		return start - how % 4 * PAGE_BYTES;
	case 2:
		return guest.channel->config.guest_address + guest.channel->config.bytes -
		       how % 4 * PAGE_BYTES;
	default:
		return start + take_byte(in) * PAGE_BYTES;
	}
}

static __u64 take_depth(struct bytes *in)
{
	unsigned int how = take_byte(in);

	return how < 224 ? 1ull << how % 8 : take_number(in);
}

static __u64 take_key(struct bytes *in)
{
	unsigned int index = take_below(in, FAKE_REGIONS), how = take_byte(in);

	return how < 224 ? index << 8 | guest.fake.generations[index] : take_number(in);
}

static __u64 take_pair(struct bytes *in)
{
	unsigned int how = take_byte(in);

	return how < 224 ? 7168 + how % (FAKE_PAIRS + 1) : take_number(in);
}

static void take_command(struct bytes *in, struct verbs_command *command)
{
	__u64 *argument = command->argument;

	*command = (struct verbs_command){.kind = take_below(in, VERBS_COMMAND_KINDS + 1)};
	switch (command->kind) {
	case VERBS_REGISTER:
		argument[0] = take_address(in);
		argument[1] = take_number(in);
		argument[2] = take_below(in, VERBS_REGIONS + 1);
		argument[3] = take_below(in, 9);
		break;
	case VERBS_ADVISE:
		argument[1] = take_address(in);
		argument[2] = take_number(in);
		argument[3] = take_below(in, 3);
		argument[0] = take_key(in);
		break;
	case VERBS_DEREGISTER:
		argument[0] = take_key(in);
		break;
	case VERBS_CREATE_CQ:
		argument[0] = take_address(in);
		argument[1] = take_depth(in);
		break;
	case VERBS_DESTROY_CQ:
		argument[0] = take_number(in);
		break;
	case VERBS_CREATE_QP:
		argument[0] = take_address(in);
		argument[1] = take_depth(in);
		argument[2] = take_depth(in);
		argument[3] = take_number(in);
		argument[4] = take_number(in);
		break;
	default:
		argument[0] = take_pair(in);
		argument[1] = take_below(in, 8);
		argument[2] = take_number(in);
		argument[3] = take_below(in, 3);
	}
}

static void tell(__u64 written)
{
	struct verbs_registers *registers = verbs_backend_registers(guest.backend);

	guest.next = written;
	atomic_store(&registers->written, written);
	doorbell_ring_shared(&registers->commands);
}

static void step(struct bytes *in, struct machine *machine)
{
	struct verbs_registers *registers = verbs_backend_registers(guest.backend);
	struct verbs_command *entry = &guest.commands[guest.next % VERBS_COMMANDS];

	switch (take_below(in, 8)) {
	case 0:
		take_bytes(in, entry, sizeof(*entry));
		tell(guest.next + 1);
		break;
	case 1:
		tell(guest.next + take_number(in));
		break;
	case 2:
		(void)evict_page(machine, 0, take_byte(in) % (MEMORY >> PAGE_BITS) << PAGE_BITS,
				 EVICT_MINOR);
		break;
	case 3:
		while (atomic_load(&registers->answered) != guest.next)
			sched_yield();
		break;
	default:
		take_command(in, entry);
		tell(guest.next + 1);
	}
}

static void verify(struct machine *machine)
{
	struct machine_totals totals;

	machine_totals(machine, &totals);
	if (guest.fake.wrong || guest.fake.pinned || verbs_fake_objects(&guest.fake) ||
	    totals.pinned || totals.violations)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tenant_config tenant = {.name = "vm", .memory = MEMORY, .memlock = MEMLOCK};
	struct device_config device = {
		.name = "hca",
		.class = &fuzzed_class,
		.queues = 2,
		.queue_depth = 2,
		.group_pages = 4,
		.msi_cpu = -1,
	};
	const struct machine_config config = {
		.name = "fuzz",
		.tenant_count = 1,
		.device_count = 1,
		.tenants = &tenant,
		.devices = &device,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 64,
		.seed = 1,
	};
	struct bytes in = {data, size};
	struct machine *machine;

	if (machine_create(&machine, &config) || machine_start(machine))
		abort();
	for (int i = 0; i < STEPS && in.left; i++)
		step(&in, machine);
	machine_stop(machine);
	verify(machine);
	machine_destroy(machine);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	for (uint8_t i = 0; i < SEEDS; i++)
		seeds_write_random(directory, i, 1);
	exit(0);
}
