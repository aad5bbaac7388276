/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a frame says of itself: the flow it belongs to, the range of TCP sequence numbers it carries, and
 * what the virtio-net header before it leaves to the device.
 *
 * Any bytes may come: nothing outside of them is read, and of lengths that lie only what is there counts.
 */
#ifndef FAULTLINE_EMU_NIC_FRAME_H
#define FAULTLINE_EMU_NIC_FRAME_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define FRAME_OFFLOAD_BYTES \
	12 /* of the virtio-net header, as of a TAP with IFF_VNET_HDR of that size */

enum frame_segments { SEGMENTS_NONE, SEGMENTS_TCP4, SEGMENTS_TCP6, SEGMENTS_UDP };

/* Of a frame without such a header, and of one that needs nothing: all 0. */
struct frame_offload {
	bool needs_checksum; /* at checksum_at, of all from checksum_start on; both lie in the frame */
	bool checked;	     /* its checksums are known to be right */
	__u8 segments;	     /* enum frame_segments: it stands for several frames of the wire */
	__u16 segment_bytes; /* payload of each but the last, not 0 where there are any */
	__u16 checksum_start;
	__u32 checksum_at;
};

struct frame_info {
	__u32 length; /* bytes of the Ethernet frame */
	/* Behind the last header that was understood, without what pads the frame. */
	__u32 payload, payload_at;
	__u32 source, destination; /* of IPv4, host order, else 0 */
	__u16 source_port, destination_port;
	__u16 ethertype; /* behind the VLAN tags; of what ends within them that of a tag */
	__u8 ip;	 /* 4, 6, or 0: neither, or no sound header */
	__u8 protocol;	 /* IPPROTO_*, of IP only */
	__u8 tcp_flags;	 /* as in TCP's header, of one that is there as a whole */
	bool sequenced;	 /* first and end are TCP's */
	bool fragment;	 /* of IP, also the first one */
	bool truncated;	 /* its headers tell of more than there is */
	__u32 first;	 /* sequence number */
	__u32 end;	 /* the one after the last: SYN and FIN count one each */
	__u32 segments;	 /* frames of the wire that it stands for, 1 without segmentation */
	struct frame_offload offload;
};

#define FRAME_FIN 0x01
#define FRAME_SYN 0x02
#define FRAME_RST 0x04

/*
 * -EINVAL: fewer bytes than an Ethernet header has, or a virtio-net header (`offload`: there is one) that
 * contradicts itself or the frame behind it. *info is all 0 then, but for the length.
 */
int frame_parse(const void *bytes, size_t length, bool offload, struct frame_info *info);

/* What the NIC's probes say of a flow (injectors/emu/probes.h): 0 is no IPv4, whose protocol is an EtherType. */
static inline __u64 frame_addresses(const struct frame_info *info)
{
	return (__u64)info->source << 32 | info->destination;
}

static inline __u64 frame_ports(const struct frame_info *info)
{
	return (__u64)info->source_port << 32 | (__u64)info->destination_port << 16 |
	       (info->ip == 4 ? info->protocol : info->ethertype);
}

/* As the probes' sequence. */
static inline __u64 frame_sequence(const struct frame_info *info)
{
	return (__u64)info->first << 32 | info->end;
}

#endif
