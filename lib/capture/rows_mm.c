// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/mm.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row mm_rows[] = {
	{PROBE_PAGE_FAULT_USER, "page_fault_user", OBJECT_MM, EVENT_CPU_FAULT, true, NULL,
	 TP_BTF(page_fault_user)},
	{PROBE_PAGE_FAULT_KERNEL, "page_fault_kernel", OBJECT_MM, EVENT_CPU_FAULT, false, NULL,
	 TP_BTF(page_fault_kernel)},
};

const size_t mm_row_count = sizeof(mm_rows) / sizeof(mm_rows[0]);
