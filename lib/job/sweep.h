/* SPDX-License-Identifier: GPL-2.0 */
/*
 * [sweep]: the cross product of values, one machine run per point.
 *
 *	[sweep]
 *	baseline = storm.enabled=no
 *	rate = storm.rate: 1/s, 10/s
 *	size = mix.sizes: 4K, 2M
 *
 * The baseline, if there is one, is point 0; then the last dimension varies fastest. A job without
 * [sweep] has one point.
 */
#ifndef FAULTLINE_JOB_SWEEP_H
#define FAULTLINE_JOB_SWEEP_H

#include "lib/job/text.h"

#define SWEEP_DIMENSIONS 8
#define SWEEP_NAME	 40
#define SWEEP_VALUES	 64
#define SWEEP_POINTS	 4096

struct sweep_dimension {
	char *name;   /* column of the result, argument in expectations */
	char *target; /* SECTION.KEY */
	char *values[SWEEP_VALUES];
	size_t value_count;
	char *where;
};

struct sweep {
	struct sweep_dimension dimensions[SWEEP_DIMENSIONS];
	size_t dimension_count;
	char *baseline; /* "SECTION.KEY=VALUE, ...", NULL if none */
	char *baseline_where;
	size_t points;
};

/* -EBADMSG with place and accepted form. */
int sweep_build(struct sweep *sweep, const struct job_text *text);
void sweep_free(struct sweep *sweep);

bool sweep_is_baseline(const struct sweep *sweep, size_t point);
/* Index of the point's value in a dimension; meaningless for the baseline. */
size_t sweep_index(const struct sweep *sweep, size_t point, size_t dimension);
/* The dimension of that name, or -ENOENT. */
int sweep_find(const struct sweep *sweep, const char *name);
/* What an option --sweep SECTION.KEY=V1,V2 says. */
struct sweep_option {
	char name[128]; /* of its dimension: KEY, or SECTION_KEY if [sweep] has that name already */
	char target[128];   /* SECTION.KEY */
	const char *values; /* borrowed of the option */
};
/* -EINVAL with what is accepted. `text` is the job's. */
int sweep_option_read(struct sweep_option *option, const char *given, const struct job_text *text);
/* As a further dimension of the job's own sweep, or of one that it has not. */
int sweep_option_add(struct job_text *text, const char *given);

/* A copy of the job's text with the point's values, to be freed; none after an error. */
int sweep_point_text(struct job_text **own, const struct sweep *sweep, size_t point,
		     const struct job_text *text);
/* Writes the point's values into a copy of the job's text. */
int sweep_apply(const struct sweep *sweep, size_t point, struct job_text *text);
/* "rate=10/s, size=4K", "baseline", or "" for a job without sweep. */
const char *sweep_point_name(const struct sweep *sweep, size_t point, char *out, size_t size);

#endif
