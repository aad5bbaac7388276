// SPDX-License-Identifier: GPL-2.0
/* The model `nic`: its options, what it agrees to, its life. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/machine.h"
#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/nic/wires.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define FRAME_HEADER 18 /* Ethernet's, with a VLAN tag */
#define FRAME_LARGEST 65535 /* of IP: what one frame of several segments stands for */

__u32 nic_frame_bytes(const struct nic_settings *settings)
{
	__u32 bytes = settings->mtu + FRAME_HEADER;

	if (settings->offload == NIC_OFFLOAD_SEGMENTS && settings->mtu < FRAME_LARGEST)
		bytes = FRAME_LARGEST + FRAME_HEADER;
	return bytes + (settings->offload != NIC_OFFLOAD_NONE ? FRAME_OFFLOAD_BYTES : 0);
}

/* Where the guest finds its rings and buffers. */
static int check_memory(const struct device_check *check, const struct nic_settings *settings)
{
	const struct device_config *device = check->device;
	__u64 start = device->queues * ring_bytes(device->queue_depth);
	struct nic_layout layout =
		nic_layout(start, device->queues, device->queue_depth, settings->rx_buffer);

	if (layout.end <= check->bytes)
		return 0;
	return failed(-EBADMSG,
		      "%s: %s has %u rings of %u buffers of %llu bytes, which take %llu MiB; its share "
		      "of its tenant's memory is %llu MiB; accepted: more memory, fewer queues or buffers",
		      check->where, device->name, device->queues, device->queue_depth,
		      settings->rx_buffer, (layout.end >> 20) + 1, check->bytes >> 20);
}

static int check_frames(const struct device_check *check, const struct nic_settings *settings)
{
	const struct device_config *device = check->device;
	__u32 bytes = nic_frame_bytes(settings);
	__u64 needed = (bytes + settings->rx_buffer - 1) / settings->rx_buffer;
	__u64 sent = (bytes + NIC_TX_BUFFER - 1) / NIC_TX_BUFFER;

	if (needed > RX_FRAME_BUFFERS)
		return failed(-EBADMSG,
			      "%s: rx_buffer=%llu of %s: a frame of up to %u bytes would take %llu; "
			      "accepted: at most %d buffers a frame",
			      check->where, settings->rx_buffer, device->name, bytes, needed,
			      RX_FRAME_BUFFERS);
	if (needed > device->queue_depth || sent > device->queue_depth)
		return failed(-EBADMSG,
			      "%s: queue_depth=%u of %s: a frame of up to %u bytes takes %llu buffers; "
			      "accepted: at least as many, or a smaller mtu",
			      check->where, device->queue_depth, device->name, bytes,
			      needed > sent ? needed : sent);
	if (settings->rx_policy == RX_POLICY_backup && needed > settings->bitmap_entries)
		return failed(-EBADMSG,
			      "%s: bitmap_entries=%u of %s: a frame of up to %u bytes takes %llu; "
			      "accepted: at least as many",
			      check->where, settings->bitmap_entries, device->name, bytes, needed);
	return 0;
}

static int nic_agree(const struct device_check *check)
{
	const struct nic_settings *settings = (const void *)check->device->settings.bytes;
	int err = check_frames(check, settings);

	if (!err)
		err = check_memory(check, settings);
	if (!err && settings->wire == NIC_WIRE_TAP) {
		struct network_config network;

		nic_network_config(settings, check->device->name, &network);
		err = network_check(&network);
		if (err)
			err = failed_in(-EBADMSG, "%s: %s", check->where, check->device->name);
	}
	return err;
}

static int ring_create(struct nic *nic, __u16 index)
{
	struct nic_ring *ring = &nic->ring[index];
	const struct rx_settings settings = {
		.policy = rx_policies[nic->settings.rx_policy],
		.id = index,
		.size = nic->depth,
		.buffer_bytes = (__u32)nic->settings.rx_buffer,
		.frame_bytes = nic->frame_bytes,
		.bitmap_bits = nic->settings.bitmap_entries,
		.present = ring_present,
		.self = ring,
		.backup = nic->backup,
		.cache = nic->cache,
	};
	int err;

	ring->nic = nic;
	ring->index = index;
	ring->descriptors =
		nic->layout.descriptors + index * nic->layout.ring_bytes + nic->iova_offset;
	ring->completions =
		nic->layout.completions + index * nic->layout.ring_bytes + nic->iova_offset;
	ring->registers = aligned_alloc(64, sizeof(*ring->registers));
	ring->posted = calloc(nic->depth, sizeof(*ring->posted));
	ring->done = calloc(nic->depth, sizeof(*ring->done));
	if (!ring->registers || !ring->posted || !ring->done)
		return failed(-ENOMEM, "no memory for a ring of %u buffers", nic->depth);
	memset(ring->registers, 0, sizeof(*ring->registers));
	err = rx_ring_create(&ring->state, &settings);
	if (!err)
		err = requests_create(ring);
	if (!err && nic->backup)
		err = rx_queue_create(&ring->queue, nic->settings.bitmap_entries, nic->frame_bytes);
	return err;
}

static int create_shared(struct nic *nic)
{
	const struct rx_policy *policy = rx_policies[nic->settings.rx_policy];
	int err = 0;

	nic->batch = calloc(NIC_BATCH, nic->frame_bytes);
	nic->tx = calloc(nic->queues, sizeof(*nic->tx));
	nic->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!nic->batch || !nic->tx || nic->kick < 0)
		return failed(-ENOMEM, "no memory for frames of %u bytes", nic->frame_bytes);
	if (policy->wants_backup)
		err = rx_backup_create(&nic->backup, nic->settings.backup_entries, nic->frame_bytes);
	if (!err && policy->wants_cache)
		err = rx_cache_create(&nic->cache, nic->settings.cache_bytes, nic->frame_bytes);
	toeplitz_init(&nic->steering, nic->queues);
	return err ? err : account_create(nic);
}

static int create_wire(struct nic *nic, const struct device_setup *setup)
{
	struct network_config config;
	int err;

	switch (nic->settings.wire) {
	case NIC_WIRE_TAP:
		nic_network_config(&nic->settings, setup->name, &config);
		err = network_open(&nic->network, &config);
		nic->networked = !err;
		return err ? err
			   : wire_tap_create(&nic->wire, nic->network.ends[NETWORK_WIRE].tap);
	case NIC_WIRE_GENERATOR:
		return wire_generator_create(&nic->wire, setup->traffic);
	default:
		return wire_loop_create(&nic->wire, nic->frame_bytes);
	}
}

static void ring_destroy(struct nic_ring *ring)
{
	rx_queue_destroy(ring->queue);
	requests_destroy(ring);
	rx_ring_destroy(&ring->state);
	free(ring->registers);
	free(ring->posted);
	free(ring->done);
}

static void nic_free(struct nic *nic)
{
	account_destroy(nic);
	for (__u32 r = 0; r < nic->queues; r++)
		ring_destroy(&nic->ring[r]);
	if (nic->wire)
		nic->wire->ops->destroy(nic->wire);
	if (nic->networked)
		network_close(&nic->network);
	rx_backup_destroy(nic->backup);
	rx_cache_destroy(nic->cache);
	if (nic->kick >= 0)
		close(nic->kick);
	free(nic->tx);
	free(nic->batch);
	pthread_cond_destroy(&nic->changed);
	pthread_mutex_destroy(&nic->lock);
	free(nic);
}

static int start_threads(struct nic *nic)
{
	int err = transmit_start(nic);

	if (!err)
		err = thread_start(&nic->receiver, NULL, nic_receive, nic, "nic-rx");
	nic->receiving = !err;
	if (!err && nic->backup) {
		err = thread_start(&nic->provider, NULL, nic_provide, nic, "nic-provider");
		nic->providing = !err;
	}
	return err;
}

static void nic_stop(void *device)
{
	struct nic *nic = device;

	__atomic_store_n(&nic->stopping, true, __ATOMIC_RELEASE);
	nic_kick(nic);
	if (nic->receiving)
		pthread_join(nic->receiver, NULL);
	if (nic->providing)
		pthread_join(nic->provider, NULL);
	transmit_stop(nic);
	account_end(nic);
	nic_free(nic);
}

static int nic_start(void **device, struct port *port, const struct device_setup *setup)
{
	const struct channel_config *config = &setup->channel->config;
	struct nic *nic = calloc(1, sizeof(*nic) + config->queues * sizeof(nic->ring[0]));
	int err;

	if (!nic)
		return failed(-ENOMEM, "no memory for a NIC of %u queues", config->queues);
	nic->settings = *(const struct nic_settings *)setup->settings;
	nic->port = port;
	nic->channel = setup->channel;
	nic->machine = setup->machine;
	nic->index = setup->index;
	nic->queues = config->queues;
	nic->depth = config->queue_depth;
	nic->pasid = config->pasid;
	nic->iova_offset = config->iova_offset;
	nic->frame_bytes = nic_frame_bytes(&nic->settings);
	nic->layout = nic_layout(setup->channel->data_address, nic->queues, nic->depth,
				 nic->settings.rx_buffer);
	nic->injections = machine_injections(setup->machine);
	nic->kick = -1;
	pthread_mutex_init(&nic->lock, NULL);
	monotonic_cond_init(&nic->changed);
	err = create_shared(nic);
	for (__u16 r = 0; !err && r < nic->queues; r++)
		err = ring_create(nic, r);
	if (!err)
		err = create_wire(nic, setup);
	if (!err)
		err = start_threads(nic);
	if (err)
		nic_stop(nic);
	else
		*device = nic;
	return err;
}
