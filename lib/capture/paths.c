// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/paths.h"

#include "lib/capture/probes.h"

static const struct {
	const char *name, *needs;
} paths[PATH_COUNT] = {
	[PATH_NONE] = {"other probes", ""},
	[PATH_EMULATED] = {"emulated machines", "install faultline-inject, or --emulator PATH"},
	[PATH_CORE] = {"kernel page requests",
		       "a device with PRI behind an IOMMU that takes its requests, and a kernel "
		       "with CONFIG_IOMMU_IOPF"},
	[PATH_QUEUES] = {"VT-d and AMD queues",
			 "a kernel with CONFIG_INTEL_IOMMU_SVM or CONFIG_AMD_IOMMU, and hardware "
			 "with PRI"},
	[PATH_RDMA] = {"RDMA on-demand paging",
		       "an HCA with mlx5_ib, or rdma_rxe on Linux 6.15 or later"},
	[PATH_IOMMUFD] = {"iommufd", "a kernel with CONFIG_IOMMUFD (none of Debian's)"},
	[PATH_VFIO] = {"VFIO", "modprobe vfio-pci, with an IOMMU"},
	[PATH_IOMMU] = {"IOMMU", "intel_iommu=on or amd_iommu=on, on hardware or with a vIOMMU"},
	[PATH_DMA] = {"DMA mappings", "Linux 6.12 or later, or a kernel with function tracing"},
	[PATH_MEMORY] = {"memory", "a kernel with function tracing"},
	[PATH_CPU] = {"CPU page faults", "a kernel with the tracepoints exceptions:page_fault_*"},
	[PATH_BLOCK] = {"block requests", "a kernel with CONFIG_BLOCK"},
	[PATH_SCHED] = {"scheduling", "a kernel with the tracepoints sched:*"},
};

static const unsigned char path_of_object[OBJECT_COUNT] = {
	[OBJECT_EMU] = PATH_EMULATED,	 [OBJECT_MM] = PATH_MEMORY,
	[OBJECT_MMFAULT] = PATH_MEMORY,	 [OBJECT_SCHED] = PATH_SCHED,
	[OBJECT_IOMMU] = PATH_IOMMU,	 [OBJECT_DMA] = PATH_DMA,
	[OBJECT_RDMA] = PATH_RDMA,	 [OBJECT_BLOCK] = PATH_BLOCK,
	[OBJECT_VFIO] = PATH_VFIO,	 [OBJECT_VFIO_PCI] = PATH_VFIO,
	[OBJECT_IOMMUFD] = PATH_IOMMUFD, [OBJECT_IOPF] = PATH_CORE,
	[OBJECT_IOPF_END] = PATH_CORE,	 [OBJECT_PASID] = PATH_CORE,
	[OBJECT_PRQ] = PATH_QUEUES,	 [OBJECT_DEVICE_GONE] = PATH_DMA,
};

const char *path_name(enum path_id path)
{
	return paths[path].name;
}

const char *path_needs(enum path_id path)
{
	return paths[path].needs;
}

enum path_id path_of(const struct probe_row *row)
{
	if (!row)
		return PATH_NONE;
	return row->path ? row->path : path_of_object[row->object];
}
