// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/tenants.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/translate/random.h"

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define DOUBLINGS_MAX 5 /* of a burst */
#define STREAMS_MAX   4096

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
	struct random random;
	struct tenant *tenants;
	struct stream *streams; /* `config.streams` of each tenant */
	__u64 *chances;		/* ZIPF: sums up to each rank */
	__u64 left;		/* packets in all */
	__u32 current, turn_left;
	bool ended;
};

/* log2(value) in 1/2^32, by squaring: value is 1 to 2^32 - 1. */
static __u64 log2_fixed(__u32 value)
{
	unsigned int whole = 31 - (unsigned int)__builtin_clz(value);
	__u64 mantissa = (__u64)value << (63 - whole), result = (__u64)whole << 32;

	for (unsigned int bit = 32; bit-- > 0;) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa;

		if (square >> 127) {
			result |= 1ull << bit;
			mantissa = (__u64)(square >> 64);
		} else {
			mantissa = (__u64)(square >> 63);
		}
	}
	return result;
}

/* 2^40 / 2^(power / 2^32), by square roots of two. */
static __u64 power_below(__u64 power)
{
	/* 2^(-1/2), 2^(-1/4), ... in 1/2^64 */
	static const __u64 roots[] = {
		0xb504f333f9de6484ull, 0xd744fccad69d6af4ull, 0xeac0c6e7dd24392eull,
		0xf5257d152486cc2cull, 0xfa83b2db722a033aull, 0xfd3e0c0cf486c174ull,
		0xfe9e115c7b8f884bull, 0xff4ecb59511ec8a5ull, 0xffa756521c8daed1ull,
		0xffd3a751c0f7e10bull, 0xffe9d2b2f7db2755ull, 0xfff4e91bff1b8c3dull,
		0xfffa747ea0040664ull, 0xfffd3a3b7814eb53ull, 0xfffe9d1cc60ddab1ull,
		0xffff4e8e25879bfaull,
	};
	unsigned int whole = (unsigned int)(power >> 32);
	__u64 result = 1ull << 40;

	if (whole >= 40)
		return 1;
	for (size_t i = 0; i < COUNT(roots); i++)
		if (power >> (31 - i) & 1)
			result = (__u64)((unsigned __int128)result * roots[i] >> 64);
	return (result >> whole) ?: 1;
}

static void make_chances(struct tenants *t)
{
	__u64 sum = 0;

	for (__u32 rank = 0; rank < t->config.tenants; rank++) {
		sum += power_below(log2_fixed(rank + 1) * t->config.zipf_exponent / 100);
		t->chances[rank] = sum;
	}
}

static __u32 draw_rank(struct tenants *t)
{
	__u32 low = 0, high = t->config.tenants - 1;
	__u64 drawn = (__u64)((unsigned __int128)random_next(&t->random) * t->chances[high] >> 64);

	while (low < high) {
		__u32 middle = low + (high - low) / 2;

		if (t->chances[middle] > drawn)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void next_turn(struct tenants *t)
{
	const struct tenants_config *c = &t->config;
	__u32 doublings = 0;

	t->turn_left = c->turn;
	switch (c->order) {
	case ORDER_ROUND_ROBIN:
		t->current = t->current + 1 < c->tenants ? t->current + 1 : 0;
		return;
	case ORDER_ZIPF:
		t->current = draw_rank(t);
		return;
	case ORDER_BURSTY:
		doublings = (__u32)__builtin_ctzll(random_next(&t->random) | 1ull << DOUBLINGS_MAX);
		t->turn_left <<= doublings;
		break;
	default:
		break;
	}
	t->current = random_below(&t->random, c->tenants);
}

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

	while (count < room && t->left && !t->ended) {
		struct tenant *tenant;

		if (!t->turn_left)
			next_turn(t);
		tenant = &t->tenants[t->current];
		if (!tenant->left) {
			t->ended = true;
			break;
		}
		make_packet(t, t->current, &packets[count++]);
		t->turn_left--;
		tenant->left--;
		t->left--;
	}
	return count;
}

void tenants_preset(struct tenants_config *config, enum tenants_preset preset)
{
	static const struct {
		__u32 streams, run;
		__u64 translations_min, translations_max; /* table III */
	} figures[TENANTS_PRESETS] = {
		[TENANTS_IPERF3] = {1, 1500, 68079, 108510},
		[TENANTS_MEDIASTREAM] = {8, 1500, 5520, 73657},
		[TENANTS_WEBSEARCH] = {12, 1500, 43362, 108513},
	};

	*config = (struct tenants_config){
		.tenants = 1024,
		.order = ORDER_ROUND_ROBIN,
		.turn = 1,
		.zipf_exponent = 100,
		.tenant_packets_min = figures[preset].translations_min / 3,
		.tenant_packets_max = figures[preset].translations_max / 3,
		.ring = {0x34800000, 1, 12},
		.data = {0xbbe00000, 32, 21},
		.mailbox = {0xf0000000, 1, 12},
		.first_touch = {0xf0001000, 70, 12},
		.run = figures[preset].run,
		.streams = figures[preset].streams,
		.seed = 1,
	};
}

const char *tenants_preset_name(enum tenants_preset preset)
{
	static const char *const names[TENANTS_PRESETS] = {"iperf3", "mediastream", "websearch"};

	return preset < TENANTS_PRESETS ? names[preset] : "unknown";
}

const char *tenants_order_name(enum tenants_order order)
{
	static const char *const names[ORDER_COUNT] = {"rr", "rand", "bursty", "zipf"};

	return order < ORDER_COUNT ? names[order] : "unknown";
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
	if (!c->tenants || c->tenants > MODEL_TENANTS)
		return failed(-EINVAL, "%u tenants: accepted: 1 to %u", c->tenants, MODEL_TENANTS);
	if (!c->turn || c->turn > 1u << 20)
		return failed(-EINVAL, "turns of %u packets: accepted: 1 to %u", c->turn, 1u << 20);
	if (!c->run || !c->streams || c->streams > STREAMS_MAX || c->streams > c->data.count)
		return failed(-EINVAL,
			      "runs of %u packets in %u streams: accepted: runs from 1, streams 1 "
			      "to %u and not more than the %u data pages",
			      c->run, c->streams, STREAMS_MAX, c->data.count);
	if (c->zipf_exponent > 400)
		return failed(-EINVAL, "a zipf exponent of %u hundredths: accepted: 0 to 400",
			      c->zipf_exponent);
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

	for (__u32 n = 0; n < c->tenants; n++) {
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
	t->current = c->tenants - 1;
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
		return failed(-ENOMEM, "no memory for a trace of %u tenants", config->tenants);
	t->config = *config;
	t->random.state = config->seed;
	t->tenants = calloc(config->tenants, sizeof(t->tenants[0]));
	t->streams = calloc((size_t)config->tenants * config->streams, sizeof(t->streams[0]));
	t->chances = calloc(config->tenants, sizeof(t->chances[0]));
	if (!t->tenants || !t->streams || !t->chances) {
		tenants_destroy(t);
		return failed(-ENOMEM, "no memory for a trace of %u tenants", config->tenants);
	}
	make_chances(t);
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
	free(t->chances);
	free(t);
}
