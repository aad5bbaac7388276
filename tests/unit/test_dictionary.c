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

static bool is_told_with(struct trace_dictionary *dictionary, __u16 kind, __u8 type)
{
	const struct event event = {.kind = kind, .tid = 5};
	struct trace_cursor in, payload;
	struct trace_buffer out = {0};
	bool told = false;
	__u8 found;

	trace_dictionary_forget_told(dictionary);
	trace_dictionary_use_events(dictionary, &event, 1, &out);
	in = (struct trace_cursor){.next = out.bytes, .left = out.size};
	while (in.left && trace_get_record(&in, &found, &payload))
		told |= found == type;
	trace_buffer_free(&out);
	return told;
}

/* A flow, a thread and a counter may have the same number. */
static void what_an_event_names_is_of_its_kind(void **state)
{
	static const struct {
		__u16 kind;
		bool flow, thread;
	} kinds[] = {
		{EVENT_FAULT_DETECT, .thread = true}, {EVENT_UFFD_WAIT, .thread = true},
		{EVENT_RDMA_COUNTER, .thread = true}, {EVENT_FRAMES_LOST, .flow = true},
		{EVENT_FRAMES_HELD, .flow = true},    {EVENT_FRAMES_RECOVERED, .flow = true},
		{EVENT_HEAD_ADVANCED, .flow = false}, {EVENT_RING_STATE, .flow = false},
		{EVENT_TCP_RETRANSMIT, .flow = true}, {EVENT_TCP_SYNACK, .flow = true},
		{EVENT_TCP_STATE, .flow = true},      {EVENT_TCP_ERROR, .flow = true},
	};
	struct trace_dictionary dictionary = {0};
	const struct trace_buffer payload = {.bytes = (__u8[8]){0}, .size = 8};

	given = 99;
	assert_int_equal(trace_dictionary_put(&dictionary, TRACE_PROCESS, 5, &payload), 0);
	assert_int_equal(trace_dictionary_put(&dictionary, TRACE_FLOW, 5, &payload), 0);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		assert_int_equal(is_told_with(&dictionary, kinds[i].kind, TRACE_FLOW),
				 kinds[i].flow);
		assert_int_equal(is_told_with(&dictionary, kinds[i].kind, TRACE_PROCESS),
				 kinds[i].thread);
	}
	trace_dictionary_free(&dictionary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_runs_out_is_an_error),
		cmocka_unit_test(what_waits_is_bounded),
		cmocka_unit_test(what_an_event_names_is_of_its_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
