/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the probe table: its rows, a file for each BPF object, and short words for their ways. */
#ifndef FAULTLINE_ROWS_H
#define FAULTLINE_ROWS_H

#include "lib/capture/probes.h"

#define USDT(name)                                           \
	{                                                    \
		{                                            \
			ATTACH_USDT, #name, "emulator", NULL \
		}                                            \
	}
#define TP_BTF(name)                                      \
	{                                                 \
		{                                         \
			ATTACH_TP_BTF, #name, #name, NULL \
		}                                         \
	}
#define TP_BTF_RENAMED(name, before)                          \
	{                                                     \
		{ATTACH_TP_BTF, #name, #name, NULL},          \
		{                                             \
			ATTACH_TP_BTF, #before, #before, NULL \
		}                                             \
	}

#define FUNCTION_PAIR(symbol, program, returns)                   \
	{                                                         \
		{                                                 \
			ATTACH_FUNCTION, symbol, program, returns \
		}                                                 \
	}

extern const struct probe_row emu_rows[];
extern const size_t emu_row_count;
extern const struct probe_row mm_rows[];
extern const size_t mm_row_count;
extern const struct probe_row sched_rows[];
extern const size_t sched_row_count;
extern const struct probe_row iommu_rows[];
extern const size_t iommu_row_count;
extern const struct probe_row dma_rows[];
extern const size_t dma_row_count;
extern const struct probe_row vfio_rows[];
extern const size_t vfio_row_count;
extern const struct probe_row rdma_rows[];
extern const size_t rdma_row_count;
extern const struct probe_row iopf_rows[];
extern const size_t iopf_row_count;
extern const struct probe_row device_rows[];
extern const size_t device_row_count;
extern const struct probe_row block_rows[];
extern const size_t block_row_count;

#endif
