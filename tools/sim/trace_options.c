// SPDX-License-Identifier: GPL-2.0
/* From the text of [trace] to numbers: shares, page sizes, and where each kind of page lies. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "tools/sim/sim.h"

#define ABOVE_ALL (1ull << 32) /* the workloads' addresses are below */

/* "1:1:4" */
static int parse_shares(const struct option_row *row, const char *text, void *fields)
{
	struct turns_config *turns = &((struct sim_config *)fields)->trace.turns;
	char copy[TURNS_SHARES * 4], *rest, *word;

	(void)row;
	if (strlen(text) >= sizeof(copy) || !*text || *text == ':' || strstr(text, "::") ||
	    text[strlen(text) - 1] == ':')
		return -EINVAL;
	strcpy(copy, text);
	turns->share_count = 0;
	for (word = strtok_r(copy, ":", &rest); word; word = strtok_r(NULL, ":", &rest)) {
		__u64 share;

		if (turns->share_count == TURNS_SHARES ||
		    units_parse_count(word, 1, TURNS_SHARE_MAX, &share))
			return -EINVAL;
		turns->shares[turns->share_count++] = (__u8)share;
	}
	return 0;
}

const struct option_own sim_shares = {
	.name = "shares",
	.beginning = "up to 64 whole numbers with : between them, each ",
	.parse = parse_shares,
};

/* "0x34800000" */
static int parse_address(const struct option_row *row, const char *text, void *fields)
{
	size_t digits = strncmp(text, "0x", 2) ? 0 : strspn(text + 2, "0123456789abcdefABCDEF");
	__u64 address;

	if (!digits || digits > 16 || text[2 + digits])
		return -EINVAL;
	address = strtoull(text + 2, NULL, 16);
	if (address >= (__u64)row->max)
		return -ERANGE;
	memcpy((char *)fields + row->offset, &address, sizeof(address));
	return 0;
}

const struct option_own sim_address = {
	.name = "address",
	.beginning = "0x and hexadecimal digits, a multiple of the page size; in bytes ",
	.bytes = true,
	.parse = parse_address,
};

/* Where it was said to be, else a multiple of the page size not above `otherwise`. */
static void sim_place(struct tenants_pages *pages, __u64 said, __u64 otherwise)
{
	pages->first = said != SIM_UNSAID ? said : otherwise >> pages->shift << pages->shift;
}

static __u64 sim_end_of(const struct tenants_pages *pages, __u64 count)
{
	return pages->first + (count << pages->shift);
}

/* The workload's addresses suit its own page sizes; of others, what was not said makes room. */
static void set_places(struct sim_config *c)
{
	struct tenants_config *t = &c->trace;
	__u64 touch = 1ull << t->first_touch.shift;

	sim_place(&t->ring, c->ring_at, t->ring.first);
	sim_place(&t->mailbox, c->mailbox_at, t->mailbox.first);
	sim_place(&t->data, c->data_at, t->data.first);
	if (c->data_at == SIM_UNSAID && t->data.first < sim_end_of(&t->mailbox, 1) &&
	    sim_end_of(&t->data, (__u64)t->data.count * t->sets) > t->mailbox.first)
		t->data.first = ABOVE_ALL;
	sim_place(&t->first_touch, c->first_touch_at, sim_end_of(&t->mailbox, 1) + touch - 1);
}

void sim_complete_trace(struct sim_config *c)
{
	if (!c->trace.phase)
		c->trace.sets = 1;
	set_places(c);
	c->trace.turns.tenants = c->tenants ?: SIM_TENANTS_MADE;
	c->trace.turns.seed = c->trace.seed;
	c->trace.packets = c->packets == SIM_UNSAID ? SIM_PACKETS_MADE : c->packets;
	c->recorded_packets = c->packets == SIM_UNSAID ? 0 : c->packets;
}
