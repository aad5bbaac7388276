// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/places.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/types.h>

/* Extended capabilities of VT-d (specification 11.4.3). */
#define VTD_PAGE_REQUESTS (1ull << 29)
#define VTD_PASIDS	  (1ull << 40)
/* Extended features of AMD-Vi (specification, MMIO offset 30h): peripheral page requests, and guest
 * translation, without which there are no PASIDs. */
#define AMD_VI_PAGE_REQUESTS (1ull << 1)
#define AMD_VI_PASIDS	     (1ull << 4)

/* What an IOMMU says of itself; all ones if it does not. */
static __u64 features_of(const char *directory, const char *iommu, const char *file)
{
	unsigned long long features = ~0ull;
	char path[512];
	FILE *from;

	snprintf(path, sizeof(path), "%s/%s/%s", directory, iommu, file);
	from = fopen(path, "re");
	if (!from)
		return features;
	if (fscanf(from, "%llx", &features) != 1)
		features = ~0ull;
	fclose(from);
	return features;
}

static void look_at(struct places *places, const char *directory, const char *iommu)
{
	bool vtd = !strncmp(iommu, "dmar", 4), amd = !strncmp(iommu, "ivhd", 4);
	bool requests = true, pasids = true;
	__u64 features;

	if (vtd) {
		features = features_of(directory, iommu, "intel-iommu/ecap");
		requests = features & VTD_PAGE_REQUESTS;
		pasids = features & VTD_PASIDS;
	} else if (amd) {
		features = features_of(directory, iommu, "amd-iommu/features");
		requests = features & AMD_VI_PAGE_REQUESTS;
		pasids = features & AMD_VI_PASIDS;
	}
	places->there[PLACE_IOMMU] = true;
	places->there[PLACE_VTD_HARDWARE] |= vtd;
	places->there[PLACE_VTD] |= vtd;
	places->there[PLACE_AMD_VI] |= amd;
	places->there[PLACE_PASIDS] |= pasids;
	places->there[PLACE_PAGE_REQUESTS] |= requests;
	places->there[PLACE_VTD_REQUESTS] |= vtd && requests;
	places->there[PLACE_AMD_VI_REQUESTS] |= amd && requests;
	places->there[PLACE_RESOLVERS] |= requests;
}

static const char *replaced;

void places_replace(const char *directory)
{
	replaced = directory;
}

void places_look(struct places *places, const char *directory)
{
	const struct dirent *entry;
	DIR *iommus;

	memset(places, 0, sizeof(*places));
	places->there[PLACE_ANYWHERE] = true;
	places->there[PLACE_VTD_HARDWARE] = !access("/sys/firmware/acpi/tables/DMAR", F_OK);
	if (!directory)
		directory = replaced ? replaced : "/sys/class/iommu";
	iommus = opendir(directory);
	while (iommus && (entry = readdir(iommus)))
		if (entry->d_name[0] != '.')
			look_at(places, directory, entry->d_name);
	if (iommus)
		closedir(iommus);
}

const char *place_lacking(enum place place)
{
	static const char *const lacking[PLACE_COUNT] = {
		[PLACE_ANYWHERE] = "",
		[PLACE_IOMMU] = "no IOMMU is active",
		[PLACE_VTD_HARDWARE] = "this host has no VT-d",
		[PLACE_VTD] = "no VT-d IOMMU is active",
		[PLACE_AMD_VI] = "no AMD IOMMU is active",
		[PLACE_PASIDS] = "no active IOMMU has PASIDs",
		[PLACE_PAGE_REQUESTS] = "no active IOMMU takes page requests",
		[PLACE_VTD_REQUESTS] = "no active VT-d IOMMU takes page requests",
		[PLACE_AMD_VI_REQUESTS] = "no active AMD IOMMU takes page requests",
		[PLACE_RESOLVERS] =
			("nothing resolves device page faults in this kernel, and no process was "
			 "asked for"),
		[PLACE_NETWORKS] =
			"no emulated machine has a network, and the host's was not asked for (--tcp)",
		[PLACE_DMA_RESOURCES] = "this kernel maps resources like pages: dma_map tells them",
	};

	return lacking[place];
}
