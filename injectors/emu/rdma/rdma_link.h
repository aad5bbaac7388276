/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link between two RDMA devices of a machine: packets in order, each direction a ring of slots that one engine's
 * thread fills and the other's empties. Never waits, allocates nothing once open.
 *
 * A packet takes its bytes on the wire (LRH, BTH, RETH or AETH, payload, ICRC, VCRC) at `link` bits a second, one behind the
 * other, and arrives link_delay later. Nothing is handed to it more than RDMA_LINK_AHEAD_NS before the wire is free, of a slow
 * link RDMA_LINK_AHEAD_PACKETS of the longest. What a device sends to itself (loopback) never leaves it: no time, no loss.
 *
 * Injections: as the link takes a packet, packet_loss, nack_lost (of a NAK or RNR) or packet_duplicate may act on it.
 */
#ifndef FAULTLINE_EMU_RDMA_LINK_H
#define FAULTLINE_EMU_RDMA_LINK_H

#include "injectors/emu/channel.h"
#include "injectors/emu/inject.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/emu/rdma_totals.h"

#define RDMA_LINK_AHEAD_NS	20000
#define RDMA_LINK_AHEAD_PACKETS 2

struct machine;
struct rdma_link_end; /* one device's */

struct rdma_link_config {
	const struct machine *machine; /* names the link, with the two indices; not looked into */
	__u32 device, peer;
	const struct rdma_settings *settings;
	struct inject_table *injections; /* may be NULL */
	struct rdma_totals
		*totals; /* this device's, filled as the last of the two closes; may be NULL */
};

/* The first of the two makes the link, the second finds it. */
int rdma_link_open(struct rdma_link_end **end, const struct rdma_link_config *config);
/* What is still on its way when the second of the two closes is lost: RDMA_LOSS_STOPPED. */
void rdma_link_close(struct rdma_link_end *end);

/* Rung when packets have come for this end: its engine's thread sleeps at it. */
struct doorbell *rdma_link_doorbell(struct rdma_link_end *end);

/* The engine's thread, each. Where the next packet to send is to be made; NULL: not now. */
struct rdma_packet *rdma_link_room(struct rdma_link_end *end, bool loopback, __u64 now_ns);
/* It has been made there, destination and all. */
void rdma_link_send(struct rdma_link_end *end, bool loopback, __u64 now_ns);
/* The oldest that has arrived, or would have now and is lost; NULL: none by now. Until rdma_link_take(). */
const struct rdma_packet *rdma_link_arrived(struct rdma_link_end *end, bool loopback, __u64 now_ns,
					    bool *lost);
/* `taken`: by a queue pair; else nobody has this number. */
void rdma_link_take(struct rdma_link_end *end, bool loopback, bool taken);
/* Tells the other end, if anything was sent since. */
void rdma_link_flush(struct rdma_link_end *end);
/* When the next packet arrives, or one may be sent again, whichever is first; 0: nothing is known. */
__u64 rdma_link_next_ns(const struct rdma_link_end *end, __u64 now_ns);

/* On the wire, headers included. */
__u32 rdma_link_wire_bytes(const struct rdma_packet *packet);
/* Adds what this end has counted. The engine's thread. */
void rdma_link_totals(const struct rdma_link_end *end, struct rdma_totals *totals);

#endif
