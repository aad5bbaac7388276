/* SPDX-License-Identifier: GPL-2.0 */
/* What carries frames between the two TAPs of a network in place of a NIC: a thread that copies them. */
#ifndef FAULTLINE_TEST_TAP_LOOP_H
#define FAULTLINE_TEST_TAP_LOOP_H

#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>

#include "injectors/net/network.h"

struct tap_loop {
	const struct network *network;
	pthread_t thread;
	int stop[2];					    /* a pipe */
	__u64 carried[NETWORK_SIDES], bytes[NETWORK_SIDES]; /* read from that side */
	__u64 lost;
	__u64 strange;		 /* neither IPv4 nor to the peer's address */
	__u64 largest;		 /* frame, with the header */
	unsigned int lose_every; /* frames with payload from the wire; 0: none */
};

void tap_loop_start(struct tap_loop *loop, const struct network *network);
void tap_loop_stop(struct tap_loop *loop);

#endif
