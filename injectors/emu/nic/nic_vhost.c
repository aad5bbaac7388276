// SPDX-License-Identifier: GPL-2.0
/*
 * The NIC as virtio-net (virtio 1.2, 5.1), over vhost-user: queue pair i is the virtqueues 2i, which receives, and 2i + 1, which
 * sends. A front-end has the configuration space and the control queue to itself, as QEMU's vhost-user netdev does: MAC, status
 * and the number of pairs are its own. No offload is offered: a frame's header says nothing.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <stdio.h>

#include "injectors/emu/nic/nic_private.h"
#include "lib/base/fail.h"

#define NIC_SCRATCH	  (16u << 10) /* a frame that is sent: of the largest MTU */
#define NIC_REPORT_RANGES 16
_Static_assert(NIC_SCRATCH >= NETWORK_MTU_MOST + ETH_HLEN, "a frame fits");

static struct nic_ring *ring_of(struct nic *nic, __u16 virtqueue)
{
	return &nic->ring[virtqueue / 2];
}

static bool receives(__u16 virtqueue)
{
	return !(virtqueue & 1);
}

/* Without VERSION_1, and without buffers that are merged, it ends before their number. */
static __u32 header_bytes(const struct vhost_request *request)
{
	return vhost_request_agreed(request, VIRTIO_F_VERSION_1) ? sizeof(struct virtio_net_hdr_v1)
								 : sizeof(struct virtio_net_hdr);
}

static int net_receive(struct nic_ring *ring, struct vhost_request *request)
{
	__u32 prefix = header_bytes(request);

	if (ring->prefix_bytes != prefix) {
		pthread_mutex_lock(&ring->nic->lock);
		ring->prefix_bytes = prefix;
		pthread_mutex_unlock(&ring->nic->lock);
	}
	return ring_virtqueue_post(ring, request);
}

static void count_sent(__u64 *counter, __u64 by)
{
	__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static int net_send(struct nic_ring *ring, struct vhost_request *request, void *frame)
{
	struct nic_counters *tx = &ring->nic->tx[ring->index];
	__u8 *outcome = request->own;
	__u32 header = header_bytes(request);
	struct nic *nic = ring->nic;
	__u64 bytes = request->readable_bytes - header;
	int result;

	if (request->writable)
		return failed(-EPROTO, "a frame that is to be written");
	*outcome = IO_ERROR;
	if (request->readable_bytes < header + ETH_HLEN || bytes > nic->frame_bytes) {
		count_sent(&tx->lost[LOSS_OVERLONG], 1);
		return 0;
	}
	result = vhost_request_read(request, header, frame, bytes);
	if (result == VHOST_PARKED || result == -ESHUTDOWN)
		return result;
	if (result) {
		count_sent(&tx->lost[LOSS_FAULT], 1);
		return 0;
	}
	*outcome = IO_OK;
	nic->wire->ops->send(nic->wire, &(struct iovec){frame, bytes}, 1);
	count_sent(&tx->frames, 1);
	count_sent(&tx->bytes, bytes);
	return 0;
}

static int virtio_net_serve(void *model, struct vhost_request *request, void *scratch)
{
	struct nic_ring *ring = ring_of(model, request->index);

	return receives(request->index) ? net_receive(ring, request)
					: net_send(ring, request, scratch);
}

static int virtio_net_descriptor(void *model, __u16 virtqueue)
{
	return receives(virtqueue) ? ring_virtqueue_descriptor(ring_of(model, virtqueue)) : -1;
}

static int virtio_net_event(void *model, __u16 virtqueue, void *scratch)
{
	(void)scratch;
	return ring_virtqueue_complete(ring_of(model, virtqueue));
}

/* The first ring that a driver sets up lets frames come. */
static void virtio_net_begins(void *model, __u16 virtqueue)
{
	struct nic *nic = model;

	if (!receives(virtqueue))
		return;
	ring_virtqueue_begins(ring_of(nic, virtqueue));
	if (!__atomic_load_n(&nic->begun, __ATOMIC_ACQUIRE))
		nic_begin(nic);
}

static int virtio_net_rests(void *model, __u16 virtqueue, bool finishes)
{
	return receives(virtqueue) ? ring_virtqueue_rests(ring_of(model, virtqueue), finishes) : 0;
}

/* Who writes into buffers looks them up and writes with the lock held. */
static void virtio_net_taken_back(void *model)
{
	struct nic *nic = model;

	pthread_mutex_lock(&nic->lock);
	pthread_mutex_unlock(&nic->lock);
}

static void virtio_net_forget(void *model, __u16 virtqueue)
{
	if (receives(virtqueue))
		ring_virtqueue_forget(ring_of(model, virtqueue));
}

/* What was received the ring tells of itself (buffers.c). */
static void virtio_net_report(void *model, struct vhost_request *request, __u8 code, __u64 end_ns)
{
	__u64 at = 0, end = request->readable_bytes;
	struct io_range ranges[NIC_REPORT_RANGES];
	const __u8 *outcome = request->own;
	struct nic *nic = model;
	__u32 count = 1;

	if (receives(request->index))
		return;
	code |= *outcome;
	while (at < end && count) {
		count = vhost_request_ranges(request, false, at, end - at, ranges,
					     NIC_REPORT_RANGES);
		for (__u32 i = 0; i < count; i++) {
			at += ranges[i].length;
			ranges[i].code = at < end ? code | IO_PART : code;
			ranges[i].start_ns = request->start_ns;
			ranges[i].end_ns = end_ns;
		}
		if (count)
			port_ios_done(nic->port, request->index, ranges, count);
	}
}

static const struct vhost_model virtio_net_model = {
	.name = "virtio-net",
	.request_bytes = sizeof(__u8), /* enum io_code of what is sent */
	.scratch_bytes = NIC_SCRATCH,
	.serve = virtio_net_serve,
	.event_descriptor = virtio_net_descriptor,
	.event = virtio_net_event,
	.begins = virtio_net_begins,
	.rests = virtio_net_rests,
	.taken_back = virtio_net_taken_back,
	.forget = virtio_net_forget,
	.report = virtio_net_report,
};

int nic_vhost_start(struct nic *nic, const struct device_setup *setup)
{
	struct vhost_config config = {
		.socket = nic->settings.vhost.socket,
		.name = nic->full_name,
		.port = nic->port,
		.memory = setup->memory,
		.iova_offset = nic->iova_offset,
		.pasid = nic->pasid,
		.queues = (__u16)(2 * nic->queues),
		.announced = (__u16)nic->queues,
		.on_fault = nic->settings.vhost.on_fault,
		.iommu = setup->iommu,
		.model = &virtio_net_model,
		.argument = nic,
	};

	/* Front-ends offer it only where the device does, too. */
	if (nic->queues > 1)
		config.features = 1ull << VIRTIO_NET_F_MQ;
	snprintf(nic->full_name, sizeof(nic->full_name), "%s/%s", setup->tenant, setup->name);
	return vhost_start(&nic->vhost, &config);
}
