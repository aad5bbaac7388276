// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/generated_frame.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>

#define SOURCE_NET	 0x0a4d8000u /* 10.77.128.0 */
#define DESTINATION	 0x0a4d0001u /* 10.77.0.1 */
#define SOURCE_PORT	 40000
#define SOURCE_PORTS	 16 /* flows of one address */
#define DESTINATION_PORT 9
#define STEP		 0x9e3779b97f4a7c15ull
#define PAIR		 16 /* bytes of a word and its complement */

struct generated_head {
	struct ether_header ethernet;
	struct iphdr ip;
	struct udphdr udp;
	__u32 flow;
	__u64 number;
	__u64 check; /* of the others, and where the content begins */
} __attribute__((packed));

_Static_assert(sizeof(struct generated_head) == GENERATED_HEAD, "as others know it");
_Static_assert(offsetof(struct generated_head, flow) == GENERATED_AT, "likewise");

void generated_init(struct generated_template *template, __u64 seed)
{
	struct generated_head head = {
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
	__u16 first[6]; /* of the IPv4 header, before the addresses */

	memcpy(first, &head.ip, sizeof(first));
	template->seed = seed;
	template->packet_sum = head.ip.daddr;
	for (int i = 0; i < 6; i++)
		template->packet_sum += first[i];
	template->datagram_sum = head.ip.daddr + (__u64)htons(IPPROTO_UDP) + head.udp.dest;
	memcpy(template->head, &head, sizeof(head));
}

/*
 * Checksums are of what is about to be stored: to read it back in words of another size would wait for that. The
 * sum of words of 16 bits is that of longer ones, folded.
 */
static __u64 sum_word(__u64 word)
{
	return (word & 0xffffffff) + (word >> 32);
}

static __u16 fold_sum(__u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

static __u64 check_of(__u64 seed, const struct generated *what)
{
	__u64 mixed = (seed ^ what->number) * STEP + what->flow;

	mixed = (mixed ^ mixed >> 32 ^ (__u64)what->length << 32) * 0xbf58476d1ce4e5b9ull;
	return mixed ^ mixed >> 29;
}

/* What is left behind the last whole pair, the rest being zeros: its sum is that of what there is. */
static void make_tail(__u64 word, __u64 tail[2], size_t bytes)
{
	size_t bits = bytes % sizeof(word) * 8;
	__u64 part = (bits ? ~0ull >> (64 - bits) : 0);

	tail[0] = bytes < sizeof(word) ? word & part : word;
	tail[1] = bytes < sizeof(word) ? 0 : ~word & part;
}

static __u64 tail_word(__u64 check, __u32 length)
{
	return check + (length - GENERATED_HEAD) / PAIR * STEP;
}

static void make_head(const struct generated_template *template, const struct generated *what,
		      struct generated_head *head)
{
	__u32 source = htonl(SOURCE_NET + what->flow / SOURCE_PORTS);
	__u16 port = htons((__u16)(SOURCE_PORT + what->flow % SOURCE_PORTS));
	__u16 packet = htons((__u16)(what->length - ETHER_HDR_LEN));
	__u16 datagram = htons((__u16)(what->length - ETHER_HDR_LEN - sizeof(head->ip)));
	__u64 check = check_of(template->seed, what), tail[2];

	make_tail(tail_word(check, what->length), tail, (what->length - GENERATED_HEAD) % PAIR);
	memcpy(head, template->head, sizeof(*head));
	head->flow = what->flow;
	head->number = what->number;
	head->check = check;
	head->ip.saddr = source;
	head->ip.tot_len = packet;
	head->ip.check = fold_sum(template->packet_sum + source + packet);
	head->udp.source = port;
	head->udp.len = datagram;
	/* The length is in the pseudo header, too. */
	head->udp.check = fold_sum(template->datagram_sum + source + port + 2ull * datagram +
				   what->flow + sum_word(what->number) + sum_word(check) +
				   sum_word(tail[0]) + sum_word(tail[1]));
	/* 0 would say that there is none. */
	if (!head->udp.check)
		head->udp.check = 0xffff;
}

void generated_make(const struct generated_template *template, const struct generated *what,
		    unsigned char *frame)
{
	struct generated_head head;
	size_t at = GENERATED_HEAD;
	__u64 word, tail[2];

	make_head(template, what, &head);
	memcpy(frame, &head, sizeof(head));
	word = head.check;
	for (; at + PAIR <= what->length; at += PAIR, word += STEP) {
		const __u64 pair[2] = {word, ~word};

		memcpy(frame + at, pair, PAIR);
	}
	make_tail(word, tail, what->length - at);
	memcpy(frame + at, tail, what->length - at);
}

bool generated_read(const unsigned char *frame, size_t length, struct generated *what)
{
	struct generated_head head;

	if (length < GENERATED_HEAD || length > GENERATED_LONGEST)
		return false;
	memcpy(&head, frame, sizeof(head));
	if (head.udp.dest != htons(DESTINATION_PORT) ||
	    head.ip.tot_len != htons((__u16)(length - ETHER_HDR_LEN)))
		return false;
	*what = (struct generated){(__u32)length, head.flow, head.number};
	return true;
}

bool generated_matches(const struct generated_template *template, const struct generated *what,
		       const unsigned char *frame)
{
	struct generated_head head;
	size_t at = GENERATED_HEAD;
	__u64 word, wrong = 0, tail[2];

	make_head(template, what, &head);
	word = head.check;
	for (; at + PAIR <= what->length; at += PAIR, word += STEP) {
		__u64 pair[2];

		memcpy(pair, frame + at, PAIR);
		wrong |= (pair[0] ^ word) | (pair[1] ^ ~word);
	}
	make_tail(word, tail, what->length - at);
	return !wrong && !memcmp(frame, &head, sizeof(head)) &&
	       !memcmp(frame + at, tail, what->length - at);
}
