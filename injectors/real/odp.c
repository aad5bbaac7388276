// SPDX-License-Identifier: GPL-2.0
/* faultline-inject odp: its options. */
#include "injectors/real/odp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/real/memory_file.h"
#include "injectors/real/real.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"

const char *const odp_operation_names[ODP_OPERATIONS + 1] = {"write",	   "read",	  "send",
							     "read-local", "write-local", "atomic"};
const char *const odp_eviction_names[ODP_EVICTIONS + 1] = {"none", "dontneed", "pageout",
							   "reclaim"};

#define ALL_OPERATIONS ((1u << ODP_OPERATIONS) - 1)
#define COUNT_MAX      65536
#define MESSAGE_MAX    (1u << 20)

enum {
	OPTION_OPERATION = 256,
	OPTION_COUNT,
	OPTION_MESSAGE,
	OPTION_OFFSET,
	OPTION_PASSES,
	OPTION_EVICT,
	OPTION_EVICTIONS,
	OPTION_FILE,
	OPTION_CGROUP,
	OPTION_PINNED,
	OPTION_PREFETCH,
	OPTION_TWO_PROCESSES,
	OPTION_GID,
	OPTION_MTU,
	OPTION_TIMEOUT,
	OPTION_RETRIES,
	OPTION_RNR_TIMER,
	OPTION_LATE,
	OPTION_HOLD,
};

static const struct argp_option options_of_odp[] = {
	{NULL, 0, NULL, 0, "Traffic", 1},
	{"device", 'd', "DEVICE", 0, "RDMA device, as in /sys/class/infiniband; required", 1},
	{"operation", OPTION_OPERATION, "LIST", 0,
	 "write, read, send, read-local, write-local, atomic, or all (default)", 1},
	{"count", OPTION_COUNT, "N", 0, "Operations a pass, each on pages of its own (61)", 1},
	{"message", OPTION_MESSAGE, "BYTES", 0, "Of each operation (4096); an atomic has 8", 1},
	{"offset", OPTION_OFFSET, "BYTES", 0,
	 "Where in its first page an operation begins (0). The rxe of Linux 7.2 ignores it and "
	 "puts data at the wrong place: column wrong shows that",
	 1},
	{"passes", OPTION_PASSES, "N", 0, "Over the same pages (2)", 1},
	{"two-processes", OPTION_TWO_PROCESSES, NULL, 0, "The far side is a process of its own", 1},
	{NULL, 0, NULL, 0, "Memory", 2},
	{"evict", OPTION_EVICT, "HOW", 0,
	 "dontneed (default; the content is lost), pageout, reclaim (of the own cgroup) or none",
	 2},
	{"evictions", OPTION_EVICTIONS, "N", 0, "So many passes begin with an eviction (1)", 2},
	{"file", OPTION_FILE, "FILE", 0,
	 "Memory of this file or block device instead of anonymous memory; overwritten. A block "
	 "device needs consent",
	 2},
	{"cgroup", OPTION_CGROUP, "DIRECTORY", 0, "Reclaim from this one, with --evict reclaim", 2},
	{"pinned", OPTION_PINNED, NULL, 0, "For comparison: nothing pages on demand", 2},
	{"prefetch", OPTION_PREFETCH, NULL, 0, "Bring the pages by advice (ibv_advise_mr) first",
	 2},
	{NULL, 0, NULL, 0, "Connection", 3},
	{"gid", OPTION_GID, "INDEX", 0, "Of the source (the first that has an IPv4 address)", 3},
	{"mtu", OPTION_MTU, "BYTES", 0, "Path MTU: 256 to 4096 (4096)", 3},
	{"timeout", OPTION_TIMEOUT, "N", 0,
	 "Retransmit after 4.096 us * 2^N without an answer (18: about 1 s)", 3},
	{"retries", OPTION_RETRIES, "N", 0, "Retransmissions before giving up; 7: no end (7)", 3},
	{"rnr-timer", OPTION_RNR_TIMER, "N", 0,
	 "Code of the pause that a receiver asks for when it is not ready (12: 0.64 ms)", 3},
	{"late", OPTION_LATE, "TIME", 0,
	 "With --operation send: receives are posted TIME after their send", 3},
	{"hold", OPTION_HOLD, "TIME", 0, "Wait before the end, with the regions still there", 3},
	{NULL, 0, NULL, 0, "Output and safety", 90},
	{0},
};

int odp_parse_operations(const char *text, __u32 *operations)
{
	char copy[128], *rest = copy, *word;

	*operations = 0;
	if (!strcmp(text, "all")) {
		*operations = ALL_OPERATIONS;
		return 0;
	}
	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, ","))) {
		int i = 0;

		while (i < ODP_OPERATIONS && strcmp(word, odp_operation_names[i]) != 0)
			i++;
		if (i == ODP_OPERATIONS || strlen(text) >= sizeof(copy))
			return failed(-EINVAL,
				      "--operation %s: accepted: write, read, send, read-local, "
				      "write-local, atomic, separated by commas, or all",
				      text);
		*operations |= 1u << i;
	}
	return 0;
}

static int parse_eviction(const char *text, enum odp_eviction *eviction)
{
	for (int i = 0; i < ODP_EVICTIONS; i++) {
		if (!strcmp(text, odp_eviction_names[i])) {
			*eviction = (enum odp_eviction)i;
			return 0;
		}
	}
	return failed(-EINVAL, "--evict %s: accepted: dontneed, pageout, reclaim, none", text);
}

static int parse_number(const char *option, const char *text, __u64 least, __u64 most, __u64 *value)
{
	int err = units_parse_count(text, least, most, value);

	return err ? failed_in(err, "--%s", option) : 0;
}

static int parse_byte(const char *option, const char *text, __u64 most, __u8 *value)
{
	__u64 number = 0;
	int err = parse_number(option, text, 0, most, &number);

	*value = (__u8)number;
	return err;
}

static int parse_mtu(const char *text, __u32 *mtu)
{
	__u64 value = 0;

	if (units_parse_size(text, &value) || value < 256 || value > 4096 || value & (value - 1))
		return failed(-EINVAL, "--mtu %s: accepted: 256, 512, 1024, 2048, 4096", text);
	*mtu = (__u32)value;
	return 0;
}

static int parse_size(const char *option, const char *text, __u64 least, __u64 most, __u64 *bytes)
{
	int err = units_parse_size_within(text, least, most, bytes);

	return err ? failed_in(err, "--%s", option) : 0;
}

static int parse_traffic(int key, const char *argument, struct odp_options *o)
{
	switch (key) {
	case OPTION_OPERATION:
		return odp_parse_operations(argument, &o->operations);
	case OPTION_COUNT:
		return parse_number("count", argument, 1, COUNT_MAX, &o->count);
	case OPTION_MESSAGE:
		return parse_size("message", argument, 1, MESSAGE_MAX, &o->message);
	case OPTION_OFFSET:
		return parse_size("offset", argument, 0, PAGE_BYTES - 1, &o->offset);
	case OPTION_PASSES:
		return parse_number("passes", argument, 1, ODP_PASSES_MAX, &o->passes);
	case OPTION_EVICTIONS:
		return parse_number("evictions", argument, 0, ODP_PASSES_MAX, &o->evictions);
	case OPTION_EVICT:
		return parse_eviction(argument, &o->eviction);
	default:
		return -ENOENT;
	}
}

static int parse_connection(int key, const char *argument, struct odp_options *o)
{
	__u64 number = 0;
	int err;

	switch (key) {
	case OPTION_GID:
		err = parse_number("gid", argument, 0, 255, &number);
		o->gid = (int)number;
		return err;
	case OPTION_MTU:
		return parse_mtu(argument, &o->mtu);
	case OPTION_TIMEOUT:
		return parse_byte("timeout", argument, 31, &o->timeout);
	case OPTION_RETRIES:
		return parse_byte("retries", argument, 7, &o->retries);
	case OPTION_RNR_TIMER:
		return parse_byte("rnr-timer", argument, 31, &o->rnr_timer);
	case OPTION_LATE:
		err = units_parse_duration_within(argument, 0, UNITS_DURATION_MOST, &o->late_ns);
		return err ? failed_in(err, "--late") : 0;
	case OPTION_HOLD:
		err = units_parse_duration_within(argument, 0, UNITS_DURATION_MOST, &o->hold_ns);
		return err ? failed_in(err, "--hold") : 0;
	default:
		return -ENOENT;
	}
}

static int parse_plain(int key, char *argument, struct odp_options *o)
{
	switch (key) {
	case 'd':
		o->device = argument;
		return 0;
	case OPTION_FILE:
		o->file = argument;
		return 0;
	case OPTION_CGROUP:
		o->cgroup = argument;
		return 0;
	case OPTION_PINNED:
		o->pinned = true;
		return 0;
	case OPTION_PREFETCH:
		o->prefetch = true;
		return 0;
	case OPTION_TWO_PROCESSES:
		o->two_processes = true;
		return 0;
	default:
		return -ENOENT;
	}
}

int odp_options_check(struct odp_options *o)
{
	if (!o->device)
		return failed(-EINVAL, "accepted: --device DEVICE, one of /sys/class/infiniband");
	if (strchr(o->device, '/'))
		return failed(-EINVAL, "--device %s: accepted: a name, such as rxe0", o->device);
	if (!o->message)
		return failed(-EINVAL, "--message 0: accepted: 1 to %u", MESSAGE_MAX);
	if (o->late_ns && o->operations != 1u << ODP_SEND)
		return failed(-EINVAL, "--late: accepted: with --operation send and no other");
	if (o->cgroup && o->eviction != ODP_EVICT_RECLAIM)
		return failed(-EINVAL, "--cgroup: accepted: with --evict reclaim");
	if (o->prefetch && o->pinned)
		return failed(-EINVAL, "--prefetch: accepted: without --pinned");
	if (o->offset % 8 && o->operations & 1u << ODP_ATOMIC)
		return failed(-EINVAL, "--offset %llu: accepted with atomics: multiples of 8",
			      o->offset);
	return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct odp_options *options = state->input;
	int err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->verb;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "%s: accepted: options only%s", argument,
			    destination_hint(&options->verb.results.to, argument));
		return 0;
	case ARGP_KEY_END:
		if (odp_options_check(options))
			usage_error(state, "%s", failure_text());
		return 0;
	default:
		break;
	}
	err = parse_traffic(key, argument, options);
	if (err == -ENOENT)
		err = parse_connection(key, argument, options);
	if (err == -ENOENT)
		err = parse_plain(key, argument, options);
	if (err == -ENOENT)
		return ARGP_ERR_UNKNOWN;
	if (err)
		usage_error(state, "%s", failure_text());
	return 0;
}

/* Soft-RoCE alone says in sysfs on which network device it stands; no hardware is behind it. */
static int require_consent(const struct odp_options *options)
{
	char path[256], what[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.64s", options->device);
	if (access(path, F_OK))
		return failed(-ENODEV, "there is no RDMA device %s; `rdma link` lists them",
			      options->device);
	strncat(path, "/parent", sizeof(path) - strlen(path) - 1);
	if (!access(path, F_OK))
		return 0;
	snprintf(what, sizeof(what), "device %.64s", options->device);
	return verb_require_consent(&options->verb, options->device, what);
}

static void print_plan(const struct odp_options *o, FILE *file)
{
	fprintf(file, "On %s, from this process to %s:\n", printable_of(o->device).text,
		o->two_processes ? "a second one" : "itself");
	for (int i = 0; i < ODP_OPERATIONS; i++)
		if (o->operations & 1u << i)
			fprintf(file,
				"  %llu passes of %llu x %s of %llu bytes, the first %llu after "
				"eviction: %s\n",
				o->passes, o->count, odp_operation_names[i],
				i == ODP_ATOMIC ? 8ull : o->message, o->evictions,
				odp_eviction_names[o->eviction]);
	if (o->file)
		fprintf(file, "  %s is overwritten\n", printable_of(o->file).text);
}

static int force(void *argument)
{
	return odp_run(argument);
}

static int report(void *argument, struct writer *writer)
{
	return odp_report(argument, writer);
}

int real_odp(int argc, char **argv)
{
	static const struct argp_child children[] = {{&verb_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		options_of_odp,
		parse,
		NULL,
		"RDMA traffic over memory regions that page on demand (ODP) and whose pages have "
		"been evicted, so that the device's accesses fault for real. Counts what it "
		"forces, posts and gets back.\v"
		"EXAMPLES:\n"
		"  sudo rdma link add rxe0 type rxe netdev lo\n"
		"  sudo faultline-inject odp --device rxe0\n"
		"  sudo faultline-inject odp --device rxe0 --operation send --late 30ms\n"
		"  sudo faultline-inject odp --device rxe0 --operation write --evict reclaim \\\n"
		"       --timeout 9 --csv=odp.csv\n"
		"  sudo faultline-inject odp --device rxe0 --offset 512 --message 64\n",
		children,
		NULL,
		NULL};
	static struct odp_run run;
	int err;

	run.options = (struct odp_options){
		.operations = ALL_OPERATIONS,
		.eviction = ODP_EVICT_DONTNEED,
		.count = 61,
		.message = PAGE_BYTES,
		.passes = 2,
		.evictions = 1,
		.gid = -1,
		.mtu = 4096,
		.timeout = 18,
		.retries = 7,
		.rnr_timer = 12,
	};
	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &run.options);
	err = require_consent(&run.options);
	if (!err && run.options.file)
		err = memory_file_consent(&run.options.verb, run.options.file);
	if (err)
		return failure_report(err);
	if (run.options.verb.dry_run) {
		print_plan(&run.options, stdout);
		return EXIT_OK;
	}
	return verb_run_and_report(&run.options.verb, "odp", force, report, &run);
}
