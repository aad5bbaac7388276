// SPDX-License-Identifier: GPL-2.0
/*
 * A driver of the test module's device 0 that maps DMA, forgets some of it, and lets the device
 * access what it has unmapped:
 *
 *	dma_driver work	maps pages, lists and coherent memory, unmaps all of it, leaks the rest
 *	dma_driver free	unmaps everything that is left
 *
 * Prints "NAME VALUE" lines: what it did, and at the end what the module itself has counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "injectors/kmod/faultline_device.h"

#define PAGES	 101
#define LISTS	 53
#define SEGMENTS 7
#define COHERENT 31
#define LEAKED	 13
#define LEAK	 8192
#define FAULTS	 17
#define PAGE	 4096

static int device;

static void call(unsigned long request, void *argument, const char *what)
{
	if (!ioctl(device, request, argument))
		return;
	fprintf(stderr, "dma_driver: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void map(__u32 kind, __u32 count, __u64 size, __u32 flags,
		struct faultline_dma_mapping *mappings)
{
	struct faultline_dma_map map = {
		.kind = kind,
		.direction = FAULTLINE_DMA_FROM_DEVICE,
		.segments = kind == FAULTLINE_DMA_LIST ? SEGMENTS : 0,
		.size = size,
		.count = count,
		.mappings = (__u64)(unsigned long)mappings,
		.flags = flags,
	};

	call(FAULTLINE_IOC_DMA_MAP, &map, "map");
}

static void unmap(__u32 count, const struct faultline_dma_mapping *mappings)
{
	__u32 handles[PAGES];
	struct faultline_dma_unmap unmap = {.count = count,
					    .handles = (__u64)(unsigned long)handles};

	for (__u32 i = 0; i < count; i++)
		handles[i] = mappings[i].handle;
	call(FAULTLINE_IOC_DMA_UNMAP, &unmap, "unmap");
}

/* One access of the device; returns how many faults it caused. */
static __u32 access_iova(__u64 iova, __u32 count)
{
	struct faultline_access access = {.write = 1, .iova = iova, .stride = 8, .count = count};

	call(FAULTLINE_IOC_ACCESS, &access, "access");
	return access.faults;
}

static void print_counters(void)
{
	struct faultline_counters counters = {.device = 0};
	struct faultline_info info;

	call(FAULTLINE_IOC_COUNTERS, &counters, "counters");
	call(FAULTLINE_IOC_INFO, &info, "info");
	printf("name %s\n", info.names[0]);
	printf("translated %d\n", !!(info.features & FAULTLINE_FEATURE_DMA));
	printf("maps %llu\nunmaps %llu\n", counters.dma_maps, counters.dma_unmaps);
	printf("bytes %llu\nunmapped_bytes %llu\n", counters.dma_bytes_mapped,
	       counters.dma_bytes_unmapped);
	printf("io_page_faults %llu\n", counters.io_page_faults);
}

static void work(void)
{
	struct faultline_dma_mapping pages[PAGES], lists[LISTS], coherent[COHERENT], leaked[LEAKED];
	__u32 caused;

	map(FAULTLINE_DMA_PAGE, LEAKED, LEAK, FAULTLINE_DMA_KEEP, leaked);
	map(FAULTLINE_DMA_PAGE, PAGES, PAGE, 0, pages);
	map(FAULTLINE_DMA_LIST, LISTS, PAGE, 0, lists);
	map(FAULTLINE_DMA_COHERENT, COHERENT, 4 * PAGE, 0, coherent);
	printf("pages %d\nlists %d\ncoherent %d\nleaked %d\nleaked_bytes %d\n", PAGES, LISTS,
	       COHERENT, LEAKED, LEAKED * LEAK);
	printf("faults_while_mapped %u\n", access_iova(pages[3].iova, 5));
	unmap(PAGES, pages);
	unmap(LISTS, lists);
	unmap(COHERENT, coherent);
	/* The device has not noticed: it goes on with what it was given. */
	caused = access_iova(pages[7].iova, FAULTS);
	printf("stale 0x%llx\nfaults_after_unmap %u\n", pages[7].iova, caused);
	printf("pid %d\n", getpid());
}

int main(int argc, char **argv)
{
	struct faultline_dma_unmap all = {.device = 0};

	device = open(FAULTLINE_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0) {
		fprintf(stderr, "dma_driver: %s: %s\n", FAULTLINE_DEVICE_PATH, strerror(errno));
		return 1;
	}
	if (argc == 2 && !strcmp(argv[1], "work"))
		work();
	else if (argc == 2 && !strcmp(argv[1], "free"))
		call(FAULTLINE_IOC_DMA_UNMAP, &all, "unmap all");
	else
		return 2;
	print_counters();
	return 0;
}
