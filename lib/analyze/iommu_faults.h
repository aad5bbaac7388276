/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unrecoverable IOMMU faults, each with who owned the address it hit: the process, driver and stack
 * that mapped it, or had mapped it before somebody unmapped it.
 */
#ifndef FAULTLINE_IOMMU_FAULTS_H
#define FAULTLINE_IOMMU_FAULTS_H

#include "lib/analyze/session.h"

#define IOMMU_FAULTS_KEPT 10000 /* the newest, for the table; all are counted */

struct iommu_fault {
	struct event event; /* EVENT_IOMMU_FAULT or EVENT_IOMMU_IO_PAGE_FAULT */
	struct event owner; /* EVENT_FAULT_OWNER; kind EVENT_NONE: nobody known */
	char process[16];   /* names as of then, "" if not known */
	char unmapper[16];
};

struct iommu_faults_counts {
	__u64 seen;
	__u64 owned; /* of those seen */
	__u64 unseen;
	bool at_least; /* there may have been more unseen ones */
};

struct iommu_faults;

void iommu_faults_counts(const struct iommu_faults *faults, struct iommu_faults_counts *counts);
/* The newest fault of the device with the most of them; NULL if there was none. */
const struct iommu_fault *iommu_faults_worst(const struct iommu_faults *faults, __u64 *of_device);
/* Of one device. */
__u64 iommu_faults_of_device(const struct iommu_faults *faults, __u32 device);
/* "write to a page that may not be written" or "reason 0x7f". */
const char *iommu_fault_reason(const struct iommu_fault *fault, char text[NAME_TEXT]);
/* Table "iommu_fault_totals". */
analyzer_write iommu_faults_write_totals;
/* Table "iommu_fault_devices": a row a device, with its newest fault. */
analyzer_write iommu_faults_write_devices;
/* Table "iommu_faults", oldest first; limit 0: all that were kept. */
analyzer_write iommu_faults_write;
/* Sentences: how many, and the newest of the device with the most; findings_dma.c. */
void iommu_faults_write_findings(const struct analysis *analysis, struct writer *writer);

#endif
