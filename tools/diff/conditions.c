// SPDX-License-Identifier: GPL-2.0
/* --fail 'resolve.p99 > 1.2x': what it says, and whether it holds beyond chance. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/printable.h"
#include "tools/diff/diff.h"

#define ACCEPTED                                                                                            \
	"accepted: [STAGE.]FIELD > BOUND, with < as well; FIELD: count, rate, mean, share, p50, p90, "      \
	"p99, p99.9; STAGE: a stage, total (if none is given), incomplete (count and rate) or * for each; " \
	"BOUND: 1.2x or +20%% of A's, or B's own: 10ms, 50/s, 1000, 40%%"

static int refuse_condition(const char *text, const char *why)
{
	return failed(-EINVAL, "'%s': %s; " ACCEPTED, printable_of(text).text, why);
}

static int parse_subject(const char *word, size_t length, unsigned int *subject)
{
	if (length == 1 && *word == '*') {
		*subject = DIFF_SUBJECTS;
		return 0;
	}
	for (*subject = 0; *subject < DIFF_SUBJECTS; ++*subject) {
		const char *name = diff_subject_name(*subject);

		if (strlen(name) == length && !strncmp(name, word, length) &&
		    *subject != DIFF_FAULTS)
			return 0;
	}
	return -EINVAL;
}

static int parse_field(const char *word, struct diff_condition *condition)
{
	static const char *const names[] = {
		[DIFF_FIELD_COUNT] = "count",
		[DIFF_FIELD_RATE] = "rate",
		[DIFF_FIELD_MEAN] = "mean",
		[DIFF_FIELD_SHARE] = "share",
	};
	static const struct {
		const char *name;
		double percent;
	} percentiles[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p999", 99.9}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(word, names[i])) {
			condition->field = (enum diff_field)i;
			return 0;
		}
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		if (!strcmp(word, percentiles[i].name)) {
			condition->field = DIFF_FIELD_PERCENTILE;
			condition->percentile = percentiles[i].percent;
			return 0;
		}
	return -EINVAL;
}

/* "1.2x", "+20%", "-5%", "+5ms", "-5ms". */
static int parse_relative(const char *text, size_t length, struct diff_condition *condition)
{
	char number[64];
	bool sign = *text == '+' || *text == '-', minus = *text == '-';
	double value;
	__u64 ns;

	if (length - 1 >= sizeof(number))
		return -EINVAL;
	condition->relative = true;
	condition->factor = 1;
	snprintf(number, sizeof(number), "%s", text + sign);
	if (sign && diff_condition_is_of_time(condition) && !units_parse_duration(number, &ns)) {
		condition->offset = minus ? -(double)ns : (double)ns;
		return 0;
	}
	number[length - 1 - sign] = '\0';
	if (units_parse_real(number, &value) || text[length - 1] != (sign ? '%' : 'x'))
		return -EINVAL;
	condition->factor = !sign ? value : minus ? 1 - value / 100 : 1 + value / 100;
	return condition->factor > 0 && condition->factor <= 1e9 ? 0 : -EINVAL;
}

static int parse_bound(const char *text, struct diff_condition *condition)
{
	size_t length = strlen(text);
	__u64 ns, count;

	if (!length)
		return -EINVAL;
	if (*text == '+' || *text == '-' || text[length - 1] == 'x')
		return parse_relative(text, length, condition);
	switch (condition->field) {
	case DIFF_FIELD_COUNT:
		if (units_parse_count(text, 0, 1ull << 53, &count))
			return -EINVAL;
		condition->offset = (double)count;
		return 0;
	case DIFF_FIELD_RATE:
		return units_parse_rate(text, &condition->offset);
	case DIFF_FIELD_SHARE:
		if (text[length - 1] != '%')
			return -EINVAL;
		return units_parse_percent(text, &condition->offset);
	default:
		if (units_parse_duration(text, &ns))
			return -EINVAL;
		condition->offset = (double)ns;
		return 0;
	}
}

/* The word between blanks, of which none may be within. */
static int cut_out(const char *begin, const char *end, char *word, size_t size)
{
	while (begin < end && isblank((unsigned char)*begin))
		begin++;
	while (end > begin && isblank((unsigned char)end[-1]))
		end--;
	if ((size_t)(end - begin) >= size)
		return -EINVAL;
	memcpy(word, begin, (size_t)(end - begin));
	word[end - begin] = '\0';
	return 0;
}

bool diff_condition_is_of_time(const struct diff_condition *condition)
{
	return condition->field == DIFF_FIELD_MEAN || condition->field == DIFF_FIELD_PERCENTILE;
}

int diff_condition_parse(const char *text, struct diff_condition *condition)
{
	const char *operator= strpbrk(text, "<>");
	char left[64], right[64], *field = left;
	char *dot;

	*condition = (struct diff_condition){.text = text, .subject = DIFF_TOTAL};
	if (!operator)
		return refuse_condition(text, "no > and no <");
	condition->below = *operator== '<';
	if (cut_out(text, operator, left, sizeof(left)) ||
	    cut_out(operator+ 1, operator+ strlen(operator), right, sizeof(right)))
		return refuse_condition(text, "too long");
	dot = strchr(left, '.');
	if (dot && (isalpha((unsigned char)dot[1]))) {
		field = dot + 1;
		if (parse_subject(left, (size_t)(dot - left), &condition->subject))
			return refuse_condition(text, "unknown stage");
	}
	if (parse_field(field, condition))
		return refuse_condition(text, "unknown field");
	if (condition->subject == DIFF_INCOMPLETE && condition->field > DIFF_FIELD_RATE)
		return refuse_condition(text, "what did not complete has no time");
	return parse_bound(right, condition) ? refuse_condition(text, "wrong bound") : 0;
}
