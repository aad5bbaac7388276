// SPDX-License-Identifier: GPL-2.0
/* What `doctor` says of the probes of a host: it loads them, attaches nothing, and names what is missing. */
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
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

#define INTERRUPTIONS 150 /* of which a load of an object takes some ten before it is refused */

static volatile sig_atomic_t interruptions;

static void interrupt_next(void)
{
	const struct itimerval soon = {.it_value.tv_usec = 300};

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void take_signal(int number)
{
	(void)number;
	if (++interruptions < INTERRUPTIONS)
		interrupt_next();
}

static int count_interrupted(void *self, const struct probe_info *info)
{
	*(int *)self += strstr(info->reason, strerror(EAGAIN)) != NULL;
	return 0;
}

/* The kernel's verifier ends when a signal comes: that is no verdict. */
static void a_signal_is_no_reason_for_a_probe_to_be_off(void **state)
{
	static const struct stream_ops ops = {.probe = count_interrupted};
	const struct capture_config config = {0};
	struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART}, before;
	int off = 0;

	if (geteuid())
		skip();
	sigaction(SIGALRM, &action, &before);
	interrupt_next();
	assert_int_equal(capture_probe_report(&config, (struct stream){&ops, &off}), 0);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	sigaction(SIGALRM, &before, NULL);
	assert_true(interruptions > 0);
	assert_int_equal(off, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_emulator_that_is_missing_is_named),
		cmocka_unit_test(a_signal_is_no_reason_for_a_probe_to_be_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
