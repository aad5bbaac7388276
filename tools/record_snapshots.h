/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a trigger saves: STEM.trigger-001.flt and so on beside the flight recorder, of which the oldest go.
 * Nothing that fails here ends the recorder: it is told on standard error and counted.
 */
#ifndef FAULTLINE_RECORD_SNAPSHOTS_H
#define FAULTLINE_RECORD_SNAPSHOTS_H

#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>

struct snapshots_config {
	const char *recording;
	__u64 count; /* kept at most, those of earlier recorders of the same name included */
	__u64 bytes; /* of all that are kept; a larger one is not saved */
};

struct snapshots_result {
	__u64 saved;
	__u64 failed;
};

/* Saves [since_ns, until_ns) of the recording; `path` is where. False: it is not, and that was told. */
bool snapshots_save(const struct snapshots_config *config, __u64 since_ns, __u64 until_ns,
		    char path[PATH_MAX], struct snapshots_result *result);

#endif
