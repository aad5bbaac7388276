// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes of packets to and from guest memory: each piece is checked against its region, all pages are there and
 * referenced, then all is copied; or nothing is. Pieces are never longer than a packet.
 */
#include <errno.h>
#include <string.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/rdma/rdma_private.h"

#define ABSENT_MOST \
	(RDMA_MTU_MAX / PAGE_BYTES + 1 + VERBS_SGE_MAX) /* pages that a packet can lie in */

static unsigned int rights_needed(const struct rdma_transfer *transfer, bool write)
{
	if (transfer->remote)
		return write ? VERBS_REMOTE_WRITE : VERBS_REMOTE_READ;
	return write ? VERBS_LOCAL_WRITE : 0;
}

struct data_walk {
	struct rdma *device;
	struct rdma_pair *pair;
	bool write;
	__u32 held;    /* of device->pieces, referenced */
	__u32 absents; /* of `absent` */
	__u64 absent[ABSENT_MOST];
};

/* References a part of a piece, or adds what of it is absent. */
static int take_part(struct data_walk *walk, __u64 iova, __u64 bytes)
{
	struct rdma *device = walk->device;
	__u64 *absent = walk->absent + walk->absents;
	struct dma *dma = &device->pieces[walk->held];
	int found = port_dma_try(device->port, (__u16)(walk->pair->number % device->queues),
				 device->pasid, iova, bytes, walk->write, dma, absent,
				 ABSENT_MOST - walk->absents);

	if (found < 0)
		return found == -EINVAL ? -EINVAL : -EIO;
	if (!found) {
		walk->held++;
		return 0;
	}
	walk->absents += (__u32)found;
	return 0;
}

static int take_parts(struct data_walk *walk, const struct rdma_transfer *transfer, __u32 bytes)
{
	unsigned int rights = rights_needed(transfer, walk->write);
	__u64 skip = transfer->offset, left = bytes;
	int error = 0;

	for (__u32 i = 0; i < transfer->pieces && left && !error; i++) {
		const struct verbs_sge *piece = &transfer->piece[i];
		__u64 part = piece->length - skip;

		if (skip >= piece->length) {
			skip -= piece->length;
			continue;
		}
		if (part > left)
			part = left;
		error = region_check(walk->device->regions, piece->key, piece->address + skip, part,
				     rights);
		if (!error)
			error = take_part(walk, piece->address + skip, part);
		left -= part;
		skip = 0;
	}
	return error || !left ? error : -EINVAL;
}

static int copy_parts(const struct data_walk *walk, char *packet)
{
	int error = 0;

	for (__u32 i = 0; i < walk->held; i++) {
		const struct dma *dma = &walk->device->pieces[i];

		for (__u32 s = 0; s < dma->segments && !error; s++) {
			const struct iovec *memory = &dma->iov[s];

			error = walk->write
					? dma_guard_copy(memory->iov_base, packet, memory->iov_len)
					: dma_guard_copy(packet, memory->iov_base, memory->iov_len);
			packet += memory->iov_len;
		}
		if (error)
			port_dma_violation(walk->device->port, dma->iova);
	}
	return error ? -EIO : 0;
}

static int data_move(void *argument, struct queue_pair *transport,
		     const struct rdma_transfer *transfer, char *packet, __u32 bytes, bool write)
{
	struct rdma *device = argument;
	struct data_walk walk = {
		.device = device,
		.pair = pair_find(device, transport_pair_number(transport)),
		.write = write,
	};
	int error = bytes ? take_parts(&walk, transfer, bytes) : 0;

	if (!error && !walk.absents)
		error = copy_parts(&walk, packet);
	if (!error && !walk.absents)
		accesses_add(walk.pair, transfer->side, walk.held);
	for (__u32 i = 0; i < walk.held; i++)
		port_dma_end(device->port, &device->pieces[i]);
	if (error || !walk.absents)
		return error;
	if (!walk.pair->absent_ns[transfer->side])
		walk.pair->absent_ns[transfer->side] = device->round_ns;
	faults_absent(walk.pair, transfer, walk.absent, walk.absents, bytes);
	return -EAGAIN;
}

int data_gather(void *device, struct queue_pair *transport, const struct rdma_transfer *from,
		void *to, __u32 bytes)
{
	return data_move(device, transport, from, to, bytes, false);
}

int data_scatter(void *device, struct queue_pair *transport, const struct rdma_transfer *to,
		 const void *from, __u32 bytes)
{
	return data_move(device, transport, to, (char *)from, bytes, true);
}

int data_check(void *argument, struct queue_pair *transport, const struct rdma_transfer *range)
{
	const struct rdma *device = argument;
	bool write = range->side == RDMA_RESPONDER_WRITES || range->side == RDMA_INITIATOR_WRITES;
	unsigned int rights = rights_needed(range, write);
	int error = 0;

	(void)transport;
	for (__u32 i = 0; i < range->pieces && !error; i++)
		error = region_check(device->regions, range->piece[i].key, range->piece[i].address,
				     range->piece[i].length, rights);
	return error;
}
