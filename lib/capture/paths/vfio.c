// SPDX-License-Identifier: GPL-2.0
/* Containers of VFIO, and what is done to the devices in them. */
#include <stdio.h>
#include <string.h>

#include "lib/capture/paths/rows.h"
#include "bpf/vfio.skel.h"
#include "bpf/vfio_pci.skel.h"

static DEFINE_OBJECT(vfio);
static DEFINE_OBJECT(vfio_pci, .knows_devices = true);

#define TYPE1 "vfio_iommu_type1"
#define PCI   "vfio_pci_core"

static const struct probe_row rows[] = {
	{PROBE_VFIO_OPEN, "vfio_open", &vfio_object, EVENT_VFIO_MAP,
	 METHODS(FUNCTION(vfio_iommu_type1_open, NULL, "container_open")), .module = TYPE1,
	 .without = "VFIO containers opened meanwhile are not known",
	 .unaccused = "a container may be opened before the recording"},
	{PROBE_VFIO_RELEASE, "vfio_release", &vfio_object, EVENT_VFIO_MAP,
	 METHODS(FUNCTION(vfio_iommu_type1_release, NULL, "container_release")), .module = TYPE1,
	 .without = "VFIO containers that were closed are still shown",
	 .unaccused = "a container may stay open"},
	{PROBE_VFIO_ATTACH, "vfio_attach", &vfio_object, EVENT_VFIO_MAP,
	 METHODS(FUNCTION(vfio_iommu_type1_attach_group, NULL, "group_attach")), .module = TYPE1,
	 .without = "devices attached to VFIO containers meanwhile are not known",
	 .unaccused = "a group may be attached before the recording"},
	{PROBE_VFIO_DETACH, "vfio_detach", &vfio_object, EVENT_VFIO_MAP,
	 METHODS(FUNCTION(vfio_iommu_type1_detach_group, "group_detach")), .module = TYPE1,
	 .without = "devices detached from VFIO containers are still shown",
	 .unaccused = "a group may stay attached"},
	{PROBE_VFIO_MAP, "vfio_map", &vfio_object, EVENT_VFIO_MAP,
	 METHODS(FUNCTION(vfio_iommu_type1_ioctl, "map_begin", "map_end")), .module = TYPE1,
	 .with = "vfio_pin", .shares = "iommu_map", .many = true,
	 .without = "VFIO maps are not counted"},
	{PROBE_VFIO_UNMAP, "vfio_unmap", &vfio_object, EVENT_VFIO_UNMAP,
	 METHODS(FUNCTION(vfio_iommu_type1_ioctl, "unmap_begin", "unmap_end")), .module = TYPE1,
	 .without = "VFIO unmaps are not counted", .unaccused = "closing a container unmaps, too"},
	{PROBE_VFIO_REMOVE, "vfio_remove", &vfio_object, EVENT_VFIO_UNMAP,
	 METHODS(FUNCTION(vfio_remove_dma, "remove_begin", "remove_end")), .module = TYPE1,
	 .with = "vfio_unmap", .shares = "iommu_unmap", .many = true,
	 .without = "which VFIO mappings live is not known"},
	{PROBE_VFIO_PIN, "vfio_pin", &vfio_object, EVENT_VFIO_PIN,
	 METHODS(FUNCTION(vfio_pin_pages_remote, "pin_begin", "pin_end")), .module = TYPE1,
	 .with = "vfio_map", .shares = "vfio_unpin",
	 .without = "pages that VFIO pins are not counted"},
	{PROBE_VFIO_UNPIN, "vfio_unpin", &vfio_object, EVENT_VFIO_UNPIN,
	 METHODS(FUNCTION(vfio_unpin_pages_remote, "unpin")), .module = TYPE1, .with = "vfio_pin",
	 .shares = "vfio_remove", .without = "pages that VFIO unpins are not counted"},
	{PROBE_VFIO_RESET, "vfio_reset", &vfio_pci_object, EVENT_VFIO_RESET,
	 METHODS(FUNCTION(vfio_pci_core_ioctl, "reset_begin", "reset_end")), .module = PCI,
	 .without = "VFIO resets are not counted", .unaccused = "a device need not be reset"},
	{PROBE_VFIO_VECTORS, "vfio_vectors", &vfio_pci_object, EVENT_VFIO_VECTOR,
	 METHODS(FUNCTION(vfio_pci_set_irqs_ioctl, "vectors_begin", "vectors_end")), .module = PCI,
	 .without = "changes of VFIO vectors are not counted",
	 .unaccused = "vectors may be set before the recording"},
	{PROBE_VFIO_REGISTER, "vfio_register", &vfio_pci_object, EVENT_VFIO_IRQ,
	 METHODS(FUNCTION(request_threaded_irq, "vector_register", "vector_registered")),
	 .module = PCI, .needs = "vfio_pci_core_ioctl", .optional = true},
	{PROBE_VFIO_FREE, "vfio_free", &vfio_pci_object, EVENT_VFIO_IRQ,
	 METHODS(FUNCTION(free_irq, "vector_free")), .module = PCI, .needs = "vfio_pci_core_ioctl",
	 .optional = true},
	{PROBE_VFIO_MSI, "vfio_msi", &vfio_pci_object, EVENT_VFIO_IRQ,
	 METHODS(FUNCTION(vfio_msihandler, "interrupt_msi")), .module = PCI,
	 .without = "message interrupts of VFIO devices are not counted",
	 .unaccused = "a device need not interrupt"},
	{PROBE_VFIO_INTX, "vfio_intx", &vfio_pci_object, EVENT_VFIO_IRQ,
	 METHODS(FUNCTION(vfio_intx_handler, "interrupt_line")), .module = PCI,
	 .without = "line interrupts of VFIO devices are not counted",
	 .unaccused = "a device need not interrupt"},
};

/* Its owner may be gone by now: the kernel side has kept the name. */
static void describe_container(const struct device_key *key, const struct device_state *state,
			       struct device_info *info)
{
	if (!info->comm[0])
		snprintf(info->comm, sizeof(info->comm), "%s", state->bus);
	snprintf(info->name, sizeof(info->name), "%s/%u.%u",
		 strcmp(state->driver, "iommufd") != 0 ? "vfio" : "iommufd", key->owner,
		 (__u32)key->source);
}

const struct path vfio_path = {
	.name = "VFIO",
	.needs = "modprobe vfio-pci, with an IOMMU",
	ROWS(rows),
	.device_kind = DEVICE_VFIO_CONTAINER,
	.describe = describe_container,
};
