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

int odp_parse_operations(const char *text, void *operations)
{
	bool all = !strcmp(text, "all");
	char copy[128], *rest = all ? NULL : copy, *word;
	__u32 bits = all ? ALL_OPERATIONS : 0;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, ","))) {
		int i = 0;

		while (i < ODP_OPERATIONS && strcmp(word, odp_operation_names[i]) != 0)
			i++;
		if (i == ODP_OPERATIONS || strlen(text) >= sizeof(copy))
			return failed(-EINVAL,
				      "invalid list '%s'; accepted: write, read, send, read-local, "
				      "write-local, atomic, separated by commas, or all",
				      text);
		bits |= 1u << i;
	}
	*(__u32 *)operations = bits;
	return 0;
}

static int odp_parse_mtu(const char *text, void *mtu)
{
	__u64 value = 0;

	if (units_parse_size(text, &value) || value < 256 || value > 4096 || value & (value - 1))
		return failed(-EINVAL, "invalid size '%s'; accepted: 256, 512, 1024, 2048, 4096",
			      text);
	*(__u32 *)mtu = (__u32)value;
	return 0;
}

#define ODP(member) CLI_FIELD(struct odp_options, member)

static const struct cli_option odp_options[] = {
	{.help = "Traffic:", .group = 1},
	{"device", 'd', "DEVICE", "RDMA device, as in /sys/class/infiniband; required", CLI_TEXT,
	 ODP(device)},
	{"operation", 0, "LIST",
	 "write, read, send, read-local, write-local, atomic, or all (default)", CLI_OWN,
	 ODP(operations), .parse = odp_parse_operations},
	{"count", 0, "N", "Operations a pass, each on pages of its own (61)", CLI_COUNT, ODP(count),
	 1, COUNT_MAX},
	{"message", 0, "BYTES", "Of each operation (4096); an atomic has 8", CLI_SIZE, ODP(message),
	 1, MESSAGE_MAX},
	{"offset", 0, "BYTES",
	 "Where in its first page an operation begins (0). The rxe of Linux 7.2 ignores it and "
	 "puts data at the wrong place: column wrong shows that",
	 CLI_SIZE, ODP(offset), 0, PAGE_BYTES - 1},
	{"passes", 0, "N", "Over the same pages (2)", CLI_COUNT, ODP(passes), 1, ODP_PASSES_MAX},
	{"two-processes", 0, NULL, "The far side is a process of its own", CLI_FLAG,
	 ODP(two_processes)},
	{.help = "Memory:", .group = 2},
	{"evict", 0, "HOW",
	 "dontneed (default; the content is lost), pageout, reclaim (of the own cgroup) or none",
	 CLI_CHOICE, ODP(eviction), .names = odp_eviction_names},
	{"evictions", 0, "N", "So many passes begin with an eviction (1)", CLI_COUNT,
	 ODP(evictions), 0, ODP_PASSES_MAX},
	{"file", 0, "FILE",
	 "Memory of this file or block device instead of anonymous memory; overwritten. A block "
	 "device needs consent",
	 CLI_TEXT, ODP(file)},
	{"cgroup", 0, "DIRECTORY", "Reclaim from this one, with --evict reclaim", CLI_TEXT,
	 ODP(cgroup)},
	{"pinned", 0, NULL, "For comparison: nothing pages on demand", CLI_FLAG, ODP(pinned)},
	{"prefetch", 0, NULL, "Bring the pages by advice (ibv_advise_mr) first", CLI_FLAG,
	 ODP(prefetch)},
	{.help = "Connection:", .group = 3},
	{"gid", 0, "INDEX", "Of the source (the first that has an IPv4 address)", CLI_COUNT,
	 ODP(gid), 0, 255},
	{"mtu", 0, "BYTES", "Path MTU: 256 to 4096 (4096)", CLI_OWN, ODP(mtu),
	 .parse = odp_parse_mtu},
	{"timeout", 0, "N", "Retransmit after 4.096 us * 2^N without an answer (18: about 1 s)",
	 CLI_COUNT, ODP(timeout), 0, 31},
	{"retries", 0, "N", "Retransmissions before giving up; 7: no end (7)", CLI_COUNT,
	 ODP(retries), 0, 7},
	{"rnr-timer", 0, "N",
	 "Code of the pause that a receiver asks for when it is not ready (12: 0.64 ms)", CLI_COUNT,
	 ODP(rnr_timer), 0, 31},
	{"late", 0, "TIME", "With --operation send: receives are posted TIME after their send",
	 CLI_TIME, ODP(late_ns)},
	{"hold", 0, "TIME", "Wait before the end, with the regions still there", CLI_TIME,
	 ODP(hold_ns)},
	{0},
};

int odp_options_check(void *options)
{
	const struct odp_options *o = options;

	if (!o->device)
		return failed(-EINVAL, "accepted: --device DEVICE, one of /sys/class/infiniband");
	if (strchr(o->device, '/'))
		return failed(-EINVAL, "--device %s: accepted: a name, such as rxe0", o->device);
	if (o->late_ns && o->operations != 1u << ODP_SEND)
		return failed(-EINVAL, "--late: accepted: with --operation send and no other");
	if (o->cgroup && o->eviction != ODP_EVICT_RECLAIM)
		return failed(-EINVAL, "--cgroup: accepted: with --evict reclaim");
	if (o->prefetch && o->pinned)
		return failed(-EINVAL, "--prefetch: accepted: without --pinned");
	if (o->offset % 8 && o->operations & 1u << ODP_ATOMIC)
		return failed(-EINVAL, "--offset %llu: accepted with atomics: multiples of 8",
			      o->offset);
	return verb_check(&o->verb);
}

/* Soft-RoCE alone says in sysfs on which network device it stands; no hardware is behind it. */
static int odp_require_consent(void *run)
{
	const struct odp_options *options = &((struct odp_run *)run)->options;
	char path[256], what[128];
	int err = 0;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.64s", options->device);
	if (access(path, F_OK))
		return failed(-ENODEV, "there is no RDMA device %s; `rdma link` lists them",
			      options->device);
	strncat(path, "/parent", sizeof(path) - strlen(path) - 1);
	snprintf(what, sizeof(what), "device %.64s", options->device);
	if (access(path, F_OK))
		err = verb_require_consent(&options->verb, options->device, what);
	if (!err && options->file)
		err = memory_file_consent(&options->verb, options->file);
	return err;
}

static void odp_print_plan(const void *run, FILE *file)
{
	const struct odp_options *o = &((const struct odp_run *)run)->options;

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

int real_odp(int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{odp_options}, VERB_TABLES(struct odp_options), {0}};
	const struct cli cli = {
		.tables = tables,
		.children = VERB_CHILDREN(struct odp_options),
		.check = odp_options_check,
		.about =
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
	};
	static const struct verb_work work = {"odp",   odp_require_consent, odp_print_plan,
					      odp_run, odp_report,	    NULL};
	static struct odp_run run;

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
	cli_parse(&cli, argc, argv, &run.options);
	return verb_perform(&work, &run.options.verb, &run);
}
