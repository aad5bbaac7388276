/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a host has or lacks that decides whether a probe can ever fire. A kernel has the functions of
 * every IOMMU driver; the host has at most one kind of IOMMU, and few of them take page requests.
 */
#ifndef FAULTLINE_PLACES_H
#define FAULTLINE_PLACES_H

#include <stdbool.h>

enum place {
	PLACE_ANYWHERE,
	PLACE_IOMMU,
	PLACE_VTD_HARDWARE, /* also where it only remaps interrupts */
	PLACE_VTD,
	PLACE_AMD_VI,
	PLACE_PASIDS,
	PLACE_PAGE_REQUESTS,
	PLACE_VTD_REQUESTS,
	PLACE_AMD_VI_REQUESTS,
	PLACE_RESOLVERS, /* what resolves device page faults in the kernel, or a process asked for */
	PLACE_DMA_RESOURCES, /* dma_map_resource() does not end in what is watched anyway */
	PLACE_NETWORKS,	     /* an emulated machine has some, or the host's were asked for */
	PLACE_COUNT,
};

struct places {
	bool there[PLACE_COUNT];
};

/*
 * Asks sysfs for the active IOMMUs and what they can; `directory` NULL: /sys/class/iommu. One of an
 * unknown driver may have everything. PLACE_RESOLVERS is there if page requests are; what else may
 * need it, PLACE_DMA_RESOURCES and PLACE_NETWORKS are the caller's to say.
 */
void places_look(struct places *places, const char *directory);
/* For tests: this directory is looked at in the place of NULL, until NULL is given. */
void places_replace(const char *directory);

/* "no IOMMU is active": why a probe that needs this place cannot fire. */
const char *place_lacking(enum place place);

#endif
