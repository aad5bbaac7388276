/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An emulated NIC (NPF section 5; VPRI section 3.2): queue pairs whose buffers are guest memory that may be absent.
 *
 *	nic_class.c	the model: options, checks, life
 *	receive.c	the thread that takes frames off the wire
 *	rx_ring.h	what becomes of a frame: state alone, with a policy a file
 *	buffers.c	a ring's way to guest memory: descriptors, buffers, completions
 *	absent.c	page requests of rings: never two for a page, so many outstanding a ring
 *	provider.c	the IOprovider's thread, which empties the backup ring
 *	account.c	what is told of frames: probes, truth, counters
 *	transmit.c	sending, on the engine that block devices have
 *	driver*.c	the guest's side
 *	wire*.c		what it is plugged into
 *
 * The receiving thread never waits for a page. One lock is the device's: of its rings' state, requests and
 * accounts; whoever holds it does not wait either.
 */
#ifndef FAULTLINE_NIC_H
#define FAULTLINE_NIC_H

#include "injectors/emu/nic/layout.h"
#include "injectors/emu/nic/nic_settings.h"

struct nic;
struct network_config;

struct nic_counters {
	__u64 frames, bytes; /* delivered: the guest sees them */
	__u64 lost[16];	     /* by enum loss_reason */
	__u64 held, held_ever;
	__u64 interrupts;
};

struct nic_stats {
	struct nic_counters rx, tx; /* of all rings */
	__u64 in; /* frames that the wire gave; = rx.frames + lost + held, but for missed ones */
	__u64 in_bytes;
	__u64 missed; /* lost before the NIC: it was late */
	__u64 halted; /* rings that a hostile descriptor has stopped */
	__u64 broken; /* pinned pages that were absent all the same */
};
void nic_stats(struct nic *nic, struct nic_stats *stats);

/* For the guest's driver. */
const struct nic_settings *nic_settings(const struct nic *nic);
const struct nic_layout *nic_memory(const struct nic *nic);
struct nic_registers *nic_registers(struct nic *nic, __u32 ring);
/* The tail of some ring has moved and its tail_wanted was set. Any thread. */
void nic_kick(struct nic *nic);
/* The guest's end of its network for a queue pair; -1: it has none, or the pair has no part in it. */
int nic_guest_tap(const struct nic *nic, __u32 ring);
/* Nothing will come of the wire any more. */
bool nic_wire_ended(struct nic *nic);
/* The guest has posted its buffers: frames are taken off the wire from now on. */
void nic_begin(struct nic *nic);
/* What the guest's driver knows of it in the end: frames that its network did not take, and that were wrong. */
void nic_guest_ends(struct nic *nic, __u64 refused, __u64 mismatches);
void nic_network_config(const struct nic_settings *settings, const char *device,
			struct network_config *config);
/* Of the virtio-net header before each frame; 0: there is none. */
__u32 nic_header_bytes(const struct nic_settings *settings);
/* Bytes of the longest frame, with its virtio header if there is one. */
__u32 nic_frame_bytes(const struct nic_settings *settings);

#endif
