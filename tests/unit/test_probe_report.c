// SPDX-License-Identifier: GPL-2.0
/* What `doctor` says of the probes of a host: it loads them, attaches nothing, and names what is missing. */
#include "tests/unit/test.h"

#include <string.h>
#include <unistd.h>

#include "lib/capture/capture.h"

static int take_probe(void *self, const struct probe_info *info)
{
	if (!strcmp(info->name, "fault_detect"))
		*(struct probe_info *)self = *info;
	return 0;
}

static void an_emulator_that_is_missing_is_named(void **state)
{
	static const struct stream_ops ops = {.probe = take_probe};
	const struct capture_config config = {.emulator = "/nowhere/emulator"};
	struct probe_info probe = {0};

	if (geteuid())
		skip();
	assert_int_equal(capture_probe_report(&config, (struct stream){&ops, &probe}), 0);
	assert_int_equal(probe.state, PROBE_OFF);
	assert_non_null(strstr(probe.reason, "/nowhere/emulator"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_emulator_that_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
