/* SPDX-License-Identifier: GPL-2.0 */
/* What the tables of keys share: a file for each section, which options_table.c joins. */
#ifndef FAULTLINE_JOB_OPTIONS_PRIVATE_H
#define FAULTLINE_JOB_OPTIONS_PRIVATE_H

#include "injectors/job/job.h"
#include "lib/base/clock.h"

#define FIELD(type, member) offsetof(type, member), sizeof(((type *)0)->member)

#define KIB  1024.0
#define MIB  (1024 * KIB)
#define GIB  (1024 * MIB)
#define HOUR (3600 * NSEC_PER_SEC)

struct option_rows {
	const struct option_row *rows;
	size_t count;
};

extern const struct option_rows machine_rows, tenant_rows, device_rows, workload_rows, traffic_rows,
	ranks_rows, verbs_rows, kvstore_rows, program_rows, inject_rows;

/* Of more than one section. */
extern const struct option_choice evictions[], policies[];

/* "4K:70, 64K": sizes in the row's range with optional weights, for a row's own parser. */
#define SIZES_MAX	8
#define SIZES_BEGINNING "up to 8 sizes SIZE[:WEIGHT], each "
int sizes_parse(const struct option_row *row, const char *text, __u64 sizes[SIZES_MAX],
		__u32 weights[SIZES_MAX], __u32 *count);

/* Made of device_classes.def by job_options(). */
extern struct option_choice models[];
extern char models_default[], models_meaning[], models_of_disks[], models_with_rings[];

#endif
