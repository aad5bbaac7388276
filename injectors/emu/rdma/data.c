// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes of packets to and from guest memory: each piece is checked against its region, all pages are there and
 * referenced, then all is copied; or nothing is. Pieces are never longer than a packet.
 */
#include <errno.h>
#include <string.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/rdma/rdma_private.h"

struct data_walk {
	struct rdma *device;
	struct rdma_pair *pair;
	bool write;
	__u32 held;    /* of device->pieces, referenced */
	__u32 absents; /* of `absent` */
	__u64 absent[PACKET_PAGES];
};

/* References a part of a piece, or adds what of it is absent. */
static int take_part(struct data_walk *walk, __u64 iova, __u64 bytes)
{
	struct rdma *device = walk->device;
	__u64 *absent = walk->absent + walk->absents;
	struct dma *dma = &device->pieces[walk->held];
	int found = port_dma_try(device->port, pair_queue(walk->pair), device->pasid, iova, bytes,
				 walk->write, dma, absent, PACKET_PAGES - walk->absents);

	if (found < 0)
		return found == -EINVAL ? -EINVAL : -EIO;
	if (!found) {
		walk->held++;
		return 0;
	}
	walk->absents += (__u32)found;
	return 0;
}

/* Where the region's pages are, one run of them after the other. */
static int take_runs(struct data_walk *walk, const struct region *region,
		     const struct verbs_sge *part)
{
	__u64 address = part->address, left = part->length, iova, run;
	int error = 0;

	for (; left && !error; address += run, left -= run) {
		run = region_run(region, address, left, &iova);
		error = take_part(walk, iova, run);
	}
	return error;
}

static int take_parts(struct data_walk *walk, const struct rdma_transfer *transfer, __u32 bytes)
{
	struct transfer_walk parts = {transfer, .skip = transfer->offset, .left = bytes};
	const struct region *region;
	struct verbs_sge part;
	int error = 0;

	while (!error && transfer_next(&parts, &part)) {
		error = transfer_check(walk->pair, transfer, &part, &region);
		if (!error)
			error = take_runs(walk, region, &part);
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
	if (!error && !walk.absents) {
		accesses_add(walk.pair, transfer->side, walk.held);
		times_moved(walk.pair, transfer, bytes);
	}
	for (__u32 i = 0; i < walk.held; i++)
		port_dma_end(device->port, &device->pieces[i]);
	device->totals.protection += error == -EACCES || error == -EINVAL;
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
	struct rdma *device = argument;
	const struct rdma_pair *pair = pair_find(device, transport_pair_number(transport));
	int error = 0;

	for (__u32 i = 0; i < range->pieces && !error; i++)
		error = transfer_check(pair, range, &range->piece[i], NULL);
	device->totals.protection += error != 0;
	return error;
}
