// SPDX-License-Identifier: GPL-2.0
/* Frames that are built from what they should say, as they are, cut off and changed at random. */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/nic/frame.h"
#include "lib/base/random.h"

#define ROOM	     4096
#define SOURCE	     0x0a4d0001u /* 10.77.0.1 */
#define DESTINATION  0x0a4d0002u
#define CLIENT	     40002
#define SERVER	     5201
#define ETHERNET_MIN 60
#define DONT	     0x4000 /* fragment */
#define MORE	     0x2000

struct built {
	__u8 bytes[ROOM];
	size_t length;
	size_t ip_at, transport_at;
};

/* What is 0 is left out. */
struct plan {
	bool offload;
	unsigned int tags;
	unsigned int ip;
	unsigned int options; /* bytes, of IPv4 */
	__u16 fragment;	      /* IPv4's field */
	__u8 protocol;
	__u8 tcp_flags;
	unsigned int tcp_options;
	__u32 sequence;
	unsigned int payload;
};

static void put(struct built *frame, const void *bytes, size_t size)
{
	assert_true(frame->length + size <= ROOM);
	memcpy(frame->bytes + frame->length, bytes, size);
	frame->length += size;
}

static void put_zeros(struct built *frame, size_t size)
{
	assert_true(frame->length + size <= ROOM);
	memset(frame->bytes + frame->length, 0, size);
	frame->length += size;
}

static void put16(struct built *frame, __u16 value)
{
	value = htons(value);
	put(frame, &value, sizeof(value));
}

static void put32(struct built *frame, __u32 value)
{
	value = htonl(value);
	put(frame, &value, sizeof(value));
}

static void put_transport(struct built *frame, const struct plan *plan)
{
	frame->transport_at = frame->length;
	if (plan->protocol == IPPROTO_TCP) {
		put16(frame, CLIENT);
		put16(frame, SERVER);
		put32(frame, plan->sequence);
		put32(frame, 0x01020304);
		put16(frame, (__u16)((5 + plan->tcp_options / 4) << 12 | plan->tcp_flags));
		put_zeros(frame, 6 + plan->tcp_options);
	} else if (plan->protocol == IPPROTO_UDP) {
		put16(frame, CLIENT);
		put16(frame, SERVER);
		put16(frame, (__u16)(8 + plan->payload));
		put16(frame, 0);
	}
	put_zeros(frame, plan->payload);
}

static void put_ipv4(struct built *frame, const struct plan *plan)
{
	put16(frame, (__u16)((0x45 + plan->options / 4) << 8));
	put16(frame, 0);
	put16(frame, 7);
	put16(frame, plan->fragment);
	put16(frame, (__u16)(64 << 8 | plan->protocol));
	put16(frame, 0);
	put32(frame, SOURCE);
	put32(frame, DESTINATION);
	put_zeros(frame, plan->options);
}

static void put_ipv6(struct built *frame, const struct plan *plan)
{
	put32(frame, 0x60000000);
	put16(frame, 0);
	put16(frame, (__u16)(plan->protocol << 8 | 64));
	for (int i = 0; i < 8; i++)
		put32(frame, 0xfe800000u + (__u32)i);
}

static void set16(struct built *frame, size_t at, size_t value)
{
	frame->bytes[at] = (__u8)(value >> 8);
	frame->bytes[at + 1] = (__u8)value;
}

static void build(struct built *frame, const struct plan *plan)
{
	static const __u16 tags[] = {0x88a8, 0x8100, 0x9100};

	memset(frame, 0, sizeof(*frame));
	if (plan->offload)
		put_zeros(frame, FRAME_OFFLOAD_BYTES);
	put_zeros(frame, 12);
	for (unsigned int i = 0; i < plan->tags; i++) {
		put16(frame, tags[i % COUNT(tags)]);
		put16(frame, 100);
	}
	put16(frame, plan->ip == 4 ? ETH_P_IP : plan->ip == 6 ? ETH_P_IPV6 : ETH_P_ARP);
	frame->ip_at = frame->length;
	if (plan->ip == 4)
		put_ipv4(frame, plan);
	else if (plan->ip == 6)
		put_ipv6(frame, plan);
	put_transport(frame, plan);
	if (plan->ip == 4)
		set16(frame, frame->ip_at + 2, frame->length - frame->ip_at);
	else if (plan->ip == 6)
		set16(frame, frame->ip_at + 4, frame->length - frame->ip_at - 40);
}

/* From memory that ends with the frame. */
static int parse(const struct built *frame, size_t length, bool offload, struct frame_info *info)
{
	__u8 *bytes = malloc(length ? length : 1);
	int err;

	assert_non_null(bytes);
	memcpy(bytes, frame->bytes, length);
	err = frame_parse(bytes, length, offload, info);
	free(bytes);
	return err;
}

static struct frame_info parsed(const struct plan *plan)
{
	struct built frame;
	struct frame_info info;

	build(&frame, plan);
	assert_int_equal(parse(&frame, frame.length, plan->offload, &info), 0);
	return info;
}

static void tcp_has_a_range(void **state)
{
	struct frame_info info = parsed(
		&(struct plan){.ip = 4, .protocol = IPPROTO_TCP, .sequence = 1000, .payload = 100});

	assert_int_equal(info.length, 14 + 20 + 20 + 100);
	assert_int_equal(info.payload, 100);
	assert_int_equal(info.payload_at, 54);
	assert_int_equal(info.source, SOURCE);
	assert_int_equal(info.destination, DESTINATION);
	assert_int_equal(info.source_port, CLIENT);
	assert_int_equal(info.destination_port, SERVER);
	assert_int_equal(info.ethertype, ETH_P_IP);
	assert_int_equal(info.segments, 1);
	assert_true(info.sequenced && !info.fragment && !info.truncated);
	assert_true(frame_sequence(&info) == (1000ull << 32 | 1100));
	assert_true(frame_addresses(&info) == ((__u64)SOURCE << 32 | DESTINATION));
	assert_true(frame_ports(&info) == ((__u64)CLIENT << 32 | SERVER << 16 | IPPROTO_TCP));
}

static void syn_and_fin_count_one(void **state)
{
	struct plan plan = {.ip = 4, .protocol = IPPROTO_TCP, .sequence = 0xffffffff};
	struct frame_info info;

	assert_int_equal(parsed(&plan).end, 0xffffffff);
	plan.tcp_flags = FRAME_SYN;
	info = parsed(&plan);
	assert_int_equal(info.tcp_flags, FRAME_SYN);
	assert_int_equal(info.end, 0);
	plan.tcp_flags = FRAME_FIN;
	assert_int_equal(parsed(&plan).end, 0);
	plan.tcp_flags = FRAME_SYN | FRAME_FIN;
	plan.payload = 5;
	assert_int_equal(parsed(&plan).end, 6);
	plan.tcp_flags = FRAME_RST;
	assert_int_equal(parsed(&plan).end, 4);
}

static void what_pads_a_frame_is_not_payload(void **state)
{
	struct plan plan = {.ip = 4, .protocol = IPPROTO_TCP, .payload = 1};
	struct frame_info info;
	struct built frame;

	build(&frame, &plan);
	put_zeros(&frame, ETHERNET_MIN - frame.length);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.payload, 1);
	assert_int_equal(info.end, 1);
	assert_int_equal(info.length, ETHERNET_MIN);
	plan.protocol = IPPROTO_UDP;
	plan.ip = 6;
	build(&frame, &plan);
	put_zeros(&frame, 20);
	/* UDP's own length is shorter than what IP says, too. */
	set16(&frame, frame.ip_at + 4, 8 + 21);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.payload, 1);
}

/* Only the first fragment has ports, and no part of a datagram has its length. */
static void fragments_have_no_ports_but_the_first(void **state)
{
	struct plan plan = {.ip = 4, .protocol = IPPROTO_UDP, .payload = 64, .fragment = MORE};
	struct frame_info info = parsed(&plan);
	struct built frame;

	assert_true(info.fragment);
	assert_int_equal(info.source_port, CLIENT);
	build(&frame, &plan);
	set16(&frame, frame.transport_at + 4, 2000);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.payload, 64);
	assert_false(info.truncated);
	plan.fragment = 3;
	info = parsed(&plan);
	assert_true(info.fragment);
	assert_int_equal(info.source_port | info.destination_port, 0);
	assert_int_equal(info.payload, 72);
	assert_true(frame_ports(&info) == IPPROTO_UDP);
	plan.fragment = DONT;
	assert_false(parsed(&plan).fragment);
}

static void ipv6_has_ports_and_no_addresses(void **state)
{
	struct plan plan = {
		.ip = 6, .protocol = IPPROTO_TCP, .sequence = 5, .payload = 10, .tags = 2};
	struct frame_info info = parsed(&plan);

	assert_int_equal(info.ip, 6);
	assert_int_equal(info.protocol, IPPROTO_TCP);
	assert_true(frame_addresses(&info) == 0);
	assert_true(frame_ports(&info) == ((__u64)CLIENT << 32 | SERVER << 16 | ETH_P_IPV6));
	assert_true(frame_sequence(&info) == (5ull << 32 | 15));
	info = parsed(&(struct plan){.payload = 46});
	assert_int_equal(info.ip, 0);
	assert_true(frame_addresses(&info) == 0 && frame_ports(&info) == ETH_P_ARP);
	assert_int_equal(info.payload, 46);
}

/* Hop-by-hop options of 16 bytes, a fragment header, authentication of 12, then TCP. */
static void extensions_of_ipv6_are_passed(void **state)
{
	static const __u8 extensions[] = {
		44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 51, 0,
		0,  0, 0, 0, 0, 1, 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,
	};
	const struct plan plan = {.ip = 6, .protocol = IPPROTO_TCP, .sequence = 9};
	struct frame_info info;
	struct built frame, tail;

	build(&tail, &plan);
	build(&frame, &plan);
	frame.length = frame.transport_at;
	put(&frame, extensions, sizeof(extensions));
	put(&frame, tail.bytes + tail.transport_at, tail.length - tail.transport_at);
	frame.bytes[frame.ip_at + 6] = 0;
	set16(&frame, frame.ip_at + 4, sizeof(extensions) + 20);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.protocol, IPPROTO_TCP);
	assert_int_equal(info.source_port, CLIENT);
	assert_int_equal(info.first, 9);
	assert_false(info.fragment);
	/* The middle of a datagram. */
	frame.bytes[frame.transport_at + 16 + 3] = 8;
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_true(info.fragment);
	assert_int_equal(info.source_port, 0);
	assert_false(info.sequenced);
	/* Likewise, and what would be its ports comes next. */
	frame.bytes[frame.transport_at + 16] = IPPROTO_UDP;
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.protocol, IPPROTO_UDP);
	assert_int_equal(info.source_port, 0);
	/* Options that end behind the frame. */
	frame.bytes[frame.transport_at + 1] = 200;
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_true(info.truncated);
	assert_int_equal(info.source_port, 0);
}

static void lengths_that_lie_are_not_followed(void **state)
{
	const struct plan plan = {.ip = 4, .protocol = IPPROTO_TCP, .payload = 40};
	struct frame_info info;
	struct built frame;

	build(&frame, &plan);
	set16(&frame, frame.ip_at + 2, 1500);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_true(info.truncated && info.sequenced);
	assert_int_equal(info.payload, 40);
	set16(&frame, frame.ip_at + 2, 23);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_true(info.truncated && info.ip == 4 && !info.source_port);
	set16(&frame, frame.ip_at + 2, 19);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.ip, 0);
	assert_true(frame_ports(&info) == ETH_P_IP);
	/* TCP's header: longer than what is there, and shorter than any. */
	build(&frame, &(struct plan){.ip = 4, .protocol = IPPROTO_TCP, .payload = 4});
	frame.bytes[frame.transport_at + 12] = 0xf0;
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_true(info.truncated && !info.sequenced && info.source_port == CLIENT);
	assert_true(frame_sequence(&info) == 0);
	frame.bytes[frame.transport_at + 12] = 0x40;
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_true(!info.sequenced && info.source_port == CLIENT);
	/* IPv4's header. */
	frame.bytes[frame.ip_at] = 0x44;
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.ip, 0);
	frame.bytes[frame.ip_at] = 0x65;
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.ip, 0);
}

static void tags_may_go_on_to_the_end(void **state)
{
	struct frame_info info =
		parsed(&(struct plan){.ip = 4, .protocol = IPPROTO_UDP, .tags = 9});
	struct built frame = {.length = 12};

	assert_int_equal(info.ethertype, ETH_P_IP);
	assert_int_equal(info.source_port, CLIENT);
	while (frame.length < 100)
		put16(&frame, ETH_P_8021Q);
	assert_int_equal(parse(&frame, frame.length, false, &info), 0);
	assert_int_equal(info.ethertype, ETH_P_8021Q);
	assert_true(info.payload < 4);
}

static struct virtio_net_hdr_v1 *header_of(struct built *frame)
{
	return (struct virtio_net_hdr_v1 *)frame->bytes;
}

static void segments_are_told_by_the_header(void **state)
{
	const struct plan plan = {.ip = 4,
				  .protocol = IPPROTO_TCP,
				  .sequence = 100,
				  .payload = 3001,
				  .offload = true};
	struct virtio_net_hdr_v1 *header;
	struct frame_info info;
	struct built frame;

	build(&frame, &plan);
	header = header_of(&frame);
	assert_int_equal(parse(&frame, frame.length, true, &info), 0);
	assert_int_equal(info.length, 3055);
	assert_int_equal(info.segments, 1);
	header->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	header->csum_start = 34;
	header->csum_offset = 16;
	header->gso_type = VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_ECN;
	header->gso_size = 1000;
	assert_int_equal(parse(&frame, frame.length, true, &info), 0);
	assert_int_equal(info.segments, 4);
	assert_int_equal(info.payload_at, 54);
	assert_int_equal(info.offload.segments, SEGMENTS_TCP4);
	assert_int_equal(info.offload.segment_bytes, 1000);
	assert_int_equal(info.offload.checksum_start, 34);
	assert_int_equal(info.offload.checksum_at, 50);
	assert_true(info.offload.needs_checksum && !info.offload.checked);
	assert_int_equal(info.end, 3101);
	/* More than IPv4 can tell the length of. */
	set16(&frame, frame.ip_at + 2, 0);
	assert_int_equal(parse(&frame, frame.length, true, &info), 0);
	assert_int_equal(info.payload, 3001);
	header->flags = VIRTIO_NET_HDR_F_DATA_VALID;
	assert_int_equal(parse(&frame, frame.length, true, &info), 0);
	assert_true(info.offload.checked && !info.offload.needs_checksum);
}

static void assert_mangled(struct built *frame, struct virtio_net_hdr_v1 header)
{
	static const struct frame_info none;
	struct frame_info info;

	*header_of(frame) = header;
	assert_int_equal(parse(frame, frame->length, true, &info), -EINVAL);
	assert_int_equal(info.length, frame->length - FRAME_OFFLOAD_BYTES);
	info.length = 0;
	assert_memory_equal(&info, &none, sizeof(none));
}

static void mangled_headers_are_refused(void **state)
{
	const __u8 checksum = VIRTIO_NET_HDR_F_NEEDS_CSUM, tcp4 = VIRTIO_NET_HDR_GSO_TCPV4;
	struct built frame;

	build(&frame, &(struct plan){.ip = 4, .protocol = IPPROTO_TCP, .offload = true});
	/* 54 bytes: the last checksum that fits is at 52. */
	assert_mangled(&frame, (struct virtio_net_hdr_v1){
				       .flags = checksum, .csum_start = 34, .csum_offset = 19});
	assert_mangled(&frame, (struct virtio_net_hdr_v1){.flags = checksum,
							  .csum_start = 65535,
							  .csum_offset = 65535});
	assert_mangled(&frame, (struct virtio_net_hdr_v1){
				       .flags = checksum, .csum_start = 13, .csum_offset = 16});
	assert_mangled(&frame, (struct virtio_net_hdr_v1){.gso_type = tcp4});
	assert_mangled(&frame, (struct virtio_net_hdr_v1){.gso_type = 77, .gso_size = 100});
	assert_mangled(&frame, (struct virtio_net_hdr_v1){.gso_type = VIRTIO_NET_HDR_GSO_TCPV6,
							  .gso_size = 100});
	assert_mangled(&frame, (struct virtio_net_hdr_v1){.gso_type = 5, .gso_size = 100});
	build(&frame, &(struct plan){.ip = 6, .protocol = IPPROTO_UDP, .offload = true});
	assert_mangled(&frame, (struct virtio_net_hdr_v1){.gso_type = tcp4, .gso_size = 100});
}

static void what_is_no_frame_is_refused(void **state)
{
	struct built frame = {.length = 0};
	struct frame_info info;

	for (size_t length = 0; length < 14; length++)
		assert_int_equal(parse(&frame, length, false, &info), -EINVAL);
	assert_int_equal(parse(&frame, 14, false, &info), 0);
	for (size_t length = 0; length < 26; length++)
		assert_int_equal(parse(&frame, length, true, &info), -EINVAL);
	assert_int_equal(parse(&frame, 26, true, &info), 0);
}

static struct plan random_plan(struct random *random)
{
	static const __u8 protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP};
	struct plan plan = {.offload = random_below(random, 2),
			    .tags = (unsigned int)random_below(random, 3),
			    .ip = random_below(random, 2) ? 4 : 6,
			    .options = 4 * (unsigned int)random_below(random, 11),
			    .protocol = protocols[random_below(random, 3)],
			    .tcp_flags = (__u8)random_next(random),
			    .tcp_options = 4 * (unsigned int)random_below(random, 11),
			    .sequence = (__u32)random_next(random),
			    .payload = (unsigned int)random_below(random, 2000)};

	if (plan.ip == 6)
		plan.options = 0;
	if (plan.protocol != IPPROTO_TCP)
		plan.tcp_options = 0;
	return plan;
}

static void frames_are_what_they_were_built_of(void **state)
{
	struct random random = {12};

	for (int i = 0; i < 20000; i++) {
		struct plan plan = random_plan(&random);
		struct frame_info info = parsed(&plan);
		bool tcp = plan.protocol == IPPROTO_TCP;
		__u32 expected = plan.payload;

		assert_int_equal(info.ip, plan.ip);
		assert_int_equal(info.protocol, plan.protocol);
		assert_int_equal(info.payload, plan.payload);
		assert_int_equal(info.payload_at + info.payload, info.length);
		assert_int_equal(info.source_port, plan.protocol == IPPROTO_ICMP ? 0 : CLIENT);
		assert_int_equal(info.sequenced, tcp);
		if (!tcp)
			continue;
		expected += plan.tcp_flags & 1;
		expected += plan.tcp_flags >> 1 & 1;
		assert_int_equal(info.first, plan.sequence);
		assert_int_equal(info.end, (__u32)(plan.sequence + expected));
		assert_int_equal(info.tcp_flags, plan.tcp_flags);
	}
}

/* What a cut frame still says is what the whole one does. */
static void cut_frames_say_nothing_else(void **state)
{
	struct random random = {13};

	for (int i = 0; i < 200; i++) {
		struct plan plan = random_plan(&random);
		struct frame_info whole = parsed(&plan), part;
		struct built frame;

		build(&frame, &plan);
		for (size_t length = 0; length < frame.length; length++) {
			if (parse(&frame, length, plan.offload, &part))
				continue;
			assert_true(!part.ip || part.ip == whole.ip);
			assert_true(!part.ip || part.truncated);
			assert_true(!part.source || part.source == whole.source);
			assert_true(!part.source_port || part.source_port == whole.source_port);
			assert_true(!part.sequenced || part.first == whole.first);
			assert_true(part.payload_at + part.payload == part.length);
			if (part.payload_at == whole.payload_at)
				assert_true(part.payload < whole.payload || !whole.payload);
		}
	}
}

/* Nothing is read or told that is not there (under the sanitizers: see build/asan). */
static void any_bytes_may_come(void **state)
{
	struct random random = {14};

	for (int i = 0; i < 100000; i++) {
		struct plan plan = random_plan(&random);
		struct frame_info info;
		struct built frame;

		plan.payload %= 64;
		build(&frame, &plan);
		for (__u64 n = 1 + random_below(&random, 4); n; n--)
			frame.bytes[random_below(&random, frame.length)] =
				(__u8)random_next(&random);
		frame.length -= random_below(&random, 4) ? 0 : random_below(&random, frame.length);
		if (parse(&frame, frame.length, plan.offload, &info))
			continue;
		assert_true(info.payload_at + info.payload <= info.length);
		assert_true(!info.sequenced || info.end - info.first <= info.payload + 2);
		assert_true(info.segments >= 1 && info.segments <= 1 + info.payload);
		assert_true(!info.offload.needs_checksum ||
			    info.offload.checksum_at + 2 <= info.length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_has_a_range),
		cmocka_unit_test(syn_and_fin_count_one),
		cmocka_unit_test(what_pads_a_frame_is_not_payload),
		cmocka_unit_test(fragments_have_no_ports_but_the_first),
		cmocka_unit_test(ipv6_has_ports_and_no_addresses),
		cmocka_unit_test(extensions_of_ipv6_are_passed),
		cmocka_unit_test(lengths_that_lie_are_not_followed),
		cmocka_unit_test(tags_may_go_on_to_the_end),
		cmocka_unit_test(segments_are_told_by_the_header),
		cmocka_unit_test(mangled_headers_are_refused),
		cmocka_unit_test(what_is_no_frame_is_refused),
		cmocka_unit_test(frames_are_what_they_were_built_of),
		cmocka_unit_test(cut_frames_say_nothing_else),
		cmocka_unit_test(any_bytes_may_come),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
