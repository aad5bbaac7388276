// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/rows.h"

#include <stdlib.h>
#include <string.h>

/* The row that `is_it` takes, NULL: none. */
static const struct probe_row *find(bool (*is_it)(const struct probe_row *row, const void *wanted),
				    const void *wanted)
{
	const struct {
		const struct probe_row *rows;
		size_t count;
	} paths[] = {
		{emu_rows, emu_row_count},     {mm_rows, mm_row_count},
		{sched_rows, sched_row_count}, {iommu_rows, iommu_row_count},
		{dma_rows, dma_row_count},     {block_rows, block_row_count},
		{vfio_rows, vfio_row_count},   {rdma_rows, rdma_row_count},
		{iopf_rows, iopf_row_count},   {device_rows, device_row_count},
	};

	for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++)
		for (size_t i = 0; i < paths[p].count; i++)
			if (is_it(&paths[p].rows[i], wanted))
				return &paths[p].rows[i];
	return NULL;
}

static bool has_id(const struct probe_row *row, const void *wanted)
{
	return row->id == *(const enum probe_id *)wanted;
}

static bool has_name(const struct probe_row *row, const void *wanted)
{
	return !strcmp(row->name, wanted);
}

const struct probe_row *probe_row(enum probe_id id)
{
	const struct probe_row *row = find(has_id, &id);

	if (!row)
		abort(); /* an id without a row: test_probe_table looks at every one */
	return row;
}

const struct probe_row *probe_row_named(const char *name)
{
	return find(has_name, name);
}
