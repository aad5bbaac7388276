/* SPDX-License-Identifier: GPL-2.0 */
/* Where the next I/O goes: sequential, uniform or zipf over a span, reproducible from a seed. */
#ifndef FAULTLINE_WORKLOAD_PATTERN_H
#define FAULTLINE_WORKLOAD_PATTERN_H

#include "injectors/emu/workload.h"
#include "lib/base/random.h"

/*
 * Ranks 1..items with probability proportional to rank^-theta, for any theta > 0 but 1, in constant
 * time and memory: rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
 */
struct zipf {
	__u64 items;
	double theta;
	double low, high; /* bounds of the integral that is inverted */
	double accept;	  /* below this distance no rejection test is needed */
};

void zipf_init(struct zipf *zipf, __u64 items, double theta);
__u64 zipf_next(const struct zipf *zipf, struct random *random);

struct pattern {
	enum access_pattern kind;
	__u64 span;	     /* bytes, a multiple of `align` */
	__u64 align;	     /* bytes */
	__u64 next;	     /* sequential: where the next one starts */
	__u64 stride, shift; /* zipf: where a rank lies, so that hot ones are not neighbours */
	struct random random;
	struct zipf zipf;
};

/* span >= align; theta as in struct workload_config, used by PATTERN_ZIPF. */
void pattern_init(struct pattern *pattern, enum access_pattern kind, __u64 span, __u64 align,
		  double theta, __u64 seed);
/* Offset of an I/O of `length` <= span bytes; all of it lies in the span. */
__u64 pattern_next(struct pattern *pattern, __u64 length);

#endif
