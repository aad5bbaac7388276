/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The keys of a fabric, for every table of a job that has one: [host], [switch], [adapter], [device], [link], [fabric].
 *
 * A table that has keys of its own in such a section puts them after these, and its struct of the section begins with the
 * struct below.
 */
#ifndef FAULTLINE_FABRIC_OPTIONS_H
#define FAULTLINE_FABRIC_OPTIONS_H

#include "lib/fabric/topology.h"
#include "lib/job/options.h"

struct fabric_host_keys {
	bool iommu;
	__u64 delay_ns;
};

/* Of [switch], [adapter] and [device]. */
struct fabric_node_keys {
	char under[FABRIC_NAME]; /* "": a switch between hosts */
	__u32 chip;		 /* its delay, in ns; 0: `delay_ns` is given */
	__u64 delay_ns;
	__u64 bar_bytes;
	__u32 windows, requesters;
	bool bar_high;
};

struct fabric_link_keys {
	char between[2 * FABRIC_NAME]; /* "A B" */
	__u64 delay_ns;
	double bytes_per_s;
};

/* The rows of one of the sections, NULL if it is none of them. [fabric] is a struct fabric_costs (cost.h). */
const struct option_row *fabric_rows(const char *section, size_t *count);
/* "host", "switch", "adapter", "device", "link", "fabric". */
#define FABRIC_SECTIONS 6
#define FABRIC_ROWS	32 /* of all of them at most */
extern const struct option_section fabric_sections[FABRIC_SECTIONS];
/* All of the rows, section by section, appended to `rows`. Returns how many. */
size_t fabric_rows_add(struct option_row *rows);

/* Of a section, its keys among those of others, into the section's struct. job_wrong() with the place. */
int fabric_fill(const struct job_section *section, void *fields);

#endif
