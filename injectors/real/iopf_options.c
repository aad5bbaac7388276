// SPDX-License-Identifier: GPL-2.0
/* faultline-inject iopf: its options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/iopf_options.h"
#include "lib/base/units.h"

#define PAUSED_REQUESTS_MAX FAULTLINE_GROUP_NUMBERS
#define FLOOD_QUEUE_MAX	    256u
#define TIME_MOST	    3600000000000ull

enum {
	OPTION_ACCESS = 256,
	OPTION_HOLD,
	OPTION_TIMEOUT,
	OPTION_DELAY,
	OPTION_WITHHOLD,
	OPTION_QUEUE,
	OPTION_PAUSE,
	OPTION_WAIT,
	OPTION_MEMORY,
	OPTION_COUNT,
	OPTION_LIVE,
	OPTION_KIND,
	OPTION_SIZE,
	OPTION_SEGMENTS,
	OPTION_STRIDE,
	OPTION_KEEP,
	OPTION_FORBIDDEN,
	OPTION_SURPRISE,
	OPTION_TRUTH,
};

const struct argp_option iopf_argp_options[] = {
	{NULL, 0, NULL, 0, "Page requests", 1},
	{"requests", 'r', "N", 0, "So many (default 64)", 1},
	{"processes", 'p', "N", 0, "From so many processes at once, each with its own addresses",
	 1},
	{"groups", 'g', "SIZES", 0, "Requests in a group: N or N-N (default 1-8)", 1},
	{"group-numbers", 'G', "N", 0, "Use at most N group numbers, again and again", 1},
	{"access", OPTION_ACCESS, "RIGHTS", 0,
	 "Letters of r, w, x and p for privileged (default rw)", 1},
	{"memory", OPTION_MEMORY, "FILE", 0,
	 "Of this file or block device, mapped shared, instead of fresh memory; a block device "
	 "needs consent",
	 1},
	{"hold", OPTION_HOLD, "TIME", 0,
	 "Every other process keeps its mmap_lock for TIME again and again: its requests resolve "
	 "slowly, those of others overtake them",
	 1},
	{"timeout", OPTION_TIMEOUT, "TIME", 0, "The device gives a group up after TIME", 1},
	{"delay", OPTION_DELAY, "TIME", 0, "Answers reach the device TIME later", 1},
	{"withhold", OPTION_WITHHOLD, "N", 0,
	 "N answers (or all) do not reach the device until the end", 1},
	{"queue", OPTION_QUEUE, "N", 0, "The IOMMU's queue holds N requests", 1},
	{"pause", OPTION_PAUSE, "TIME", 0,
	 "The IOMMU's queue is not read until TIME after all requests are in it", 1},
	{"wait", OPTION_WAIT, "TIME", 0, "Wait that long for answers (default 30s)", 1},
	{NULL, 0, NULL, 0, "DMA", 2},
	{"count", OPTION_COUNT, "N", 0, "So many mappings, or accesses (default 64)", 2},
	{"live", OPTION_LIVE, "N", 0, "At most N mappings at a time (default: all)", 2},
	{"kind", OPTION_KIND, "KIND", 0, "page (default), coherent or list", 2},
	{"size", OPTION_SIZE, "BYTES", 0, "Of a mapping, or of each piece of a list (default 4K)",
	 2},
	{"segments", OPTION_SEGMENTS, "N", 0, "Pieces of a list (default 8)", 2},
	{"stride", OPTION_STRIDE, "BYTES", 0, "From one access to the next (default 4K)", 2},
	{"keep", OPTION_KEEP, NULL, 0, "Leave the mappings behind, a leak, until the device goes",
	 2},
	{"forbidden", OPTION_FORBIDDEN, NULL, 0,
	 "Write to a live mapping that may only be read, instead of to a removed one", 2},
	{NULL, 0, NULL, 0, "For all", 3},
	{"device", 'd', "N", 0, "Emulated device N, repeatable (default 0)", 3},
	{"seed", 's', "N", 0, "The same seed makes the same choices (default 1)", 3},
	{"surprise", OPTION_SURPRISE, NULL, 0,
	 "unplug: the device vanishes, requests that are queued are lost", 3},
	{"truth", OPTION_TRUTH, "FILE", 0,
	 "Write the module's log of this run, one JSON object a line", 3},
	{NULL, 0, NULL, 0, "Output", 90},
	{0},
};

static int parse_number(const char *option, const char *text, __u64 least, __u64 most, __u32 *value)
{
	__u64 number = 0;
	int err = units_parse_count(text, least, most, &number);

	*value = (__u32)number;
	return err ? failed_in(err, "--%s", option) : 0;
}

static int parse_groups(const char *text, struct iopf_options *options)
{
	char *end;
	unsigned long least, most;

	errno = 0;
	least = strtoul(text, &end, 10);
	most = least;
	if (end != text && *end == '-') {
		const char *from = end + 1;

		most = strtoul(from, &end, 10);
		if (end == from)
			end = (char *)text;
	}
	if (errno || end == text || *end || !least || most < least || most > 512)
		return failed(-EINVAL, "--groups %s: accepted: N or N-N, 1 to 512, such as 1-8",
			      text);
	options->group_least = (__u32)least;
	options->group_most = (__u32)most;
	return 0;
}

static int parse_access(const char *text, struct iopf_options *options)
{
	static const char letters[] = "rwxp";

	options->permissions = 0;
	for (const char *at = text; *at; at++) {
		const char *letter = strchr(letters, *at);

		if (!letter)
			options->permissions = 0;
		if (!letter)
			break;
		options->permissions |= 1u << (letter - letters);
	}
	if (!(options->permissions & (FAULTLINE_READ | FAULTLINE_WRITE | FAULTLINE_EXECUTE)))
		return failed(-EINVAL,
			      "--access %s: accepted: one or more of r, w and x, and p for "
			      "privileged",
			      text);
	return 0;
}

static int parse_time(const char *option, const char *text, __u64 least, __u64 *ns)
{
	int err = units_parse_duration_within(text, least, TIME_MOST, ns);

	return err ? failed_in(err, "--%s", option) : 0;
}

static int parse_withhold(const char *text, struct iopf_options *options)
{
	if (!strcmp(text, "all")) {
		options->withhold = FAULTLINE_WITHHOLD_ALL;
		return 0;
	}
	return parse_number("withhold", text, 1, 1u << 30, &options->withhold);
}

static int parse_requests(int key, const char *text, struct iopf_options *options)
{
	switch (key) {
	case 'r':
		return parse_number("requests", text, 1, IOPF_REQUESTS_MAX, &options->requests);
	case 'p':
		return parse_number("processes", text, 1, IOPF_PROCESSES_MAX, &options->processes);
	case 'g':
		return parse_groups(text, options);
	case 'G':
		return parse_number("group-numbers", text, 1, FAULTLINE_GROUP_NUMBERS,
				    &options->group_numbers);
	case OPTION_ACCESS:
		return parse_access(text, options);
	case OPTION_MEMORY:
		options->memory = text;
		return 0;
	case OPTION_HOLD:
		return parse_time("hold", text, 0, &options->hold_ns);
	case OPTION_TIMEOUT:
		return parse_time("timeout", text, 1, &options->timeout_ns);
	case OPTION_DELAY:
		return parse_time("delay", text, 0, &options->delay_ns);
	case OPTION_WITHHOLD:
		return parse_withhold(text, options);
	case OPTION_QUEUE:
		return parse_number("queue", text, FAULTLINE_PRQ_MIN, FAULTLINE_PRQ_MAX,
				    &options->prq_size);
	case OPTION_PAUSE:
		return parse_time("pause", text, 0, &options->pause_ns);
	case OPTION_WAIT:
		return parse_time("wait", text, 1, &options->wait_ns);
	default:
		return -ENOENT;
	}
}

static int parse_kind(const char *text, struct iopf_options *options)
{
	static const char *const names[] = {"page", "coherent", "list"};

	for (__u32 i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		options->dma_kind = FAULTLINE_DMA_PAGE + i;
		return 0;
	}
	return failed(-EINVAL, "--kind %s: accepted: page, coherent, list", text);
}

static int parse_bytes(const char *option, const char *text, __u64 multiple, __u64 *bytes)
{
	int err = units_parse_size(text, bytes);

	if (err)
		return failed_in(err, "--%s", option);
	if (!*bytes || *bytes > FAULTLINE_DMA_SIZE_MAX || *bytes % multiple)
		return failed(-EINVAL, "--%s %s: accepted: multiples of %llu, at most 4M", option,
			      text, (unsigned long long)multiple);
	return 0;
}

static int parse_dma(int key, const char *text, struct iopf_options *options)
{
	switch (key) {
	case OPTION_COUNT:
		return parse_number("count", text, 1, 1u << 24, &options->count);
	case OPTION_LIVE:
		return parse_number("live", text, 1, 1u << 24, &options->live);
	case OPTION_KIND:
		return parse_kind(text, options);
	case OPTION_SIZE:
		return parse_bytes("size", text, 1, &options->size);
	case OPTION_SEGMENTS:
		return parse_number("segments", text, 1, FAULTLINE_DMA_SEGMENTS_MAX,
				    &options->segments);
	case OPTION_STRIDE:
		return parse_bytes("stride", text, 8, &options->stride);
	case OPTION_KEEP:
		options->keep = true;
		return 0;
	case OPTION_FORBIDDEN:
		options->forbidden = true;
		return 0;
	default:
		return -ENOENT;
	}
}

static int parse_device(const char *text, struct iopf_options *options)
{
	__u32 number;
	int err = parse_number("device", text, 0, FAULTLINE_DEVICES_MAX - 1, &number);

	if (err)
		return err;
	for (__u32 i = 0; i < options->device_count; i++)
		if (options->devices[i] == number)
			return failed(-EINVAL, "--device %u: accepted: each device once", number);
	options->devices[options->device_count++] = number;
	return 0;
}

static int parse_common(int key, const char *text, struct iopf_options *options)
{
	int err;

	switch (key) {
	case 'd':
		return parse_device(text, options);
	case 's':
		err = units_parse_count(text, 0, UINT64_MAX, &options->seed);
		return err ? failed_in(err, "--seed") : 0;
	case OPTION_SURPRISE:
		options->surprise = true;
		return 0;
	case OPTION_TRUTH:
		return destination_name(&options->truth, "--truth", text, false);
	default:
		return -ENOENT;
	}
}

int iopf_parse_option(int key, const char *text, struct iopf_options *options)
{
	int err = parse_requests(key, text, options);

	if (err == -ENOENT)
		err = parse_dma(key, text, options);
	if (err == -ENOENT)
		err = parse_common(key, text, options);
	for (unsigned int i = 0; !err && iopf_argp_options[i].doc; i++)
		if (iopf_argp_options[i].key == key)
			options->given |= 1ull << i;
	return err;
}

/* Whether an option changes anything of what is done. */
static bool matters(int key, enum iopf_what what)
{
	bool dma = what == IOPF_DMA, accesses = what == IOPF_IO_PAGE_FAULT;

	switch (key) {
	case 'd':
	case 's':
		return true;
	case OPTION_SURPRISE:
		return what == IOPF_UNPLUG;
	case OPTION_LIVE:
		return dma;
	case OPTION_STRIDE:
	case OPTION_FORBIDDEN:
		return accesses;
	case OPTION_COUNT:
	case OPTION_KIND:
	case OPTION_SIZE:
	case OPTION_SEGMENTS:
	case OPTION_KEEP:
		return dma || accesses;
	case OPTION_TRUTH:
		return dma || accesses || iopf_whats[what].raises;
	default:
		return iopf_whats[what].raises;
	}
}

/* An option that would be ignored is a misunderstanding. */
static int check_given(const struct iopf_options *options)
{
	char names[256] = "";
	size_t used = 0;

	for (unsigned int i = 0; iopf_argp_options[i].doc; i++) {
		int key = iopf_argp_options[i].key;

		if (!(options->given & 1ull << i) || matters(key, options->what))
			continue;
		for (int what = 0; what < IOPF_WHATS; what++)
			if (matters(key, (enum iopf_what)what))
				used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
							 used ? ", " : "", iopf_whats[what].name);
		return failed(-EINVAL, "--%s: %s has no use for it; accepted: with %s",
			      iopf_argp_options[i].name, iopf_whats[options->what].name, names);
	}
	return 0;
}

int iopf_parse_what(const char *text, struct iopf_options *options)
{
	char names[256] = "";
	size_t used = 0;

	for (int i = 0; i < IOPF_WHATS; i++) {
		if (!strcmp(text, iopf_whats[i].name)) {
			options->what = (enum iopf_what)i;
			return 0;
		}
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 iopf_whats[i].name);
	}
	return failed(-EINVAL, "%s: accepted: %s", text, names);
}

void iopf_defaults(struct iopf_options *options)
{
	*options = (struct iopf_options){
		.requests = 64,
		.processes = 1,
		.group_least = 1,
		.group_most = 8,
		.group_numbers = FAULTLINE_GROUP_NUMBERS,
		.permissions = FAULTLINE_READ | FAULTLINE_WRITE,
		.seed = 1,
		.wait_ns = 30000000000ull,
		.count = 64,
		.segments = 8,
		.dma_kind = FAULTLINE_DMA_PAGE,
		.size = 4096,
		.stride = 4096,
	};
}

static int check_paused(const struct iopf_options *options)
{
	if (options->requests > PAUSED_REQUESTS_MAX)
		return failed(-EINVAL,
			      "--requests %u: accepted where all are queued before the first is "
			      "read (unmap, exit, --pause): at most %d",
			      options->requests, PAUSED_REQUESTS_MAX);
	if (options->group_numbers < FAULTLINE_GROUP_NUMBERS)
		return failed(-EINVAL,
			      "--group-numbers %u: accepted with unmap, exit and --pause: %d",
			      options->group_numbers, FAULTLINE_GROUP_NUMBERS);
	return 0;
}

int iopf_check_options(struct iopf_options *options)
{
	int err = check_given(options);

	if (err)
		return err;
	if (options->verb.results.to.format != OUTPUT_TEXT &&
	    (options->what == IOPF_CLEAR || options->what == IOPF_PLUG ||
	     options->what == IOPF_UNPLUG))
		return failed(-EINVAL, "--%s: %s has no results",
			      options->verb.results.to.format == OUTPUT_JSON ? "json" : "csv",
			      iopf_whats[options->what].name);
	if (!options->device_count && (options->what != IOPF_PLUG && options->what != IOPF_UNPLUG))
		options->device_count = 1;
	if (options->hold_ns > FAULTLINE_HOLD_MAX_US * 1000ull)
		return failed(-EINVAL, "--hold: accepted: at most 10s");
	if (options->what == IOPF_IOMMUFD && (options->processes > 1 || options->device_count > 1))
		return failed(-EINVAL, "iommufd: accepted: one process, one device");
	if (options->processes > options->requests)
		return failed(-EINVAL, "--processes %u: accepted: at most one for each request",
			      options->processes);
	if (options->what != IOPF_FLOOD && iopf_is_paused_first(options))
		return check_paused(options);
	if (options->what == IOPF_FLOOD) {
		if (!options->prq_size)
			options->prq_size = 32;
		if (options->prq_size > FLOOD_QUEUE_MAX)
			return failed(-EINVAL, "--queue %u: accepted with flood: 2 to %u",
				      options->prq_size, FLOOD_QUEUE_MAX);
	}
	if (options->what == IOPF_WITHHOLD && !options->withhold)
		options->withhold = FAULTLINE_WITHHOLD_ALL;
	if (options->what == IOPF_WITHHOLD && !options->timeout_ns)
		options->timeout_ns = 20000000;
	return 0;
}
