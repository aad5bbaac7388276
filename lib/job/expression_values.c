// SPDX-License-Identifier: GPL-2.0
/* Lists of numbers: arithmetic, functions, and the columns that they come from. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/job/evaluation.h"
#include "lib/job/options.h"
#include "lib/job/quantity.h"

#define NAMES_MAX 128

#define MEASURED_VALUES 8 /* of one column, in the text for the user */

static struct value value_list(struct evaluation *e, size_t count)
{
	void **block = calloc(1, sizeof(void *) + (count ? count : 1) * sizeof(double));

	if (!block)
		return evaluation_fail(e, -ENOMEM, e->at, "no memory for %zu numbers", count);
	*block = e->allocations;
	e->allocations = block;
	return (struct value){.numbers = (double *)(block + 1), .count = count};
}

struct value value_number(struct evaluation *e, double number)
{
	struct value value = value_list(e, 1);

	if (!e->error)
		value.numbers[0] = number;
	return value;
}

static double expression_combine(char operation, double a, double b)
{
	switch (operation) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return a / b;
	case '<':
		return a < b;
	case '>':
		return a > b;
	case 'l':
		return a <= b;
	case 'g':
		return a >= b;
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '&':
		return a != 0 && b != 0;
	default:
		return a != 0 || b != 0;
	}
}

/* Does every element hold? Makes `and` and `or` work between lists of different length. */
static struct value all_hold(struct evaluation *e, struct value list)
{
	double holds = 1;

	for (size_t i = 0; i < list.count; i++)
		holds = holds != 0 && list.numbers[i] != 0;
	return value_number(e, holds);
}

struct value value_combine(struct evaluation *e, const char *at, char operation, struct value a,
			   struct value b)
{
	bool logical = operation == '&' || operation == '|', arithmetic = strchr("+-*/", operation);
	struct value out;

	if (e->error)
		return (struct value){0};
	if (logical != a.truth || logical != b.truth)
		return evaluation_fail(
			e, -EBADMSG, at,
			logical ? "accepted: comparisons on both sides of and, or"
				: "accepted: numbers on both sides, not comparisons");
	if (logical) {
		a = all_hold(e, a);
		b = all_hold(e, b);
	}
	if (!e->error && a.count != b.count && a.count != 1 && b.count != 1)
		return evaluation_fail(e, -EBADMSG, at,
				       "lists of %zu and %zu numbers; accepted: equal lengths",
				       a.count, b.count);
	out = value_list(e, a.count > b.count ? a.count : b.count);
	out.truth = !arithmetic;
	for (size_t i = 0; !e->error && i < out.count; i++) {
		double y = b.numbers[b.count == 1 ? 0 : i];

		if (operation == '/' && y == 0 && e->scope->values)
			return evaluation_fail(e, -ENODATA, at, "division by zero");
		/* Before the run every column is 1, and their difference says nothing. */
		if (operation == '/' && y == 0)
			y = 1;
		out.numbers[i] = expression_combine(operation, a.numbers[a.count == 1 ? 0 : i], y);
	}
	return out;
}

unsigned int value_function(const char *name)
{
	static const char *const one[] = {"min", "max",	       "mean",	     "median",
					  "sum", "increasing", "decreasing", "abs"};
	static const char *const two[] = {"correlation", "slope", "knee"};

	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
		if (!strcmp(one[i], name))
			return 1;
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		if (!strcmp(two[i], name))
			return 2;
	return 0;
}

static double expression_reduce(const char *name, struct value list)
{
	double result = list.numbers[0];

	for (size_t i = 1; i < list.count; i++) {
		if (!strcmp(name, "min"))
			result = fmin(result, list.numbers[i]);
		else if (!strcmp(name, "max"))
			result = fmax(result, list.numbers[i]);
		else
			result += list.numbers[i];
	}
	return strcmp(name, "mean") ? result : result / (double)list.count;
}

static int number_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of an even number the mean of the two in the middle. The list is the caller's own and gets sorted. */
static double expression_median(struct value list)
{
	size_t half = list.count / 2;

	qsort(list.numbers, list.count, sizeof(*list.numbers), number_order);
	return list.count % 2 ? list.numbers[half]
			      : (list.numbers[half - 1] + list.numbers[half]) / 2;
}

/* Each element strictly beyond the one before it. */
static bool expression_monotone(struct value list, double sign)
{
	for (size_t i = 1; i < list.count; i++)
		if (sign * (list.numbers[i] - list.numbers[i - 1]) <= 0)
			return false;
	return true;
}

/* Pearson's, 0 if one of them is constant. */
static double expression_correlation(struct value x, struct value y)
{
	double n = (double)x.count, mx = expression_reduce("mean", x),
	       my = expression_reduce("mean", y);
	double xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < (size_t)n; i++) {
		double dx = x.numbers[i] - mx, dy = y.numbers[i] - my;

		xx += dx * dx;
		yy += dy * dy;
		xy += dx * dy;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static void expression_note(struct evaluation *e, const char *text)
{
	size_t left = e->measured_size - e->measured_used;
	int length;

	if (!e->measured || left < 2)
		return;
	length = snprintf(e->measured + e->measured_used, left, "%s", text);
	e->measured_used += (size_t)length < left ? (size_t)length : left - 1;
}

static void number_text(bool duration, double number, char *out, size_t size)
{
	if (duration) {
		double scaled = number >= 1e9	? number / 1e9
				: number >= 1e6 ? number / 1e6
						: number / 1e3;

		snprintf(out, size, "%.4g%s", scaled,
			 number >= 1e9	 ? "s"
			 : number >= 1e6 ? "ms"
					 : "us");
	} else {
		snprintf(out, size, fabs(number) >= 1e4 ? "%.0f" : "%.4g", number);
	}
}

/*
 * The straight line y = a + b x that is nearest by the squares of the relative errors: of sizes that double each time the smallest
 * say as much as the largest. False: no y may be 0, and the x must differ.
 */
static bool expression_line(struct value x, struct value y, double *a, double *b)
{
	double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, determinant;

	for (size_t i = 0; i < x.count; i++) {
		double weight = 1 / (y.numbers[i] * y.numbers[i]);

		if (!isfinite(weight))
			return false;
		w += weight;
		wx += weight * x.numbers[i];
		wy += weight * y.numbers[i];
		wxx += weight * x.numbers[i] * x.numbers[i];
		wxy += weight * x.numbers[i] * y.numbers[i];
	}
	determinant = w * wxx - wx * wx;
	if (!(determinant > w * wxx * 1e-12))
		return false;
	*b = (w * wxy - wx * wy) / determinant;
	*a = (wy - *b * wx) / w;
	return true;
}

/* Of that line the slope, or where what rises is as much as what does not. */
static struct value call_line(struct evaluation *e, const char *at, const char *name,
			      const struct value *arguments)
{
	double a = 0, b = 0, result;
	char text[64];

	/* Before the run every column is 1. */
	if (!e->scope->values)
		return value_number(e, 1);
	if (!expression_line(arguments[0], arguments[1], &a, &b))
		return evaluation_fail(e, -ENODATA, at,
				       "%s() has no line: the first list is of one number alone, "
				       "or the second has a 0",
				       name);
	if (!strcmp(name, "knee") && !(b > 0))
		return evaluation_fail(e, -ENODATA, at,
				       "knee() of what does not rise: its slope is %g", b);
	result = strcmp(name, "knee") ? b : a / b;
	expression_note(e, "; ");
	expression_note(e, name);
	expression_note(e, "=");
	number_text(false, result, text, sizeof(text));
	expression_note(e, text);
	return value_number(e, result);
}

struct value value_call(struct evaluation *e, const char *at, const char *name,
			const struct value *arguments)
{
	struct value list = arguments[0], out;
	bool increasing = !strcmp(name, "increasing"), decreasing = !strcmp(name, "decreasing");

	if (list.truth || arguments[1].truth)
		return evaluation_fail(e, -EBADMSG, at, "%s(): accepted: numbers, not comparisons",
				       name);
	if (!strcmp(name, "abs")) {
		out = value_list(e, list.count);
		for (size_t i = 0; !e->error && i < list.count; i++)
			out.numbers[i] = fabs(list.numbers[i]);
		return out;
	}
	if (increasing || decreasing) {
		out = value_number(e, expression_monotone(list, increasing ? 1 : -1));
		out.truth = true;
		return out;
	}
	if (!strcmp(name, "median"))
		return value_number(e, expression_median(list));
	if (value_function(name) == 1)
		return value_number(e, expression_reduce(name, list));
	if (list.count != arguments[1].count || list.count < 3)
		return evaluation_fail(e, -EBADMSG, at,
				       "%s() of %zu and %zu numbers; accepted: two lists "
				       "of equal length, 3 or more",
				       name, list.count, arguments[1].count);
	if (strcmp(name, "correlation") != 0)
		return call_line(e, at, name, arguments);
	return value_number(e, expression_correlation(list, arguments[1]));
}

static bool expression_selected(const struct evaluation *e, const struct selection *selection,
				size_t point)
{
	const struct sweep *sweep = e->scope->sweep;

	if (sweep_is_baseline(sweep, point) || selection->baseline)
		return sweep_is_baseline(sweep, point) == selection->baseline;
	for (size_t d = 0; d < sweep->dimension_count; d++)
		if (selection->chosen[d] >= 0 &&
		    sweep_index(sweep, point, d) != (size_t)selection->chosen[d])
			return false;
	return true;
}

/* A swept value as a number, whatever its unit. */
static int dimension_number(const struct sweep *sweep, int dimension, size_t point, double *number)
{
	size_t index = sweep_index(sweep, point, (size_t)dimension);

	return quantity_parse_any(sweep->dimensions[dimension].values[index], number);
}

static int point_number(struct evaluation *e, const struct selection *selection, int column,
			int dimension, size_t point, double *number)
{
	char name[256];

	*number = 1;
	if (column < 0 && (sweep_is_baseline(e->scope->sweep, point) ||
			   dimension_number(e->scope->sweep, dimension, point, number))) {
		evaluation_fail(e, -EBADMSG, selection->at, "%s has a value that is not a number",
				selection->column);
		return -EBADMSG;
	}
	if (column < 0 || !e->scope->values)
		return 0;
	*number = e->scope->values[point * e->scope->columns->count + (size_t)column];
	if (isnan(*number)) {
		sweep_point_name(e->scope->sweep, point, name, sizeof(name));
		evaluation_fail(e, -ENODATA, selection->at, "%s of point %zu (%s) is not known: %s",
				selection->column, point + 1, name, e->scope->columns->unknown);
		return -ENODATA;
	}
	return 0;
}

/* "p99(rate=10)=5.2ms", shown with the verdict. */
static void note_column(struct evaluation *e, const struct selection *selection, int column,
			struct value list)
{
	const struct sweep *sweep = e->scope->sweep;
	char text[256];
	bool any = selection->baseline;

	expression_note(e, e->measured_used ? "; " : "");
	expression_note(e, selection->column);
	if (selection->baseline)
		expression_note(e, "(baseline");
	for (size_t d = 0; !selection->baseline && d < sweep->dimension_count; d++) {
		if (selection->chosen[d] < 0)
			continue;
		snprintf(text, sizeof(text), "%s%s=%s", any ? ", " : "(", sweep->dimensions[d].name,
			 sweep->dimensions[d].values[selection->chosen[d]]);
		expression_note(e, text);
		any = true;
	}
	expression_note(e, any ? ")=" : "=");
	for (size_t i = 0; i < list.count && i < MEASURED_VALUES; i++) {
		expression_note(e, i ? " " : "");
		number_text(column >= 0 &&
				    e->scope->columns->columns[column].type == COLUMN_DURATION,
			    list.numbers[i], text, sizeof(text));
		expression_note(e, text);
	}
	if (list.count > MEASURED_VALUES)
		expression_note(e, " ...");
}

static struct value unknown_column(struct evaluation *e, const struct selection *selection)
{
	const struct job_columns *columns = e->scope->columns;
	const char *names[NAMES_MAX] = {NULL}, *near;
	size_t count = columns->count < NAMES_MAX ? columns->count : NAMES_MAX;

	for (size_t i = 0; i < count; i++)
		names[i] = columns->columns[i].name;
	near = nearest_word(selection->column, names, count);
	return evaluation_fail(e, -EBADMSG, selection->at,
			       "%s: no such column or dimension; %s%s%s", selection->column,
			       near ? "did you mean " : columns->help, near ? near : " lists them",
			       near ? "?" : "");
}

struct value value_column(struct evaluation *e, const struct selection *selection)
{
	const struct sweep *sweep = e->scope->sweep;
	int column = job_column_find(e->scope->columns, selection->column), dimension = -1;
	struct value list;
	size_t count = 0;

	if (column < 0)
		dimension = sweep_find(sweep, selection->column);
	if (column < 0 && dimension < 0)
		return unknown_column(e, selection);
	list = value_list(e, sweep->points);
	for (size_t point = 0; !e->error && point < sweep->points; point++) {
		if (!expression_selected(e, selection, point))
			continue;
		if (point_number(e, selection, column, dimension, point, &list.numbers[count++]))
			return (struct value){0};
	}
	list.count = count;
	if (!e->error)
		note_column(e, selection, column, list);
	return list;
}
