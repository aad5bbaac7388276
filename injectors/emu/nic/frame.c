// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/frame.h"

#include <endian.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <string.h>

#define TAG_BYTES	 4
#define IPV4_BYTES	 20
#define IPV4_MORE	 0x2000 /* fragments follow */
#define IPV4_OFFSET	 0x1fff
#define IPV6_BYTES	 40
#define IPV6_MORE	 0x0001
#define IPV6_OFFSET	 0xfff8
#define IPV6_EXTENSIONS	 8 /* headers that are looked behind */
#define TCP_BYTES	 20
#define UDP_BYTES	 8
#define PROTOCOL_AH	 51
#define SEGMENTS_UDP_L4	 5 /* VIRTIO_NET_HDR_GSO_UDP_L4, which older headers of the kernel lack */
#define CHECKSUM_BYTES	 2
#define ETHERTYPE_QINQ_1 0x9100

_Static_assert(sizeof(struct virtio_net_hdr_v1) == FRAME_OFFLOAD_BYTES, "what the TAP is told");

/* What is left of the frame; never beyond what is there. */
struct rest {
	const __u8 *at;
	size_t left;
};

static __u16 load16(const __u8 *at)
{
	return (__u16)(at[0] << 8 | at[1]);
}

static __u32 load32(const __u8 *at)
{
	return (__u32)load16(at) << 16 | load16(at + 2);
}

static bool skip(struct rest *rest, size_t bytes)
{
	if (rest->left < bytes)
		return false;
	rest->at += bytes;
	rest->left -= bytes;
	return true;
}

/* What a header says that follows it: the rest of a frame may be padding, or less than that. */
static void limit(struct rest *rest, size_t bytes, struct frame_info *info)
{
	if (bytes > rest->left)
		info->truncated = true;
	else
		rest->left = bytes;
}

static void parse_tcp(struct rest *rest, struct frame_info *info)
{
	size_t header;

	header = rest->left < TCP_BYTES ? TCP_BYTES : (size_t)(rest->at[12] >> 4) * 4;
	if (header > rest->left)
		info->truncated = true;
	if (header < TCP_BYTES || header > rest->left)
		return;
	info->tcp_flags = rest->at[13];
	info->sequenced = true;
	info->first = load32(rest->at + 4);
	skip(rest, header);
	info->end = info->first + (__u32)rest->left + !!(info->tcp_flags & FRAME_SYN) +
		    !!(info->tcp_flags & FRAME_FIN);
}

/* The segments of a UDP datagram share its header, whose length is then that of one, or of all. */
static void parse_udp(struct rest *rest, struct frame_info *info)
{
	size_t length;

	if (rest->left < UDP_BYTES) {
		info->truncated = true;
		return;
	}
	length = load16(rest->at + 4);
	skip(rest, UDP_BYTES);
	if (length < UDP_BYTES || info->fragment)
		return;
	if (info->offload.segments == SEGMENTS_NONE)
		limit(rest, length - UDP_BYTES, info);
}

static void parse_transport(struct rest *rest, struct frame_info *info)
{
	bool tcp = info->protocol == IPPROTO_TCP;

	if (!tcp && info->protocol != IPPROTO_UDP)
		return;
	if (rest->left < 4) {
		info->truncated = true;
		return;
	}
	info->source_port = load16(rest->at);
	info->destination_port = load16(rest->at + 2);
	if (tcp)
		parse_tcp(rest, info);
	else
		parse_udp(rest, info);
}

static void parse_ipv4(struct rest *rest, struct frame_info *info)
{
	size_t header, length;
	__u16 fragment;

	if (rest->left < IPV4_BYTES || rest->at[0] >> 4 != 4)
		return;
	header = (size_t)(rest->at[0] & 15) * 4;
	length = load16(rest->at + 2);
	/* Segments of more than 64 KiB in all have a length of 0. */
	if (!length && info->offload.segments)
		length = rest->left;
	if (header < IPV4_BYTES || header > rest->left || length < header)
		return;
	limit(rest, length, info);
	fragment = load16(rest->at + 6);
	info->ip = 4;
	info->protocol = rest->at[9];
	info->source = load32(rest->at + 12);
	info->destination = load32(rest->at + 16);
	info->fragment = fragment & (IPV4_MORE | IPV4_OFFSET);
	skip(rest, header);
	if (!(fragment & IPV4_OFFSET))
		parse_transport(rest, info);
}

/* Whether it is an extension and what follows it can be looked at; false also of a fragment's middle. */
static bool skip_extension(struct rest *rest, struct frame_info *info, bool *middle)
{
	size_t bytes;
	__u8 next;

	if (rest->left < 8)
		return false;
	next = rest->at[0];
	switch (info->protocol) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		bytes = ((size_t)rest->at[1] + 1) * 8;
		break;
	case PROTOCOL_AH:
		bytes = ((size_t)rest->at[1] + 2) * 4;
		break;
	case IPPROTO_FRAGMENT:
		bytes = 8;
		info->fragment = load16(rest->at + 2) & (IPV6_OFFSET | IPV6_MORE);
		*middle = load16(rest->at + 2) & IPV6_OFFSET;
		break;
	default:
		return false;
	}
	if (!skip(rest, bytes)) {
		info->truncated = true;
		return false;
	}
	info->protocol = next;
	return !*middle;
}

static void parse_ipv6(struct rest *rest, struct frame_info *info)
{
	bool middle = false;
	size_t length;

	if (rest->left < IPV6_BYTES || rest->at[0] >> 4 != 6)
		return;
	length = load16(rest->at + 4);
	info->ip = 6;
	info->protocol = rest->at[6];
	skip(rest, IPV6_BYTES);
	/* A length of 0 may leave it to an option, or to the device that makes segments of it. */
	if (length || !(info->protocol == IPPROTO_HOPOPTS || info->offload.segments))
		limit(rest, length, info);
	for (int i = 0; i < IPV6_EXTENSIONS && skip_extension(rest, info, &middle);)
		i++;
	if (!middle)
		parse_transport(rest, info);
}

static bool is_tag(__u16 ethertype)
{
	return ethertype == ETH_P_8021Q || ethertype == ETH_P_8021AD ||
	       ethertype == ETHERTYPE_QINQ_1;
}

static void parse_ethernet(struct rest *rest, struct frame_info *info)
{
	info->ethertype = load16(rest->at + 12);
	skip(rest, ETH_HLEN);
	while (is_tag(info->ethertype) && rest->left >= TAG_BYTES) {
		info->ethertype = load16(rest->at + 2);
		skip(rest, TAG_BYTES);
	}
	if (info->ethertype == ETH_P_IP)
		parse_ipv4(rest, info);
	else if (info->ethertype == ETH_P_IPV6)
		parse_ipv6(rest, info);
}

/* Whose fields are little endian, as those of a modern device. */
static int parse_offload(const __u8 *bytes, size_t length, struct frame_offload *offload)
{
	struct virtio_net_hdr_v1 header;
	__u32 start, at;

	memcpy(&header, bytes, sizeof(header));
	start = le16toh(header.csum_start);
	at = start + le16toh(header.csum_offset);
	if (header.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		if (start < ETH_HLEN || at + CHECKSUM_BYTES > length)
			return -EINVAL;
		offload->needs_checksum = true;
		offload->checksum_start = (__u16)start;
		offload->checksum_at = at;
	}
	offload->checked = header.flags & VIRTIO_NET_HDR_F_DATA_VALID;
	switch (header.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_NONE:
		return 0;
	case VIRTIO_NET_HDR_GSO_TCPV4:
		offload->segments = SEGMENTS_TCP4;
		break;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		offload->segments = SEGMENTS_TCP6;
		break;
	case SEGMENTS_UDP_L4:
		offload->segments = SEGMENTS_UDP;
		break;
	default:
		return -EINVAL;
	}
	offload->segment_bytes = le16toh(header.gso_size);
	return offload->segment_bytes ? 0 : -EINVAL;
}

static bool offload_fits(const struct frame_info *info)
{
	switch (info->offload.segments) {
	case SEGMENTS_TCP4:
		return info->ip == 4 && info->protocol == IPPROTO_TCP;
	case SEGMENTS_TCP6:
		return info->ip == 6 && info->protocol == IPPROTO_TCP;
	case SEGMENTS_UDP:
		return info->protocol == IPPROTO_UDP;
	}
	return true;
}

int frame_parse(const void *bytes, size_t length, bool offload, struct frame_info *info)
{
	size_t before = offload ? FRAME_OFFLOAD_BYTES : 0;
	struct rest rest;
	__u32 segment;
	int error;

	*info = (struct frame_info){0};
	if (length < before || length > __INT_MAX__)
		return -EINVAL;
	rest = (struct rest){(const __u8 *)bytes + before, length - before};
	info->length = (__u32)rest.left;
	if (rest.left < ETH_HLEN)
		return -EINVAL;
	error = offload ? parse_offload(bytes, rest.left, &info->offload) : 0;
	parse_ethernet(&rest, info);
	if (error || !offload_fits(info)) {
		*info = (struct frame_info){.length = info->length};
		return -EINVAL;
	}
	info->payload = (__u32)rest.left;
	info->payload_at = (__u32)((size_t)(rest.at - (const __u8 *)bytes) - before);
	segment = info->offload.segment_bytes;
	info->segments =
		segment && info->payload > segment ? (info->payload + segment - 1) / segment : 1;
	return 0;
}
