// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/tenants.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/base/random.h"

#define STREAMS_MAX  4096
#define PAGES_MAX    (1u << 24) /* of one kind */
#define ADDRESS_BITS 57

struct tenant_stream {
	__u32 page;
	__u32 left; /* packets until it moves on */
};

struct tenant_state {
	__u64 left;    /* packets, UINT64_MAX: no end */
	__u32 stream;  /* whose turn it is */
	__u32 touches; /* first touches to come */
	__u32 set;     /* of data pages */
	__u32 phase;   /* packets until the next set */
};

struct tenants {
	struct tenants_config config;
	struct turns turns;
	struct random random;
	struct tenant_state *tenants;
	struct tenant_stream *streams; /* `config.streams` of each tenant */
	__u64 left;		       /* packets in all */
};

static __u64 page_address(const struct tenants_pages *pages, __u32 page)
{
	return pages->first + ((__u64)page << pages->shift);
}

static __u64 data_address(struct tenants *t, struct tenant_state *tenant, __u32 number)
{
	const struct tenants_config *c = &t->config;
	struct tenant_stream *stream = &t->streams[(size_t)number * c->streams + tenant->stream];
	__u64 address = page_address(&c->data, tenant->set * c->data.count + stream->page);

	if (!--stream->left) {
		stream->left = c->run;
		/* The streams stay apart: each moves over the others to the next free page. */
		stream->page += c->streams;
		if (stream->page >= c->data.count)
			stream->page %= c->streams;
	}
	if (++tenant->stream == c->streams)
		tenant->stream = 0;
	if (c->phase && !--tenant->phase) {
		tenant->phase = c->phase;
		tenant->set = tenant->set + 1 < c->sets ? tenant->set + 1 : 0;
	}
	return address;
}

static void make_packet(struct tenants *t, __u32 number, struct model_packet *packet)
{
	const struct tenants_config *c = &t->config;
	struct tenant_state *tenant = &t->tenants[number];
	__u64 base = number * c->apart;

	packet->source = packet->domain = (__u16)number;
	if (tenant->touches) {
		__u32 page = --tenant->touches / c->first_touches;

		packet->count = 1;
		packet->requests[0] =
			(struct model_request){base + page_address(&c->first_touch, page),
					       CACHE_NEVER, c->first_touch.shift};
		return;
	}
	packet->count = 3;
	packet->requests[0] =
		(struct model_request){base + c->ring.first, CACHE_NEVER, c->ring.shift};
	packet->requests[1] = (struct model_request){base + data_address(t, tenant, number),
						     CACHE_NEVER, c->data.shift};
	packet->requests[2] =
		(struct model_request){base + c->mailbox.first, CACHE_NEVER, c->mailbox.shift};
}

int tenants_next(void *self, struct model_packet *packets, int room)
{
	struct tenants *t = self;
	int count = 0;

	while (count < room && t->left) {
		__u32 number = turns_next(&t->turns);

		if (!t->tenants[number].left) {
			t->left = 0;
			break;
		}
		make_packet(t, number, &packets[count++]);
		t->tenants[number].left--;
		t->left--;
	}
	return count;
}

void tenants_only(struct tenants *t, __u32 tenant, __u64 packets)
{
	turns_only(&t->turns, tenant);
	t->left = packets;
}

void tenants_preset(struct tenants_config *config, enum tenants_preset preset)
{
	static const struct {
		__u32 pages; /* of data: with ring and mailbox about the set of figure 11c */
		__u64 translations_min, translations_max; /* table III */
	} figures[TENANTS_PRESETS] = {
		[TENANTS_IPERF3] = {6, 68079, 108510},
		[TENANTS_MEDIASTREAM] = {32, 5520, 73657},
		[TENANTS_WEBSEARCH] = {34, 43362, 108513},
	};

	*config = (struct tenants_config){
		.turns = {.order = ORDER_ROUND_ROBIN,
			  .tenants = 1024,
			  .turn = 1,
			  .zipf_exponent = 100,
			  .seed = 1},
		.tenant_packets_min = figures[preset].translations_min / 3,
		.tenant_packets_max = figures[preset].translations_max / 3,
		.ring = {0x34800000, 1, 12},
		.data = {0xbbe00000, figures[preset].pages, 21},
		.mailbox = {0xf0000000, 1, 12},
		.first_touch = {0xf0001000, 70, 12},
		.run = 1500, /* figure 8: accesses to a data page before the next */
		.streams = 1,
		.sets = 1,
		.seed = 1,
	};
}

/* A kind of pages of one tenant, `count` of them in all. */
#define RANGES 4
struct range {
	const char *name;
	const struct tenants_pages *pages;
	__u64 count;
};

static __u64 range_end(const struct range *range)
{
	return range->pages->first + (range->count << range->pages->shift);
}

static int check_range(const struct range *range)
{
	const struct tenants_pages *pages = range->pages;

	if (pages->shift != 12 && pages->shift != 21 && pages->shift != 30)
		return failed(-EINVAL, "%s: page size of 2^%u bytes: accepted: 4K, 2M, 1G",
			      range->name, pages->shift);
	if (!range->count || range->count > PAGES_MAX)
		return failed(-EINVAL, "%s: %llu pages: accepted: 1 to %u", range->name,
			      range->count, PAGES_MAX);
	if (pages->first >> ADDRESS_BITS || (range_end(range) - 1) >> ADDRESS_BITS ||
	    pages->first & ((1ull << pages->shift) - 1))
		return failed(-EINVAL,
			      "%s: %llu pages from address 0x%llx: accepted: a multiple of the "
			      "page size, with all pages below 2^%d",
			      range->name, range->count, pages->first, ADDRESS_BITS);
	return 0;
}

static int tenants_check_apart(const struct tenants_config *c, const struct range *range)
{
	unsigned __int128 end =
		(unsigned __int128)(c->turns.tenants - 1) * c->apart + range_end(range);

	if (c->apart & ((1ull << range->pages->shift) - 1) || (end - 1) >> ADDRESS_BITS)
		return failed(-EINVAL,
			      "tenants 0x%llx bytes apart: accepted: 0, or a multiple of every "
			      "page size (%s: %llu bytes) that leaves %u tenants below 2^%d",
			      c->apart, range->name, 1ull << range->pages->shift, c->turns.tenants,
			      ADDRESS_BITS);
	return 0;
}

static size_t list_ranges(const struct tenants_config *c, struct range ranges[RANGES])
{
	ranges[0] = (struct range){"ring", &c->ring, 1};
	ranges[1] = (struct range){"mailbox", &c->mailbox, 1};
	ranges[2] = (struct range){"data", &c->data, (__u64)c->data.count * c->sets};
	ranges[3] = (struct range){"first_touch", &c->first_touch, c->first_touch.count};
	return c->first_touches ? RANGES : RANGES - 1;
}

__u64 tenants_end(const struct tenants_config *c)
{
	struct range ranges[RANGES];
	size_t count = list_ranges(c, ranges);
	__u64 end = 0;

	for (size_t i = 0; i < count; i++)
		if (range_end(&ranges[i]) > end)
			end = range_end(&ranges[i]);
	return end + (c->turns.tenants - 1) * c->apart;
}

static int tenants_check_addresses(const struct tenants_config *c)
{
	struct range ranges[RANGES];
	size_t count = list_ranges(c, ranges);

	for (size_t i = 0; i < count; i++) {
		int error = check_range(&ranges[i]);

		if (!error)
			error = tenants_check_apart(c, &ranges[i]);
		for (size_t j = 0; !error && j < i; j++)
			if (ranges[i].pages->first < range_end(&ranges[j]) &&
			    ranges[j].pages->first < range_end(&ranges[i]))
				error = failed(-EINVAL,
					       "%s from 0x%llx to 0x%llx overlaps %s from 0x%llx "
					       "to 0x%llx: accepted: pages of their own",
					       ranges[i].name, ranges[i].pages->first,
					       range_end(&ranges[i]), ranges[j].name,
					       ranges[j].pages->first, range_end(&ranges[j]));
		if (error)
			return error;
	}
	return 0;
}

int tenants_check(const struct tenants_config *c)
{
	int error = turns_check(&c->turns);

	if (!error)
		error = tenants_check_addresses(c);
	if (error)
		return error;
	if (c->ring.count != 1 || c->mailbox.count != 1)
		return failed(-EINVAL, "%u ring pages, %u of mailboxes: accepted: 1", c->ring.count,
			      c->mailbox.count);
	if (!c->run || !c->streams || c->streams > STREAMS_MAX || c->streams > c->data.count)
		return failed(-EINVAL,
			      "runs of %u packets in %u streams: accepted: runs from 1, streams 1 "
			      "to %u and not more than the %u data pages",
			      c->run, c->streams, STREAMS_MAX, c->data.count);
	if ((__u64)c->first_touches * c->first_touch.count > UINT32_MAX)
		return failed(-EINVAL, "%u accesses to each of %u pages: accepted: 2^32 - 1 in all",
			      c->first_touches, c->first_touch.count);
	if (c->tenant_packets_min > c->tenant_packets_max)
		return failed(-EINVAL,
			      "tenants with at least %llu and at most %llu packets: accepted: at "
			      "least no more than at most",
			      c->tenant_packets_min, c->tenant_packets_max);
	if (!c->packets && !c->tenant_packets_max)
		return failed(-EINVAL, "a trace without end: accepted: packets of all, or a most "
				       "of each tenant");
	return 0;
}

/* Somewhere between least and most; the two tenants who came nearest get these themselves. */
static void draw_lengths(struct tenants *t)
{
	const struct tenants_config *c = &t->config;
	__u64 spread = c->tenant_packets_max - c->tenant_packets_min + 1;
	__u32 least = 0, most = 0;

	for (__u32 n = 0; n < c->turns.tenants; n++) {
		t->tenants[n].left = c->tenant_packets_min +
				     (__u64)((unsigned __int128)t->tenants[n].left * spread >> 64);
		if (t->tenants[n].left < t->tenants[least].left)
			least = n;
		if (t->tenants[n].left >= t->tenants[most].left)
			most = n;
	}
	if (least != most) {
		t->tenants[least].left = c->tenant_packets_min;
		t->tenants[most].left = c->tenant_packets_max;
	}
}

/* Tenants do not march in step: each begins on a page and at a place in its run of its own. */
static void tenants_start(struct tenants *t)
{
	const struct tenants_config *c = &t->config;

	for (__u32 n = 0; n < c->turns.tenants; n++) {
		struct tenant_state *tenant = &t->tenants[n];

		tenant->left = c->tenant_packets_max ? random_next(&t->random) : UINT64_MAX;
		tenant->touches = c->first_touches * c->first_touch.count;
		for (__u32 s = 0; s < c->streams; s++) {
			__u32 rounds = (c->data.count - s + c->streams - 1) / c->streams;

			t->streams[(size_t)n * c->streams + s] = (struct tenant_stream){
				.page = s + random_below(&t->random, rounds) * c->streams,
				.left = 1 + random_below(&t->random, c->run),
			};
		}
		if (c->phase)
			tenant->phase = 1 + random_below(&t->random, c->phase);
	}
	if (c->tenant_packets_max)
		draw_lengths(t);
	t->left = c->packets ?: UINT64_MAX;
}

int tenants_create(struct tenants **tenants, const struct tenants_config *config)
{
	int error = tenants_check(config);
	struct tenants *t;

	if (error)
		return error;
	t = calloc(1, sizeof(*t));
	if (!t)
		return failed(-ENOMEM, "no memory for a trace of %u tenants",
			      config->turns.tenants);
	t->config = *config;
	t->random.state = config->seed;
	error = turns_begin(&t->turns, &config->turns);
	if (error) {
		tenants_destroy(t);
		return error;
	}
	t->tenants = calloc(config->turns.tenants, sizeof(t->tenants[0]));
	t->streams = calloc((size_t)config->turns.tenants * config->streams, sizeof(t->streams[0]));
	if (!t->tenants || !t->streams) {
		tenants_destroy(t);
		return failed(-ENOMEM, "no memory for a trace of %u tenants",
			      config->turns.tenants);
	}
	tenants_start(t);
	*tenants = t;
	return 0;
}

void tenants_destroy(struct tenants *t)
{
	if (!t)
		return;
	free(t->tenants);
	free(t->streams);
	turns_end(&t->turns);
	free(t);
}
