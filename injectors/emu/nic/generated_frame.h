/* SPDX-License-Identifier: GPL-2.0 */
/* How a generated frame looks: what the generator makes of flow and number, and the verifier makes again. */
#ifndef FAULTLINE_NIC_GENERATED_FRAME_H
#define FAULTLINE_NIC_GENERATED_FRAME_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define GENERATED_HEAD	  62 /* bytes: headers, flow, number, check */
#define GENERATED_AT	  42 /* where the last three are */
#define GENERATED_LONGEST 65535

struct generated {
	__u32 length; /* of the frame, GENERATED_HEAD to GENERATED_LONGEST */
	__u32 flow;
	__u64 number;
};

/*
 * What is the same in all frames of a traffic. Content is pairs of words, each with its complement, which add
 * nothing to a checksum of 16-bit words: it need not be summed up.
 */
struct generated_template {
	__u64 seed;
	__u64 packet_sum, datagram_sum; /* what is the same in all adds to these checksums */
	unsigned char head[GENERATED_HEAD];
};

void generated_init(struct generated_template *template, __u64 seed);
void generated_make(const struct generated_template *template, const struct generated *what,
		    unsigned char *frame);
/* What a frame says it is; false: nothing, or that it is not as long as that. */
bool generated_read(const unsigned char *frame, size_t length, struct generated *what);
/* Each of its bytes is as it was made. */
bool generated_matches(const struct generated_template *template, const struct generated *what,
		       const unsigned char *frame);

#endif
