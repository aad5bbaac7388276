// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/generator.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

#define SOURCE_NET	 0x0a4d8000u /* 10.77.128.0 */
#define DESTINATION	 0x0a4d0001u /* 10.77.0.1 */
#define SOURCE_PORT	 40000
#define SOURCE_PORTS	 16 /* flows of one address */
#define DESTINATION_PORT 9
#define PATTERN		 0x9e3779b97f4a7c15ull

struct payload {
	__u32 length; /* of the frame */
	__u32 flow;
	__u64 number;
} __attribute__((packed));

struct headers {
	struct ether_header ethernet;
	struct iphdr ip;
	struct udphdr udp;
	struct payload payload;
} __attribute__((packed));

_Static_assert(sizeof(struct headers) <= GENERATED_LEAST,
	       "the least frame has room for its number");

struct generator {
	struct traffic_config traffic;
	struct random random;
	__u32 weights;
	__u64 made;
	struct headers template;
};

static __u16 folded(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)(sum + (sum >> 16));
}

static __u32 sum_words(const void *bytes, size_t length)
{
	const __u8 *at = bytes;
	__u32 sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (__u32)at[i] << 8 | at[i + 1];
	return sum;
}

static struct headers headers_template(void)
{
	struct headers headers = {
		.ethernet = {.ether_dhost = {2, 0x66, 0x6c, 0, 0, 1},
			     .ether_shost = {2, 0x66, 0x6c, 0, 0, 2},
			     .ether_type = htons(ETHERTYPE_IP)},
		.ip = {.version = 4,
		       .ihl = 5,
		       .ttl = 64,
		       .protocol = IPPROTO_UDP,
		       .daddr = htonl(DESTINATION)},
		.udp = {.dest = htons(DESTINATION_PORT)},
	};

	return headers;
}

int generator_create(struct generator **generator, const struct traffic_config *traffic)
{
	struct generator *new = calloc(1, sizeof(*new));

	if (!new)
		return failed(-ENOMEM, "no memory for traffic %s", traffic->name);
	new->traffic = *traffic;
	new->random.state = traffic->seed;
	new->template = headers_template();
	for (__u32 i = 0; i < traffic->size_count; i++)
		new->weights += traffic->size_weights[i];
	*generator = new;
	return 0;
}

void generator_destroy(struct generator *generator)
{
	free(generator);
}

__u64 generator_due(const struct generator *generator, __u64 start_ns, __u64 now_ns)
{
	const struct traffic_config *traffic = &generator->traffic;
	__u64 due = 0;

	if (traffic->count && generator->made >= traffic->count)
		return ~0ull;
	if (traffic->rate > 0)
		due = start_ns + (__u64)((double)generator->made * NSEC_PER_SEC / traffic->rate);
	if (traffic->duration_ns &&
	    (due > now_ns ? due : now_ns) >= start_ns + traffic->duration_ns)
		return ~0ull;
	return due > now_ns ? due : 0;
}

static __u32 pick_size(struct generator *generator)
{
	const struct traffic_config *traffic = &generator->traffic;
	__u64 pick;

	if (traffic->size_count == 1)
		return (__u32)traffic->sizes[0];
	pick = random_below(&generator->random, generator->weights);
	for (__u32 i = 0; i < traffic->size_count; i++) {
		if (pick < traffic->size_weights[i])
			return (__u32)traffic->sizes[i];
		pick -= traffic->size_weights[i];
	}
	return (__u32)traffic->sizes[0];
}

static __u64 pattern_at(const struct payload *payload, size_t at)
{
	return (payload->number + payload->flow * PATTERN + at) * PATTERN;
}

static void fill(unsigned char *frame, const struct payload *payload)
{
	size_t at = sizeof(struct headers), length = payload->length;

	for (; at < length; at += sizeof(__u64)) {
		__u64 word = pattern_at(payload, at);

		memcpy(frame + at, &word, length - at < sizeof(word) ? length - at : sizeof(word));
	}
}

/* UDP over IPv4 may go without a checksum: the content has its own check. */
static void set_flow(struct headers *headers, __u32 flow, __u32 length)
{
	headers->ip.saddr = htonl(SOURCE_NET + flow / SOURCE_PORTS);
	headers->udp.source = htons((__u16)(SOURCE_PORT + flow % SOURCE_PORTS));
	headers->ip.tot_len = htons((__u16)(length - sizeof(headers->ethernet)));
	headers->udp.len = htons((__u16)(length - sizeof(headers->ethernet) - sizeof(headers->ip)));
	headers->ip.check = 0;
	headers->ip.check = htons((__u16)~folded(sum_words(&headers->ip, sizeof(headers->ip))));
}

__u32 generator_next(struct generator *generator, void *frame, size_t room)
{
	struct headers *headers = &generator->template;
	__u32 length = pick_size(generator);

	if (length > room)
		return 0;
	headers->payload = (struct payload){
		.length = length,
		.flow = (__u32)(generator->made % generator->traffic.flows),
		.number = generator->made / generator->traffic.flows,
	};
	generator->made++;
	set_flow(headers, headers->payload.flow, length);
	memcpy(frame, headers, sizeof(*headers));
	fill(frame, &headers->payload);
	return length;
}

bool generated_number(const void *frame, size_t length, __u64 *number)
{
	struct headers headers;

	if (length < sizeof(headers))
		return false;
	memcpy(&headers, frame, sizeof(headers));
	*number = headers.payload.number;
	return headers.payload.length == length;
}

struct verifier {
	__u32 flows;
	__u64 missing;
	__u64 next[]; /* number, by flow */
};

int verifier_create(struct verifier **verifier, const struct traffic_config *traffic)
{
	struct verifier *new = calloc(1, sizeof(*new) + traffic->flows * sizeof(new->next[0]));

	if (!new)
		return failed(-ENOMEM, "no memory for %u flows", traffic->flows);
	new->flows = traffic->flows;
	*verifier = new;
	return 0;
}

void verifier_destroy(struct verifier *verifier)
{
	free(verifier);
}

static bool content_good(const unsigned char *frame, const struct payload *payload)
{
	for (size_t at = sizeof(struct headers); at < payload->length; at += sizeof(__u64)) {
		size_t left = payload->length - at;
		__u64 word = pattern_at(payload, at);

		if (memcmp(frame + at, &word, left < sizeof(word) ? left : sizeof(word)) != 0)
			return false;
	}
	return true;
}

enum frame_verdict verifier_check(struct verifier *verifier, const void *frame, size_t length)
{
	struct headers headers, expected = headers_template();
	struct payload payload;
	__u64 *next;

	if (length < sizeof(headers))
		return FRAME_DAMAGED;
	memcpy(&headers, frame, sizeof(headers));
	payload = headers.payload;
	if (payload.length != length || payload.flow >= verifier->flows)
		return FRAME_DAMAGED;
	expected.payload = payload;
	set_flow(&expected, payload.flow, payload.length);
	if (memcmp(&headers, &expected, sizeof(headers)) != 0 || !content_good(frame, &payload))
		return FRAME_DAMAGED;
	next = &verifier->next[payload.flow];
	if (payload.number < *next)
		return FRAME_LATE;
	verifier->missing += payload.number - *next;
	length = payload.number - *next;
	*next = payload.number + 1;
	return length ? FRAME_AFTER_GAP : FRAME_GOOD;
}

__u64 verifier_missing(const struct verifier *verifier)
{
	return verifier->missing;
}
