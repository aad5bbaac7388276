// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/tenants.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/translate/random.h"

#define STREAMS_MAX 4096

struct stream {
	__u32 page;
	__u32 left; /* packets until it moves on */
};

struct tenant {
	__u64 left;    /* packets, UINT64_MAX: no end */
	__u32 stream;  /* whose turn it is */
	__u32 touches; /* first touches done */
};

struct tenants {
	struct tenants_config config;
	struct turns turns;
	struct random random;
	struct tenant *tenants;
	struct stream *streams; /* `config.streams` of each tenant */
	__u64 left;		/* packets in all */
};

static __u64 page_address(const struct tenants_pages *pages, __u32 page)
{
	return pages->first + ((__u64)page << pages->shift);
}

static __u64 data_address(struct tenants *t, struct tenant *tenant, __u32 number)
{
	const struct tenants_config *c = &t->config;
	struct stream *stream = &t->streams[(size_t)number * c->streams + tenant->stream];
	__u64 address = page_address(&c->data, stream->page);

	if (!--stream->left) {
		stream->left = c->run;
		/* The streams stay apart: each moves over the others to the next free page. */
		stream->page += c->streams;
		if (stream->page >= c->data.count)
			stream->page %= c->streams;
	}
	if (++tenant->stream == c->streams)
		tenant->stream = 0;
	return address;
}

static void make_packet(struct tenants *t, __u32 number, struct model_packet *packet)
{
	const struct tenants_config *c = &t->config;
	struct tenant *tenant = &t->tenants[number];

	packet->source = packet->domain = (__u16)number;
	if (tenant->touches) {
		__u32 page = --tenant->touches / c->first_touches;

		packet->count = 1;
		packet->requests[0] = (struct model_request){page_address(&c->first_touch, page),
							     CACHE_NEVER, c->first_touch.shift};
		return;
	}
	packet->count = 3;
	packet->requests[0] = (struct model_request){c->ring.first, CACHE_NEVER, c->ring.shift};
	packet->requests[1] =
		(struct model_request){data_address(t, tenant, number), CACHE_NEVER, c->data.shift};
	packet->requests[2] =
		(struct model_request){c->mailbox.first, CACHE_NEVER, c->mailbox.shift};
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
		.turns = {ORDER_ROUND_ROBIN, 1024, 1, 100, 1},
		.tenant_packets_min = figures[preset].translations_min / 3,
		.tenant_packets_max = figures[preset].translations_max / 3,
		.ring = {0x34800000, 1, 12},
		.data = {0xbbe00000, figures[preset].pages, 21},
		.mailbox = {0xf0000000, 1, 12},
		.first_touch = {0xf0001000, 70, 12},
		.run = 1500, /* figure 8: accesses to a data page before the next */
		.streams = 1,
		.seed = 1,
	};
}

const char *tenants_preset_name(enum tenants_preset preset)
{
	static const char *const names[TENANTS_PRESETS] = {"iperf3", "mediastream", "websearch"};

	return preset < TENANTS_PRESETS ? names[preset] : "unknown";
}

static int check_pages(const struct tenants_pages *pages, const char *name)
{
	__u64 bytes = (__u64)pages->count << pages->shift;

	if (pages->shift != 12 && pages->shift != 21 && pages->shift != 30)
		return failed(-EINVAL, "%s: page size of 2^%u bytes: accepted: 4K, 2M, 1G", name,
			      pages->shift);
	if (!pages->count || pages->count > 1u << 24)
		return failed(-EINVAL, "%s: %u pages: accepted: 1 to %u", name, pages->count,
			      1u << 24);
	if (pages->first >> 57 || (pages->first + bytes - 1) >> 57 ||
	    pages->first & ((1ull << pages->shift) - 1))
		return failed(-EINVAL,
			      "%s: address 0x%llx: accepted: a multiple of the page size, with all "
			      "pages below 2^57",
			      name, pages->first);
	return 0;
}

static int check(const struct tenants_config *c)
{
	int error = check_pages(&c->ring, "ring");

	if (!error)
		error = check_pages(&c->data, "data");
	if (!error)
		error = check_pages(&c->mailbox, "mailbox");
	if (!error && c->first_touches)
		error = check_pages(&c->first_touch, "first_touch");
	if (error)
		return error;
	if (!c->run || !c->streams || c->streams > STREAMS_MAX || c->streams > c->data.count)
		return failed(-EINVAL,
			      "runs of %u packets in %u streams: accepted: runs from 1, streams 1 "
			      "to %u and not more than the %u data pages",
			      c->run, c->streams, STREAMS_MAX, c->data.count);
	if (c->tenant_packets_min > c->tenant_packets_max)
		return failed(-EINVAL, "tenants with %llu to %llu packets: the first is larger",
			      c->tenant_packets_min, c->tenant_packets_max);
	if (!c->packets && !c->tenant_packets_max)
		return failed(-EINVAL, "a trace without end: give it packets, or the tenants");
	return 0;
}

/* Tenants do not march in step: each begins on a page and at a place in its run of its own. */
static void begin(struct tenants *t)
{
	const struct tenants_config *c = &t->config;

	for (__u32 n = 0; n < c->turns.tenants; n++) {
		struct tenant *tenant = &t->tenants[n];
		__u64 spread = c->tenant_packets_max - c->tenant_packets_min + 1;

		tenant->left = UINT64_MAX;
		if (c->tenant_packets_max)
			tenant->left =
				c->tenant_packets_min +
				(__u64)((unsigned __int128)random_next(&t->random) * spread >> 64);
		tenant->touches = c->first_touches * c->first_touch.count;
		for (__u32 s = 0; s < c->streams; s++) {
			__u32 rounds = (c->data.count - s + c->streams - 1) / c->streams;

			t->streams[(size_t)n * c->streams + s] = (struct stream){
				.page = s + random_below(&t->random, rounds) * c->streams,
				.left = 1 + random_below(&t->random, c->run),
			};
		}
	}
	t->left = c->packets ?: UINT64_MAX;
}

int tenants_create(struct tenants **tenants, const struct tenants_config *config)
{
	int error = check(config);
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
	begin(t);
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
