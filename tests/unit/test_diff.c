// SPDX-License-Identifier: GPL-2.0
/* Tests of `faultline diff` on recordings whose truth is known: a hundred pairs of equal sources, and what was changed. */
#include "tests/unit/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/stage.h"
#include "lib/base/random.h"
#include "tests/unit/recording.h"
#include "tests/unit/scratch.h"
#include "tests/unit/verbs.h"
#include "tools/diff/diff.h"

#define PAIRS  100
#define START  (1000 * SECOND)
#define LENGTH (20 * SECOND)

/* What a recording is made of. Times are lognormal around a level that wanders, so that neighbours are alike. */
struct source {
	__u64 seed;
	double rate;		   /* of single faults a second */
	double slower[STAGES];	   /* all times of a stage, 0: as they are */
	double rare;		   /* times of one fault in thirty, in resolve */
	unsigned int lost_percent; /* of faults whose response is lost */
};

static const double typical_us[STAGES] = {2, 30, 200, 900, 2, 1, 400};

static double normal(struct random *random)
{
	return sqrt(-2 * log(random_unit_above_0(random))) * cos(2 * M_PI * random_unit(random));
}

static void tell_fault(struct stream stream, const struct source *source, struct random *random,
		       __u64 begin, __u32 number, const double level[STAGES])
{
	const bool lost = random_below(random, 100) < source->lost_percent;
	const bool rare = random_below(random, 30) == 0;
	struct event events[FAULT_STAGES] = {0};
	unsigned int count = lost ? FAULT_STAGES - 1 : FAULT_STAGES;
	double at = (double)begin;

	for (unsigned int k = 0; k < count; k++) {
		events[k] = (struct event){
			.kind = (__u16)(EVENT_FAULT_DETECT + k),
			.time_ns = (__u64)at,
			.address = 4096ull * number,
			.length = 4096,
			.device = 1,
			.pasid = PASID_NONE,
			.group = number,
			.instance = 1,
			.flags = EVENT_LAST,
		};
		if (k < STAGES) {
			double us = typical_us[k] * exp(0.5 * normal(random) + level[k]);

			us *= source->slower[k] > 0 ? source->slower[k] : 1;
			us *= rare && k == STAGE_RESOLVE && source->rare > 0 ? source->rare : 1;
			at += 1000 * us;
		}
	}
	assert_int_equal(stream_events(stream, events, count), 0);
}

static const char *make(const char *name, const struct source *source)
{
	static char paths[2][64];
	char *path = paths[*name == 'b'];
	struct random random = {source->seed};
	struct trace_writer_config config = {.path = path, .overwrite = true};
	double level[STAGES] = {0}, at = (double)START;
	struct trace_writer *writer;
	struct stream stream;
	__u32 number = 0;

	snprintf(paths[*name == 'b'], sizeof(paths[0]), "%s/%s.flt", scratch, name);
	stream = recording_begin(&writer, &config, START, 1700000000 * SECOND);
	for (;;) {
		unsigned int burst = random_below(&random, 12) == 0 ? 8 : 1;

		at += -log(random_unit_above_0(&random)) / source->rate * (double)SECOND;
		if (at >= (double)(START + LENGTH))
			break;
		for (unsigned int k = 0; k < STAGES; k++)
			level[k] = 0.9 * level[k] + 0.15 * normal(&random);
		for (unsigned int i = 0; i < burst; i++)
			tell_fault(stream, source, &random, (__u64)at + i * 20000, ++number, level);
	}
	assert_int_equal(stream.ops->end(stream.self, START + LENGTH), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	return path;
}

/* "resolve slower, total slower": what is told, of two sources. */
static const char *told(const struct source *a, const struct source *b, const char *options)
{
	static char text[512];
	const char *first = make("a", a), *second = make("b", b);
	char line[256];
	struct verb_run run;
	json_t *json, *row;
	size_t i;

	snprintf(line, sizeof(line), "diff %s %s --json%s", first, second, options);
	run = verb_run(line);
	json = json_loads(run.out, 0, NULL);
	if (!json)
		fail_msg("exit %d: %s", run.status, run.err);
	*text = '\0';
	json_array_foreach(json_object_get(json_object_get(json, "tables"), "diff"), i, row) {
		const char *verdict = json_string_value(json_object_get(row, "verdict"));

		if (strcmp(verdict, "noise") != 0 && strcmp(verdict, "small") != 0)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s",
				 *text ? ", " : "",
				 json_string_value(json_object_get(row, "stage")), verdict);
	}
	assert_true(i >= STAGES);
	json_decref(json);
	verb_run_free(&run);
	return text;
}

static void of_a_hundred_equal_pairs_95_differ_by_nothing(void **state)
{
	int differing = 0;

	for (__u64 pair = 0; pair < PAIRS; pair++) {
		const struct source a = {.seed = 2 * pair + 1, .rate = 20};
		const struct source b = {.seed = 2 * pair + 2, .rate = 20};

		/* All that chance makes, however small. */
		differing += *told(&a, &b, " --least 0 --least-time 0") != '\0';
	}
	assert_in_range(differing, 0, 5);
}

static void what_was_changed_is_found(void **state)
{
	const struct source a = {.seed = 1, .rate = 30};
	struct source b = {.seed = 2, .rate = 30};

	assert_string_equal(told(&a, &b, ""), "");
	b.slower[STAGE_RESOLVE] = 4;
	assert_string_equal(told(&a, &b, ""), "resolve slower, total slower");
	assert_string_equal(told(&b, &a, ""), "resolve faster, total faster");
	/* Twice two microseconds are found, and matter to nobody. */
	b.slower[STAGE_RESOLVE] = 0;
	b.slower[STAGE_REQUEST] = 2;
	assert_string_equal(told(&a, &b, ""), "");
	assert_string_equal(told(&a, &b, " --least-time 0"), "");
	/* Twice and a half of thirty are what a host makes; who knows his to be quiet is told. */
	b.slower[STAGE_REQUEST] = 0;
	b.slower[STAGE_DELIVERY] = 2.5;
	assert_string_equal(told(&a, &b, ""), "");
	assert_string_equal(told(&a, &b, " --least-time 0"), "delivery slower");
}

static void more_faults_and_lost_ones_are_found(void **state)
{
	const struct source a = {.seed = 3, .rate = 20};
	struct source b = {.seed = 4, .rate = 80};

	assert_string_equal(told(&a, &b, ""), "faults more");
	b.rate = 20;
	b.lost_percent = 30;
	assert_string_equal(told(&a, &b, ""), "incomplete more");
}

/* One fault in thirty: the middle stays. */
static void a_slower_tail_is_found(void **state)
{
	const struct source a = {.seed = 5, .rate = 100};
	const struct source b = {.seed = 6, .rate = 100, .rare = 30};

	assert_string_equal(told(&a, &b, ""), "resolve tail slower, total tail slower");
}

static void few_faults_say_nothing(void **state)
{
	const struct source a = {.seed = 7, .rate = 0.4};
	const struct source b = {.seed = 8, .rate = 30, .slower = {[STAGE_RESOLVE] = 10}};

	assert_non_null(strstr(told(&a, &b, ""), "resolve too few"));
}

static void no_parse(const char *text)
{
	struct diff_condition condition;

	if (diff_condition_parse(text, &condition) != -EINVAL)
		fail_msg("'%s' was taken", text);
}

static struct diff_condition parsed(const char *text)
{
	struct diff_condition condition;

	if (diff_condition_parse(text, &condition))
		fail_msg("'%s' was refused", text);
	return condition;
}

static void conditions_are_read(void **state)
{
	struct diff_condition c = parsed("p99 > 1.2x");

	assert_int_equal(c.subject, DIFF_TOTAL);
	assert_int_equal(c.field, DIFF_FIELD_PERCENTILE);
	assert_true(c.percentile == 99 && c.relative && c.factor == 1.2 && c.offset == 0);
	assert_false(c.below);
	c = parsed("resolve.p99.9<-5%");
	assert_int_equal(c.subject, STAGE_RESOLVE);
	assert_true(c.percentile == 99.9 && c.below && c.factor == 0.95);
	c = parsed(" *.mean  >  +5ms ");
	assert_int_equal(c.subject, DIFF_SUBJECTS);
	assert_true(c.relative && c.factor == 1 && c.offset == 5e6);
	c = parsed("p50 > -5ms");
	assert_true(c.offset == -5e6);
	c = parsed("p50 > 10ms");
	assert_true(!c.relative && c.offset == 1e7);
	c = parsed("incomplete.count > 3");
	assert_int_equal(c.subject, DIFF_INCOMPLETE);
	assert_true(!c.relative && c.offset == 3);
	assert_true(parsed("rate > 50/s").offset == 50);
	assert_true(parsed("share > 40%").offset == 40);
	no_parse("");
	no_parse(">");
	no_parse("p99");
	no_parse("p99 >");
	no_parse("p99 > 0x");
	no_parse("p99 > nanx");
	no_parse("p99 > 1.2");
	no_parse("p99 >> 1.2x");
	no_parse("rate > +5ms");
	no_parse("faults.p99 > 1x");
	no_parse("incomplete.mean > 1x");
	no_parse(".p99 > 1x");
	no_parse("resolve. > 1x");
	no_parse("share > 40");
	no_parse(
		"p99 > 1.2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_hundred_equal_pairs_95_differ_by_nothing),
		cmocka_unit_test(what_was_changed_is_found),
		cmocka_unit_test(more_faults_and_lost_ones_are_found),
		cmocka_unit_test(a_slower_tail_is_found),
		cmocka_unit_test(few_faults_say_nothing),
		cmocka_unit_test(conditions_are_read),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
