// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "bpf/event.h"
#include "lib/base/fail.h"
#include "lib/base/stream.h"
#include "lib/capture/kinds.h"

static __u64 set[2];

static int parse(const char *text)
{
	set[0] = set[1] = 0;
	return kinds_parse(text, set);
}

static void single_kinds_and_groups_are_understood(void **state)
{
	(void)state;
	assert_int_equal(parse("cpu_fault"), 0);
	assert_true(set[0] == 1ull << EVENT_CPU_FAULT && !set[1]);
	assert_int_equal(parse("fault"), 0);
	assert_true(set[0] == 0xfffeull);
	assert_int_equal(parse("dma_map,sched,device_new"), 0);
	assert_true(set[0] ==
		    (1ull << EVENT_DMA_MAP | 1ull << EVENT_SCHED_WAKEUP | 1ull << EVENT_SCHED_RUN));
	assert_true(set[1] == 1);
}

/* What is formatted is understood as the same set; a set of which groups are whole is told by them. */
static void sets_are_told_as_options_take_them(void **state)
{
	static const char *const same[] = {"", "cpu_fault", "fault, cpu_fault", "fault_detect, io",
					   "dma, sched, device_new"};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char words[64], *to = words;

		for (const char *from = same[i]; *from; from++)
			if (*from != ' ')
				*to++ = *from;
		*to = '\0';
		set[0] = set[1] = 0;
		if (*words)
			assert_int_equal(parse(words), 0);
		kinds_format(set, text, sizeof(text));
		assert_string_equal(text, same[i]);
		for (unsigned int kind = 0; kind < EVENT_KIND_MAX; kind++)
			assert_int_equal(kinds_name(text, kind),
					 !*text || (set[kind / 64] >> (kind % 64) & 1));
	}
	set[0] = set[1] = ~0ull;
	kinds_format(set, text, 16);
	assert_int_equal(strlen(text), 15);
}

/* The longest of all: everything but one kind of each group, which therefore is told kind by kind. */
static void a_recording_has_room_for_every_kind_asked_for(void **state)
{
	static const char *const groups[] = {"fault", "invalidate", "io",     "iommu", "dma",
					     "vfio",  "sched",	    "inject", "mm",    "rdma"};
	struct host_info host;
	__u64 asked[2] = {~0ull, ~0ull};
	size_t words = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		unsigned int kind = 0;

		assert_int_equal(parse(groups[i]), 0);
		while (!(set[kind / 64] >> kind % 64 & 1))
			kind++;
		asked[kind / 64] &= ~(1ull << kind % 64);
	}
	kinds_format(asked, host.kinds, sizeof(host.kinds));
	assert_in_range(strlen(host.kinds), 500, sizeof(host.kinds) - 2);
	for (const char *c = host.kinds; *c; c++)
		words += *c == ',';
	assert_int_equal(words, 63 - sizeof(groups) / sizeof(groups[0]));
	for (unsigned int kind = 0; kind < EVENT_KIND_MAX; kind++)
		if (kind_option_name(kind))
			assert_int_equal(kinds_name(host.kinds, kind),
					 asked[kind / 64] >> kind % 64 & 1);
}

static void every_kind_has_a_name_that_is_understood(void **state)
{
	size_t named = 0;

	(void)state;
	for (unsigned int kind = 0; kind < EVENT_KIND_MAX; kind++) {
		if (!kind_option_name(kind))
			continue;
		named++;
		assert_int_equal(parse(kind_option_name(kind)), 0);
		assert_true(set[kind / 64] == 1ull << (kind % 64));
	}
	assert_int_equal(named, 63);
	assert_null(kind_option_name(EVENT_KIND_MAX));
}

static void other_words_are_refused_with_what_is_accepted(void **state)
{
	static const char *const bad[] = {"", "sneeze", "fault,", ",fault", "fault;dma", "FAULT"};

	(void)state;
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
