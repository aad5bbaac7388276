// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA on-demand paging, and what the devices count themselves. The mlx5 rows were attached to the driver's
 * functions but never saw a fault of such a device: nobody emulates one.
 */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/capture/capture_private.h"
#include "lib/capture/paths/rows.h"
#include "lib/capture/rdma_counters.h"
#include "bpf/rdma.skel.h"

static DEFINE_OBJECT(rdma, .knows_devices = true);

#define ODP  "ib_core ib_uverbs" /* the shared part moved from the latter to the former in 7.0 */
#define RXE  "rdma_rxe"
#define MLX5 "mlx5_ib"

#define UNSEEN "attached only: no such device was there to test it with"

#define BOTH(symbol, name) FUNCTION(symbol, #name "_entry", #name "_return")

static const struct probe_row rows[] = {
	{PROBE_ODP_FAULT, "odp_fault", &rdma_object, EVENT_FAULT_HANDLER,
	 METHODS(BOTH(ib_umem_odp_map_dma_and_lock, odp_fault)), .module = ODP,
	 .with = "rxe_prefetch_work mlx5_fault_mapped",
	 .without = "RDMA page faults are not seen, and not counted"},
	/* Since 7.3 the latter is called; the former is still there, for graphics drivers. */
	{PROBE_ODP_RESOLVED, "odp_resolved", &rdma_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(hmm_range_fault, "odp_resolved_locked", "odp_resolved_unlocked", 0,
			  "hmm_range_fault_unlocked_timeout"),
		 FUNCTION(hmm_range_fault, NULL, "odp_resolved")),
	 .module = ODP, .needs = "ib_umem_odp_map_dma_and_lock", .every = FROM_ODP,
	 .without =
		 "stage resolve of RDMA page faults is part of the next one seen, and whether storage was read is not known"},
	{PROBE_ODP_UNMAP, "odp_unmap", &rdma_object, EVENT_ODP_INVALIDATE,
	 METHODS(BOTH(ib_umem_odp_unmap_dma_pages, odp_unmap)), .module = ODP,
	 .with = "rxe_invalidate",
	 .without = "pages that invalidations unmapped from RDMA regions are not counted"},
	{PROBE_ODP_REGION, "odp_region", &rdma_object, EVENT_ODP_REGION,
	 METHODS(FUNCTION(ib_umem_odp_get, NULL, "odp_region")), .module = ODP,
	 .without = "RDMA regions registered meanwhile are not known",
	 .unaccused = "regions may be registered before the recording"},
	{PROBE_ODP_RELEASE, "odp_release", &rdma_object, EVENT_ODP_REGION,
	 METHODS(FUNCTION(ib_umem_odp_release, "odp_release")), .module = ODP,
	 .without = "RDMA regions that were released are still shown",
	 .unaccused = "regions may stay"},
	{PROBE_RXE_INVALIDATE, "rxe_invalidate", &rdma_object, EVENT_ODP_INVALIDATE,
	 METHODS(BOTH(rxe_ib_invalidate_range, rxe_invalidate)), .module = RXE,
	 .without = "invalidations of soft-RoCE are not counted",
	 .unaccused = "what is registered need not be invalidated"},
	{PROBE_RXE_PREFETCH, "rxe_prefetch", &rdma_object, EVENT_ODP_PREFETCH,
	 METHODS(BOTH(rxe_ib_advise_mr, rxe_prefetch)), .module = RXE,
	 .without = "prefetches of soft-RoCE are not counted", .unaccused = "nobody need prefetch"},
	{PROBE_RXE_PREFETCH_WORK, "rxe_prefetch_work", &rdma_object, EVENT_ODP_PREFETCH,
	 METHODS(BOTH(rxe_ib_prefetch_mr_work, rxe_prefetch_work)), .module = RXE,
	 .without = "which faults of soft-RoCE are prefetches is not known",
	 .unaccused = "a prefetch need not be asynchronous"},
	{PROBE_MLX5_FAULT_EVENT, "mlx5_fault_event", &rdma_object, EVENT_FAULT_ISR,
	 METHODS(BOTH(mlx5_ib_eq_pf_process, mlx5_fault_event)), .module = MLX5, .note = UNSEEN,
	 .without = "when mlx5 told of page faults is not known", .unaccused = UNRAISED},
	{PROBE_MLX5_FAULT_QUEUED, "mlx5_fault_queued", &rdma_object, EVENT_FAULT_ISR,
	 METHODS(TRACEPOINT_AS(workqueue_queue_work, "mlx5_fault_queued")), .module = MLX5,
	 .note = UNSEEN, .sieve = true,
	 .without = "when page faults of mlx5 were queued is not known", .unaccused = UNRAISED},
	{PROBE_MLX5_FAULT_HANDLER, "mlx5_fault_handler", &rdma_object, EVENT_FAULT_HANDLER,
	 METHODS(BOTH(mlx5_ib_eqe_pf_action, mlx5_fault_handler)), .module = MLX5, .note = UNSEEN,
	 .without = "page faults of mlx5 are not seen, and not counted", .unaccused = UNRAISED},
	{PROBE_MLX5_FAULT_MAPPED, "mlx5_fault_mapped", &rdma_object, EVENT_FAULT_MAPPED,
	 METHODS(FUNCTION(mlx5r_umr_update_xlt, NULL, "mlx5_fault_mapped")), .module = MLX5,
	 .note = UNSEEN, .every = FROM_MLX5,
	 .without = "stage map of page faults of mlx5 is part of the next one seen"},
	{PROBE_MLX5_FAULT_RESUME, "mlx5_fault_resume", &rdma_object, EVENT_FAULT_RESPONSE,
	 METHODS(FUNCTION(mlx5_ib_page_fault_resume, NULL, "mlx5_fault_resume")), .module = MLX5,
	 .note = UNSEEN, .with = "mlx5_fault_handler",
	 .without = "whether and when page faults of mlx5 were answered is not known"},
	{PROBE_MLX5_INVALIDATE, "mlx5_invalidate", &rdma_object, EVENT_ODP_INVALIDATE,
	 METHODS(BOTH(mlx5_ib_invalidate_range, mlx5_invalidate)), .module = MLX5, .note = UNSEEN,
	 .without = "invalidations of mlx5 are not counted", .unaccused = UNRAISED},
	{PROBE_MLX5_PREFETCH, "mlx5_prefetch", &rdma_object, EVENT_ODP_PREFETCH,
	 METHODS(BOTH(mlx5_ib_advise_mr_prefetch, mlx5_prefetch)), .module = MLX5, .note = UNSEEN,
	 .without = "prefetches of mlx5 are not counted", .unaccused = UNRAISED},
	{PROBE_MLX5_PREFETCH_WORK, "mlx5_prefetch_work", &rdma_object, EVENT_ODP_PREFETCH,
	 METHODS(BOTH(mlx5_ib_prefetch_mr_work, mlx5_prefetch_work)), .module = MLX5,
	 .note = UNSEEN, .without = "which faults of mlx5 are prefetches is not known",
	 .unaccused = UNRAISED},
	/* Devices are known by name wherever their faults are, which feed others. */
	{PROBE_RDMA_RENAME, "rdma_rename", &rdma_object, EVENT_DEVICE_NEW,
	 METHODS(BOTH(ib_device_rename, rdma_rename)), .always = true, .module = "ib_core",
	 .optional = true},
	{PROBE_RDMA_COUNTERS, "rdma_counters", &rdma_object, EVENT_RDMA_COUNTER,
	 METHODS({ATTACH_FILES, RDMA_CLASS, NULL, NULL, 0}), .module = "ib_core",
	 .without = "the devices' own counters are not read", .unaccused = "files, not a function"},
};

/* The handle of an RDMA device: the same whoever has met it first, this or the kernel side. */
static __u32 rdma_handle_of(struct capture *c, const char *name)
{
	const struct device_key key = {.kind = DEVICE_IB, .source = device_name_number(name)};
	struct device_info info = {
		.kind = DEVICE_IB,
		.iommu_group = -1,
		.first_ns = monotonic_ns(),
	};

	snprintf(info.name, sizeof(info.name), "%.*s", DEVICE_TEXT - 1, name);
	rdma_device_model(name, info.model);
	return device_table_enter(c->devices, &key, &info);
}

static int rdma_take_counter(void *self, const char *name, const struct event *event)
{
	struct capture *c = self;
	struct event copy = *event;

	copy.device = rdma_handle_of(c, name);
	if (copy.device == HANDLE_DROPPED)
		return 0;
	c->rdma_events++;
	return merge_push(c->merge, source_local(c), &copy);
}

static int rdma_read_counters(struct capture *c, __u64 now_ns)
{
	int error = 0;

	if (probe_set_info(c->probes, PROBE_RDMA_COUNTERS)->state != PROBE_ON)
		return 0;
	if (!c->rdma)
		/* The module that brings such devices has been loaded under our eyes. */
		return rdma_counters_create(&c->rdma, NULL, c->attached, now_ns);
	error = rdma_counters_poll(c->rdma, now_ns, rdma_take_counter, c);
	probe_set_read(c->probes, PROBE_RDMA_COUNTERS, rdma_counters_reads(c->rdma),
		       c->rdma_events);
	return error;
}

static int read_last(struct capture *c, __u64 now_ns)
{
	int error = 0;

	(void)now_ns;
	if (!c->rdma)
		return 0;
	error = rdma_counters_finish(c->rdma, rdma_take_counter, c);
	probe_set_read(c->probes, PROBE_RDMA_COUNTERS, rdma_counters_reads(c->rdma),
		       c->rdma_events);
	return error;
}

static int close_counters(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	rdma_counters_destroy(c->rdma);
	return 0;
}

static void describe_device(const struct device_key *key, const struct device_state *state,
			    struct device_info *info)
{
	(void)key;
	info->source_id = 0; /* of the name */
	rdma_device_model(state->name, info->model);
}

const struct path rdma_path = {
	.name = "RDMA on-demand paging",
	.needs = "an HCA with mlx5_ib, or rdma_rxe on Linux 6.15 or later",
	ROWS(rows),
	.steps = {[STEP_ATTACHED] = rdma_read_counters,
		  [STEP_POLL] = rdma_read_counters,
		  [STEP_FINISH] = read_last,
		  [STEP_CLOSE] = close_counters},
	.device_kind = DEVICE_IB,
	.describe = describe_device,
};
