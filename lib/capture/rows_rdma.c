// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of the probe table: bpf/rdma.bpf.c. The mlx5 rows were attached to the driver's functions but
 * never saw a fault of such a device: nobody emulates one.
 */
#include "lib/capture/rdma_counters.h"
#include "lib/capture/rows.h"

#define ODP  "ib_core ib_uverbs" /* the shared part moved from the latter to the former in 7.0 */
#define RXE  "rdma_rxe"
#define MLX5 "mlx5_ib"

#define UNSEEN "attached only: no such device was there to test it with"

#define FUNCTION(symbol, program, returns)                            \
	{                                                             \
		{                                                     \
			ATTACH_FUNCTION, #symbol, program, returns, 0 \
		}                                                     \
	}
#define BOTH(symbol, name) FUNCTION(symbol, #name "_entry", #name "_return")

const struct probe_row rdma_rows[] = {
	{PROBE_ODP_FAULT, "odp_fault", OBJECT_RDMA, EVENT_FAULT_HANDLER, false, ODP,
	 BOTH(ib_umem_odp_map_dma_and_lock, odp_fault),
	 .with = "rxe_prefetch_work mlx5_fault_mapped",
	 .without = "RDMA page faults are not seen, and not counted"},
	/* Since 7.3 the latter is called; the former is still there, for graphics drivers. */
	{PROBE_ODP_RESOLVED,
	 "odp_resolved",
	 OBJECT_RDMA,
	 EVENT_FAULT_RESOLVED,
	 false,
	 ODP,
	 {{ATTACH_FUNCTION, "hmm_range_fault", "odp_resolved_locked", "odp_resolved_unlocked", 0,
	   "hmm_range_fault_unlocked_timeout"},
	  {ATTACH_FUNCTION, "hmm_range_fault", NULL, "odp_resolved"}},
	 .needs = "ib_umem_odp_map_dma_and_lock",
	 .every = FROM_ODP,
	 .without =
		 "stage resolve of RDMA page faults is part of the next one seen, and whether storage was read is not known"},
	{PROBE_ODP_UNMAP, "odp_unmap", OBJECT_RDMA, EVENT_ODP_INVALIDATE, false, ODP,
	 BOTH(ib_umem_odp_unmap_dma_pages, odp_unmap), .with = "rxe_invalidate",
	 .without = "pages that invalidations unmapped from RDMA regions are not counted"},
	{PROBE_ODP_REGION, "odp_region", OBJECT_RDMA, EVENT_ODP_REGION, false, ODP,
	 FUNCTION(ib_umem_odp_get, NULL, "odp_region"),
	 .without = "RDMA regions registered meanwhile are not known"},
	{PROBE_ODP_RELEASE, "odp_release", OBJECT_RDMA, EVENT_ODP_REGION, false, ODP,
	 FUNCTION(ib_umem_odp_release, "odp_release", NULL),
	 .without = "RDMA regions that were released are still shown"},
	{PROBE_RXE_INVALIDATE, "rxe_invalidate", OBJECT_RDMA, EVENT_ODP_INVALIDATE, false, RXE,
	 BOTH(rxe_ib_invalidate_range, rxe_invalidate),
	 .without = "invalidations of soft-RoCE are not counted"},
	{PROBE_RXE_PREFETCH, "rxe_prefetch", OBJECT_RDMA, EVENT_ODP_PREFETCH, false, RXE,
	 BOTH(rxe_ib_advise_mr, rxe_prefetch),
	 .without = "prefetches of soft-RoCE are not counted"},
	{PROBE_RXE_PREFETCH_WORK, "rxe_prefetch_work", OBJECT_RDMA, EVENT_ODP_PREFETCH, false, RXE,
	 BOTH(rxe_ib_prefetch_mr_work, rxe_prefetch_work),
	 .without = "which faults of soft-RoCE are prefetches is not known"},
	{PROBE_MLX5_FAULT_EVENT, "mlx5_fault_event", OBJECT_RDMA, EVENT_FAULT_ISR, false, MLX5,
	 BOTH(mlx5_ib_eq_pf_process, mlx5_fault_event), .note = UNSEEN,
	 .without = "when mlx5 told of page faults is not known"},
	{PROBE_MLX5_FAULT_QUEUED,
	 "mlx5_fault_queued",
	 OBJECT_RDMA,
	 EVENT_FAULT_ISR,
	 false,
	 MLX5,
	 {{ATTACH_TP_BTF, "workqueue_queue_work", "mlx5_fault_queued", NULL, 0}},
	 .note = UNSEEN,
	 .sieve = true,
	 .without = "when page faults of mlx5 were queued is not known"},
	{PROBE_MLX5_FAULT_HANDLER, "mlx5_fault_handler", OBJECT_RDMA, EVENT_FAULT_HANDLER, false,
	 MLX5, BOTH(mlx5_ib_eqe_pf_action, mlx5_fault_handler), .note = UNSEEN,
	 .without = "page faults of mlx5 are not seen, and not counted"},
	{PROBE_MLX5_FAULT_MAPPED, "mlx5_fault_mapped", OBJECT_RDMA, EVENT_FAULT_MAPPED, false, MLX5,
	 FUNCTION(mlx5r_umr_update_xlt, NULL, "mlx5_fault_mapped"), .note = UNSEEN,
	 .every = FROM_MLX5,
	 .without = "stage map of page faults of mlx5 is part of the next one seen"},
	{PROBE_MLX5_FAULT_RESUME, "mlx5_fault_resume", OBJECT_RDMA, EVENT_FAULT_RESPONSE, false,
	 MLX5, FUNCTION(mlx5_ib_page_fault_resume, NULL, "mlx5_fault_resume"), .note = UNSEEN,
	 .with = "mlx5_fault_handler",
	 .without = "whether and when page faults of mlx5 were answered is not known"},
	{PROBE_MLX5_INVALIDATE, "mlx5_invalidate", OBJECT_RDMA, EVENT_ODP_INVALIDATE, false, MLX5,
	 BOTH(mlx5_ib_invalidate_range, mlx5_invalidate), .note = UNSEEN,
	 .without = "invalidations of mlx5 are not counted"},
	{PROBE_MLX5_PREFETCH, "mlx5_prefetch", OBJECT_RDMA, EVENT_ODP_PREFETCH, false, MLX5,
	 BOTH(mlx5_ib_advise_mr_prefetch, mlx5_prefetch), .note = UNSEEN,
	 .without = "prefetches of mlx5 are not counted"},
	{PROBE_MLX5_PREFETCH_WORK, "mlx5_prefetch_work", OBJECT_RDMA, EVENT_ODP_PREFETCH, false,
	 MLX5, BOTH(mlx5_ib_prefetch_mr_work, mlx5_prefetch_work), .note = UNSEEN,
	 .without = "which faults of mlx5 are prefetches is not known"},
	{PROBE_RDMA_RENAME, "rdma_rename", OBJECT_RDMA, EVENT_DEVICE_NEW, false, "ib_core",
	 BOTH(ib_device_rename, rdma_rename), .optional = true},
	{PROBE_RDMA_COUNTERS,
	 "rdma_counters",
	 OBJECT_RDMA,
	 EVENT_RDMA_COUNTER,
	 false,
	 "ib_core",
	 {{ATTACH_FILES, RDMA_CLASS, NULL, NULL, 0}},
	 .without = "the devices' own counters are not read"},
};

const size_t rdma_row_count = sizeof(rdma_rows) / sizeof(rdma_rows[0]);
