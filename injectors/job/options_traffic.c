// SPDX-License-Identifier: GPL-2.0
/* The keys of [traffic]. */
#include "injectors/job/options_private.h"

#define TRAFFIC(member) FIELD(struct job_traffic, member)

static int parse_traffic_sizes(const struct option_row *row, const char *text, void *fields)
{
	struct traffic_config *config = &((struct job_traffic *)fields)->config;

	return sizes_parse(row, text, config->sizes, config->size_weights, &config->size_count);
}

_Static_assert(TRAFFIC_SIZES == SIZES_MAX, "as many as the help says");

static const struct option_own traffic_sizes = {
	.name = "sizes",
	.beginning = SIZES_BEGINNING,
	.bytes = true,
	.parse = parse_traffic_sizes,
};

static const struct option_row rows[] = {
	{"traffic", "device", OPTION_TEXT, TRAFFIC(device), .otherwise = "*",
	 .meaning = "devices that get these frames, each its own: a [device]'s name or a pattern "
		    "over TENANT/DEVICE"},
	{"traffic", "flows", OPTION_COUNT, TRAFFIC(config.flows), 1, 4096, "16",
	 .meaning = "flows that the frames belong to in turn; each goes to one ring"},
	{"traffic", "sizes", OPTION_OWN, TRAFFIC(config.sizes), 64, 9000, "64",
	 .own = &traffic_sizes,
	 .meaning = "Ethernet frames' sizes with optional weights, such as 64:70, 1514:30"},
	{"traffic", "rate", OPTION_RATE, TRAFFIC(config.rate), 0, 1e8, "0",
	 .meaning = "frames per second over all flows; 0: as fast as possible"},
	{"traffic", "duration", OPTION_TIME, TRAFFIC(config.duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "how long; 0: until count"},
	{"traffic", "count", OPTION_COUNT, TRAFFIC(config.count), 0, 1e12, "0",
	 .meaning = "how many frames; 0: until duration"},
	{"traffic", "verify", OPTION_BOOL, TRAFFIC(config.verify), .otherwise = "yes",
	 .meaning = "checks the order of every flow and the content of every frame"},
	{"traffic", "seed", OPTION_COUNT, TRAFFIC(config.seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed"},
};

const struct option_rows traffic_rows = {rows, sizeof(rows) / sizeof(rows[0])};
