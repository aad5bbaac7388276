/* SPDX-License-Identifier: GPL-2.0 */
/* Recordings in the formats of other programs: what `faultline export` asks of a format (tools/export_formats.def). */
#ifndef FAULTLINE_TOOLS_EXPORT_H
#define FAULTLINE_TOOLS_EXPORT_H

#include "lib/analyze/slo.h"
#include "tools/offline.h"

/* Which part of what was recorded: a host, from its first event on. */
struct export_part {
	const char *path; /* of the recording */
	const struct trace_summary *summary;
	const struct host_info *host;
	__u32 number;	  /* in a merged recording; 0: it is of this host alone */
	const char *name; /* of the host; in a merged recording no other has it */
};

/* The same for the same recording, whatever its file is called; another for any other. */
__u64 export_part_id(const struct export_part *part);

struct export_seen;
/* How many parts were looked at so far, with this one. */
size_t export_seen_count(const struct export_seen *seen);

struct export_job {
	struct export_seen *seen;   /* parts that were looked at: none is written twice */
	const char *target;	    /* what the format's option was given */
	const char *const *inputs;  /* what is read, so never replaced; NULL at the end */
	const struct slo_set *slos; /* objectives to judge; NULL: none */
	bool force;		    /* replace what is there */
};

struct export_format {
	/* Whether the part can be written, before anything is: a negative errno if not. Nothing is left. */
	int (*check)(const struct export_job *job, const struct export_part *part);
	/* Writes it; returns an enum exit_code, with EXIT_LOSS also for damage that was read past. */
	int (*write)(const struct export_job *job, const struct export_part *part);
};

#define EXPORT_FORMAT(name, value, help) extern const struct export_format export_##name;
#include "tools/export_formats.def"

#endif
