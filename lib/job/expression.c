// SPDX-License-Identifier: GPL-2.0
#include "lib/job/expression.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/job/evaluation.h"
#include "lib/job/quantity.h"
#include "lib/base/fail.h"

#define DEPTH_MAX 64
#define WORD_MAX  64

static struct value parse_or(struct evaluation *e);

struct value evaluation_fail(struct evaluation *e, int error, const char *at, const char *format,
			     ...)
{
	char text[512];
	va_list arguments;

	if (!e->error) {
		va_start(arguments, format);
		vsnprintf(text, sizeof(text), format, arguments);
		va_end(arguments);
		e->error = failed(error, "column %td: %s", at - e->text + 1, text);
	}
	return (struct value){0};
}

static void skip_blanks(struct evaluation *e)
{
	while (isspace((unsigned char)*e->at))
		e->at++;
}

/* Takes the token if it is next. */
static bool expression_take(struct evaluation *e, const char *token)
{
	skip_blanks(e);
	if (strncmp(e->at, token, strlen(token)) != 0)
		return false;
	e->at += strlen(token);
	return true;
}

/* As expression_take(), for a word: "or" is not the beginning of "order". */
static bool take_word(struct evaluation *e, const char *word)
{
	const char *before = e->at;

	if (expression_take(e, word) && !isalnum((unsigned char)*e->at) && *e->at != '_')
		return true;
	e->at = before;
	return false;
}

static void expect_token(struct evaluation *e, const char *token)
{
	if (e->error || expression_take(e, token))
		return;
	if (*e->at)
		evaluation_fail(e, -EBADMSG, e->at, "\"%.1s\": accepted here: \"%s\"", e->at,
				token);
	else
		evaluation_fail(e, -EBADMSG, e->at, "the expression ends; accepted here: \"%s\"",
				token);
}

static size_t name_length(const char *text)
{
	size_t length = 0;

	if (isalpha((unsigned char)*text))
		while (isalnum((unsigned char)text[length]) || text[length] == '_')
			length++;
	return length;
}

static struct value expression_parse_number(struct evaluation *e)
{
	const char *begin = e->at;
	char word[WORD_MAX];
	double number;

	while (isalnum((unsigned char)*e->at) || *e->at == '.' || *e->at == '%')
		e->at++;
	snprintf(word, sizeof(word), "%.*s", (int)(e->at - begin), begin);
	if (quantity_parse_any(word, &number))
		return evaluation_fail(
			e, -EBADMSG, begin,
			"%s: accepted: a number, perhaps with a unit of ns us ms s m "
			"h K M G %%",
			word);
	return value_number(e, number);
}

/* One "dimension=value" or "baseline" of a column's arguments. */
static void parse_selector(struct evaluation *e, struct selection *selection)
{
	const struct sweep *sweep = e->scope->sweep;
	const struct sweep_dimension *dimension;
	char word[WORD_MAX];
	size_t length, index;
	int found;

	skip_blanks(e);
	length = name_length(e->at);
	if (!length || length >= sizeof(word)) {
		evaluation_fail(e, -EBADMSG, e->at, "accepted here: DIMENSION=VALUE or baseline");
		return;
	}
	snprintf(word, sizeof(word), "%.*s", (int)length, e->at);
	if (!strcmp(word, "baseline") && !sweep->baseline) {
		evaluation_fail(e, -EBADMSG, e->at, "the sweep has no baseline");
		return;
	}
	if (!strcmp(word, "baseline")) {
		selection->baseline = true;
		e->at += length;
		return;
	}
	found = sweep_find(sweep, word);
	if (found < 0) {
		evaluation_fail(e, -EBADMSG, e->at, "%s: no such dimension in [sweep]", word);
		return;
	}
	e->at += length;
	expect_token(e, "=");
	skip_blanks(e);
	length = strcspn(e->at, ",)");
	while (length && isspace((unsigned char)e->at[length - 1]))
		length--;
	dimension = &sweep->dimensions[found];
	for (index = 0; index < dimension->value_count; index++)
		if (strlen(dimension->values[index]) == length &&
		    !strncmp(dimension->values[index], e->at, length))
			break;
	if (length == 5 && !strncmp(e->at, "first", 5))
		index = 0;
	else if (length == 4 && !strncmp(e->at, "last", 4))
		index = dimension->value_count - 1;
	if (index == dimension->value_count)
		evaluation_fail(e, -EBADMSG, e->at, "%.*s: not a value of %s in [sweep]",
				(int)length, e->at, dimension->name);
	selection->chosen[found] = (int)index;
	e->at += length;
}

static struct value parse_column(struct evaluation *e, const char *name, const char *at)
{
	struct selection selection = {.at = at};

	snprintf(selection.column, sizeof(selection.column), "%s", name);
	memset(selection.chosen, 0xff, sizeof(selection.chosen));
	if (expression_take(e, "(") && !expression_take(e, ")")) {
		do {
			parse_selector(e, &selection);
		} while (!e->error && expression_take(e, ","));
		expect_token(e, ")");
	}
	return e->error ? (struct value){0} : value_column(e, &selection);
}

static struct value parse_function(struct evaluation *e, const char *name, const char *at)
{
	struct value arguments[2] = {{0}};
	unsigned int count = value_function(name);

	expect_token(e, "(");
	for (unsigned int i = 0; i < count && !e->error; i++) {
		if (i)
			expect_token(e, ",");
		arguments[i] = parse_or(e);
	}
	expect_token(e, ")");
	return e->error ? (struct value){0} : value_call(e, at, name, arguments);
}

static struct value parse_primary(struct evaluation *e)
{
	char name[WORD_MAX];
	const char *at;
	size_t length;
	struct value value;

	skip_blanks(e);
	at = e->at;
	if (expression_take(e, "(")) {
		value = parse_or(e);
		expect_token(e, ")");
		return value;
	}
	if (isdigit((unsigned char)*at))
		return expression_parse_number(e);
	length = name_length(at);
	if (!length && !*at)
		return evaluation_fail(e, -EBADMSG, at,
				       "the expression ends; accepted here: a column or a number");
	if (!length || length >= sizeof(name))
		return evaluation_fail(e, -EBADMSG, at,
				       "\"%.1s\": accepted here: a column or a number", at);
	snprintf(name, sizeof(name), "%.*s", (int)length, at);
	e->at += length;
	return value_function(name) ? parse_function(e, name, at) : parse_column(e, name, at);
}

static struct value parse_unary(struct evaluation *e)
{
	const char *at = e->at;
	struct value value;

	if (e->error)
		return (struct value){0};
	if (++e->depth > DEPTH_MAX)
		return evaluation_fail(e, -EBADMSG, e->at, "nested deeper than %d", DEPTH_MAX);
	if (expression_take(e, "-"))
		value = value_combine(e, at, '-', value_number(e, 0), parse_unary(e));
	else
		value = parse_primary(e);
	e->depth--;
	return value;
}

static struct value parse_product(struct evaluation *e)
{
	struct value value = parse_unary(e);

	while (!e->error) {
		const char *at = e->at;

		if (expression_take(e, "*"))
			value = value_combine(e, at, '*', value, parse_unary(e));
		else if (expression_take(e, "/"))
			value = value_combine(e, at, '/', value, parse_unary(e));
		else
			break;
	}
	return value;
}

static struct value parse_sum(struct evaluation *e)
{
	struct value value = parse_product(e);

	while (!e->error) {
		const char *at = e->at;

		if (expression_take(e, "+"))
			value = value_combine(e, at, '+', value, parse_product(e));
		else if (expression_take(e, "-"))
			value = value_combine(e, at, '-', value, parse_product(e));
		else
			break;
	}
	return value;
}

static char take_comparison(struct evaluation *e)
{
	static const struct {
		const char *token;
		char operation;
	} comparisons[] = {{"<=", 'l'}, {">=", 'g'}, {"==", '='},
			   {"!=", '!'}, {"<", '<'},  {">", '>'}};

	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (expression_take(e, comparisons[i].token))
			return comparisons[i].operation;
	return 0;
}

/* a < b < c is (a < b) and (b < c), as in mathematics. */
static struct value parse_comparison(struct evaluation *e)
{
	struct value left = parse_sum(e), all = left;
	bool first = true;

	while (!e->error) {
		const char *at = e->at;
		char operation = take_comparison(e);
		struct value right, holds;

		if (!operation)
			break;
		right = parse_sum(e);
		holds = value_combine(e, at, operation, left, right);
		all = first ? holds : value_combine(e, at, '&', all, holds);
		left = right;
		first = false;
	}
	return all;
}

static struct value parse_and(struct evaluation *e)
{
	struct value value = parse_comparison(e);

	while (!e->error) {
		const char *at = e->at;

		if (!take_word(e, "and"))
			break;
		value = value_combine(e, at, '&', value, parse_comparison(e));
	}
	return value;
}

static struct value parse_or(struct evaluation *e)
{
	struct value value = parse_and(e);

	while (!e->error) {
		const char *at = e->at;

		if (!take_word(e, "or"))
			break;
		value = value_combine(e, at, '|', value, parse_and(e));
	}
	return value;
}

static void free_allocations(void *allocation)
{
	while (allocation) {
		void *next = *(void **)allocation;

		free(allocation);
		allocation = next;
	}
}

int expression_evaluate(const char *text, const struct expression_scope *scope, char *measured,
			size_t size)
{
	struct evaluation e = {.text = text,
			       .at = text,
			       .scope = scope,
			       .measured = measured,
			       .measured_size = size};
	struct value value;
	bool holds = true;

	if (measured && size)
		measured[0] = '\0';
	value = parse_or(&e);
	skip_blanks(&e);
	if (*e.at)
		evaluation_fail(&e, -EBADMSG, e.at,
				"\"%.1s\": accepted here: an operator or the end", e.at);
	else if (!value.truth)
		evaluation_fail(&e, -EBADMSG, text,
				"is a number; accepted: a comparison such as p99 < 5ms");
	for (size_t i = 0; !e.error && i < value.count; i++)
		holds = holds && value.numbers[i] != 0;
	free_allocations(e.allocations);
	if (e.error)
		return e.error;
	return holds ? EXPECT_HOLDS : EXPECT_FAILS;
}
