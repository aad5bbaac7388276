/* SPDX-License-Identifier: GPL-2.0 */
/* What a device is. Recordings carry the numbers (frame DEVICE). For kernel and user space. */
#ifndef FAULTLINE_DEVICE_KIND_H
#define FAULTLINE_DEVICE_KIND_H

enum device_kind {
	DEVICE_UNKNOWN,
	DEVICE_EMULATED,
	DEVICE_PCI,
	DEVICE_PLATFORM,
	DEVICE_BLOCK,
	DEVICE_IB,
	DEVICE_NETDEV,
	DEVICE_VFIO_CONTAINER,
	DEVICE_IOMMU_DOMAIN,
	DEVICE_KIND_MAX,
};

#endif
