/* SPDX-License-Identifier: GPL-2.0 */
/* What an injection shakes: the code of EVENT_INJECT_START and EVENT_INJECT_STOP. */
#ifndef FAULTLINE_INJECT_POINT_H
#define FAULTLINE_INJECT_POINT_H

enum inject_point {
	/* latency added before the stage that the name says */
	INJECT_DELIVERY, /* between the request's arrival in the queue and the ISR */
	INJECT_DISPATCH, /* between the ISR and the handler's start */
	INJECT_RESOLVE,	 /* while memory is being made present, inside the pager */
	INJECT_RESPOND,	 /* between the IOPT update and the response */
	INJECT_DELAYS,	 /* number of the points above */

	INJECT_RESPONSE_LOST = INJECT_DELAYS, /* the response never reaches the device */
	INJECT_RESPONSE_FAILURE,	      /* the response is RESPONSE_FAILURE */
	INJECT_OVERFLOW,		      /* the PRQ behaves as if full */
	INJECT_DUPLICATE,		      /* the device raises the same request once more */
	INJECT_FRAME_LOSS,		      /* a frame is lost before it reaches its NIC */
	INJECT_PACKET_LOSS,		      /* an RDMA device's link loses a packet of it */
	INJECT_PACKET_DUPLICATE,	      /* ... delivers it twice */
	INJECT_NACK_LOST,		      /* ... loses a NAK, or RNR, of it */

	/* done by the injector itself, asked nowhere in the machine */
	INJECT_EVICT,
	INJECT_CPU_HOG,

	/* done to emulated hosts, in the order of enum cluster_inject_kind */
	INJECT_CLUSTER,
	INJECT_LINK_DOWN = INJECT_CLUSTER,
	INJECT_LINK_FLAP,
	INJECT_WINDOW_FULL,
	INJECT_REQUESTERS_FULL,
	INJECT_ROGUE_DMA,
	INJECT_UNMAP_IN_FLIGHT,
	INJECT_REVOKE,
	INJECT_HOST_KILL,
	INJECT_IRQ_LATE,
	INJECT_IRQ_LOST,
	INJECT_NOISY_CLIENT,

	/* of devices with a mode (injectors/emu/hyv): host, channel, device */
	INJECT_PIN_ENOMEM,    /* the host cannot pin the guest's pages */
	INJECT_SLOW_REMAP,    /* latency added to the scratch mapping of them */
	INJECT_VETO,	      /* the host's filter refuses a verb */
	INJECT_KICK_LOST,     /* a kick is not heard */
	INJECT_EVENT_LOST,    /* a completion event's interrupt is not given */
	INJECT_EVENT_LATE,    /* ... is given later */
	INJECT_INSTALL_STALL, /* latency added to what the device does for a verb */
	INJECT_GUEST_KILL,    /* the guest's process is killed */
	INJECT_CQ_OVERRUN,    /* a completion finds its queue full */
	INJECT_DEAD_KEY,      /* the key of a work request is taken for one that is gone */

	/* done to virtual machines by QEMU, which is told by its monitor */
	INJECT_BALLOON, /* a balloon takes the guest's memory */
	INJECT_SUSPEND, /* its CPUs stand still */

	/* of devices of virtual machines (injectors/emu/vhost) */
	INJECT_DEVICE_RESTART, /* the device hangs up and has forgotten all, as after its process was killed */
	INJECT_POINTS,
};

/* "delay of delivery", "response lost", ..., "unknown injection". */
const char *inject_point_name(unsigned int point);

#endif
