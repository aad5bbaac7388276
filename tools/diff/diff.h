/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two recordings side by side: what of each device became slower, faster, more or less, and what is chance.
 *
 * collect.c takes the faults of both and matches devices by name; judge.c tests; conditions.c parses and judges
 * --fail; tables.c and text.c write.
 */
#ifndef FAULTLINE_TOOLS_DIFF_H
#define FAULTLINE_TOOLS_DIFF_H

#include "lib/analyze/fault_samples.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/stages.h"
#include "tools/offline.h"

/* By chance alone found in one of a thousand pairs of runs, in all of what is compared together. */
#define DIFF_LEVEL	   0.001
#define DIFF_SAMPLES_LEAST 20	/* with fewer faults nothing is said of their times */
#define DIFF_SAMPLES_MANY  2000 /* from so many on the slowest percent is a tail of its own */
#define DIFF_FAULT_SHARE   0.01 /* of a fault's time: what is smaller matters to no fault */

enum diff_run { DIFF_A, DIFF_B, DIFF_RUNS };

/* Rows of a device: its stages, then these. */
enum diff_subject {
	DIFF_TOTAL = STAGES,
	DIFF_FAULTS,	 /* how many there were */
	DIFF_INCOMPLETE, /* those that did not complete */
	DIFF_SUBJECTS,
};

enum diff_verdict {
	DIFF_NOISE,  /* chance would do that */
	DIFF_SMALL,  /* more than chance, less than matters */
	DIFF_FEW,    /* nothing can be said */
	DIFF_ABSENT, /* only one of the two has the device */
	DIFF_SLOWER,
	DIFF_FASTER,
	DIFF_SLOWER_TAIL, /* only the slowest faults */
	DIFF_FASTER_TAIL,
	DIFF_MORE,
	DIFF_FEWER,
};

struct diff_follower;

struct diff_row {
	enum diff_verdict verdict;
	struct comparison main; /* ranks, or rates */
	struct comparison tail;
	double level; /* the smaller one of both, corrected for all that is compared */
	size_t ranked[DIFF_RUNS];
};

struct diff_side {
	unsigned int devices; /* of this name; 0: the recording has none */
	__u64 from_ns, to_ns; /* of what was recorded */
	struct fault_samples samples;
	struct stage_group *group; /* of those that completed; NULL: none did */
};

struct diff_device {
	char *key; /* host and name, each with its end */
	size_t key_size;
	const char *host, *name; /* no host: it does not tell devices apart */
	struct diff_side sides[DIFF_RUNS];
	struct diff_row rows[DIFF_SUBJECTS];
	unsigned int changes; /* rows with a verdict from DIFF_SLOWER on */
	UT_hash_handle hh;
};

#define DIFF_CONDITIONS 32

enum diff_field {
	DIFF_FIELD_COUNT,
	DIFF_FIELD_RATE,
	DIFF_FIELD_MEAN,
	DIFF_FIELD_SHARE,
	DIFF_FIELD_PERCENTILE,
};

/* "resolve.p99 > 1.2x": it holds where the number of B is above factor * that of A + offset. */
struct diff_condition {
	const char *text;
	unsigned int subject; /* DIFF_SUBJECTS: each stage and the total */
	enum diff_field field;
	double percentile;
	bool below;
	bool relative; /* to A's: factor and offset; else the offset alone */
	double factor, offset;
};

struct diff {
	struct offline a; /* first: what offline_run() hands to its verb */
	struct offline b;
	struct analysis_config config;
	const char *device; /* pattern; NULL: all */
	double least;	    /* percent: a smaller change is told as small, */
	__u64 least_ns;	    /* and so is this of times */
	const char *fail[DIFF_CONDITIONS];
	size_t fail_count;
	struct diff_condition conditions[DIFF_CONDITIONS];
	struct writer *writer;
	struct diff_device *devices; /* by host and name */
	struct diff_follower *followers;
	bool by_host;	 /* either recording is of several */
	size_t compared; /* tests in all */
	bool failed;	 /* of --fail one holds, or nothing judges it */
	bool written;
	int b_code;
};

/* Before a host of `run` is read: follows its faults. */
int diff_follow(struct diff *diff, enum diff_run run);
/* Both are read: what is left of them goes to their devices. */
void diff_collect(struct diff *diff);
void diff_free(struct diff *diff);
struct offline *diff_offline(struct diff *diff, enum diff_run run);

int diff_judge(struct diff *diff);
/* The value that so many percent of both are not above. */
__u16 diff_percentile(const struct compare_sample *a, const struct compare_sample *b,
		      double percent);
/* The percentile above which the tail of both lies. */
double diff_tail(const struct compare_sample *a, const struct compare_sample *b);
bool diff_row_is_of_times(unsigned int subject);
__u64 diff_count(const struct diff_side *side, unsigned int subject);
/* NULL: there is none. */
const struct histogram *diff_times(const struct diff_side *side, unsigned int subject);
double diff_seconds(const struct diff_side *side);
/* Percent of all its faults' time; NAN without any. */
double diff_share(const struct diff_side *side, unsigned int subject);
const char *diff_subject_name(unsigned int subject);
const char *diff_verdict_name(const struct diff_device *device, unsigned int subject);
/* Whether there is anything to tell. */
bool diff_has_row(const struct diff_device *device, unsigned int subject);

/* -EINVAL with what is accepted. */
int diff_condition_parse(const char *text, struct diff_condition *condition);
bool diff_condition_is_of_time(const struct diff_condition *condition);
/* Tells of each; diff->failed if one holds, or could be judged nowhere. */
int diff_judge_conditions(struct diff *diff);

#define DIFF_TABLE_NAME "diff"
int diff_write_table(const struct diff *diff);
int diff_write_text(const struct diff *diff);

#endif
