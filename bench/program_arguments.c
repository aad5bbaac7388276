// SPDX-License-Identifier: GPL-2.0
#include "bench/program_arguments.h"

#include <stddef.h>

#include "bpf/page.h"

#define TO	 1 /* DMA_TO_DEVICE */
#define FROM	 2 /* DMA_FROM_DEVICE */
#define PHYSICAL 0x12345000

const __u64 program_arguments_default[ARGUMENTS] = {MEMORY, MEMORY, MEMORY, MEMORY, MEMORY, MEMORY,
						    MEMORY, MEMORY, MEMORY, MEMORY, MEMORY, MEMORY};

/* In the order of the tracepoint's or the function's parameters; a fexit's result comes last. */
const struct program_arguments program_arguments[] = {
	{"page_fault_user", {ADDRESS, MEMORY, 6}},
	{"page_fault_kernel", {ADDRESS, MEMORY, 2}},
	{"map", {ADDRESS, PHYSICAL, PAGE_BYTES}},
	{"unmap", {ADDRESS, PAGE_BYTES, PAGE_BYTES}},
	{"io_page_fault", {MEMORY, ADDRESS, 1}},
	{"dma_map_phys", {MEMORY, PHYSICAL, ADDRESS, PAGE_BYTES, TO, 0}},
	{"dma_map_page", {MEMORY, PHYSICAL, ADDRESS, PAGE_BYTES, TO, 0}},
	{"dma_unmap_phys", {MEMORY, ADDRESS, PAGE_BYTES, TO, 0}},
	{"dma_unmap_page", {MEMORY, ADDRESS, PAGE_BYTES, TO, 0}},
	{"dma_map_sg", {MEMORY, MEMORY, 4, 4, TO, 0}},
	{"dma_unmap_sg", {MEMORY, MEMORY, 4, TO, 0}},
	{"dma_alloc", {MEMORY, MEMORY, ADDRESS, PAGE_BYTES, 0, 0, 0}},
	{"dma_free", {MEMORY, MEMORY, ADDRESS, PAGE_BYTES, 0, 0}},
	{"dma_sync_single_for_cpu", {MEMORY, ADDRESS, PAGE_BYTES, FROM}},
	{"dma_sync_single_for_device", {MEMORY, ADDRESS, PAGE_BYTES, TO}},
	{"dma_sync_sg_for_cpu", {MEMORY, MEMORY, 4, FROM}},
	{"dma_sync_sg_for_device", {MEMORY, MEMORY, 4, TO}},
	{"block_rq_issue", {MEMORY}},
	{"block_rq_complete", {MEMORY, 0, PAGE_BYTES}},
	{NULL},
};
