/* SPDX-License-Identifier: GPL-2.0 */
/* An analysis that sees a device of each mode, of streams made by hand. */
#ifndef FAULTLINE_TEST_HYV_SEEN_H
#define FAULTLINE_TEST_HYV_SEEN_H

#include "tests/unit/test.h"

#include "lib/analyze/analysis.h"

enum { HYBRID = 1, NATIVE, PASSTHROUGH, ODP, PLAIN };
#define PAGES(n) ((n)*4096ull)

struct seen {
	struct analysis *analysis;
	struct stream stream;
	__u64 now_ns; /* of the newest event */
};
extern struct seen seen;

int seen_setup_with(const struct analysis_config *config);
int seen_setup(void **state);
int seen_teardown(void **state);
#define SEEN(test) cmocka_unit_test_setup_teardown(test, seen_setup, seen_teardown)

/* A millisecond later. */
void seen_push(struct event event);
/* What a call of a verb came to, as a guest's `token`. */
void seen_verb(__u32 handle, __u32 token, __u8 kind, __u64 start_ns, __u64 took_ns, int error);
/* What a table has as CSV; what the findings have, where it is of none. */
void seen_says(const struct analyzer *only, const char *what);
void seen_says_not(const struct analyzer *only, const char *what);

#endif
