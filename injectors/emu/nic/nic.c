// SPDX-License-Identifier: GPL-2.0
/* Life of a NIC: its parts, its threads, its end. */
#include "injectors/emu/nic/nic.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/frame_totals.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/nic/wires.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

const struct nic_settings *nic_settings(const struct nic *nic)
{
	return &nic->settings;
}

const struct nic_layout *nic_memory(const struct nic *nic)
{
	return &nic->layout;
}

struct nic_registers *nic_registers(struct nic *nic, __u32 ring)
{
	return nic->ring[ring].registers;
}

int nic_guest_tap(const struct nic *nic, __u32 ring)
{
	return nic->networked ? nic->network.ends[NETWORK_GUEST].queues[ring] : -1;
}

bool nic_wire_ended(struct nic *nic)
{
	return !nic->wire->ops->ended || nic->wire->ops->ended(nic->wire);
}

void nic_begin(struct nic *nic)
{
	__atomic_store_n(&nic->begun, true, __ATOMIC_RELEASE);
	nic_wake(nic);
}

void nic_guest_ends(struct nic *nic, __u64 refused, __u64 mismatches)
{
	nic->totals->refused = refused;
	nic->totals->mismatches = mismatches;
}

static int nic_ring_create(struct nic *nic, __u16 index)
{
	struct nic_ring *ring = &nic->ring[index];
	const struct rx_settings settings = {
		.policy = rx_policies[nic->settings.rx_policy],
		.id = index,
		.size = nic->depth,
		.buffer_bytes = nic->buffer_bytes,
		.frame_bytes = nic->frame_bytes,
		.bitmap_bits = nic->settings.bitmap_entries,
		.present = ring_present,
		.self = ring,
		.backup = nic->backup,
		.cache = nic->cache,
	};
	int err;

	ring->nic = nic;
	ring->way = nic_is_vm(nic) ? &ring_virtqueue : &ring_channel;
	ring->index = index;
	ring->port_queue = nic_is_vm(nic) ? 2 * index : index;
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
	if (!err && nic_is_vm(nic))
		err = ring_virtqueue_create(ring);
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
		err = rx_backup_create(&nic->backup, nic->settings.backup_entries,
				       nic->frame_bytes);
	if (!err && policy->wants_cache)
		err = rx_cache_create(&nic->cache, nic->settings.cache_bytes, nic->frame_bytes);
	store_prepare(&nic->store);
	store_prepare(&nic->provider_store);
	steering_init(&nic->steering, nic->queues);
	return err ? err : account_create(nic);
}

static int create_wire(struct nic *nic, const struct device_setup *setup)
{
	struct network_config config;
	int err;

	switch (nic->settings.wire) {
	case NIC_WIRE_TAP:
		nic_network_config(&nic->settings, setup->name, &config);
		config.guest_queues = nic_is_vm(nic) ? 1 : nic->queues;
		config.asked = nic_is_vm(nic);
		err = network_open(&nic->network, &config);
		nic->networked = !err;
		return err ? err : wire_tap_create(&nic->wire, &nic->network.ends[NETWORK_WIRE]);
	case NIC_WIRE_GENERATOR:
		if (!setup->traffic)
			return failed(-EINVAL, "wire=generator needs a [traffic]");
		return wire_generator_create(&nic->wire, setup->traffic,
					     nic_header_bytes(&nic->settings));
	default:
		return wire_loop_create(&nic->wire, nic->frame_bytes);
	}
}

static void nic_ring_destroy(struct nic_ring *ring)
{
	ring_virtqueue_destroy(ring);
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
		nic_ring_destroy(&nic->ring[r]);
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

static int start_threads(struct nic *nic, const struct device_setup *setup)
{
	int err = nic_is_vm(nic) ? 0 : transmit_start(nic);

	if (!err)
		err = thread_start(&nic->receiver, NULL, nic_receive, nic, "nic-rx");
	nic->receiving = !err;
	if (!err && nic->backup) {
		err = thread_start(&nic->provider, NULL, nic_provide, nic, "nic-provider");
		nic->providing = !err;
	}
	return err || !nic_is_vm(nic) ? err : nic_vhost_start(nic, setup);
}

void nic_stop(void *device)
{
	struct nic *nic = device;

	__atomic_store_n(&nic->stopping, true, __ATOMIC_RELEASE);
	nic_kick(nic);
	if (nic->receiving)
		pthread_join(nic->receiver, NULL);
	if (nic->providing)
		pthread_join(nic->provider, NULL);
	transmit_stop(nic);
	vhost_stop(nic->vhost);
	account_end(nic);
	nic_free(nic);
}

int nic_start(void **device, struct port *port, const struct device_setup *setup)
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
	nic->name = setup->name;
	nic->index = setup->index;
	nic->queues = config->queues;
	nic->depth = nic_is_vm(nic) ? VHOST_SIZE_MAX : config->queue_depth;
	nic->pasid = config->pasid;
	nic->iova_offset = config->iova_offset;
	/* Its driver's buffers have no room for a VLAN's tag. */
	nic->frame_bytes =
		nic_is_vm(nic) ? nic->settings.mtu + ETH_HLEN : nic_frame_bytes(&nic->settings);
	nic->buffer_bytes = nic_is_vm(nic) ? nic->frame_bytes : (__u32)nic->settings.rx_buffer;
	nic->layout = nic_layout(setup->channel->data_address, nic->queues, nic->depth,
				 nic->settings.rx_buffer);
	nic->totals = setup->frames;
	nic->injections = machine_injections(setup->machine);
	nic->kick = -1;
	pthread_mutex_init(&nic->lock, NULL);
	monotonic_cond_init(&nic->changed);
	err = create_shared(nic);
	for (__u16 r = 0; !err && r < nic->queues; r++)
		err = nic_ring_create(nic, r);
	if (!err)
		err = create_wire(nic, setup);
	if (!err)
		err = start_threads(nic, setup);
	if (err)
		nic_stop(nic);
	else
		*device = nic;
	return err;
}
