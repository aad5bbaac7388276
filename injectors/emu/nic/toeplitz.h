/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue a frame belongs to: Microsoft's receive-side scaling. A Toeplitz hash of the flow chooses an
 * entry of a table, which holds the queue. Addresses and ports are those of struct frame_info, host order.
 */
#ifndef FAULTLINE_EMU_NIC_TOEPLITZ_H
#define FAULTLINE_EMU_NIC_TOEPLITZ_H

#include "injectors/emu/nic/frame.h"

#define TOEPLITZ_KEY	 40 /* bytes */
#define TOEPLITZ_INPUT	 12 /* of IPv4: two addresses, two ports */
#define STEERING_ENTRIES 128

/* The hash is linear: what each value of each byte of the input adds to it. */
struct toeplitz {
	__u32 adds[TOEPLITZ_INPUT][256];
};

/* NULL: the key of Microsoft's test vectors, which most drivers begin with. */
void toeplitz_init(struct toeplitz *toeplitz, const __u8 key[TOEPLITZ_KEY]);

static inline __u32 toeplitz_word(const __u32 adds[4][256], __u32 word)
{
	return adds[0][word >> 24] ^ adds[1][word >> 16 & 255] ^ adds[2][word >> 8 & 255] ^
	       adds[3][word & 255];
}

static inline __u32 toeplitz_addresses(const struct toeplitz *toeplitz, __u32 source,
				       __u32 destination)
{
	return toeplitz_word(toeplitz->adds, source) ^
	       toeplitz_word(toeplitz->adds + 4, destination);
}

static inline __u32 toeplitz_ports(const struct toeplitz *toeplitz, __u32 source, __u32 destination,
				   __u16 source_port, __u16 destination_port)
{
	return toeplitz_addresses(toeplitz, source, destination) ^
	       toeplitz_word(toeplitz->adds + 8, (__u32)source_port << 16 | destination_port);
}

struct steering {
	struct toeplitz toeplitz;
	__u16 queue[STEERING_ENTRIES];
};

/* Spreads the entries over so many queues in turn. */
void steering_init(struct steering *steering, unsigned int queues);

/*
 * By addresses and ports, which add nothing where there are none; fragments, which have to meet the rest
 * of their datagram, by addresses. What is no IPv4 has a hash of 0.
 */
static inline __u32 steering_hash(const struct steering *steering, const struct frame_info *info)
{
	const struct toeplitz *toeplitz = &steering->toeplitz;

	if (info->ip != 4)
		return 0;
	if (info->fragment)
		return toeplitz_addresses(toeplitz, info->source, info->destination);
	return toeplitz_ports(toeplitz, info->source, info->destination, info->source_port,
			      info->destination_port);
}

static inline unsigned int steering_queue(const struct steering *steering,
					  const struct frame_info *info)
{
	return steering->queue[steering_hash(steering, info) % STEERING_ENTRIES];
}

#endif
