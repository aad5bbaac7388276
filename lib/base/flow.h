/* SPDX-License-Identifier: GPL-2.0 */
/* Flows of a network: which events name one, and what people call it. */
#ifndef FAULTLINE_FLOW_H
#define FAULTLINE_FLOW_H

#include <stdbool.h>

#include "bpf/event.h"
#include "lib/base/stream.h"

/* "[1111:...:8888]:65535 > [...]:65535 (protocol 255)" */
#define FLOW_TEXT 144

/* The flow that an event names in its `tid`; 0: none, or one that found no room in the dictionary. */
static inline __u32 event_flow(const struct event *event)
{
	switch (event->kind) {
	case EVENT_FRAMES_LOST:
	case EVENT_FRAMES_HELD:
	case EVENT_FRAMES_RECOVERED:
	case EVENT_TCP_RETRANSMIT:
	case EVENT_TCP_SYNACK:
	case EVENT_TCP_STATE:
	case EVENT_TCP_ERROR:
	case EVENT_TCP_CLOSED:
		return event->tid;
	default:
		return 0;
	}
}

/* Whether the `tid` of a kind is a thread: it is a flow or a counter of those of networks. */
static inline bool event_has_thread(const struct event *event)
{
	return (event->kind < EVENT_FRAMES_LOST || event->kind > EVENT_TCP_ERROR) &&
	       event->kind != EVENT_TCP_CLOSED;
}

/*
 * "10.77.0.2:40002 > 10.77.0.1:5201" of TCP, "[fe80::1]:1 > [fe80::2]:2", "10.77.0.2 > 10.77.0.1 (ICMP)",
 * "ethertype 0x0806".
 */
const char *flow_format(const struct flow_info *flow, char text[FLOW_TEXT]);

#endif
