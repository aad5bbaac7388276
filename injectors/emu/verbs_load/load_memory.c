// SPDX-License-Identifier: GPL-2.0
/* Memory that a load's data comes from and goes to: how much, what is in it, and its regions. */
#include <errno.h>
#include <string.h>

#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/fail.h"

static const struct {
	const char *name;
	bool moves;
} tests[LOAD_TESTS] = {
#define LOAD_TEST(name, moves) {#name, moves},
#include "injectors/emu/verbs_load/verbs_load_tests.def"
#undef LOAD_TEST
};

const char *verbs_load_test_name(enum verbs_load_test test)
{
	return tests[test].name;
}

bool verbs_load_moves(enum verbs_load_test test)
{
	return tests[test].moves;
}

__u32 verbs_load_pairs(const struct verbs_load_config *config)
{
	if (config->test == LOAD_register)
		return 0;
	return config->test == LOAD_kv ? config->clients : 1;
}

__u64 load_slot_bytes(const struct verbs_load_config *config)
{
	return (LOAD_KEY_BYTES + config->size + 63) & ~63ull;
}

__u64 verbs_load_memory_bytes(const struct verbs_load_config *config, bool on_peer)
{
	switch (config->test) {
	case LOAD_create_qp:
		return 0;
	case LOAD_register:
		return on_peer ? 0 : whole_pages(config->size);
	case LOAD_write_bandwidth:
		return whole_pages(config->outstanding * config->size);
	case LOAD_send: /* one to send from, one to receive into */
		return 2 * whole_pages(config->size);
	case LOAD_kv:
		return whole_pages(load_slot_bytes(config) *
				   (on_peer ? config->keys : config->clients));
	case LOAD_pressure:
		return config->working_set;
	default:
		return whole_pages(config->size);
	}
}

__u64 load_piece_bytes(const struct verbs_load_config *config, bool on_peer)
{
	return config->test == LOAD_pressure ? config->piece
					     : verbs_load_memory_bytes(config, on_peer);
}

/* A word of the pattern. */
static __u64 word_of(__u64 seed, __u64 offset)
{
	struct random mixed = {.state = seed ^ offset};

	return random_next(&mixed);
}

void load_fill(const struct load_end *end)
{
	for (__u64 at = 0; at < end->memory_bytes; at += 8) {
		__u64 word = word_of(end->config->seed, at);

		memcpy(end->memory + at, &word, sizeof(word));
	}
}

bool load_right(const struct load_end *end, __u64 offset, __u64 bytes, __u64 here)
{
	__u64 length;

	for (__u64 at = 0; at < bytes; at += length) {
		__u64 inside = (offset + at) % 8;
		__u64 word = word_of(end->config->seed, offset + at - inside);

		length = bytes - at < 8 - inside ? bytes - at : 8 - inside;
		if (memcmp(end->memory + here + at, (const char *)&word + inside, length) != 0)
			return false;
	}
	return true;
}

enum verbs_region load_region_kind(const struct load_end *end)
{
	bool demand = end->config->memory == LOAD_MEMORY_DEMAND ||
		      (end->config->memory == LOAD_MEMORY_MODE && end->place->demand);

	return demand ? VERBS_DEMAND : VERBS_PINNED;
}

unsigned int load_rights(const struct load_end *end)
{
	bool remote =
		end->index && verbs_load_moves(end->config->test) && end->config->test != LOAD_send;

	if (!remote)
		return VERBS_LOCAL_WRITE;
	return VERBS_LOCAL_WRITE |
	       (end->config->test == LOAD_write_bandwidth ? VERBS_REMOTE_WRITE : VERBS_REMOTE_READ);
}

bool load_is_refusal(int error)
{
	return error == -ENOMEM || error == -EDQUOT || error == -EPERM || error == -EACCES ||
	       error == -ENOSPC;
}

bool load_counts_refusals(const struct load_end *end)
{
	return end->config->test == LOAD_register || end->config->test == LOAD_pressure;
}

static int register_pieces(struct load_end *end, __u64 piece)
{
	struct load_facts *facts = &end->share->facts[end->index];

	for (__u64 at = 0; at < end->memory_bytes; at += piece) {
		struct verbs_mr *region = &end->region[end->regions];
		int error = verbs_reg_mr(end->place->device, region, end->memory_address + at,
					 piece, load_region_kind(end), load_rights(end));

		end->share->refused[end->index] += load_is_refusal(error);
		if (load_is_refusal(error) && load_counts_refusals(end))
			continue;
		if (error)
			return load_needs(end, "a region", error);
		facts->region[end->regions] =
			(struct load_region){region->address, at, region->key};
		end->regions++;
	}
	facts->regions = end->regions;
	return 0;
}

int load_memory_open(struct load_end *end)
{
	bool on_peer = end->index, sink;

	end->memory_bytes = verbs_load_memory_bytes(end->config, on_peer);
	if (!end->memory_bytes)
		return 0;
	end->memory = end->place->allocate(end->place, end->memory_bytes, &end->memory_address);
	if (!end->memory)
		return failed(-ENOMEM, "its device has no %llu KiB of memory for it",
			      end->memory_bytes >> 10);
	/* Touched before, so that what a registration takes is not the guest's own first touch of a page. What is written into is
	 * wrong until it has been. */
	sink = on_peer && end->config->test == LOAD_write_bandwidth;
	if (sink)
		memset(end->memory, 0, end->memory_bytes);
	else
		load_fill(end);
	return end->config->test == LOAD_register
		       ? 0
		       : register_pieces(end, load_piece_bytes(end->config, on_peer));
}

void load_memory_close(struct load_end *end)
{
	while (end->regions)
		verbs_dereg_mr(end->place->device, &end->region[--end->regions]);
}
