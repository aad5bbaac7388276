// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes frame_parse(): a NIC takes what the wire and the guest give it. The first byte chooses: odd, a
 * virtio-net header comes before the frame; from 128 on the frame is one of IPv4 or IPv6 but for what the
 * bytes change. `frame --seeds DIR` writes first inputs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/nic/frame.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

#define CHANGED	 128
#define OFFLOAD	 1
#define IPV6	 2
#define FRAME	 96 /* bytes of the frame that is changed */
#define ETHERNET 14

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_frame(uint8_t *frame, bool ipv6, struct bytes *in)
{
	static const uint8_t ipv4_head[] = {0x08, 0x00, 0x45, 0, 0,  FRAME - ETHERNET,
					    0,	  1,	0,    0, 64, 6};
	static const uint8_t ipv6_head[] = {0x86, 0xdd, 0x60, 0, 0, 0, 0, FRAME - ETHERNET - 40,
					    6,	  64};

	memset(frame, 0, FRAME);
	if (ipv6)
		memcpy(frame + 12, ipv6_head, sizeof(ipv6_head));
	else
		memcpy(frame + 12, ipv4_head, sizeof(ipv4_head));
	frame[ETHERNET + (ipv6 ? 40 : 20) + 12] = 0x50;
	while (in->left) {
		size_t at = take_below(in, FRAME);

		frame[at] = take_byte(in);
	}
}

static void check(const struct frame_info *info, size_t length, bool offload)
{
	if (info->length != length - (offload ? FRAME_OFFLOAD_BYTES : 0) ||
	    (__u64)info->payload_at + info->payload > info->length)
		abort();
	if (info->sequenced && info->end - info->first > info->payload + 2)
		abort();
	if (!info->segments || info->segments > info->payload + 1)
		abort();
	if (info->offload.needs_checksum && (info->offload.checksum_at + 2 > info->length ||
					     info->offload.checksum_start < ETHERNET))
		abort();
	if (info->ip != 4 && frame_addresses(info))
		abort();
}

static void parse_exactly(const uint8_t *bytes, size_t length, bool offload)
{
	uint8_t *copy = malloc(length + !length); /* its end is watched */
	struct frame_info info;
	int err;

	memcpy(copy, bytes, length);
	err = frame_parse(copy, length, offload, &info);
	if (err && err != -EINVAL)
		abort();
	if (!err)
		check(&info, length, offload);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	uint8_t bytes[FRAME_OFFLOAD_BYTES + FRAME], how = take_byte(&in);
	size_t before = how & OFFLOAD ? FRAME_OFFLOAD_BYTES : 0, length;

	if (how < CHANGED) {
		parse_exactly(in.next, in.left, how & OFFLOAD);
		return 0;
	}
	take_bytes(&in, bytes, before);
	length = before + FRAME - take_below(&in, 4) * take_below(&in, FRAME / 3);
	make_frame(bytes + before, how & IPV6, &in);
	parse_exactly(bytes, length, how & OFFLOAD);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);
	uint8_t frame[FRAME_OFFLOAD_BYTES + FRAME] = {0};

	if (!directory)
		return 0;
	for (uint8_t how = 0; how < 4; how++) {
		struct bytes none = {frame, 0};
		char name[] = "whole0";

		name[5] = (char)('0' + how);
		make_frame(frame + (how & OFFLOAD ? FRAME_OFFLOAD_BYTES : 0), how & IPV6, &none);
		seed_write(directory, name, how, frame,
			   FRAME + (how & OFFLOAD ? FRAME_OFFLOAD_BYTES : 0));
		memset(frame, 0, sizeof(frame));
		seeds_write_random(directory, CHANGED + how, 4);
	}
	exit(0);
}
