/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Expectations: small expressions over the results of a sweep.
 *
 *	p99(scheduler=serial, tenants=16) > 5 * p99(scheduler=serial, tenants=1)
 *	0.8 < iops(delay=100ns) / iops(baseline) < 1.2
 *	increasing(p99(scheduler=serial)) and off_tenant == 0
 *
 * A column with arguments names the points whose sweep values are given; `first` and `last` stand
 * for a dimension's first and last value; a dimension that is not named stands for each of its
 * values, so the column is then a list. Arithmetic and comparison work element by element (a single
 * number fits any list) and a comparison holds if it does for each element. The name of a dimension
 * is a column too, of its numbers. Functions: min max mean median sum (list to number),
 * increasing decreasing (a truth), correlation(X, Y), abs, and of the line Y = A + B X that is nearest
 * by relative error slope(X, Y), B, and knee(X, Y), A / B: up to there Y is rather flat. Units: 5ms, 4K, 10%.
 */
#ifndef FAULTLINE_JOB_EXPRESSION_H
#define FAULTLINE_JOB_EXPRESSION_H

#include "lib/job/column.h"
#include "lib/job/sweep.h"

enum expectation { EXPECT_HOLDS, EXPECT_FAILS };

struct expression_scope {
	const struct sweep *sweep;
	const struct job_columns *columns;
	/* columns->count for each point, NAN: not known; NULL: check syntax, names, lengths only */
	const double *values;
};

/*
 * Evaluates. Returns an enum expectation, or -EBADMSG with "column N: ..." (syntax, unknown name or
 * value, lists of different length), or -ENODATA (a value that the run could not give: too few
 * samples). `measured`, if not NULL, gets "p99(tenants=1)=5.2ms ..." for each column read.
 */
int expression_evaluate(const char *text, const struct expression_scope *scope, char *measured,
			size_t size);

#endif
