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

static int iopf_parse_groups(const char *text, void *fields)
{
	struct iopf_options *options = fields;
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
		return failed(-EINVAL,
			      "invalid sizes '%s'; accepted: N or N-N, 1 to 512, such as 1-8",
			      text);
	options->group_least = (__u32)least;
	options->group_most = (__u32)most;
	return 0;
}

static int iopf_parse_access(const char *text, void *permissions)
{
	static const char letters[] = "rwxp";
	const char *other = text + strspn(text, letters);
	__u32 bits = 0;

	for (const char *at = text; at < other; at++)
		bits |= 1u << (strchr(letters, *at) - letters);
	if (*other || !(bits & (FAULTLINE_READ | FAULTLINE_WRITE | FAULTLINE_EXECUTE)))
		return failed(-EINVAL,
			      "invalid rights '%s'; accepted: one or more of r, w and x, and p for "
			      "privileged",
			      text);
	*(__u32 *)permissions = bits;
	return 0;
}

static int iopf_parse_withhold(const char *text, void *withhold)
{
	__u64 number = FAULTLINE_WITHHOLD_ALL;
	int err = strcmp(text, "all") ? units_parse_count(text, 1, 1u << 30, &number) : 0;

	*(__u32 *)withhold = (__u32)number;
	return err;
}

static int iopf_parse_bytes(const char *text, __u64 multiple, __u64 *bytes)
{
	int err = units_parse_size(text, bytes);

	if (err)
		return err;
	if (!*bytes || *bytes > FAULTLINE_DMA_SIZE_MAX || *bytes % multiple)
		return failed(-EINVAL, "invalid size '%s'; accepted: multiples of %llu, at most 4M",
			      text, multiple);
	return 0;
}

static int iopf_parse_size(const char *text, void *bytes)
{
	return iopf_parse_bytes(text, 1, bytes);
}

static int iopf_parse_stride(const char *text, void *bytes)
{
	return iopf_parse_bytes(text, 8, bytes);
}

static int iopf_parse_device(const char *text, void *fields)
{
	struct iopf_options *options = fields;
	__u64 number;
	int err = units_parse_count(text, 0, FAULTLINE_DEVICES_MAX - 1, &number);

	if (err)
		return err;
	for (__u32 i = 0; i < options->device_count; i++)
		if (options->devices[i] == number)
			return failed(-EINVAL, "device %llu is named twice; accepted: once",
				      number);
	options->devices[options->device_count++] = (__u32)number;
	return 0;
}

static int iopf_check_truth(const char *text, void *field)
{
	(void)field;
	return destination_check(text, false);
}

/* What an option has an effect on; without any: what raises page requests. */
#define ON(what)   (1u << IOPF_##what)
#define DMA	   ON(DMA)
#define ACCESSES   ON(IO_PAGE_FAULT)
#define EVERYTHING (~0u)
#define REQUESTS                                                                            \
	(ON(BURST) | ON(MIXED) | ON(BAD_PASID) | ON(READ_ONLY) | ON(UNMAPPED) | ON(UNMAP) | \
	 ON(EXIT) | ON(WITHHOLD) | ON(FLOOD) | ON(IOMMUFD))

#define IOPF(member) CLI_FIELD(struct iopf_options, member)

/* In the order of FAULTLINE_DMA_PAGE and so on. */
static const char *const kinds[] = {"page", "coherent", "list", NULL};

const struct cli_option iopf_option_list[] = {
	{.help = "Page requests:", .group = 1},
	{"requests", 'r', "N", "So many (default 64)", CLI_COUNT, IOPF(requests), 1,
	 IOPF_REQUESTS_MAX, .scope = REQUESTS},
	{"processes", 'p', "N", "From so many processes at once, each with its own addresses",
	 CLI_COUNT, IOPF(processes), 1, IOPF_PROCESSES_MAX, .scope = REQUESTS},
	{"groups", 'g', "SIZES", "Requests in a group: N or N-N (default 1-8)", CLI_OWN,
	 .parse = iopf_parse_groups, .scope = REQUESTS},
	{"group-numbers", 'G', "N", "Use at most N group numbers, again and again", CLI_COUNT,
	 IOPF(group_numbers), 1, FAULTLINE_GROUP_NUMBERS, .scope = REQUESTS},
	{"access", 0, "RIGHTS", "Letters of r, w, x and p for privileged (default rw)", CLI_OWN,
	 IOPF(permissions), .parse = iopf_parse_access, .scope = REQUESTS},
	{"memory", 0, "FILE",
	 "Of this file or block device, mapped shared, instead of fresh memory; a block device "
	 "needs consent",
	 CLI_TEXT, IOPF(memory), .scope = REQUESTS},
	{"hold", 0, "TIME",
	 "Every other process keeps its mmap_lock for TIME again and again: its requests resolve "
	 "slowly, those of others overtake them",
	 CLI_TIME, IOPF(hold_ns), 0, FAULTLINE_HOLD_MAX_US * 1000ull, .scope = REQUESTS},
	{"timeout", 0, "TIME", "The device gives a group up after TIME", CLI_TIME, IOPF(timeout_ns),
	 1, TIME_MOST, .scope = REQUESTS},
	{"delay", 0, "TIME", "Answers reach the device TIME later", CLI_TIME, IOPF(delay_ns), 0,
	 TIME_MOST, .scope = REQUESTS},
	{"withhold", 0, "N", "N answers (or all) do not reach the device until the end", CLI_OWN,
	 IOPF(withhold), .parse = iopf_parse_withhold, .scope = REQUESTS},
	{"queue", 0, "N", "The IOMMU's queue holds N requests", CLI_COUNT, IOPF(prq_size),
	 FAULTLINE_PRQ_MIN, FAULTLINE_PRQ_MAX, .scope = REQUESTS},
	{"pause", 0, "TIME",
	 "The IOMMU's queue is not read until TIME after all requests are in it", CLI_TIME,
	 IOPF(pause_ns), 0, TIME_MOST, .scope = REQUESTS},
	{"wait", 0, "TIME", "Wait that long for answers (default 30s)", CLI_TIME, IOPF(wait_ns), 1,
	 TIME_MOST, .scope = REQUESTS},
	{.help = "DMA:", .group = 2},
	{"count", 0, "N", "So many mappings, or accesses (default 64)", CLI_COUNT, IOPF(count), 1,
	 1u << 24, .scope = DMA | ACCESSES},
	{"live", 0, "N", "At most N mappings at a time (default: all)", CLI_COUNT, IOPF(live), 1,
	 1u << 24, .scope = DMA},
	{"kind", 0, "KIND", "page (default), coherent or list", CLI_CHOICE, IOPF(dma_kind),
	 FAULTLINE_DMA_PAGE, .names = kinds, .scope = DMA | ACCESSES},
	{"size", 0, "BYTES", "Of a mapping, or of each piece of a list (default 4K)", CLI_OWN,
	 IOPF(size), .parse = iopf_parse_size, .scope = DMA | ACCESSES},
	{"segments", 0, "N", "Pieces of a list (default 8)", CLI_COUNT, IOPF(segments), 1,
	 FAULTLINE_DMA_SEGMENTS_MAX, .scope = DMA | ACCESSES},
	{"stride", 0, "BYTES", "From one access to the next (default 4K)", CLI_OWN, IOPF(stride),
	 .parse = iopf_parse_stride, .scope = ACCESSES},
	{"keep", 0, NULL, "Leave the mappings behind, a leak, until the device goes", CLI_FLAG,
	 IOPF(keep), .scope = DMA | ACCESSES},
	{"forbidden", 0, NULL,
	 "Write to a live mapping that may only be read, instead of to a removed one", CLI_FLAG,
	 IOPF(forbidden), .scope = ACCESSES},
	{.help = "For all:", .group = 3},
	{"device", 'd', "N", "Emulated device N, repeatable (default 0)", CLI_OWN,
	 .parse = iopf_parse_device, .scope = EVERYTHING},
	{"seed", 's', "N", "The same seed makes the same choices (default 1)", CLI_COUNT,
	 IOPF(seed), .scope = EVERYTHING},
	{"surprise", 0, NULL, "unplug: the device vanishes, requests that are queued are lost",
	 CLI_FLAG, IOPF(surprise), .scope = ON(UNPLUG)},
	{"truth", 0, "FILE", "Write the module's log of this run, one JSON object a line", CLI_TEXT,
	 IOPF(truth), .parse = iopf_check_truth, .scope = REQUESTS | DMA | ACCESSES},
	{0},
};

/* An option that would be ignored is a misunderstanding. */
static int iopf_check_given(const struct iopf_options *options)
{
	char names[256] = "";
	size_t used = 0;

	for (unsigned int i = 0; iopf_option_list[i].help; i++) {
		const struct cli_option *option = &iopf_option_list[i];

		if (!(options->given & 1ull << i) || option->scope & 1u << options->what)
			continue;
		for (int what = 0; what < IOPF_WHATS; what++)
			if (option->scope & 1u << what)
				used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
							 used ? ", " : "", iopf_whats[what].name);
		return failed(-EINVAL, "--%s: no effect with %s; accepted: with %s", option->name,
			      iopf_whats[options->what].name, names);
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
	return failed(-EINVAL, "unknown WHAT '%s'; accepted: %s", text, names);
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

static int iopf_check_paused(const struct iopf_options *options)
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
	const char *format = output_format_name(&options->verb.output);
	int err = iopf_check_given(options);

	if (err)
		return err;
	if (format && (options->what == IOPF_CLEAR || options->what == IOPF_PLUG ||
		       options->what == IOPF_UNPLUG))
		return failed(-EINVAL, "--%s: %s has no results", format,
			      iopf_whats[options->what].name);
	if (!options->device_count && (options->what != IOPF_PLUG && options->what != IOPF_UNPLUG))
		options->device_count = 1;
	if (options->what == IOPF_IOMMUFD && (options->processes > 1 || options->device_count > 1))
		return failed(-EINVAL, "iommufd: accepted: one process, one device");
	if (options->processes > options->requests)
		return failed(-EINVAL, "--processes %u: accepted: at most one for each request",
			      options->processes);
	if (options->what != IOPF_FLOOD && iopf_is_paused_first(options))
		return iopf_check_paused(options);
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
	return verb_check(&options->verb);
}
