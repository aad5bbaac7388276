/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DMA mappings: what each device has mapped, who mapped most of it, and what has stayed mapped for
 * suspiciously long, by the stacks of those who mapped.
 */
#ifndef FAULTLINE_ANALYZE_MAPPINGS_H
#define FAULTLINE_ANALYZE_MAPPINGS_H

#include "lib/analyze/session.h"

struct counts;
struct mappings;

/* What lives on a device; of the newest window and the greatest there was. */
struct mappings_device {
	__u64 window; /* of the newest gauge, 0: never told */
	__u64 live, live_bytes, peak_bytes;
	__u64 old, old_bytes;
	__u64 pages, peak_pages;      /* of 2 MiB */
	__u64 refused, refused_bytes; /* could not be entered: live lacks them */
	__u64 unknown, unknown_bytes; /* unmapped, but mapped before capture began */
};

/* All zero if nothing is known of the device. */
struct mappings_device mappings_device(const struct mappings *mappings, __u32 device);
/* Whether what maps or unmaps was not all watched: then what lives, and who has mapped it, is not known. */
bool mappings_unknown(const struct mappings *mappings);
/* Sum over all devices. */
struct mappings_device mappings_all(const struct mappings *mappings);
/* The group of old mappings with the most bytes in the last snapshot; NULL if there is none. */
const struct event *mappings_oldest(const struct mappings *mappings, char process[16]);

/* Tables "dma" (a row a device), "mappers" and "old_mappings" (a row a device, process, stack). */
analyzer_write mappings_write_devices, mappings_write_mappers, mappings_write_old;
/* Sentences: what lives, what is old; findings_dma.c. */
void mappings_write_findings(const struct analysis *analysis, struct writer *writer);

#endif
