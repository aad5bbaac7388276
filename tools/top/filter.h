/* SPDX-License-Identifier: GPL-2.0 */
/* Which devices are shown: -d and -p. */
#ifndef FAULTLINE_TOP_FILTER_H
#define FAULTLINE_TOP_FILTER_H

#include <stddef.h>

#include <linux/types.h>

#define COLLECT_FILTERS 16

/* Both lists empty: all. */
struct collect_filter {
	const char *devices[COLLECT_FILTERS]; /* names or fnmatch patterns */
	size_t device_count;
	__u32 pids[COLLECT_FILTERS]; /* of owners */
	size_t pid_count;
};

#endif
