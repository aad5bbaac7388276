// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/vfio.bpf.c, bpf/vfio_pci.bpf.c and bpf/iommufd.bpf.c. */
#include "lib/capture/rows.h"

#define TYPE1	"vfio_iommu_type1"
#define PCI	"vfio_pci_core"
#define IOMMUFD "iommufd"

#define WAY(symbol, program, returns)                              \
	{                                                          \
		{                                                  \
			ATTACH_FUNCTION, #symbol, program, returns \
		}                                                  \
	}

const struct probe_row vfio_rows[] = {
	{PROBE_VFIO_OPEN, "vfio_open", OBJECT_VFIO, EVENT_VFIO_MAP, false, TYPE1,
	 WAY(vfio_iommu_type1_open, NULL, "container_open"),
	 .without = "VFIO containers opened meanwhile are not known"},
	{PROBE_VFIO_RELEASE, "vfio_release", OBJECT_VFIO, EVENT_VFIO_MAP, false, TYPE1,
	 WAY(vfio_iommu_type1_release, NULL, "container_release"),
	 .without = "VFIO containers that were closed are still shown"},
	{PROBE_VFIO_ATTACH, "vfio_attach", OBJECT_VFIO, EVENT_VFIO_MAP, false, TYPE1,
	 WAY(vfio_iommu_type1_attach_group, NULL, "group_attach"),
	 .without = "devices attached to VFIO containers meanwhile are not known"},
	{PROBE_VFIO_DETACH, "vfio_detach", OBJECT_VFIO, EVENT_VFIO_MAP, false, TYPE1,
	 WAY(vfio_iommu_type1_detach_group, "group_detach", NULL),
	 .without = "devices detached from VFIO containers are still shown"},
	{PROBE_VFIO_MAP, "vfio_map", OBJECT_VFIO, EVENT_VFIO_MAP, false, TYPE1,
	 WAY(vfio_iommu_type1_ioctl, "map_begin", "map_end"), .with = "vfio_pin",
	 .shares = "iommu_map", .many = true, .without = "VFIO maps are not counted"},
	{PROBE_VFIO_UNMAP, "vfio_unmap", OBJECT_VFIO, EVENT_VFIO_UNMAP, false, TYPE1,
	 WAY(vfio_iommu_type1_ioctl, "unmap_begin", "unmap_end"),
	 .without = "VFIO unmaps are not counted"},
	{PROBE_VFIO_REMOVE, "vfio_remove", OBJECT_VFIO, EVENT_VFIO_UNMAP, false, TYPE1,
	 WAY(vfio_remove_dma, "remove_begin", "remove_end"), .with = "vfio_unmap",
	 .shares = "iommu_unmap", .many = true, .without = "which VFIO mappings live is not known"},
	{PROBE_VFIO_PIN, "vfio_pin", OBJECT_VFIO, EVENT_VFIO_PIN, false, TYPE1,
	 WAY(vfio_pin_pages_remote, "pin_begin", "pin_end"), .with = "vfio_map",
	 .shares = "vfio_unpin", .without = "pages that VFIO pins are not counted"},
	{PROBE_VFIO_UNPIN, "vfio_unpin", OBJECT_VFIO, EVENT_VFIO_UNPIN, false, TYPE1,
	 WAY(vfio_unpin_pages_remote, "unpin", NULL), .with = "vfio_pin", .shares = "vfio_remove",
	 .without = "pages that VFIO unpins are not counted"},
	{PROBE_IOMMUFD_MAP, "iommufd_map", OBJECT_IOMMUFD, EVENT_VFIO_MAP, false, IOMMUFD,
	 WAY(iopt_map_user_pages, "space_map_begin", "space_map_end"), .shares = "iommu_map",
	 .many = true, .without = "iommufd maps are not counted"},
	{PROBE_IOMMUFD_UNMAP, "iommufd_unmap", OBJECT_IOMMUFD, EVENT_VFIO_UNMAP, false, IOMMUFD,
	 WAY(iopt_unmap_iova, "space_unmap_begin", "space_unmap_end"), .shares = "iommu_unmap",
	 .many = true, .without = "iommufd unmaps are not counted"},
	{PROBE_IOMMUFD_PIN, "iommufd_pin", OBJECT_IOMMUFD, EVENT_VFIO_PIN, false, IOMMUFD,
	 WAY(pfn_reader_user_pin, "space_pin_begin", "space_pin_end"),
	 .without = "pages that iommufd pins are not counted"},
	{PROBE_IOMMUFD_RELEASE, "iommufd_release", OBJECT_IOMMUFD, EVENT_VFIO_UNMAP, false, IOMMUFD,
	 WAY(iopt_destroy_table, "space_release", NULL), .optional = true},
	{PROBE_VFIO_RESET, "vfio_reset", OBJECT_VFIO_PCI, EVENT_VFIO_RESET, false, PCI,
	 WAY(vfio_pci_core_ioctl, "reset_begin", "reset_end"),
	 .without = "VFIO resets are not counted"},
	{PROBE_VFIO_VECTORS, "vfio_vectors", OBJECT_VFIO_PCI, EVENT_VFIO_VECTOR, false, PCI,
	 WAY(vfio_pci_set_irqs_ioctl, "vectors_begin", "vectors_end"),
	 .without = "changes of VFIO vectors are not counted"},
	{PROBE_VFIO_REGISTER, "vfio_register", OBJECT_VFIO_PCI, EVENT_VFIO_IRQ, false, PCI,
	 WAY(request_threaded_irq, "vector_register", "vector_registered"),
	 .needs = "vfio_pci_core_ioctl", .optional = true},
	{PROBE_VFIO_FREE, "vfio_free", OBJECT_VFIO_PCI, EVENT_VFIO_IRQ, false, PCI,
	 WAY(free_irq, "vector_free", NULL), .needs = "vfio_pci_core_ioctl", .optional = true},
	{PROBE_VFIO_MSI, "vfio_msi", OBJECT_VFIO_PCI, EVENT_VFIO_IRQ, false, PCI,
	 WAY(vfio_msihandler, "interrupt_msi", NULL),
	 .without = "message interrupts of VFIO devices are not counted"},
	{PROBE_VFIO_INTX, "vfio_intx", OBJECT_VFIO_PCI, EVENT_VFIO_IRQ, false, PCI,
	 WAY(vfio_intx_handler, "interrupt_line", NULL),
	 .without = "line interrupts of VFIO devices are not counted"},
};

const size_t vfio_row_count = sizeof(vfio_rows) / sizeof(vfio_rows[0]);
