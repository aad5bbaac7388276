// SPDX-License-Identifier: GPL-2.0
/* faultline-inject iopf without its kernel module: options, plans, the truth file. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/real/iopf_options.h"
#include "lib/base/fail.h"

static int parse(struct iopf_options *options, const char *name, const char *text)
{
	return cli_set(iopf_option_list, name, text, options);
}

static void takes(const char *name, const char *text)
{
	struct iopf_options options;

	iopf_defaults(&options);
	if (parse(&options, name, text))
		fail_msg("--%s %s: %s", name, text, failure_text());
}

static void refuses(const char *name, const char *text, const char *sentence)
{
	struct iopf_options options;

	iopf_defaults(&options);
	if (!parse(&options, name, text))
		fail_msg("--%s %s was accepted", name, text);
	assert_non_null(strstr(failure_text(), name));
	if (!strstr(failure_text(), sentence))
		fail_msg("'%s' does not say '%s'", failure_text(), sentence);
}

static void numbers_have_ranges(void **state)
{
	takes("requests", "1");
	takes("requests", "1048576");
	refuses("requests", "0", "1");
	refuses("requests", "1048577", "1048576");
	refuses("requests", "many", "many");
	takes("processes", "64");
	refuses("processes", "65", "64");
	takes("group-numbers", "512");
	refuses("group-numbers", "513", "512");
	refuses("group-numbers", "0", "1");
	takes("queue", "2");
	refuses("queue", "1", "2");
	refuses("device", "8", "7");
	refuses("segments", "65", "64");
	refuses("stride", "12", "multiples of 8");
	refuses("size", "8M", "at most 4M");
	refuses("kind", "lists", "page, coherent, list");
	refuses("timeout", "5", "5");
}

static void groups_are_ranges(void **state)
{
	struct iopf_options options;

	iopf_defaults(&options);
	assert_int_equal(parse(&options, "groups", "3-17"), 0);
	assert_int_equal(options.group_least, 3);
	assert_int_equal(options.group_most, 17);
	assert_int_equal(parse(&options, "groups", "5"), 0);
	assert_int_equal(options.group_least, 5);
	assert_int_equal(options.group_most, 5);
	refuses("groups", "0", "1-8");
	refuses("groups", "8-1", "1-8");
	refuses("groups", "1-", "1-8");
	refuses("groups", "1-513", "1 to 512");
	refuses("groups", "x", "1-8");
}

static void access_is_letters(void **state)
{
	struct iopf_options options;

	iopf_defaults(&options);
	assert_int_equal(parse(&options, "access", "xp"), 0);
	assert_int_equal(options.permissions, FAULTLINE_EXECUTE | FAULTLINE_PRIVILEGED);
	refuses("access", "p", "privileged");
	refuses("access", "rq", "r, w and x");
	refuses("access", "", "r, w and x");
}

static void devices_are_named_once(void **state)
{
	struct iopf_options options;

	iopf_defaults(&options);
	assert_int_equal(parse(&options, "device", "1"), 0);
	assert_int_equal(parse(&options, "device", "0"), 0);
	assert_int_equal(parse(&options, "device", "1"), -EINVAL);
	assert_int_equal(options.device_count, 2);
	iopf_defaults(&options);
	assert_int_equal(iopf_check_options(&options), 0);
	assert_int_equal(options.device_count, 1);
	assert_int_equal(options.devices[0], 0);
	/* All, where none is named. */
	iopf_defaults(&options);
	options.what = IOPF_UNPLUG;
	assert_int_equal(iopf_check_options(&options), 0);
	assert_int_equal(options.device_count, 0);
}

static void contradictions_are_refused(void **state)
{
	struct iopf_options options;

	iopf_defaults(&options);
	options.processes = 3;
	options.requests = 2;
	assert_int_equal(iopf_check_options(&options), -EINVAL);
	iopf_defaults(&options);
	options.what = IOPF_EXIT;
	options.requests = 513;
	assert_int_equal(iopf_check_options(&options), -EINVAL);
	iopf_defaults(&options);
	options.pause_ns = 1;
	options.group_numbers = 8;
	assert_int_equal(iopf_check_options(&options), -EINVAL);
	iopf_defaults(&options);
	options.what = IOPF_FLOOD;
	options.prq_size = 257;
	assert_int_equal(iopf_check_options(&options), -EINVAL);
	iopf_defaults(&options);
	options.what = IOPF_WITHHOLD;
	assert_int_equal(iopf_check_options(&options), 0);
	assert_int_equal(options.withhold, FAULTLINE_WITHHOLD_ALL);
	assert_true(options.timeout_ns > 0);
}

static void every_what_has_a_name(void **state)
{
	struct iopf_options options;

	for (int i = 0; i < IOPF_WHATS; i++) {
		assert_int_equal(iopf_parse_what(iopf_whats[i].name, &options), 0);
		assert_int_equal(options.what, i);
	}
	assert_int_equal(iopf_parse_what("storm", &options), -EINVAL);
	assert_non_null(strstr(failure_text(), "io-page-fault"));
}

static struct iopf_options options_of_plan(enum iopf_what what)
{
	struct iopf_options options;

	iopf_defaults(&options);
	options.what = what;
	options.requests = 1009;
	options.processes = 4;
	options.group_least = 2;
	options.group_most = 7;
	options.device_count = 2;
	options.devices[1] = 1;
	return options;
}

/* Groups lie within a process and on one device, are closed, and of a size that was asked for. */
static void plans_are_whole_groups(void **state)
{
	struct iopf_options options = options_of_plan(IOPF_MIXED);
	__u32 groups = 0, all = 0, on_second = 0;
	struct iopf_plan plan;

	assert_int_equal(iopf_plan_make(&plan, &options), 0);
	for (__u32 p = 0; p < options.processes; p++) {
		const struct iopf_share *share = &plan.shares[p];
		__u32 size = 0;

		assert_int_equal(share->first, all);
		assert_in_range(share->count, 1009 / 4, 1009 / 4 + 1);
		all += share->count;
		for (__u32 i = 0; i < share->count; i++) {
			const struct iopf_planned *request = &plan.requests[share->first + i];

			size++;
			on_second += request->device == 1;
			assert_true(request->page < share->pages[request->kind]);
			if (size > 1)
				assert_int_equal(request->device, request[-1].device);
			if (!request->last)
				continue;
			/* The rest of a share may be too few for a group. */
			assert_in_range(size, i + 1 == share->count ? 1 : 2, 7);
			size = 0;
			groups++;
		}
		assert_int_equal(size, 0);
	}
	assert_int_equal(all, 1009);
	assert_int_equal(plan.count, 1009);
	assert_int_equal(groups, plan.groups);
	assert_in_range(on_second, 300, 700);
	iopf_plan_free(&plan);
}

static void plans_come_from_the_seed(void **state)
{
	struct iopf_options options = options_of_plan(IOPF_MIXED);
	struct iopf_plan one, same, other;
	size_t bytes = options.requests * sizeof(struct iopf_planned);

	assert_int_equal(iopf_plan_make(&one, &options), 0);
	assert_int_equal(iopf_plan_make(&same, &options), 0);
	options.seed = 99;
	assert_int_equal(iopf_plan_make(&other, &options), 0);
	assert_memory_equal(one.requests, same.requests, bytes);
	assert_memory_not_equal(one.requests, other.requests, bytes);
	iopf_plan_free(&one);
	iopf_plan_free(&same);
	iopf_plan_free(&other);
}

static void kinds_are_what_was_asked_for(void **state)
{
	static const struct {
		enum iopf_what what;
		enum iopf_page only;
	} cases[] = {{IOPF_BURST, IOPF_PAGE_GOOD},
		     {IOPF_BAD_PASID, IOPF_PAGE_BAD_PASID},
		     {IOPF_READ_ONLY, IOPF_PAGE_READ_ONLY},
		     {IOPF_UNMAPPED, IOPF_PAGE_UNMAPPED},
		     {IOPF_FLOOD, IOPF_PAGE_GOOD}};
	__u32 kinds[IOPF_PAGE_KINDS] = {0};
	struct iopf_options options;
	struct iopf_plan plan;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		options = options_of_plan(cases[i].what);
		assert_int_equal(iopf_plan_make(&plan, &options), 0);
		for (__u32 r = 0; r < plan.count; r++)
			assert_int_equal(plan.requests[r].kind, cases[i].only);
		iopf_plan_free(&plan);
	}
	options = options_of_plan(IOPF_MIXED);
	assert_int_equal(iopf_plan_make(&plan, &options), 0);
	for (__u32 r = 0; r < plan.count; r++)
		kinds[plan.requests[r].kind]++;
	assert_true(kinds[IOPF_PAGE_GOOD] > kinds[IOPF_PAGE_BAD_PASID]);
	assert_true(kinds[IOPF_PAGE_BAD_PASID] && kinds[IOPF_PAGE_READ_ONLY] &&
		    kinds[IOPF_PAGE_UNMAPPED]);
	assert_int_equal(kinds[IOPF_PAGE_TO_UNMAP], 0);
	iopf_plan_free(&plan);
}

static void truth_is_an_object_a_line(void **state)
{
	const struct faultline_log_entry entries[] = {
		{.id = 7,
		 .kind = FAULTLINE_LOG_REQUEST,
		 .device = 1,
		 .pasid = 3,
		 .group = 5,
		 .instance = 11,
		 .flags = FAULTLINE_LOG_LAST | FAULTLINE_LOG_LATE,
		 .state = FAULTLINE_ANSWERED,
		 .code = 1,
		 .address = 4096,
		 .responded_ns = 99},
		{.id = 8, .kind = FAULTLINE_LOG_DMA_MAP, .size = 512, .handle = 4, .result = -5},
	};
	struct iopf_device device = {.info.names = {"zero", "one"}};
	char path[64], line[1024];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/test_iopf.%d", getpid());
	assert_int_equal(iopf_truth_write(path, &device, entries, 2), 0);
	/* What is there already is not written over. */
	assert_int_equal(iopf_truth_write(path, &device, entries, 2), -EEXIST);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_non_null(strstr(line, "{\"id\":7,\"kind\":\"request\",\"device\":\"one\""));
	assert_non_null(strstr(line, "\"group\":5,\"instance\":11"));
	assert_non_null(strstr(line, "\"last\":true"));
	assert_non_null(strstr(line, "\"state\":\"answered\",\"code\":1"));
	assert_non_null(strstr(line, "\"late\":true"));
	assert_non_null(strstr(line, "\"responded_ns\":99"));
	assert_non_null(fgets(line, sizeof(line), file));
	assert_non_null(strstr(line, "\"kind\":\"dma_map\",\"device\":\"zero\""));
	assert_non_null(strstr(line, "\"size\":512,\"handle\":4,\"result\":-5}"));
	assert_null(fgets(line, sizeof(line), file));
	fclose(file);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_ranges),
		cmocka_unit_test(groups_are_ranges),
		cmocka_unit_test(access_is_letters),
		cmocka_unit_test(devices_are_named_once),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(every_what_has_a_name),
		cmocka_unit_test(plans_are_whole_groups),
		cmocka_unit_test(plans_come_from_the_seed),
		cmocka_unit_test(kinds_are_what_was_asked_for),
		cmocka_unit_test(truth_is_an_object_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
