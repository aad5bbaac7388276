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
	int found = port_dma_try(device->port, pair_queue(walk->pair), device->pasid, iova, bytes,
				 walk->write, dma, absent, ABSENT_MOST - walk->absents);

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
	struct transfer_walk parts = {transfer, .skip = transfer->offset, .left = bytes};
	unsigned int rights = transfer_rights(transfer);
	struct verbs_sge part;
	int error = 0;

	while (!error && transfer_next(&parts, &part)) {
		error = region_check(walk->device->regions, part.key, part.address, part.length,
				     rights);
		if (!error)
			error = take_part(walk, part.address, part.length);
	}
	return error || !parts.left ? error : -EINVAL;
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
	unsigned int rights = transfer_rights(range);
	int error = 0;

	(void)transport;
	for (__u32 i = 0; i < range->pieces && !error; i++)
		error = region_check(device->regions, range->piece[i].key, range->piece[i].address,
				     range->piece[i].length, rights);
	return error;
}
