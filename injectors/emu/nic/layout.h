/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A NIC's memory in its guest, and its registers.
 *
 * Its share of the tenant's memory holds the transmit rings (injectors/emu/ring.h, the channel's), then for each
 * queue pair a receive ring: descriptors, which the guest posts, and completions, which the device writes; each
 * on pages of its own. Then the receive buffers, then the transmit buffers.
 *
 * Indices count from the machine's start and are taken modulo the depth. The guest posts descriptors and moves the tail
 * register; the device writes completions, then moves the head register and interrupts. Tail and head are
 * registers, as RDT and RDH of Intel's NICs: no DMA can fault on them.
 */
#ifndef FAULTLINE_NIC_LAYOUT_H
#define FAULTLINE_NIC_LAYOUT_H

#include "bpf/page.h"
#include "injectors/emu/channel.h"

struct nic_descriptor {
	__u64 address; /* IOVA of the buffer */
	__u32 length;  /* the device's buffer size, no other */
	__u32 id;      /* the guest's name for it, below the depth; its completion has it again */
};

enum nic_completion_flags {
	NIC_LAST = 1 << 0, /* of the frame */
	NIC_LOST = 1 << 1, /* the buffer comes back with nothing in it */
};

struct nic_completion {
	__u32 id;
	__u32 length; /* bytes in this buffer */
	__u32 flags;
	__u32 reserved;
};

_Static_assert(sizeof(struct nic_descriptor) == 16, "four a cache line");
_Static_assert(sizeof(struct nic_completion) == 16, "four a cache line");

/* The registers of one receive ring. */
struct nic_registers {
	_Atomic __u64 tail;				 /* by the guest */
	_Atomic __u64 head __attribute__((aligned(64))); /* by the device */
	_Atomic bool tail_wanted; /* the device waits for the tail to move: kick it then */
	struct doorbell interrupt __attribute__((aligned(64))); /* frames were received */
	struct doorbell sent __attribute__((aligned(64)));
} __attribute__((aligned(64)));

struct nic_layout {
	__u64 descriptors,
		completions; /* of queue pair 0, guest addresses; the others follow at `ring_bytes` */
	__u64 ring_bytes;
	__u64 rx_buffers, tx_buffers; /* likewise at depth * rx_buffer, and depth * NIC_TX_BUFFER */
	__u64 end;
};

#define NIC_TX_BUFFER 2048u

/* `start`: guest address of the first byte behind the transmit rings, page aligned. */
static inline struct nic_layout nic_layout(__u64 start, __u32 queues, __u32 depth, __u64 rx_buffer)
{
	__u64 array = whole_pages((__u64)depth * sizeof(struct nic_descriptor));
	struct nic_layout layout = {
		.descriptors = start, .completions = start + array, .ring_bytes = 2 * array};

	layout.rx_buffers = start + queues * layout.ring_bytes;
	layout.tx_buffers = layout.rx_buffers + whole_pages(queues * depth * rx_buffer);
	layout.end = layout.tx_buffers + whole_pages((__u64)queues * depth * NIC_TX_BUFFER);
	return layout;
}

#endif
