// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/rows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Every row, by its id and in the order of names: who reads a recording asks for each probe many times. */
static const struct probe_row *by_id[PROBE_COUNT];
static enum probe_id by_name[PROBE_COUNT];
static size_t row_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compare_rows(const void *a, const void *b)
{
	return strcmp(by_id[*(const enum probe_id *)a]->name,
		      by_id[*(const enum probe_id *)b]->name);
}

static int compare_name(const void *name, const void *id)
{
	return strcmp(name, by_id[*(const enum probe_id *)id]->name);
}

static void list_rows(void)
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

	for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++) {
		for (size_t i = 0; i < paths[p].count; i++) {
			const struct probe_row *row = &paths[p].rows[i];

			if (by_id[row->id])
				abort(); /* two rows of an id; test_probe_table looks at every one */
			by_id[row->id] = row;
			by_name[row_count++] = row->id;
		}
	}
	qsort(by_name, row_count, sizeof(by_name[0]), compare_rows);
}

const struct probe_row *probe_row(enum probe_id id)
{
	pthread_once(&once, list_rows);
	if (!by_id[id])
		abort(); /* an id without a row: test_probe_table looks at every one */
	return by_id[id];
}

const struct probe_row *probe_row_named(const char *name)
{
	const enum probe_id *found;

	pthread_once(&once, list_rows);
	found = bsearch(name, by_name, row_count, sizeof(by_name[0]), compare_name);
	return found ? by_id[*found] : NULL;
}
