// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/rows.h"

#include <stdlib.h>

const struct probe_row *probe_row(enum probe_id id)
{
	const struct {
		const struct probe_row *rows;
		size_t count;
	} paths[] = {
		{emu_rows, emu_row_count},     {mm_rows, mm_row_count},
		{sched_rows, sched_row_count}, {iommu_rows, iommu_row_count},
		{dma_rows, dma_row_count},     {block_rows, block_row_count},
		{vfio_rows, vfio_row_count},   {rdma_rows, rdma_row_count},
		{iopf_rows, iopf_row_count},
	};

	for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++)
		for (size_t i = 0; i < paths[p].count; i++)
			if (paths[p].rows[i].id == id)
				return &paths[p].rows[i];
	abort(); /* an id without a row: test_probe_table looks at every one */
}
