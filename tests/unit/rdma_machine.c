// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rdma_machine.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/truth.h"
#include "lib/base/fail.h"

struct rdma_plan rdma_plan;

#define WAIT_NS (60 * NSEC_PER_SEC)

/* That of the test that runs; one that failed has left it. */
static struct machine *running;

static void stop_what_was_left(void)
{
	if (!running)
		return;
	machine_stop(running);
	machine_destroy(running);
	running = NULL;
	if (rdma_plan.truth)
		(void)truth_close();
}

void rdma_plan_begin(void)
{
	stop_what_was_left();
	memset(&rdma_plan, 0, sizeof(rdma_plan));
	for (int i = 0; i < RDMA_PLAN_MOST; i++) {
		struct device_config *device = &rdma_plan.devices[i];

		snprintf(rdma_plan.tenants[i].name, sizeof(rdma_plan.tenants[i].name), "vm%d", i);
		rdma_plan.tenants[i].memory = 16 * HUGE_BYTES;
		strcpy(device->name, "hca");
		device->class = &rdma_class;
		device->tenant = (__u32)i;
		device->queues = 4;
		device->queue_depth = 2;
		device->group_pages = 512;
		/* A busy machine lets no thread of ours run for a second and more: nothing is given up by that. */
		device->response_timeout_ns = 3600 * NSEC_PER_SEC;
		rdma_plan.settings[i] = (struct rdma_settings *)device->settings.bytes;
		*rdma_plan.settings[i] = (struct rdma_settings){
			.peer_device = (__u32)i ^ 1,
			.mtu = 4096,
			.queue_pairs = 64,
			.timeout_ns = 10 * NSEC_PER_SEC,
			.retries = 7,
			.rnr_retries = 7,
			.rnr_timer = 1,
			.fault_limit = 4,
			.prefault = RDMA_PREFAULT_PAGE,
		};
	}
	rdma_plan.machine = (struct machine_config){
		.name = "test",
		.tenant_count = 2,
		.device_count = 2,
		.tenants = rdma_plan.tenants,
		.devices = rdma_plan.devices,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 4096,
		.seed = 1,
	};
}

struct machine *rdma_plan_start(struct rdma_guest *guests)
{
	struct machine *machine;

	if (rdma_plan.truth && truth_open(rdma_plan.truth, true))
		fail_msg("%s", failure_text());
	if (machine_create(&machine, &rdma_plan.machine) || machine_start(machine))
		fail_msg("%s", failure_text());
	running = machine;
	for (__u32 i = 0; i < rdma_plan.machine.device_count; i++) {
		const struct channel *channel = machine->devices[i].channel;

		guests[i] = (struct rdma_guest){
			.device = machine->devices[i].model,
			.memory = guest_memory_cpu(machine->tenants[i].memory, 0),
			/* Behind the ring of commands. */
			.next = channel->data_address + PAGE_BYTES,
			.end = channel->data_address + channel->data_bytes,
			.index = i,
		};
	}
	return machine;
}

static __u64 sum(const __u64 *counts, size_t count)
{
	__u64 all = 0;

	while (count--)
		all += counts[count];
	return all;
}

static void check_conservation(const struct rdma_totals *totals, const struct machine_totals *all)
{
	__u64 sent = 0, arrived = 0, lost = 0, moved = 0;

	for (__u32 i = 0; i < rdma_plan.machine.device_count; i++) {
		const struct rdma_totals *own = &totals[i];

		assert_int_equal(own->packets, own->transport.sent);
		assert_int_equal(own->arrived, own->transport.arrived);
		assert_int_equal(own->transport.arrived,
				 own->transport.taken + sum(own->transport.dropped, RDMA_DROPS));
		sent += own->packets + own->duplicated;
		arrived += own->arrived;
		lost += sum(own->lost, RDMA_LOSSES);
		moved += own->transport.sent_bytes + own->transport.useful_bytes;
	}
	assert_int_equal(sent, arrived + lost);
	/* Each byte of a packet was read from memory; each that landed was written, once. */
	assert_int_equal(all->io_bytes, moved);
}

void rdma_plan_stop(struct machine *machine, struct rdma_totals *totals, struct machine_totals *all)
{
	running = NULL;
	machine_stop(machine);
	for (__u32 i = 0; i < rdma_plan.machine.device_count; i++)
		totals[i] = *machine_rdma(machine, i);
	machine_totals(machine, all);
	machine_destroy(machine);
	if (rdma_plan.truth)
		assert_int_equal(truth_close(), 0);
	check_conservation(totals, all);
	assert_int_equal(all->violations, 0);
}

__u64 guest_take(struct rdma_guest *guest, __u64 bytes)
{
	__u64 at = guest->next;

	bytes = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	assert_true(bytes <= guest->end - at);
	guest->next += bytes;
	return at;
}

static __u64 take_pinned(struct rdma_guest *guest, __u64 bytes)
{
	__u64 at = guest_take(guest, bytes);

	if (machine_pin(rdma_place(guest->device)->machine, guest->index, at, bytes, true))
		fail_msg("%s", failure_text());
	return at;
}

void guest_queue_create(struct rdma_guest *guest, struct guest_queue *queue, __u32 depth)
{
	struct verbs_queue_setup setup;

	*queue = (struct guest_queue){.guest = guest, .depth = depth};
	queue->at = take_pinned(guest, verbs_completion_bytes(depth));
	queue->eventfd = eventfd(0, EFD_CLOEXEC);
	((struct verbs_completion_words *)(guest->memory + queue->at))->armed = ~0ull;
	setup = (struct verbs_queue_setup){
		.iova = queue->at, .depth = depth, .eventfd = queue->eventfd};
	assert_int_equal(rdma_queue_create(guest->device, &setup, &queue->number), 0);
}

void guest_pair_create(struct guest_queue *queue, struct guest_pair *pair, __u32 depth)
{
	struct rdma_guest *guest = queue->guest;
	struct verbs_pair_setup setup = {
		.iova = take_pinned(guest, verbs_pair_bytes(depth, depth)),
		.send_depth = depth,
		.receive_depth = depth,
		.send_queue = queue->number,
		.receive_queue = queue->number,
		.shared = VERBS_NO_SRQ,
	};

	*pair = (struct guest_pair){
		.guest = guest, .queue = queue, .depth = depth, .at = setup.iova};
	assert_int_equal(rdma_pair_create(guest->device, &setup, &pair->number), 0);
}

static void bring_up(const struct guest_pair *pair, const struct guest_pair *peer)
{
	struct rdma *device = pair->guest->device;
	bool loopback = device == peer->guest->device;

	assert_int_equal(rdma_pair_modify(device, pair->number, VERBS_INIT, 0, false), 0);
	assert_int_equal(rdma_pair_modify(device, pair->number, VERBS_RTR, peer->number, loopback),
			 0);
}

void guest_connect(struct guest_pair *a, struct guest_pair *b)
{
	bring_up(a, b);
	bring_up(b, a);
	assert_int_equal(rdma_pair_modify(a->guest->device, a->number, VERBS_RTS, 0, false), 0);
	assert_int_equal(rdma_pair_modify(b->guest->device, b->number, VERBS_RTS, 0, false), 0);
}

void guest_register(struct rdma_guest *guest, struct guest_region *region, __u64 bytes, bool pinned,
		    unsigned int rights)
{
	struct region own = {
		.bytes = bytes, .kind = pinned ? VERBS_PINNED : VERBS_DEMAND, .rights = rights};

	own.address = pinned ? take_pinned(guest, bytes) : guest_take(guest, bytes);
	*region = (struct guest_region){
		.guest = guest, .at = own.address, .bytes = bytes, .pinned = pinned};
	assert_int_equal(region_register(rdma_regions(guest->device), &own, &region->key), 0);
}

void guest_deregister(struct guest_region *region)
{
	struct rdma *device = region->guest->device;

	assert_int_equal(region_retire(rdma_regions(device), region->key), 0);
	rdma_quiesce(device);
	if (region->pinned)
		assert_int_equal(machine_unpin(rdma_place(device)->machine, region->guest->index,
					       region->at, region->bytes),
				 0);
	region_free(rdma_regions(device), region->key);
}

static struct verbs_pair_words *words_at(const struct guest_pair *pair)
{
	return (struct verbs_pair_words *)(pair->guest->memory + pair->at);
}

static struct verbs_send *sends_at(const struct guest_pair *pair)
{
	return (struct verbs_send *)(words_at(pair) + 1);
}

void guest_post_send(struct guest_pair *pair, const struct verbs_send *send)
{
	sends_at(pair)[pair->sent++ & (pair->depth - 1)] = *send;
	__atomic_store_n(&words_at(pair)->sent, pair->sent, __ATOMIC_RELEASE);
}

void guest_post_receive(struct guest_pair *pair, const struct verbs_receive *receive)
{
	struct verbs_receive *receives = (struct verbs_receive *)(sends_at(pair) + pair->depth);

	receives[pair->received++ & (pair->depth - 1)] = *receive;
	__atomic_store_n(&words_at(pair)->received, pair->received, __ATOMIC_RELEASE);
}

struct verbs_send guest_send(enum verbs_opcode opcode, const struct guest_region *from,
			     __u64 offset, __u32 length, const struct guest_region *to,
			     __u64 to_offset)
{
	struct verbs_send send = {
		.opcode = (__u8)opcode,
		.flags = VERBS_SEND_SIGNALED,
		.pieces = 1,
		.piece = {{from->at + offset, length, from->key}},
	};

	if (to) {
		send.remote_address = to->at + to_offset;
		send.remote_key = to->key;
	}
	return send;
}

struct verbs_receive guest_receive(const struct guest_region *to, __u64 offset, __u32 length)
{
	return (struct verbs_receive){
		.pieces = 1,
		.piece = {{to->at + offset, length, to->key}},
	};
}

bool guest_poll(struct guest_queue *queue, struct verbs_completion *completion)
{
	struct verbs_completion_words *words = (void *)(queue->guest->memory + queue->at);
	const struct verbs_completion *entry =
		(struct verbs_completion *)(words + 1) + (queue->taken & (queue->depth - 1));

	if (__atomic_load_n(&entry->turn, __ATOMIC_ACQUIRE) != queue->taken + 1)
		return false;
	*completion = *entry;
	__atomic_store_n(&words->taken, ++queue->taken, __ATOMIC_RELEASE);
	return true;
}

void guest_wait(struct guest_queue *queue, struct verbs_completion *completion)
{
	__u64 deadline = monotonic_ns() + WAIT_NS;

	while (!guest_poll(queue, completion)) {
		if (monotonic_ns() > deadline)
			fail_msg("completion %llu has not come", queue->taken);
		sched_yield();
	}
}

long guest_evict(struct machine *machine, struct rdma_guest *guest, __u64 at, __u64 bytes,
		 enum evict_kind kind)
{
	long gone = 0;

	for (__u64 page = at; page < at + bytes; page += PAGE_BYTES)
		gone += !evict_page(machine, guest->index, page, kind);
	return gone;
}
