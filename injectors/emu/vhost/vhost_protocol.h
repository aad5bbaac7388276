/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The vhost-user protocol's messages, version 1, as QEMU's docs/interop/vhost-user.rst numbers and lays them out. Little-endian hosts,
 * as this program is for x86 alone.
 */
#ifndef FAULTLINE_VHOST_PROTOCOL_H
#define FAULTLINE_VHOST_PROTOCOL_H

#include <linux/types.h>

/* Front-end requests that we serve. */
enum vhost_user_request {
	VHOST_USER_GET_FEATURES = 1,
	VHOST_USER_SET_FEATURES = 2,
	VHOST_USER_SET_OWNER = 3,
	VHOST_USER_RESET_OWNER = 4,
	VHOST_USER_SET_MEM_TABLE = 5,
	VHOST_USER_SET_VRING_NUM = 8,
	VHOST_USER_SET_VRING_ADDR = 9,
	VHOST_USER_SET_VRING_BASE = 10,
	VHOST_USER_GET_VRING_BASE = 11,
	VHOST_USER_SET_VRING_KICK = 12,
	VHOST_USER_SET_VRING_CALL = 13,
	VHOST_USER_SET_VRING_ERR = 14,
	VHOST_USER_GET_PROTOCOL_FEATURES = 15,
	VHOST_USER_SET_PROTOCOL_FEATURES = 16,
	VHOST_USER_GET_QUEUE_NUM = 17,
	VHOST_USER_SET_VRING_ENABLE = 18,
	VHOST_USER_SET_BACKEND_REQ_FD = 21,
	VHOST_USER_IOTLB_MSG = 22,
	VHOST_USER_GET_CONFIG = 24,
	VHOST_USER_SET_CONFIG = 25,
	VHOST_USER_GET_INFLIGHT_FD = 31,
	VHOST_USER_SET_INFLIGHT_FD = 32,
	VHOST_USER_RESET_DEVICE = 34,
	VHOST_USER_REQUESTS,
};

/* Ours, on the channel that SET_BACKEND_REQ_FD gives. */
#define VHOST_USER_BACKEND_IOTLB_MSG 1

enum vhost_user_protocol_feature {
	VHOST_USER_PROTOCOL_F_MQ = 0,
	VHOST_USER_PROTOCOL_F_REPLY_ACK = 3,
	VHOST_USER_PROTOCOL_F_BACKEND_REQ = 5,
	VHOST_USER_PROTOCOL_F_CONFIG = 9,
	VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD = 12,
	VHOST_USER_PROTOCOL_F_RESET_DEVICE = 13,
};

/* A feature bit of virtio's range that the protocol takes for itself. */
#define VHOST_USER_F_PROTOCOL_FEATURES 30

#define VHOST_USER_VERSION	   1u
#define VHOST_USER_VERSION_MASK	   3u
#define VHOST_USER_FLAG_REPLY	   (1u << 2)
#define VHOST_USER_FLAG_NEED_REPLY (1u << 3)

#define VHOST_USER_REGIONS 8
#define VHOST_USER_CONFIG  256

struct vhost_user_header {
	__u32 request;
	__u32 flags;
	__u32 bytes; /* of the payload */
};

struct vhost_user_vring_state {
	__u32 index, number;
};

struct vhost_user_vring_address {
	__u32 index, flags;
	__u64 descriptors, used, available; /* user addresses of the front-end, or IOVAs */
	__u64 log;
};

/* Payload of SET_VRING_KICK, _CALL and _ERR. */
#define VHOST_USER_VRING_INDEX 0xffu
#define VHOST_USER_VRING_NO_FD (1u << 8)

struct vhost_user_region {
	__u64 guest_physical, bytes, user, file_offset;
};

struct vhost_user_memory {
	__u32 count, padding;
	struct vhost_user_region region[VHOST_USER_REGIONS];
};

struct vhost_user_config {
	__u32 offset, bytes, flags;
	unsigned char space[VHOST_USER_CONFIG];
};
#define VHOST_USER_CONFIG_HEAD 12

struct vhost_user_inflight {
	__u64 bytes, offset;
	__u16 queues, queue_size;
};
/* Without the padding at its end, which QEMU sends. */
#define VHOST_USER_INFLIGHT_BYTES 20

struct vhost_user_iotlb {
	__u64 iova, bytes, user;
	__u8 permissions; /* 1: read, 2: write */
	__u8 type;	  /* enum vhost_user_iotlb_type */
	__u8 padding[6];
};
enum vhost_user_iotlb_type {
	VHOST_USER_IOTLB_MISS = 1,
	VHOST_USER_IOTLB_UPDATE = 2,
	VHOST_USER_IOTLB_INVALIDATE = 3,
	VHOST_USER_IOTLB_ACCESS_FAIL = 4,
};

struct vhost_user_message {
	struct vhost_user_header header;
	union {
		__u64 number;
		struct vhost_user_vring_state state;
		struct vhost_user_vring_address address;
		struct vhost_user_memory memory;
		struct vhost_user_config config;
		struct vhost_user_inflight inflight;
		struct vhost_user_iotlb iotlb;
	} payload;
};

/* The payload of struct vhost_user_message is aligned: it is sent and received apart. */
_Static_assert(sizeof(struct vhost_user_header) == 12, "the protocol's");
_Static_assert(sizeof(struct vhost_user_vring_address) == 40, "the protocol's");
_Static_assert(sizeof(struct vhost_user_memory) == 8 + 8 * 32, "the protocol's");
_Static_assert(sizeof(struct vhost_user_inflight) == 24, "the protocol's");
_Static_assert(sizeof(struct vhost_user_iotlb) == 32, "the protocol's");

#endif
