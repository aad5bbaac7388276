/* SPDX-License-Identifier: GPL-2.0 */
/* What the parser of expectations (expression.c) shares with its values (expression_values.c). */
#ifndef FAULTLINE_JOB_EVALUATION_H
#define FAULTLINE_JOB_EVALUATION_H

#include "lib/job/expression.h"

/* A list of numbers; a plain number has count 1. */
struct value {
	double *numbers;
	size_t count;
	bool truth;
};

struct evaluation {
	const char *text, *at;
	const struct expression_scope *scope;
	char *measured;
	size_t measured_size, measured_used;
	void *allocations; /* freed together at the end */
	int error;	   /* once set, everything returns at once */
	unsigned int depth;
};

/* "name(a=1, b=2)": what stands between the parentheses. */
struct selection {
	const char *at; /* of the column's name in the text */
	char column[64];
	bool baseline;
	/* per dimension: an index, or -1: each */
	int chosen[SWEEP_DIMENSIONS];
};

/* Records the first error, with the column of `at`. */
struct value evaluation_fail(struct evaluation *e, int error, const char *at, const char *format,
			     ...) __attribute__((format(printf, 4, 5)));

struct value value_number(struct evaluation *e, double number);
/* `operation` is one of + - * / and, as characters, < > l (<=) g (>=) = ! & | */
struct value value_combine(struct evaluation *e, const char *at, char operation, struct value a,
			   struct value b);
/* Is there a function of this name; how many arguments it takes, 0 if none. */
unsigned int value_function(const char *name);
struct value value_call(struct evaluation *e, const char *at, const char *name,
			const struct value *arguments);
/* The numbers of a column, or of a dimension, at the selected points. */
struct value value_column(struct evaluation *e, const struct selection *selection);

#endif
