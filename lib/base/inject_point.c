// SPDX-License-Identifier: GPL-2.0
#include "lib/base/inject_point.h"

const char *inject_point_name(unsigned int point)
{
	static const char *const names[INJECT_POINTS] = {
		[INJECT_DELIVERY] = "delay of delivery",
		[INJECT_DISPATCH] = "delay of dispatch",
		[INJECT_RESOLVE] = "delay of resolve",
		[INJECT_RESPOND] = "delay of respond",
		[INJECT_RESPONSE_LOST] = "response lost",
		[INJECT_RESPONSE_FAILURE] = "response failure",
		[INJECT_OVERFLOW] = "overflow",
		[INJECT_DUPLICATE] = "duplicate",
		[INJECT_FRAME_LOSS] = "frame loss",
		[INJECT_PACKET_LOSS] = "packet loss",
		[INJECT_PACKET_DUPLICATE] = "packet duplicate",
		[INJECT_NACK_LOST] = "NAK lost",
		[INJECT_EVICT] = "eviction",
		[INJECT_CPU_HOG] = "CPU hog",
	};

	return point < INJECT_POINTS ? names[point] : "unknown injection";
}
