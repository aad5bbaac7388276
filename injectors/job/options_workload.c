// SPDX-License-Identifier: GPL-2.0
/* The keys of [workload]. */
#include "injectors/job/options_private.h"

#define WORKLOAD(member) FIELD(struct job_workload, member)

static const struct option_choice patterns[] = {{"sequential", PATTERN_SEQUENTIAL},
						{"random", PATTERN_RANDOM},
						{"zipf", PATTERN_ZIPF},
						{NULL, 0}};

static int parse_workload_sizes(const struct option_row *row, const char *text, void *fields)
{
	struct workload_config *config = &((struct job_workload *)fields)->config;

	return sizes_parse(row, text, config->sizes, config->size_weights, &config->size_count);
}

_Static_assert(WORKLOAD_SIZES == SIZES_MAX, "as many as the help says");

static const struct option_own own_sizes = {
	.name = "sizes",
	.beginning = SIZES_BEGINNING,
	.bytes = true,
	.parse = parse_workload_sizes,
};

static const struct option_row rows[] = {
	{"workload", "device", OPTION_TEXT, WORKLOAD(device), .otherwise = "*",
	 .meaning = "devices that get this workload, each its own: a [device]'s name or a pattern "
		    "over TENANT/DEVICE"},
	{"workload", "read_percent", OPTION_COUNT, WORKLOAD(config.read_percent), 0, 100, "100",
	 .meaning = "percent of I/Os that read the disk, and so write memory",
	 .needs = {{"device.model", models_of_disks}}},
	{"workload", "sizes", OPTION_OWN, WORKLOAD(config.sizes), 4 * KIB, 2 * MIB, "4K",
	 .own = &own_sizes, .meaning = "I/O sizes with optional weights, such as 4K:70, 64K:30",
	 .multiple = 4 * KIB},
	{"workload", "pattern", OPTION_CHOICE, WORKLOAD(config.pattern), .otherwise = "random",
	 .choices = patterns, .meaning = "order of buffers in memory and of blocks on disk"},
	{"workload", "zipf_theta", OPTION_REAL, WORKLOAD(config.zipf_theta), 0.01, 1.99, "0.9",
	 .meaning = "skew of the pattern; not 1", .needs = {{"pattern", "zipf"}}},
	{"workload", "depth", OPTION_COUNT, WORKLOAD(config.depth), 1, WORKLOAD_DEPTH_MAX, "1",
	 .meaning = "I/Os in flight per queue"},
	{"workload", "rate", OPTION_RATE, WORKLOAD(config.rate), 0, 1e7, "0",
	 .meaning = "I/Os per second over all queues; 0: as fast as possible"},
	{"workload", "duration", OPTION_TIME, WORKLOAD(config.duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "how long; 0: until count"},
	{"workload", "count", OPTION_COUNT, WORKLOAD(config.count), 0, 1e12, "0",
	 .meaning = "how many I/Os; 0: until duration"},
	{"workload", "buffer_bytes", OPTION_BYTES, WORKLOAD(config.buffer_bytes), 0, 64 * GIB, "0",
	 .meaning = "span of memory that data goes through; 0: half of the "
		    "device's share",
	 .multiple = 4 * KIB},
	{"workload", "verify", OPTION_BOOL, WORKLOAD(config.verify), .otherwise = "no",
	 .meaning = "checks the data of every read against what was written"},
	{"workload", "seed", OPTION_COUNT, WORKLOAD(config.seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed"},
};

const struct option_rows workload_rows = {rows, sizeof(rows) / sizeof(rows[0])};
