/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether faults, their beginnings and their ends were watched: a probe that sees each of them was on, and its kind
 * of event was asked for. Nothing is known where no such probe was told.
 */
#ifndef FAULTLINE_FAULT_PROBES_H
#define FAULTLINE_FAULT_PROBES_H

#include "lib/base/stream.h"

enum fault_path {
	FAULT_PATH_EMULATED,
	FAULT_PATH_CORE, /* the kernel's I/O page fault core */
	FAULT_PATH_RDMA,
	FAULT_PATHS,
};

struct fault_watch {
	const char *off; /* the first of its probes that is off or not asked for; NULL: none */
	bool on;	 /* one is on */
	bool left_out;	 /* one is off because who recorded wanted so */
};

struct fault_probes {
	char kinds[HOST_FILTER_TEXT];
	struct fault_watch any[FAULT_PATHS], begin[FAULT_PATHS], end[FAULT_PATHS];
	struct fault_watch queued, dropped; /* requests of emulated devices: both are all */
	/*
	 * Of emulated devices. Capture tells groups apart by the probes that are on, whatever kinds were asked
	 * for: without one of these it takes a number's next use for the same group, or a group's late stages
	 * for another.
	 */
	bool detect_off, request_off, resume_off, abandon_off;
};

enum fault_path fault_path_of(__u32 device_kind);
/* The host comes before its probes. */
void fault_probes_host(struct fault_probes *probes, const struct host_info *host);
void fault_probes_add(struct fault_probes *probes, const struct probe_info *probe);
/* The probe for want of which nothing is known; NULL: it was watched, or no probe was told. */
const char *fault_watch_lacks(const struct fault_watch *watch);
/* Whether a page of an emulated device may be first told by an event of this kind, as the probes are. */
bool fault_probes_begin(const struct fault_probes *probes, unsigned int kind);
/* The probe for want of which not each fault of this path is told. */
const char *fault_probes_lack(const struct fault_probes *probes, enum fault_path path);

#endif
