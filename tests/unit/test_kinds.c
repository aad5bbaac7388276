// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "bpf/event.h"
#include "lib/base/fail.h"
#include "lib/base/kinds.h"
#include "lib/base/stream.h"

static struct kind_set set;

#define EVENT_KIND(...) +1
enum {
	KINDS = 0
#include "bpf/event_kinds.def"
};
#undef EVENT_KIND

static int parse(const char *text)
{
	memset(&set, 0, sizeof(set));
	return kinds_parse(text, &set);
}

/* Whether the set has these kinds and no others; EVENT_NONE ends them. */
static bool is_set_of(const __u16 *kinds)
{
	struct kind_set wanted = {0};

	for (; *kinds != EVENT_NONE; kinds++)
		kind_set_add(&wanted, *kinds);
	return !memcmp(&set, &wanted, sizeof(set));
}

static void single_kinds_and_groups_are_understood(void **state)
{
	assert_int_equal(parse("cpu_fault"), 0);
	assert_true(is_set_of((__u16[]){EVENT_CPU_FAULT, EVENT_NONE}));
	assert_int_equal(parse("fault"), 0);
	assert_true(is_set_of((__u16[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0}));
	assert_int_equal(parse("dma_map,sched,device_new"), 0);
	assert_true(is_set_of((__u16[]){EVENT_DMA_MAP, EVENT_SCHED_WAKEUP, EVENT_SCHED_RUN,
					EVENT_DEVICE_NEW, EVENT_NONE}));
}

/* What is formatted is understood as the same set; a set of which groups are whole is told by them. */
static void sets_are_told_as_options_take_them(void **state)
{
	static const char *const same[] = {"", "cpu_fault", "fault, cpu_fault", "fault_detect, io",
					   "dma, sched, device_new"};
	char text[256];

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char words[64], *to = words;

		for (const char *from = same[i]; *from; from++)
			if (*from != ' ')
				*to++ = *from;
		*to = '\0';
		memset(&set, 0, sizeof(set));
		if (*words)
			assert_int_equal(parse(words), 0);
		kinds_format(&set, text, sizeof(text));
		assert_string_equal(text, same[i]);
		for (unsigned int kind = 0; kind < EVENT_KIND_MAX; kind++)
			assert_int_equal(kinds_name(text, kind),
					 !*text || kind_set_has(&set, kind));
	}
	memset(&set, 0xff, sizeof(set));
	kinds_format(&set, text, 16);
	assert_int_equal(strlen(text), 15);
}

/* The longest of all: everything but one kind of each group, which therefore is told kind by kind. */
static void a_recording_has_room_for_every_kind_asked_for(void **state)
{
	static const char *const groups[] = {"fault", "invalidate", "io",   "iommu", "dma", "vfio",
					     "sched", "inject",	    "mm",   "rdma",  "nic", "tcp",
					     "qp",    "pin",	    "lend", "hyv"};
	struct host_info host;
	struct kind_set asked;
	size_t words = 1;

	memset(&asked, 0xff, sizeof(asked));
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		unsigned int kind = 0;

		assert_int_equal(parse(groups[i]), 0);
		while (!kind_set_has(&set, kind))
			kind++;
		kind_set_remove(&asked, kind);
	}
	kinds_format(&asked, host.kinds, sizeof(host.kinds));
	assert_in_range(strlen(host.kinds), 500, sizeof(host.kinds) - 2);
	for (const char *c = host.kinds; *c; c++)
		words += *c == ',';
	assert_int_equal(words, KINDS - sizeof(groups) / sizeof(groups[0]));
	for (unsigned int kind = 0; kind < EVENT_KIND_MAX; kind++)
		if (event_kind(kind))
			assert_int_equal(kinds_name(host.kinds, kind), kind_set_has(&asked, kind));
}

static void every_kind_has_a_name_that_is_understood(void **state)
{
	size_t named = 0;

	for (__u16 kind = 0; kind < EVENT_KIND_MAX; kind++) {
		if (!event_kind(kind))
			continue;
		named++;
		assert_int_equal(parse(event_kind(kind)->name), 0);
		assert_true(is_set_of((__u16[]){kind, EVENT_NONE}));
		assert_string_equal(event_kind_name(kind), event_kind(kind)->title);
	}
	assert_int_equal(named, KINDS);
	assert_null(event_kind(EVENT_NONE));
	assert_null(event_kind(EVENT_KIND_MAX));
	assert_string_equal(event_kind_name(EVENT_KIND_MAX), "unknown event");
}

static void other_words_are_refused_with_what_is_accepted(void **state)
{
	static const char *const bad[] = {"", "sneeze", "fault,", ",fault", "fault;dma", "FAULT"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	assert_int_equal(parse("fault,sneeze"), -EINVAL);
	assert_non_null(strstr(failure_text(), "'sneeze'"));
	assert_non_null(strstr(failure_text(), "cpu_fault"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_kinds_and_groups_are_understood),
		cmocka_unit_test(sets_are_told_as_options_take_them),
		cmocka_unit_test(a_recording_has_room_for_every_kind_asked_for),
		cmocka_unit_test(every_kind_has_a_name_that_is_understood),
		cmocka_unit_test(other_words_are_refused_with_what_is_accepted),
	};

	return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
