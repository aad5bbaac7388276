// SPDX-License-Identifier: GPL-2.0
/* The keys of [program]. */
#include "injectors/job/options_private.h"

#define PROGRAM(member) FIELD(struct job_program, member)

static const struct option_choice sides[] = {
	{"guest", NETWORK_GUEST}, {"wire", NETWORK_WIRE}, {NULL, 0}};
static const struct option_choice roles[] = {
	{"server", PROGRAM_SERVER}, {"load", PROGRAM_LOAD}, {NULL, 0}};
static const struct option_choice formats[] = {
	{"none", RESULT_NONE},	 {"iperf3", RESULT_IPERF3},	{"memcaslap", RESULT_MEMCASLAP},
	{"redis", RESULT_REDIS}, {"sockperf", RESULT_SOCKPERF}, {NULL, 0}};

static const struct option_row rows[] = {
	{"program", "device", OPTION_TEXT, PROGRAM(device), .otherwise = "*",
	 .meaning = "devices in whose network it runs, once in each that has one: a [device]'s "
		    "name or a pattern over TENANT/DEVICE"},
	{"program", "side", OPTION_CHOICE, PROGRAM(config.side), .choices = sides,
	 .meaning = "where it runs: behind the device, or at the other end of the wire"},
	{"program", "role", OPTION_CHOICE, PROGRAM(config.role), .choices = roles,
	 .meaning = "server: begun first and stopped last; load: the run is over when all of "
		    "these have ended"},
	{"program", "run", OPTION_TEXT, PROGRAM(config.run), 1,
	 .meaning = "its command line, without a shell; {guest} and {wire} are the two sides' "
		    "addresses"},
	{"program", "ready", OPTION_TEXT, PROGRAM(config.ready), .otherwise = "",
	 .meaning = "the port at which it listens once it is ready, such as tcp:5201; empty: it "
		    "is ready as soon as it runs",
	 .needs = {{"role", "server"}}},
	{"program", "ready_timeout", OPTION_TIME, PROGRAM(config.ready_timeout_ns), 1e6, HOUR,
	 "10s", .meaning = "the run has failed if it is not ready after this",
	 .needs = {{"role", "server"}, {"ready", "*"}}},
	{"program", "result", OPTION_CHOICE, PROGRAM(format), .otherwise = "none",
	 .choices = formats,
	 .meaning = "whose output it prints, from which goodput and requests are read: iperf3 -J, "
		    "memcaslap, redis-benchmark --csv, sockperf",
	 .needs = {{"role", "load"}}},
	{"program", "duration", OPTION_TIME, PROGRAM(config.duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "it is ended after this; 0: it ends by itself", .needs = {{"role", "load"}}},
};

const struct option_rows program_rows = {rows, sizeof(rows) / sizeof(rows[0])};
