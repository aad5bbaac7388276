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
	 BOTH(ib_umem_odp_map_dma_and_lock, odp_fault)},
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
	 .every = FROM_ODP},
	{PROBE_ODP_UNMAP, "odp_unmap", OBJECT_RDMA, EVENT_ODP_INVALIDATE, false, ODP,
	 BOTH(ib_umem_odp_unmap_dma_pages, odp_unmap), .with = "rxe_invalidate"},
	{PROBE_ODP_REGION, "odp_region", OBJECT_RDMA, EVENT_ODP_REGION, false, ODP,
	 FUNCTION(ib_umem_odp_get, NULL, "odp_region")},
	{PROBE_ODP_RELEASE, "odp_release", OBJECT_RDMA, EVENT_ODP_REGION, false, ODP,
	 FUNCTION(ib_umem_odp_release, "odp_release", NULL)},
	{PROBE_RXE_INVALIDATE, "rxe_invalidate", OBJECT_RDMA, EVENT_ODP_INVALIDATE, false, RXE,
	 BOTH(rxe_ib_invalidate_range, rxe_invalidate)},
	{PROBE_RXE_PREFETCH, "rxe_prefetch", OBJECT_RDMA, EVENT_ODP_PREFETCH, false, RXE,
	 BOTH(rxe_ib_advise_mr, rxe_prefetch)},
	{PROBE_RXE_PREFETCH_WORK, "rxe_prefetch_work", OBJECT_RDMA, EVENT_ODP_PREFETCH, false, RXE,
	 BOTH(rxe_ib_prefetch_mr_work, rxe_prefetch_work)},
	{PROBE_MLX5_FAULT_EVENT, "mlx5_fault_event", OBJECT_RDMA, EVENT_FAULT_ISR, false, MLX5,
	 BOTH(mlx5_ib_eq_pf_process, mlx5_fault_event), .note = UNSEEN},
	{PROBE_MLX5_FAULT_QUEUED,
	 "mlx5_fault_queued",
	 OBJECT_RDMA,
	 EVENT_FAULT_ISR,
	 false,
	 MLX5,
	 {{ATTACH_TP_BTF, "workqueue_queue_work", "mlx5_fault_queued", NULL, 0}},
	 .note = UNSEEN,
	 .sieve = true},
	{PROBE_MLX5_FAULT_HANDLER, "mlx5_fault_handler", OBJECT_RDMA, EVENT_FAULT_HANDLER, false,
	 MLX5, BOTH(mlx5_ib_eqe_pf_action, mlx5_fault_handler), .note = UNSEEN},
	{PROBE_MLX5_FAULT_MAPPED, "mlx5_fault_mapped", OBJECT_RDMA, EVENT_FAULT_MAPPED, false, MLX5,
	 FUNCTION(mlx5r_umr_update_xlt, NULL, "mlx5_fault_mapped"), .note = UNSEEN,
	 .every = FROM_MLX5},
	{PROBE_MLX5_FAULT_RESUME, "mlx5_fault_resume", OBJECT_RDMA, EVENT_FAULT_RESPONSE, false,
	 MLX5, FUNCTION(mlx5_ib_page_fault_resume, NULL, "mlx5_fault_resume"), .note = UNSEEN},
	{PROBE_MLX5_INVALIDATE, "mlx5_invalidate", OBJECT_RDMA, EVENT_ODP_INVALIDATE, false, MLX5,
	 BOTH(mlx5_ib_invalidate_range, mlx5_invalidate), .note = UNSEEN},
	{PROBE_MLX5_PREFETCH, "mlx5_prefetch", OBJECT_RDMA, EVENT_ODP_PREFETCH, false, MLX5,
	 BOTH(mlx5_ib_advise_mr_prefetch, mlx5_prefetch), .note = UNSEEN},
	{PROBE_MLX5_PREFETCH_WORK, "mlx5_prefetch_work", OBJECT_RDMA, EVENT_ODP_PREFETCH, false,
	 MLX5, BOTH(mlx5_ib_prefetch_mr_work, mlx5_prefetch_work), .note = UNSEEN},
	{PROBE_RDMA_COUNTERS,
	 "rdma_counters",
	 OBJECT_RDMA,
	 EVENT_RDMA_COUNTER,
	 false,
	 "ib_core",
	 {{ATTACH_FILES, RDMA_CLASS, NULL, NULL, 0}}},
};

const size_t rdma_row_count = sizeof(rdma_rows) / sizeof(rdma_rows[0]);
