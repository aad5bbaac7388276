// SPDX-License-Identifier: GPL-2.0
/* The names of a recording where memory runs out: an error, and what was there before stays. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

static size_t given;

/* Memory for so many tables of names. */
static void *give(size_t size)
{
	return given ? given--, malloc(size) : NULL;
}

#define uthash_malloc(size) give(size)
#include "lib/trace/dictionary.c"

#define NAMES 50021

static int put(struct trace_dictionary *dictionary, __u32 id)
{
	__u8 bytes[100] = {0};
	const struct trace_buffer payload = {.bytes = bytes, .size = sizeof(bytes)};

	return trace_dictionary_put(dictionary, TRACE_DEVICE, id, &payload);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	for (size_t tables = 0; tables < 7; tables++) {
		struct trace_dictionary dictionary = {0};
		struct event event = {.pid = 0};
		struct trace_buffer out = {0};
		__u32 known = 0;

		given = tables;
		while (known < NAMES && !put(&dictionary, known + 1))
			known++;
		assert_true(known < NAMES);
		assert_int_equal(put(&dictionary, known + 1), -ENOMEM);
		assert_true(tables < 2 ? !known : known > 0);
		given = 99;
		assert_int_equal(put(&dictionary, known + 1), 0);
		trace_dictionary_forget_told(&dictionary);
		for (event.device = 1; event.device <= known; event.device++)
			trace_dictionary_use_events(&dictionary, &event, 1, &out);
		assert_int_equal(out.size, known * 105);
		trace_buffer_free(&out);
		trace_dictionary_free(&dictionary);
	}
}

/* While nothing can be written names are told again and again; what waits to be written does not grow with that. */
static void what_waits_is_bounded(void **state)
{
	struct trace_dictionary dictionary = {0};
	struct trace_buffer out = {0};
	struct event event = {.device = 7};

	given = 99;
	for (__u32 i = 0; i < 400000; i++)
		assert_int_equal(put(&dictionary, i % 11), 0);
	assert_true(dictionary.news.size <= NEWS_MOST + 105);
	assert_int_equal(HASH_COUNT(dictionary.names), 11);
	/* What has been left out is told with what uses it. */
	trace_dictionary_forget_told(&dictionary);
	trace_dictionary_use_events(&dictionary, &event, 1, &out);
	assert_int_equal(out.size, 105);
	trace_buffer_free(&out);
	trace_dictionary_free(&dictionary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_runs_out_is_an_error),
		cmocka_unit_test(what_waits_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
