// SPDX-License-Identifier: GPL-2.0
/*
 * The emulated machine's I/O page-fault path, seen through its USDT probes. Their arguments are
 * described in injectors/emu/probes.h; they come from another process and are not trusted: they
 * become numbers in events and keys of bounded maps, nothing else.
 */
#include "bpf/kernel.h"

#include "bpf/flow.bpf.h"
#include "bpf/group.bpf.h"
#include "bpf/hyv.bpf.h"
#include "bpf/resolving.bpf.h"

char LICENSE[] SEC("license") = "GPL";

MAP(usdt_sites, ARRAY, USDT_SITES_MAX, __u32, struct usdt_site);

/* In the order of injectors/emu/probes.h; the probes with fewer arguments leave the rest 0. */
union arguments {
	__u64 at[USDT_ARGUMENTS];
	struct {
		__u64 device, queue, pasid, group, address, length, flags_code, value;
	} fault;
	struct {
		__u64 device, pasid, address, length, token, flags;
	} invalidate;
	struct {
		__u64 device, point, id;
	} inject;
	struct {
		__u64 device, pasid, address, length, reason, due;
	} pin;
	struct {
		__u64 device, queue, addresses, ports, sequence, frames, since, code;
	} frames;
	struct {
		__u64 device, queue, descriptors, held_back;
	} head;
	struct {
		__u64 device, queue, side, frames, bytes, gauges, lost, interrupts;
	} ring;
	struct {
		__u64 device, pair, address, length, value, group, more, code; /* of frames */
	} pair;
	struct lend_arguments lend;
	struct lend_io_arguments lend_io;
	struct verb_stages_arguments verb;
	struct work_arguments work;
};

static __always_inline __u64 read_argument(struct pt_regs *ctx, const struct usdt_argument *from)
{
	__u64 value = from->value;

	if (from->place == USDT_REGISTER && from->reg < sizeof(*ctx))
		bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx + from->reg);
	return value;
}

/*
 * Emulated machines are root's, or of who records. Whoever else may read the emulator's binary may map
 * it and call its probes, as often as they like: that costs them a count here and nobody else anything.
 */
static __always_inline bool may_be_machine(struct probe_counter *counter)
{
	__u32 user = bpf_get_current_uid_gid();

	if (!user || user == filter.machine_user)
		return true;
	count_up(counter->turned_away);
	return false;
}

/*
 * Enters a device of a process that may have some. NULL: this one may not, or there is no room; without a
 * slot its faults would mix with those of others that got none, so its events are lost.
 */
static __attribute__((noinline)) struct device_state *
meet_device(struct probe_counter *counter, const struct device_key *key, __u32 kind)
{
	struct device_state fresh = {}, *device;

	if (!may_be_machine(counter))
		return NULL;
	device = device_try(counter, key, &fresh);
	if (device)
		return device;
	count_up(counter->hits);
	if (kind_wanted(kind))
		count_up(counter->lost);
	return NULL;
}

/* Who has a device here was looked at when it was entered. */
static __always_inline struct device_state *emulated_device(struct probe_counter *counter,
							    __u64 index, __u32 kind)
{
	struct device_key key = {
		.kind = DEVICE_EMULATED,
		.owner = bpf_get_current_pid_tgid() >> 32,
		.owner_start = owner_start_ticks(),
		.source = index,
	};
	struct device_state *device = bpf_map_lookup_elem(&devices, &key);

	return device ? device : meet_device(counter, &key, kind);
}

static __always_inline void group_stage(struct group_state *group, __u32 kind, __u64 flags)
{
	__u32 stages = kind <= EVENT_FAULT_RESUME ? GROUP_STAGE(kind) : 0;

	if (kind == EVENT_FAULT_ABANDON)
		stages = GROUP_ABANDONED;
	else
		group->latest = kind;
	if (kind == EVENT_FAULT_REQUEST) {
		__sync_fetch_and_add(&group->queued, 1);
		if (flags & EVENT_LAST)
			stages |= GROUP_LAST;
	}
	__sync_fetch_and_or(&group->stages, stages);
}

/*
 * The group's number is free, unless the IOMMU answered it alone: then the host may still have
 * requests of it, and the device takes the number again once it has thrown all of them away.
 */
static __always_inline void group_resumed(const struct group_key *key, struct group_state *group,
					  __u8 code)
{
	__sync_fetch_and_or(&group->stages, GROUP_STAGE(EVENT_FAULT_RESUME));
	if (code != RESPONSE_AUTOMATIC || !__sync_fetch_and_add(&group->queued, 0))
		bpf_map_delete_elem(&groups, key);
}

static __always_inline void group_lost_request(const struct group_key *key,
					       struct group_state *group)
{
	__u32 queued = __sync_fetch_and_add(&group->queued, -1);

	if (queued == 1 && group->stages & GROUP_STAGE(EVENT_FAULT_RESUME))
		bpf_map_delete_elem(&groups, key);
}

/*
 * Which fault this is. A detect on a group that has its last request, or has gone beyond being
 * requested, means that the number was reused. What comes after the handlers without a group gets an
 * instance of its own and opens nothing: it belongs to a fault whose start nobody saw.
 */
static __always_inline __u32 group_instance(struct probe_counter *counter,
					    const struct group_key *key, const union arguments *a,
					    __u32 kind, __u64 now)
{
	const __u32 requested = GROUP_STAGE(EVENT_FAULT_DETECT) | GROUP_STAGE(EVENT_FAULT_REQUEST);
	struct group_state *group = bpf_map_lookup_elem(&groups, key);
	__u32 instance;

	if (group && kind == EVENT_FAULT_DETECT && (group->stages & ~requested)) {
		if (!(group->stages & GROUP_ABANDONED))
			group_unfinished(counter, key, group, now);
		bpf_map_delete_elem(&groups, key);
		group = NULL;
	}
	if (!group) {
		struct group_state fresh = {
			.first_ns = now,
			.address = a->fault.address,
			.owner = bpf_get_current_pid_tgid() >> 32,
			.queue = a->fault.queue,
		};

		if (kind >= EVENT_FAULT_RESPONSE)
			return instance_new();
		group = group_open(key, &fresh);
		if (!group)
			return 0;
	}
	instance = group->instance;
	if (kind == EVENT_FAULT_RESUME)
		group_resumed(key, group, a->fault.flags_code >> 8);
	else if (kind == EVENT_FAULT_VOID)
		group_lost_request(key, group);
	else
		group_stage(group, kind, a->fault.flags_code);
	return instance;
}

static __always_inline bool is_group_stage(__u32 kind)
{
	return kind == EVENT_FAULT_HANDLER || kind == EVENT_FAULT_RESPONSE ||
	       kind == EVENT_FAULT_RESUME || kind == EVENT_FAULT_ABANDON;
}

static __always_inline void fill_fault(struct event *event, const union arguments *a,
				       const struct group_key *key, __u32 instance)
{
	event_of_fault(event, key, instance);
	event->address = a->fault.address;
	event->length = a->fault.length;
	event->value = a->fault.value;
	event->queue = a->fault.queue;
	event->code = a->fault.flags_code >> 8;
	event->flags = (__u8)a->fault.flags_code & ~(EVENT_GROUP | EVENT_LATE);
	if (is_group_stage(event->kind))
		event->flags |= EVENT_GROUP;
}

/* `event` is NULL if this kind is not wanted or found no room: the account of groups goes on. */
static __always_inline void fault_stage(struct probe_counter *counter, struct event *event,
					const union arguments *a, __u32 kind,
					const struct device_state *device)
{
	struct group_key key = {
		.device = device ? device->id : DEVICE_NONE,
		.pasid = a->fault.pasid,
		.group = a->fault.group,
	};
	__u32 instance =
		group_instance(counter, &key, a, kind, event ? event->time_ns : bpf_ktime_get_ns());

	if (kind == EVENT_FAULT_HANDLER)
		handler_register();
	/* The bottom half runs in one task from handler to response. */
	if (kind == EVENT_FAULT_HANDLER)
		resolving_begin(RESOLVING_EMULATED, &key, instance);
	else if (kind == EVENT_FAULT_RESPONSE)
		resolving_end(RESOLVING_EMULATED);
	if (event)
		fill_fault(event, a, &key, instance);
}

static __always_inline void fill_invalidate(struct event *event, const union arguments *a,
					    const struct device_state *device)
{
	event->device = device ? device->id : DEVICE_NONE;
	event->pasid = a->invalidate.pasid;
	event->address = a->invalidate.address;
	event->length = a->invalidate.length;
	event->value = a->invalidate.token;
	event->flags = (__u8)a->invalidate.flags & ~(EVENT_GROUP | EVENT_LATE);
}

static __always_inline void fill_inject(struct event *event, const union arguments *a,
					const struct device_state *device)
{
	event->device = device ? device->id : DEVICE_NONE;
	event->code = a->inject.point;
	event->value = a->inject.id;
}

/* Frames without IPv4 have no more than an EtherType: those of all hosts are one flow. */
static __always_inline __u32 frames_flow(const union arguments *a, __u32 device)
{
	struct flow_key key = {.device = device};

	/* What nobody has seen is of no flow. */
	if (!a->frames.addresses && !a->frames.ports)
		return 0;
	if (!a->frames.addresses) {
		key.ethertype = a->frames.ports;
		return flow_id_of(&key);
	}
	key.family = AF_INET;
	key.protocol = a->frames.ports;
	key.source_port = a->frames.ports >> 32;
	key.destination_port = a->frames.ports >> 16;
	key.source[0] = bpf_htonl(a->frames.addresses >> 32);
	key.destination[0] = bpf_htonl(a->frames.addresses);
	return flow_id_of(&key);
}

/* The fault that it names: its page request group is open. Instance 0: nobody saw it begin. */
static __always_inline void fill_named_fault(struct event *event, const union arguments *a)
{
	struct group_key key = {
		.device = event->device,
		.pasid = a->frames.code >> 32,
		.group = a->frames.code >> 8 & 0xffff,
	};
	const struct group_state *group;

	if (!key.group--)
		return;
	group = bpf_map_lookup_elem(&groups, &key);
	event->pasid = key.pasid;
	event->group = key.group;
	event->instance = group ? group->instance : 0;
}

static __always_inline void fill_frames(struct event *event, const union arguments *a)
{
	event->queue = a->frames.queue;
	event->address = a->frames.sequence;
	event->length = a->frames.frames;
	event->value = a->frames.since;
	event->code = a->frames.code;
	event->flags = (a->frames.code >> 30 & 1 ? EVENT_PRIV : 0) |
		       (a->frames.code >> 31 & 1 ? EVENT_LAST : 0);
	event->tid = frames_flow(a, event->device);
	fill_named_fault(event, a);
}

static __always_inline void fill_ring(struct event *event, const union arguments *a)
{
	event->queue = a->ring.queue;
	event->code = a->ring.side;
	event->value = a->ring.frames;
	event->length = a->ring.bytes;
	event->address = a->ring.gauges;
	event->tid = a->ring.lost;
	event->group = a->ring.interrupts;
}

static __always_inline void fill_network(struct event *event, const union arguments *a,
					 const struct device_state *device)
{
	event->device = device ? device->id : DEVICE_NONE;
	if (event->kind == EVENT_RING_STATE) {
		fill_ring(event, a);
	} else if (event->kind == EVENT_HEAD_ADVANCED) {
		event->queue = a->head.queue;
		event->value = a->head.descriptors;
		event->length = a->head.held_back;
		event->tid = 0;
	} else {
		fill_frames(event, a);
	}
}

static __always_inline void fill_pair(struct event *event, const union arguments *a,
				      const struct device_state *device)
{
	event->device = device ? device->id : DEVICE_NONE;
	event->tid = a->pair.pair;
	event->address = a->pair.address;
	event->length = a->pair.length;
	event->value = a->pair.value;
	event->group = a->pair.group;
	event->pasid = a->pair.more >> 32;
	event->instance = a->pair.more;
	event->code = a->pair.code;
	fill_named_fault(event, a);
}

static __always_inline bool is_pair(__u32 kind)
{
	return (kind >= EVENT_RNR_SENT && kind <= EVENT_QP_STATE) ||
	       (kind >= EVENT_ODP_REGION && kind <= EVENT_RDMA_COUNTER);
}

static __always_inline bool is_network(__u32 kind)
{
	return kind >= EVENT_FRAMES_LOST && kind <= EVENT_RING_STATE;
}

static __always_inline void fill_pin(struct event *event, const union arguments *a,
				     const struct device_state *device)
{
	event->device = device ? device->id : DEVICE_NONE;
	event->pasid = a->pin.pasid;
	event->address = a->pin.address;
	event->length = a->pin.length;
	event->code = a->pin.reason;
	event->value = a->pin.due;
}

static __always_inline bool is_pin(__u32 kind)
{
	return kind == EVENT_PAGE_PIN || kind == EVENT_PAGE_UNPIN;
}

static __always_inline bool is_inject(__u32 kind)
{
	return kind == EVENT_INJECT_START || kind == EVENT_INJECT_STOP;
}

static __always_inline bool names_device(const union arguments *a, __u32 kind)
{
	return !is_inject(kind) || (__u32)a->inject.device != DEVICE_ALL;
}

/* `event` is NULL as above. */
static __always_inline void take_probe(const union arguments *a, __u32 kind,
				       struct probe_counter *counter, struct event *event,
				       const struct device_state *device)
{
	if (kind <= EVENT_FAULT_ABANDON)
		fault_stage(counter, event, a, kind, device);
	else if (event && is_inject(kind))
		fill_inject(event, a, device);
	else if (event && is_network(kind))
		fill_network(event, a, device);
	else if (event && is_pin(kind))
		fill_pin(event, a, device);
	else if (event && is_pair(kind))
		fill_pair(event, a, device);
	else if (event)
		fill_invalidate(event, a, device);
}

/*
 * All probes of the emulator lead here: one program on many sites has one link, and taking it away
 * waits for one grace period of the kernel (0.1 s) instead of one a probe.
 *
 * The record is tested once only: the verifier of Linux 6.1 assumes that one which was found there
 * may be NULL when it is tested again, and then misses its release.
 */
SEC("uprobe")
int emulator(struct pt_regs *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx);
	const struct usdt_site *site = bpf_map_lookup_elem(&usdt_sites, &number);
	struct probe_counter *counter = site ? probe_again(site->probe) : NULL;
	struct device_state *device = NULL;
	struct event *event = NULL;
	union arguments a;

	if (!counter)
		return 0;
	for (int i = 0; i < USDT_ARGUMENTS; i++)
		a.at[i] = read_argument(ctx, &site->arguments[i]);
	if (names_device(&a, site->kind)) {
		device = emulated_device(counter, (__u32)a.at[0], site->kind);
		if (!device)
			return 0;
	} else if (!may_be_machine(counter)) {
		return 0;
	}
	count_up(counter->hits);
	if (device_dropped(device))
		return 0;
	if (hyv_is_told(site->kind)) {
		hyv_take_told(counter, &(struct hyv_told){&a.lend, &a.lend_io, &a.verb, &a.work},
			      site->kind, device ? device->id : DEVICE_NONE);
		return 0;
	}
	if (kind_wanted(site->kind))
		event = event_reserve(counter, site->kind);
	if (!event) {
		take_probe(&a, site->kind, counter, NULL, device);
	} else {
		take_probe(&a, site->kind, counter, event, device);
		event_submit(counter, event);
	}
	return 0;
}
