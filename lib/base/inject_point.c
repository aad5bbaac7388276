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
		[INJECT_LINK_DOWN] = "link down",
		[INJECT_LINK_FLAP] = "link flap",
		[INJECT_WINDOW_FULL] = "window table full",
		[INJECT_REQUESTERS_FULL] = "requester table full",
		[INJECT_ROGUE_DMA] = "rogue DMA",
		[INJECT_UNMAP_IN_FLIGHT] = "unmap in flight",
		[INJECT_REVOKE] = "revocation",
		[INJECT_HOST_KILL] = "kill of a host",
		[INJECT_IRQ_LATE] = "interrupt late",
		[INJECT_IRQ_LOST] = "interrupt lost",
		[INJECT_NOISY_CLIENT] = "noisy client",
		[INJECT_PIN_ENOMEM] = "pin refused",
		[INJECT_SLOW_REMAP] = "slow remap",
		[INJECT_VETO] = "veto of a verb",
		[INJECT_KICK_LOST] = "kick lost",
		[INJECT_EVENT_LOST] = "event lost",
		[INJECT_EVENT_LATE] = "event late",
		[INJECT_INSTALL_STALL] = "install stall",
		[INJECT_GUEST_KILL] = "kill of a guest",
		[INJECT_CQ_OVERRUN] = "completion queue overrun",
		[INJECT_DEAD_KEY] = "dead key",
		[INJECT_BALLOON] = "balloon",
		[INJECT_SUSPEND] = "suspension",
		[INJECT_DEVICE_RESTART] = "restart of a device",
	};

	return point < INJECT_POINTS ? names[point] : "unknown injection";
}
