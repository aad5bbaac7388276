// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes an RDMA device by its guest: the first byte chooses fault policy, prefault and profile, the others are what the
 * guest writes into its queues and words, what it posts, registers and gives back, and the pages that leave
 * meanwhile. Whatever it is, no DMA leaves the guest's memory or meets an absent frame, the other guest's memory
 * that it was not given stays as it is, packets sent are those that arrived or were lost, and all threads end.
 * `rdma_guest --seeds DIR` writes first inputs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

#define DEPTH	 8
#define PAIRS	 4 /* of either: two to the other, two to each other */
#define STEPS	 64
#define PAGES	 16 /* of a region */
#define SECRET	 0x5a
#define DROP	 1 /* of the first byte */
#define WHOLE	 2
#define CONNECTX 4
#define READ_RNR 8
#define CHOICES	 16

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct side {
	struct rdma *device;
	unsigned char *memory;
	__u64 queue, pairs, data, secret;
	__u32 queue_number, numbers[PAIRS], key;
	bool registered;
};

static struct machine *machine;
static struct side sides[2];

static int no_driver(void **driver, const struct driver_setup *setup)
{
	(void)setup;
	*driver = NULL;
	return 0;
}

static const struct device_driver guest_driver = {.create = no_driver};

static void must(int error)
{
	if (error)
		abort();
}

static __u64 pair_bytes(void)
{
	return (verbs_pair_bytes(DEPTH, DEPTH) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static void register_data(struct side *side)
{
	const struct region region = {
		.address = side->data,
		.bytes = PAGES * PAGE_BYTES,
		.kind = VERBS_DEMAND,
		.rights = VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ,
	};

	must(region_register(rdma_regions(side->device), &region, &side->key));
	side->registered = true;
}

static void forget_data(struct side *side)
{
	if (!side->registered)
		return;
	must(region_retire(rdma_regions(side->device), side->key));
	rdma_quiesce(side->device);
	region_free(rdma_regions(side->device), side->key);
	side->registered = false;
}

static void build_side(__u32 index)
{
	const struct channel *channel = machine->devices[index].channel;
	struct side *side = &sides[index];
	struct verbs_queue_setup queue = {.depth = DEPTH, .eventfd = -1};
	struct verbs_pair_setup setup = {
		.send_depth = DEPTH, .receive_depth = DEPTH, .shared = VERBS_NO_SRQ};

	*side = (struct side){.device = machine->devices[index].model};
	side->memory = guest_memory_cpu(machine->tenants[index].memory, 0);
	/* Behind the ring of commands. */
	side->queue = channel->data_address + PAGE_BYTES;
	side->pairs = side->queue + PAGE_BYTES;
	side->data = side->pairs + PAIRS * pair_bytes();
	side->secret = side->data + PAGES * PAGE_BYTES;
	memset(side->memory + side->secret, SECRET, PAGE_BYTES);
	must(machine_pin(machine, index, side->queue, side->data - side->queue, true));
	queue.iova = side->queue;
	must(rdma_queue_create(side->device, &queue, &side->queue_number));
	setup.send_queue = setup.receive_queue = side->queue_number;
	for (__u32 i = 0; i < PAIRS; i++) {
		setup.iova = side->pairs + i * pair_bytes();
		must(rdma_pair_create(side->device, &setup, &side->numbers[i]));
	}
	register_data(side);
}

/* Pairs 0 and 1 are those of the other side, 2 and 3 each other's. */
static void connect_pair(__u32 index, __u32 pair)
{
	const struct side *side = &sides[index];
	__u32 peer = pair < 2 ? sides[!index].numbers[pair] : side->numbers[5 - pair];

	must(rdma_pair_modify(side->device, side->numbers[pair], VERBS_RESET, 0, false));
	must(rdma_pair_modify(side->device, side->numbers[pair], VERBS_INIT, 0, false));
	must(rdma_pair_modify(side->device, side->numbers[pair], VERBS_RTR, peer, pair >= 2));
	/* Its words may have said nonsense already. */
	(void)rdma_pair_modify(side->device, side->numbers[pair], VERBS_RTS, 0, false);
}

static __u64 take_address(struct bytes *in, const struct side *side)
{
	switch (take_below(in, 4)) {
	case 0:
		return take_number(in);
	case 1:
		return side->secret - take_below(in, 64);
	default:
		return side->data + take_below(in, PAGES) * PAGE_BYTES + take_below(in, 256) * 16;
	}
}

static __u32 take_key(struct bytes *in, const struct side *side)
{
	return take_below(in, 8) ? side->key : (__u32)take_number(in);
}

static void take_piece(struct bytes *in, const struct side *side, struct verbs_sge *piece)
{
	*piece = (struct verbs_sge){
		.address = take_address(in, side),
		.length = take_below(in, 8) ? take_below(in, 255) * 32 : (__u32)take_number(in),
		.key = take_key(in, side),
	};
}

static void write_send(struct bytes *in, __u32 index, struct verbs_send *send)
{
	const struct side *side = &sides[index];
	__u8 opcode = take_byte(in), pieces = take_byte(in);

	*send = (struct verbs_send){
		.id = take_number(in),
		.remote_address = take_address(in, &sides[!index]),
		.remote_key = take_key(in, &sides[!index]),
		.opcode = opcode < 240 ? opcode % 3 : opcode,
		.flags = take_byte(in),
		.pieces = pieces < 240 ? pieces % 4 : pieces,
	};
	for (int i = 0; i < 3; i++)
		take_piece(in, side, &send->piece[i]);
}

/* The honest one posts as it should; the guest under test, the first, also writes words of its own. */
static void post(struct bytes *in, __u32 index, __u32 pair)
{
	struct side *side = &sides[index];
	struct verbs_pair_words *words = (void *)(side->memory + side->pairs + pair * pair_bytes());
	struct verbs_send *sends = (void *)(words + 1);
	struct verbs_receive *receives = (void *)(sends + DEPTH);

	if (take_below(in, 2)) {
		write_send(in, index, &sends[words->sent % DEPTH]);
		__atomic_fetch_add(&words->sent, 1, __ATOMIC_RELEASE);
		return;
	}
	receives[words->received % DEPTH].pieces = take_below(in, 16) ? 1 : take_byte(in);
	take_piece(in, side, &receives[words->received % DEPTH].piece[0]);
	__atomic_fetch_add(&words->received, 1, __ATOMIC_RELEASE);
}

static void scribble(struct bytes *in, __u32 pair)
{
	struct side *side = &sides[0];
	struct verbs_pair_words *words = (void *)(side->memory + side->pairs + pair * pair_bytes());
	struct verbs_completion_words *taken = (void *)(side->memory + side->queue);
	__u64 value = take_number(in);

	switch (take_below(in, 4)) {
	case 0:
		__atomic_store_n(&words->sent, value, __ATOMIC_RELEASE);
		break;
	case 1:
		__atomic_store_n(&words->received, value, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n(&taken->armed, value, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n(&taken->taken, value, __ATOMIC_RELEASE);
	}
}

/* All that the device has written is taken. */
static void drain(__u32 index)
{
	struct verbs_completion_words *words = (void *)(sides[index].memory + sides[index].queue);
	const struct verbs_completion *entries = (void *)(words + 1);
	__u64 taken = words->taken;

	for (int i = 0; i < DEPTH && entries[taken % DEPTH].turn == taken + 1; i++)
		taken++;
	__atomic_store_n(&words->taken, taken, __ATOMIC_RELEASE);
}

static void step(struct bytes *in)
{
	__u32 what = take_below(in, 12), pair = take_below(in, PAIRS), index = take_below(in, 2);
	const struct side *side = &sides[index];

	switch (what) {
	case 0:
		scribble(in, pair);
		break;
	case 1:
		(void)evict_page(machine, index, side->data + take_below(in, PAGES) * PAGE_BYTES,
				 take_below(in, 2) ? EVICT_MINOR : EVICT_MAJOR);
		break;
	case 2:
		forget_data(&sides[index]);
		register_data(&sides[index]);
		break;
	case 3:
		connect_pair(index, pair);
		break;
	case 4:
		drain(index);
		break;
	case 5:
		sleep_until(monotonic_ns() + take_below(in, 8) * 20 * NSEC_PER_USEC);
		break;
	default:
		post(in, index, pair);
	}
}

static void check(void)
{
	struct rdma_totals totals[2];
	struct machine_totals all;
	__u64 sent = 0, known = 0;

	for (__u32 i = 0; i < 2; i++) {
		totals[i] = *machine_rdma(machine, i);
		sent += totals[i].packets + totals[i].duplicated;
		known += totals[i].arrived;
		for (int reason = 0; reason < RDMA_LOSSES; reason++)
			known += totals[i].lost[reason];
	}
	machine_totals(machine, &all);
	if (sent != known || all.violations)
		abort();
}

static void run(struct bytes *in)
{
	for (__u32 i = 0; i < 2; i++)
		build_side(i);
	for (__u32 i = 0; i < 2; i++)
		for (__u32 pair = 0; pair < PAIRS; pair++)
			connect_pair(i, pair);
	for (int i = 0; i < STEPS && in->left; i++)
		step(in);
	for (__u32 i = 0; i < 2; i++)
		for (__u64 at = 0; at < PAGE_BYTES; at++)
			if (sides[i].memory[sides[i].secret + at] != SECRET)
				abort();
	machine_stop(machine);
	check();
}

static void describe(uint8_t how, struct tenant_config *tenants, struct device_config *devices,
		     const struct device_class *class)
{
	for (__u32 i = 0; i < 2; i++) {
		tenants[i] =
			(struct tenant_config){.name = {(char)('a' + i)}, .memory = 2 * HUGE_BYTES};
		devices[i] = (struct device_config){
			.name = "hca",
			.tenant = i,
			.class = class,
			.queues = 1,
			.queue_depth = 2,
			.group_pages = 8,
			.msi_cpu = -1,
		};
		*(struct rdma_settings *)devices[i].settings.bytes = (struct rdma_settings){
			.peer_device = !i,
			.mtu = 1024,
			.queue_pairs = PAIRS,
			.timeout_ns = NSEC_PER_MSEC,
			.retries = 2,
			.rnr_retries = 3,
			.rnr_timer = 1,
			.fault = how & DROP,
			.read_rnr = how & READ_RNR,
			.fault_limit = 4,
			.prefault = how & WHOLE ? RDMA_PREFAULT_REQUEST : RDMA_PREFAULT_PAGE,
			.profile = how & CONNECTX ? RDMA_PROFILE_CONNECTX : RDMA_PROFILE_IDEAL,
		};
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct device_class class = rdma_class;
	struct tenant_config tenants[2];
	struct device_config devices[2];
	const struct machine_config config = {
		.name = "fuzz",
		.tenant_count = 2,
		.device_count = 2,
		.tenants = tenants,
		.devices = devices,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 64,
		.seed = 1,
	};
	struct bytes in = {data, size};
	uint8_t how = take_byte(&in);

	class.driver = &guest_driver;
	describe(how, tenants, devices, &class);
	must(machine_create(&machine, &config));
	must(machine_start(machine));
	run(&in);
	machine_destroy(machine);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	for (uint8_t how = 0; how < CHOICES; how++)
		seeds_write_random(directory, how, 2);
	exit(0);
}
