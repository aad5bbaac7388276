/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames that are made up, and whether they arrive as they were.
 *
 * Each is Ethernet, IPv4 and UDP with valid checksums, of one of the traffic's flows in turn; it carries its flow, its
 * number in its flow, and content that follows from the two. The low half of the number is what the NIC's probes call
 * its sequence. Deterministic by the traffic's seed. One thread at a time.
 */
#ifndef FAULTLINE_NIC_GENERATOR_H
#define FAULTLINE_NIC_GENERATOR_H

#include <stddef.h>

#include "injectors/emu/traffic.h"

#define GENERATED_LEAST 64 /* bytes of a frame; as on the wire, without its check sequence */

struct generator;

int generator_create(struct generator **generator, const struct traffic_config *traffic);
void generator_destroy(struct generator *generator);

/* When the next frame is due, by the traffic's rate since `start_ns`: at once is 0. ~0: there is none any more. */
__u64 generator_due(const struct generator *generator, __u64 start_ns, __u64 now_ns);
/* The next frame into `room` bytes; its length: where that is more, the frame was cut. */
__u32 generator_next(struct generator *generator, void *frame, size_t room);
/* The number of a frame in its flow; false: it is not ours, or not as long as it was. */
bool generated_number(const void *frame, size_t length, __u64 *number);

struct verifier;

enum frame_verdict {
	FRAME_GOOD,
	FRAME_AFTER_GAP, /* good; others of its flow before it have not come */
	FRAME_LATE,	 /* out of order: one of those, which is missing no more */
	FRAME_TWICE,	 /* or later than it is known whether it has come */
	FRAME_DAMAGED,	 /* not as it was made, or not made by us */
};

#define VERIFIER_WINDOW 4096 /* latest numbers of a flow that are known to have come or not */

int verifier_create(struct verifier **verifier, const struct traffic_config *traffic);
void verifier_destroy(struct verifier *verifier);
enum frame_verdict verifier_check(struct verifier *verifier, const void *frame, size_t length);
/* Frames that gaps stand for. */
__u64 verifier_missing(const struct verifier *verifier);

#endif
