// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/device_gone.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row device_rows[] = {
	{PROBE_DEVICE_RELEASE,
	 "device_release",
	 OBJECT_DEVICE_GONE,
	 EVENT_DEVICE_NEW,
	 false,
	 NULL,
	 {{ATTACH_FUNCTION, "device_release", "device_released", NULL},
	  {ATTACH_TP_BTF, "remove_device_from_group", "device_left_group", NULL,
	   .place = PLACE_IOMMU}},
	 .optional = true},
};

const size_t device_row_count = sizeof(device_rows) / sizeof(device_rows[0]);
