// SPDX-License-Identifier: GPL-2.0
/* Transfers and I/Os of `faultline fabric` by hand: which transactions there are, and what they come to. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/job/text.h"
#include "tests/unit/job_files.h"
#include "tools/fabric/options.h"

/* A way from d to b takes 10 + 20 + 3 + 30 + half of 200; RAM and devices answer in 7 and 9. */
#define TWO                                                                                     \
	"[host a]\ndelay = 100ns\n[switch s]\nunder = a\ndelay = 10ns\n[device d]\nunder = s\n" \
	"[device e]\nunder = s\n[adapter x]\nunder = s\ndelay = 20ns\n"                         \
	"[host b]\ndelay = 200ns\n[adapter y]\nunder = b\ndelay = 30ns\n"                       \
	"[link c]\nbetween = x y\ndelay = 3ns\nrate = 1e9/s\n"                                  \
	"[fabric]\nmemory = 7ns\ndevice = 9ns\nrate = 2e9/s\n"

static struct scenario scenario;
static double values[FABRIC_COLUMNS];

static int configured(const char *content)
{
	struct job_text *text;
	struct idle_keys idle = {0};
	int err;

	assert_int_equal(read_job(&text, content), 0);
	assert_int_equal(fabric_job_complete(text), 0);
	err = scenario_configure(&scenario, text, &idle);
	if (!err)
		scenario_judge(&scenario, values);
	idle_keys_free(&idle);
	job_text_free(text);
	return err;
}

static void run(const char *content)
{
	if (configured(content))
		fail_msg("%s", failure_text());
}

static int forget(void **state)
{
	(void)state;
	scenario_free(&scenario);
	return 0;
}

#define WAY 163 /* from d to b */

static void a_write(void **state)
{
	(void)state;
	run(TWO "[run]\nscenario = t\n[transfer t]\nfrom = d\nto = b\nbytes = 1256\n");
	assert_int_equal(scenario.stage_count, 1);
	assert_true(scenario.stages[0].posted);
	assert_true(values[FABRIC_HOPS] == 3 && values[FABRIC_ROOTS] == 0);
	assert_true(values[FABRIC_CROSSINGS] == 1 && values[FABRIC_TRANSLATIONS] == 0);
	assert_true(values[FABRIC_LATENCY] == WAY && values[FABRIC_PING] == 2 * WAY);
	assert_true(values[FABRIC_TOTAL] == WAY + 1000);
	assert_true(values[FABRIC_BANDWIDTH] == 1256e9 / (WAY + 1000));
	assert_true(values[FABRIC_PEAK] == 1e9);
	assert_true(values[FABRIC_REQUESTS] == 5 && values[FABRIC_PIECES] == 5);
	assert_true(values[FABRIC_DELAYS] == WAY && values[FABRIC_CROSSED] == 53);
	assert_true(isnan(values[FABRIC_FETCH]) && isnan(values[FABRIC_REACH]));
}

static void a_read(void **state)
{
	(void)state;
	run(TWO "[run]\nscenario = t\nbytes = 300\n[transfer t]\nfrom = b\nto = d\nkind = read\n");
	assert_int_equal(scenario.stage_count, 1);
	assert_false(scenario.stages[0].posted);
	assert_true(values[FABRIC_LATENCY] == 2 * WAY + 7);
	assert_true(values[FABRIC_REQUESTS] == 2);
	assert_true(isnan(values[FABRIC_PING]));
}

/* Written by d, read by e; piece by piece, so that the second begins when the first has. */
static void through_ram(void **state)
{
	(void)state;
	run(TWO "[run]\nscenario = t\n[transfer t]\nfrom = d\nto = e\nvia = b\nbytes = 1256\n");
	assert_int_equal(scenario.stage_count, 2);
	assert_true(values[FABRIC_HOPS] == 7 && values[FABRIC_ROOTS] == 1);
	assert_true(values[FABRIC_LATENCY] == WAY + 2 * WAY + 7);
	assert_true(values[FABRIC_PING] == 2 * (WAY + 2 * WAY + 7));
	/* 1000 bytes behind the first packet; of the read 4 requests behind the first. */
	assert_true(values[FABRIC_TOTAL] == WAY + 2 * WAY + 7 + 4 * 256);
	assert_true(values[FABRIC_REQUESTS] == 10);
	assert_true(values[FABRIC_PEAK] == 1e9);
	scenario_free(&scenario);
	/* Roots that both ways pass, and the one in the middle. */
	run(TWO "[switch t]\nunder = a\n[device f]\nunder = t\n[run]\nscenario = t\n"
		"[transfer t]\nfrom = f\nto = f\nvia = b\n");
	assert_true(values[FABRIC_ROOTS] == 3 && values[FABRIC_HOPS] == 11);
}

static void an_engine(void **state)
{
	(void)state;
	run(TWO "[run]\nscenario = t\n[transfer t]\nfrom = b\nto = a\nengine = d\nbytes = 4\n");
	assert_int_equal(scenario.stage_count, 2);
	assert_string_equal(scenario.stages[0].name, "read");
	assert_true(values[FABRIC_HOPS] == 3 + 1 && values[FABRIC_ROOTS] == 0);
	assert_true(values[FABRIC_LATENCY] == 2 * WAY + 7 + 10 + 50);
	assert_true(isnan(values[FABRIC_PING]));
}

static void by_chosen_adapters(void **state)
{
	(void)state;
	run(TWO "[run]\nscenario = t\n[transfer t]\nfrom = d\nto = b\nthrough = x y\n");
	assert_true(values[FABRIC_HOPS] == 3);
	assert_true(values[FABRIC_LATENCY] == WAY && scenario.stages[0].posted);
	scenario_free(&scenario);
	/* In the order of the data, also where these are asked for. */
	run(TWO
	    "[run]\nscenario = t\n[transfer t]\nfrom = d\nto = b\nkind = read\nthrough = x y\n");
	assert_true(values[FABRIC_HOPS] == 3);
	assert_true(values[FABRIC_LATENCY] == 2 * WAY + 9 && !scenario.stages[0].posted);
	assert_string_equal(scenario.stages[0].name, "read");
	scenario_free(&scenario);
	assert_int_equal(
		configured(TWO
			   "[run]\nscenario = t\n[transfer t]\nfrom = d\nto = b\nthrough = y x\n"),
		-EBADMSG);
}

/* CPU of b, disk d: 4 stages follow each other, the command's write does not. */
static void an_io(void **state)
{
	const double doorbell = 100 + 30 + 3 + 20 + 10, completion = WAY;

	(void)state;
	run(TWO "[run]\nscenario = i\n[io i]\ncpu = b\ndevice = d\nbytes = 1256\nmedia = 5ns\n");
	assert_int_equal(scenario.stage_count, 5);
	assert_true(values[FABRIC_DOORBELL] == doorbell);
	assert_true(values[FABRIC_COMMAND_HOPS] == 0 && values[FABRIC_COMMAND] == 100);
	assert_true(values[FABRIC_FETCH_HOPS] == 3 && values[FABRIC_FETCH] == 2 * WAY + 7);
	assert_true(values[FABRIC_DATA_HOPS] == 3 && values[FABRIC_DATA] == WAY + 1000);
	assert_true(values[FABRIC_COMPLETION_HOPS] == 3 && values[FABRIC_COMPLETION] == completion);
	assert_true(values[FABRIC_REACH] == 2 * 53);
	assert_true(values[FABRIC_LATENCY] == doorbell + 2 * WAY + 7 + 5 + 1000 + completion);
	assert_true(isnan(values[FABRIC_HOPS]) && isnan(values[FABRIC_PING]));
	scenario_free(&scenario);
	/* Completions and data at a peer, which a translated way reaches by the root of a. */
	run(TWO
	    "[run]\nscenario = i\n[io i]\ncpu = b\ndevice = d\nbytes = 600\ndata = e\ncompletions = a\n");
	assert_true(values[FABRIC_DATA_HOPS] == 1 && values[FABRIC_COMPLETION_HOPS] == 1);
	assert_true(values[FABRIC_COMPLETION] == 10 + 50);
	assert_true(values[FABRIC_REQUESTS] == 3 && values[FABRIC_PIECES] == 3);
	assert_true(values[FABRIC_TOTAL] == values[FABRIC_LATENCY]);
	scenario_free(&scenario);
	/* A write of the disk waits for its data. */
	run(TWO "[run]\nscenario = i\n[io i]\ncpu = b\ndevice = d\nbytes = 4\nkind = write\n");
	assert_true(values[FABRIC_LATENCY] == doorbell + 2 * (2 * WAY + 7) + completion);
	scenario_free(&scenario);
	/* The queue is at a peer, which the doorbell's command reaches as soon as the doorbell. */
	run(TWO
	    "[run]\nscenario = i\n[io i]\ncpu = b\ndevice = d\nbytes = 4\nqueue = e\ndata = e\n");
	assert_true(values[FABRIC_FETCH_HOPS] == 1 && values[FABRIC_FETCH] == 2 * 10 + 9);
	assert_true(values[FABRIC_LATENCY] == doorbell + 29 + completion);
	scenario_free(&scenario);
	/* Behind a long way the command itself is what is waited for. */
	run(TWO
	    "[switch far]\nunder = a\ndelay = 9us\n[device f]\nunder = far\n[run]\nscenario = i\n"
	    "[io i]\ncpu = b\ndevice = d\nbytes = 4\nqueue = f\n");
	assert_true(values[FABRIC_COMMAND] == doorbell + 100 + 9000);
	assert_true(values[FABRIC_LATENCY] == doorbell + 2 * (10 + 100 + 9000) + 9 + completion);
	scenario_free(&scenario);
	run(TWO "[run]\nscenario = i\n[io i]\ncpu = a\ndevice = d\nbytes = 4\nqueue = b\n");
	assert_true(values[FABRIC_COMMAND] == 50 + 10 + 20 + 3 + 30 + 100);
	/* It is there after 213, the read's request after 60 and 163. */
	assert_true(values[FABRIC_LATENCY] == 60 + WAY + WAY + 7 + 60);
}

static void what_is_refused(void **state)
{
	static const char *const wrong[][2] = {
		{"[transfer t]\nfrom = q\nto = b\n", "from=q: accepted: a host, device or adapter"},
		{"[transfer t]\nfrom = s\nto = b\n", "from=s: accepted: a host, device or adapter"},
		{"[transfer t]\nfrom = d\nto = b\nvia = d\n", "via=d: accepted: a host"},
		{"[transfer t]\nfrom = d\nto = b\nengine = b\n",
		 "engine=b: accepted: a device or adapter"},
		{"[transfer t]\nfrom = d\nto = b\nthrough = x d\n",
		 "through=x d: accepted: names of adapters, up to 6"},
		{"[transfer t]\nfrom = d\nto = b\nthrough = x x x x x x x\n",
		 "through=x x x x x x x: accepted: names of adapters, up to 6"},
		{"[io t]\ncpu = d\ndevice = d\n", "cpu=d: accepted: a host"},
		{"[io t]\ncpu = a\ndevice = b\n", "device=b: accepted: a device"},
		{"[io t]\ncpu = a\ndevice = d\nqueue = s\n",
		 "queue=s: accepted: a host, device or adapter"},
		{"[transfer u]\nfrom = d\nto = b\n",
		 "run.scenario=t: accepted: the name of a [transfer] or [io]"},
	};
	char content[2048];

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(content, sizeof(content), TWO "[run]\nscenario = t\n%s", wrong[i][0]);
		assert_int_equal(configured(content), -EBADMSG);
		if (!strstr(failure_text(), wrong[i][1]) || !strstr(failure_text(), JOB_PATH ":"))
			fail_msg("%s\ninstead of %s", failure_text(), wrong[i][1]);
		scenario_free(&scenario);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_write, forget),
		cmocka_unit_test_teardown(a_read, forget),
		cmocka_unit_test_teardown(through_ram, forget),
		cmocka_unit_test_teardown(an_engine, forget),
		cmocka_unit_test_teardown(by_chosen_adapters, forget),
		cmocka_unit_test_teardown(an_io, forget),
		cmocka_unit_test_teardown(what_is_refused, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
