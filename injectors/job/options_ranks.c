// SPDX-License-Identifier: GPL-2.0
/* The keys of [ranks]. */
#include "injectors/job/options_private.h"

#define RANKS(member) FIELD(struct job_ranks, member)

static int parse_rank_sizes(const struct option_row *row, const char *text, void *fields)
{
	struct ranks_config *config = &((struct job_ranks *)fields)->config;

	return sizes_parse(row, text, config->sizes, config->size_weights, &config->size_count);
}

_Static_assert(RANKS_SIZES == SIZES_MAX, "as many as the help says");

static const struct option_own rank_sizes = {
	.name = "sizes",
	.beginning = SIZES_BEGINNING,
	.bytes = true,
	.parse = parse_rank_sizes,
};

static const struct option_choice rank_pattern_choices[] = {
#define RANK_PATTERN(name) {#name, RANKS_##name},
#include "injectors/emu/ranks/patterns.def"
#undef RANK_PATTERN
	{NULL, 0}};
static const struct option_choice rank_memory_choices[] = {
#define RANK_MEMORY(name) {#name, RANKS_MEMORY_##name},
#include "injectors/emu/ranks/memories.def"
#undef RANK_MEMORY
	{NULL, 0}};
static const struct option_choice rank_ops[] = {
	{"send", RANKS_SEND}, {"write", RANKS_WRITE}, {"read", RANKS_READ}, {NULL, 0}};

static const struct option_choice rank_advises[] = {{"none", RANKS_ADVISE_NONE},
						    {"device", RANKS_ADVISE_DEVICE},
						    {"peer", RANKS_ADVISE_PEER},
						    {"both", RANKS_ADVISE_BOTH},
						    {NULL, 0}};

static const struct option_row rows[] = {
	{"ranks", "device", OPTION_TEXT, RANKS(device), .otherwise = "*",
	 .meaning = "devices that get these ranks, each with its peer: a [device]'s name or a "
		    "pattern over TENANT/DEVICE"},
	{"ranks", "count", OPTION_COUNT, RANKS(config.count), 2, RANKS_MAX, "2",
	 .meaning = "processes: the even ones on the device, the odd ones on its peer"},
	{"ranks", "pattern", OPTION_CHOICE, RANKS(config.pattern), .otherwise = "sendrecv",
	 .choices = rank_pattern_choices,
	 .meaning =
		 "what they do with each other: as IMB's of that name; beff: rings of both "
		 "directions, every other one by chance; stream: of each two the even one sends"},
	{"ranks", "op", OPTION_CHOICE, RANKS(config.op), .otherwise = "send", .choices = rank_ops,
	 .meaning = "how a message goes: by a send into a posted receive, a write or a read"},
	{"ranks", "sizes", OPTION_OWN, RANKS(config.sizes), 1, RANKS_SIZE_MAX, "64K",
	 .own = &rank_sizes, .meaning = "messages' sizes with optional weights, such as 4K:70, 1M"},
	{"ranks", "depth", OPTION_COUNT, RANKS(config.depth), 1, RANKS_DEPTH_MAX, "16",
	 .meaning = "messages of a stream in flight", .needs = {{"pattern", "stream"}}},
	{"ranks", "memory", OPTION_CHOICE, RANKS(config.memory), .otherwise = "demand",
	 .choices = rank_memory_choices,
	 .meaning =
		 "pin: all buffers, before; cache: a pin-down cache; copy: through pinned bounce "
		 "buffers; demand: none, the device faults"},
	{"ranks", "cache_bytes", OPTION_BYTES, RANKS(config.cache_bytes), 4 * KIB, 64 * GIB, "4M",
	 .meaning =
		 "pinned at most by the ranks of a device together, the least recently used goes",
	 .needs = {{"memory", "cache"}}, .multiple = 4 * KIB},
	{"ranks", "advise", OPTION_CHOICE, RANKS(config.advise), .otherwise = "none",
	 .choices = rank_advises,
	 .meaning = "whose buffers are brought in before it begins (ibv_advise_mr): those of the "
		    "device's ranks, of its peer's, or of both",
	 .needs = {{"memory", "demand"}}},
	{"ranks", "off_cache", OPTION_BOOL, RANKS(config.off_cache), .otherwise = "no",
	 .meaning = "each message has another buffer than the last one, over all of working_set"},
	{"ranks", "buffer_bytes", OPTION_BYTES, RANKS(config.buffer_bytes), 0, 64 * GIB, "0",
	 .meaning = "memory of a rank for buffers; 0: its part of the device's share",
	 .multiple = 4 * KIB},
	{"ranks", "working_set", OPTION_BYTES, RANKS(config.working_set), 0, 64 * GIB, "0",
	 .meaning = "of it, what is used; 0: all", .multiple = 4 * KIB,
	 .needs = {{"off_cache", "yes"}}},
	{"ranks", "receive_bytes", OPTION_BYTES, RANKS(config.receive_bytes), 0, RANKS_SIZE_MAX,
	 "0", .meaning = "what is posted for a message at least; 0: its size",
	 .needs = {{"op", "send"}}},
	{"ranks", "rate", OPTION_RATE, RANKS(config.rate), 0, 1e7, "0",
	 .meaning = "operations per second and rank; 0: as fast as possible"},
	{"ranks", "duration", OPTION_TIME, RANKS(config.duration_ns), 0, 24 * HOUR, "0",
	 .meaning = "how long; 0: until operations"},
	{"ranks", "operations", OPTION_COUNT, RANKS(config.operations), 0, 1e12, "0",
	 .meaning = "how many of each rank (of a stream: of each that sends); 0: until duration"},
	{"ranks", "verify", OPTION_BOOL, RANKS(config.verify), .otherwise = "no",
	 .meaning = "checks every byte that arrives"},
	{"ranks", "seed", OPTION_COUNT, RANKS(config.seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed"},
};

const struct option_rows ranks_rows = {rows, sizeof(rows) / sizeof(rows[0])};
