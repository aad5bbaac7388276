// SPDX-License-Identifier: GPL-2.0
/* What is told, as the arguments of its probe, and whose machine it is of. */
#include "injectors/cluster/seen.h"

#include "bpf/event.h"
#include "injectors/cluster/seen_private.h"
#include "lib/base/clock.h"
#include "lib/base/inject_point.h"

static __u64 pair_of(__u32 low, __u32 high)
{
	return low | (__u64)high << 32;
}

/* The first argument. */
static __u64 of_device(__u32 index, __u16 queue, __u8 code, __u8 flags)
{
	return index | (__u64)queue << 32 | (__u64)code << 48 | (__u64)flags << 56;
}

static __u32 host_of_adapter(const struct cluster *cluster, __u32 adapter)
{
	const struct fabric *fabric = cluster->config->fabric;

	return adapter < fabric->node_count ? fabric->nodes[adapter].host : SEEN_NONE;
}

static __u32 host_of_device(const struct cluster *cluster, __u32 device)
{
	const struct cluster_config *config = cluster->config;

	return device < config->device_count ? config->devices[device].host : SEEN_NONE;
}

/* Does the borrower say with this step that its borrow is over? */
static bool ends_borrow(enum cluster_step step)
{
	return step == STEP_REMOVE || step == STEP_LENDER_DEAD;
}

void seen_step(struct cluster *cluster, const struct step *step)
{
	bool parent = cluster->host >= cluster->config->host_count;
	__u32 host = parent ? host_of_device(cluster, step->device) : cluster->host;
	__u32 index = parent ? seen_device(cluster, host, step->device)
			     : seen_self(cluster, step->device);
	struct seen_record record = {.kind = EVENT_LEND_STEP};

	if (!parent && ends_borrow(step->step))
		seen_window_state(cluster, host, index);
	record.at[0] = of_device(index, QUEUE_NONE, step->step, step->error ? EVENT_MAJOR : 0);
	record.at[1] = step->address;
	record.at[2] = step->error < 0 ? -(__s64)step->error : step->error;
	record.at[3] = step->took_ns;
	record.at[4] = pair_of(step->borrow, step->other_host);
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, host, &record);
}

void seen_window(struct cluster *cluster, const struct ntb_window *window, bool mapped, __u32 left)
{
	struct seen_record record = {.kind = mapped ? EVENT_WINDOW_MAP : EVENT_WINDOW_UNMAP};

	record.at[0] = of_device(seen_adapter(cluster, window->adapter),
				 left < QUEUE_NONE ? left : QUEUE_NONE - 1, window->kind, 0);
	record.at[1] = window->address;
	record.at[2] = window->bytes;
	record.at[3] = window->far;
	record.at[4] = pair_of(window->borrow, window->slots << 16 | (window->slot & 0xffff));
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, host_of_adapter(cluster, window->adapter), &record);
}

void seen_requester(struct cluster *cluster, __u32 adapter, __u32 slot, __u32 requester, bool added,
		    __u32 left)
{
	struct seen_record record = {.kind = added ? EVENT_REQUESTER_ADD : EVENT_REQUESTER_REMOVE};

	record.at[0] = of_device(seen_adapter(cluster, adapter), left, 0, 0);
	record.at[3] = requester;
	record.at[4] = pair_of(0, slot);
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, host_of_adapter(cluster, adapter), &record);
}

void seen_link(struct cluster *cluster, __u32 adapter, bool up, bool wiped)
{
	struct seen_record record = {.kind = EVENT_LINK_STATE};
	struct ntb_stats stats;

	ntb_stats(cluster, adapter, &stats);
	record.at[0] =
		of_device(seen_adapter(cluster, adapter), QUEUE_NONE, up, wiped ? EVENT_MAJOR : 0);
	record.at[2] = stats.all_ones;
	record.at[3] = stats.lost_writes;
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, host_of_adapter(cluster, adapter), &record);
}

static void raise_to(_Atomic __u64 *most, __u64 value)
{
	__u64 before = atomic_load(most);

	while (before < value && !atomic_compare_exchange_weak(most, &before, value))
		;
}

static void charge(struct seen_gauges *g, __u32 borrow, __u64 bytes, bool mapped)
{
	__u64 now;

	if (!g)
		return;
	if (atomic_load(&g->borrow) != borrow) { /* whatever the one before has left went with it */
		atomic_store(&g->borrow, borrow);
		atomic_store(&g->charged, 0);
		atomic_store(&g->charged_most, 0);
	}
	if (mapped) {
		now = atomic_fetch_add(&g->charged, bytes) + bytes;
		raise_to(&g->charged_most, now);
	} else {
		atomic_fetch_sub(&g->charged, bytes);
	}
}

void seen_lend_map(struct cluster *cluster, __u32 device, __u32 borrow, __u64 address, __u64 bytes,
		   __u64 took_ns, bool mapped)
{
	struct seen_record record = {.kind = mapped ? EVENT_LEND_MAP : EVENT_LEND_UNMAP};
	__u32 index = seen_self(cluster, device);

	charge(seen_gauges(cluster, cluster->host, index), borrow, bytes, mapped);
	record.at[0] = of_device(index, borrow, 0, 0); /* frames tell borrows apart by it */
	record.at[1] = address;
	record.at[2] = bytes;
	record.at[3] = took_ns;
	record.at[4] = pair_of(borrow, 0);
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, cluster->host, &record);
}

void seen_iommu(struct cluster *cluster, __u32 host, __u32 device, __u64 address, __u64 bytes,
		__u64 physical, bool mapped)
{
	struct seen_record record = {.kind = mapped ? EVENT_IOMMU_MAP : EVENT_IOMMU_UNMAP};

	if (device >= cluster->config->device_count) /* windows of nobody's device */
		return;
	record.at[0] = of_device(seen_device(cluster, host, device), QUEUE_NONE, 0, 0);
	record.at[1] = address;
	record.at[2] = bytes;
	record.at[3] = physical;
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, host, &record);
}

void seen_iommu_fault(struct cluster *cluster, __u32 host, __u32 device, __u64 address, bool write)
{
	struct seen_record record = {.kind = EVENT_LEND_FAULT};
	__u32 index = seen_device(cluster, host, device);

	/* One that the host whose IOMMU it is knows nothing of is told by its lender. */
	record.at[4] = pair_of(0, host);
	if (index == SEEN_NONE) {
		host = host_of_device(cluster, device);
		index = seen_device(cluster, host, device);
	}
	record.at[0] = of_device(index, QUEUE_NONE, 0, write ? EVENT_WRITE : EVENT_READ);
	record.at[1] = address;
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, host, &record);
}

void seen_stray(struct cluster *cluster, __u32 device, __u32 borrow, __u32 host, __u64 address,
		__u64 bytes)
{
	__u32 lender = host_of_device(cluster, device);
	struct seen_record record = {.kind = EVENT_STRAY_DMA};

	record.at[0] = of_device(seen_device(cluster, lender, device), QUEUE_NONE, 0, 0);
	record.at[1] = address;
	record.at[2] = bytes;
	record.at[4] = pair_of(borrow, host);
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, lender, &record);
}

static __u64 stages_of(const struct seen_io *io, unsigned int first)
{
	__u64 low = io->model_ns[first], high = io->model_ns[first + 1];

	return pair_of(low < SEEN_NONE ? low : SEEN_NONE, high < SEEN_NONE ? high : SEEN_NONE);
}

void seen_io(struct cluster *cluster, const struct seen_io *io)
{
	bool known = io->agent < agent_count(cluster);
	bool host_own = known && agent_info(cluster, io->agent)->kind == AGENT_HOST;
	__u32 host = known ? agent_info(cluster, io->agent)->host : SEEN_NONE;
	__u32 index =
		host_own ? seen_device(cluster, host, io->device) : seen_agent(cluster, io->agent);
	struct seen_gauges *g = seen_gauges(cluster, host, index);
	__u64 took = io->end_ns > io->begin_ns ? io->end_ns - io->begin_ns : 0;
	struct seen_record record = {
		.kind = EVENT_LEND_IO, .begin_ns = io->begin_ns, .end_ns = io->end_ns};

	if (g) {
		atomic_fetch_add(&g->ios, io->error ? 0 : 1);
		atomic_fetch_add(&g->bytes, io->error ? 0 : io->bytes);
		atomic_fetch_add(&g->errors, io->error ? 1 : 0);
		raise_to(&g->longest_ns, took);
		raise_to(&g->ended_ns, io->end_ns);
	}
	/* A disk's write reads memory. */
	record.at[0] = of_device(index, io->queue, io->error ? IO_ERROR : IO_OK,
				 io->write ? EVENT_READ : EVENT_WRITE);
	record.at[1] = io->address;
	record.at[2] = io->bytes;
	for (unsigned int i = 0; i < IO_STAGES / 2; i++)
		record.at[3 + i] = stages_of(io, 2 * i);
	record.at[7] = pair_of(io->number, io->agent);
	seen_post(cluster, host, &record);
}

void seen_failover(struct cluster *cluster, const struct seen_failover *failover)
{
	bool known = failover->agent < agent_count(cluster);
	struct seen_record record = {.kind = EVENT_FAILOVER};

	record.at[0] =
		of_device(seen_agent(cluster, failover->agent), QUEUE_NONE, failover->reason, 0);
	record.at[1] = failover->known_done;
	record.at[2] = failover->resubmitted;
	record.at[3] = failover->took_ns;
	record.at[4] = pair_of(failover->from_pair, failover->to_pair);
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, known ? agent_info(cluster, failover->agent)->host : SEEN_NONE, &record);
}

void seen_interrupt_relayed(struct cluster *cluster, __u32 device, __u64 took_ns)
{
	struct seen_record record = {.kind = EVENT_INTERRUPT_RELAY};

	record.at[0] = of_device(seen_self(cluster, device), QUEUE_NONE, 0, 0);
	record.at[3] = took_ns;
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, cluster->host, &record);
}

void seen_multicast(struct cluster *cluster, __u32 device, __u32 deliveries, __u64 bytes)
{
	__u32 lender = host_of_device(cluster, device);
	struct seen_record record = {.kind = EVENT_MULTICAST};

	record.at[0] = of_device(seen_device(cluster, lender, device), QUEUE_NONE, 0, 0);
	record.at[2] = bytes;
	record.at[3] = deliveries;
	record.at[5] = pair_of(PASID_NONE, cluster->sights->run);
	seen_post(cluster, lender, &record);
}

/* Whose machine tells of it: where it aims at, else the first host's. */
static __u32 host_of_injection(const struct cluster *cluster, const struct cluster_injection *i)
{
	if (i->host < cluster->config->host_count)
		return i->host;
	if (i->adapter < cluster->config->fabric->node_count &&
	    host_of_adapter(cluster, i->adapter) < cluster->config->host_count)
		return host_of_adapter(cluster, i->adapter);
	if (i->device < cluster->config->device_count)
		return host_of_device(cluster, i->device);
	return i->agent < agent_count(cluster) ? agent_info(cluster, i->agent)->host : 0;
}

void seen_inject(struct cluster *cluster, const struct cluster_injection *injection, __u32 id,
		 bool begins)
{
	__u32 host = host_of_injection(cluster, injection);
	__u32 index = seen_device(cluster, host, injection->device);
	struct seen_record record = {.kind = begins ? EVENT_INJECT_START : EVENT_INJECT_STOP};

	record.at[0] = index == SEEN_NONE ? DEVICE_ALL : index;
	record.at[1] = INJECT_CLUSTER + injection->kind;
	record.at[2] = id;
	seen_post(cluster, host, &record);
}
