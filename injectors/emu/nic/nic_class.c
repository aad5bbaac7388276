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

static const struct network *nic_network(void *device)
{
	struct nic *nic = device;

	return nic->networked ? &nic->network : NULL;
}

void nic_network_config(const struct nic_settings *settings, const char *device,
			struct network_config *config)
{
	*config = (struct network_config){
		.mtu = settings->mtu,
		.offload = settings->offload == NIC_OFFLOAD_SEGMENTS   ? NETWORK_OFFLOAD_SEGMENTS
			   : settings->offload == NIC_OFFLOAD_CHECKSUM ? NETWORK_OFFLOAD_CHECKSUM
								       : NETWORK_OFFLOAD_NONE,
		.link = settings->link,
		.queue_length = NETWORK_QUEUE_LENGTH,
		.classic = settings->tcp_classic,
	};
	network_name(device, config->name);
	strcpy(config->congestion, settings->congestion);
	strcpy(config->settings, settings->sysctl);
}

#define SETTING(member) DEVICE_SETTING(struct nic_settings, member)
#define KIB		1024.0
#define MIB		(1024 * KIB)

static const struct option_choice rx_policy_choices[] = {
#define RX_POLICY(name) {#name, RX_POLICY_##name},
#include "injectors/emu/nic/policies.def"
	{NULL, 0}};
static const struct option_choice offloads[] = {{"none", NIC_OFFLOAD_NONE},
						{"checksum", NIC_OFFLOAD_CHECKSUM},
						{"segments", NIC_OFFLOAD_SEGMENTS},
						{NULL, 0}};
static const struct option_choice wires[] = {{"tap", NIC_WIRE_TAP},
					     {"generator", NIC_WIRE_GENERATOR},
					     {"loop", NIC_WIRE_LOOP},
					     {NULL, 0}};
static const struct option_choice tcps[] = {{"modern", false}, {"classic", true}, {NULL, 0}};

static int parse_link(const struct option_row *row, const char *text, void *fields)
{
	return network_parse_link(text, (__u64 *)((char *)fields + row->offset)) ? -EINVAL : 0;
}

static const struct option_own own_link = {
	.name = "rate",
	.beginning = "off, or bits a second such as 100M or 2.5G, ",
	.parse = parse_link,
};

static const struct option_row nic_rows[] = {
	{"device", "rx_policy", OPTION_CHOICE, SETTING(rx_policy), .otherwise = "backup",
	 .choices = rx_policy_choices,
	 .meaning = "what becomes of a frame whose buffer is absent. pin: none ever is; drop: it is "
		    "lost; cache: the ring pauses, frames wait in the device's cache (VPRI); backup: "
		    "it goes to a pinned backup ring (NPF); ooo: the next present buffer takes it"},
	{"device", "rx_buffer", OPTION_BYTES, SETTING(rx_buffer), 256, 64 * KIB, "2K",
	 .meaning = "size of a receive buffer; a frame may take several", .multiple = 64},
	{"device", "mtu", OPTION_COUNT, SETTING(mtu), NETWORK_MTU_LEAST, NETWORK_MTU_MOST, "1500",
	 .meaning = "longest packet, without its Ethernet header"},
	{"device", "offload", OPTION_CHOICE, SETTING(offload), .otherwise = "none",
	 .choices = offloads,
	 .meaning = "what the guest's kernel leaves to the NIC: checksums; also the cutting of TCP "
		    "into segments, so that a frame may have 64K"},
	{"device", "wire", OPTION_CHOICE, SETTING(wire), .otherwise = "tap", .choices = wires,
	 .meaning = "tap: a network of two namespaces, in which programs run; generator: frames of a "
		    "[traffic] arrive; loop: the guest sends a [traffic], which comes back"},
	{"device", "interrupt_delay", OPTION_TIME, SETTING(interrupt_delay_ns), 0, 1e8, "0",
	 .meaning = "how long the first frame waits for others before the guest is interrupted"},
	{"device", "interrupt_frames", OPTION_COUNT, SETTING(interrupt_frames), 1, 4096, "1",
	 .meaning = "buffers with frames after which it is interrupted at once"},
	{"device", "prefault", OPTION_COUNT, SETTING(prefault), 0, NIC_PREFAULT_MAX, "0",
	 .meaning = "buffers behind the one that faulted whose absent pages are asked for with it",
	 .needs = {{"rx_policy", "drop,cache,backup,ooo"}}},
	{"device", "fault_limit", OPTION_COUNT, SETTING(fault_limit), 1, 64, "4",
	 .meaning = "faults that a receive ring may have unanswered (NPF 4: 4)",
	 .needs = {{"rx_policy", "drop,cache,backup,ooo"}}},
	{"device", "cache_bytes", OPTION_BYTES, SETTING(cache_bytes), 2 * KIB, 1024 * MIB, "256K",
	 .meaning = "size of the cache that frames of all rings pass through",
	 .needs = {{"rx_policy", "cache"}}},
	{"device", "backup_entries", OPTION_COUNT, SETTING(backup_entries), 1,
	 RX_BACKUP_ENTRIES_MAX, "64",
	 .meaning = "frames in the backup ring, which all receive rings share",
	 .needs = {{"rx_policy", "backup"}}},
	{"device", "bitmap_entries", OPTION_COUNT, SETTING(bitmap_entries), 1, RX_BITMAP_BITS_MAX,
	 "1024", .meaning = "buffers beyond the head that a ring's bitmap has room for",
	 .needs = {{"rx_policy", "backup"}}},
	{"device", "link", OPTION_OWN, SETTING(link), NETWORK_LINK_LEAST, NETWORK_LINK_MOST, "100M",
	 .own = &own_link, .meaning = "what each side sends at most",
	 .needs = {{"wire", "tap"}}},
	{"device", "congestion", OPTION_TEXT, SETTING(congestion), .otherwise = "",
	 .meaning = "TCP's congestion control, such as cubic; empty: as the host has it",
	 .needs = {{"wire", "tap"}}},
	{"device", "tcp", OPTION_CHOICE, SETTING(tcp_classic), .otherwise = "modern",
	 .choices = tcps, .meaning = "classic: no tail loss probe, no RACK, no F-RTO",
	 .needs = {{"wire", "tap"}}},
	{"device", "sysctl", OPTION_TEXT, SETTING(sysctl), .otherwise = "",
	 .meaning = "net.* settings of both namespaces: NAME=VALUE, ...",
	 .needs = {{"wire", "tap"}}},
};

const struct device_class nic_class = {
	.name = "nic",
	.meaning = "a network card between two namespaces, or with frames that are made up",
	.rows = nic_rows,
	.row_count = sizeof(nic_rows) / sizeof(nic_rows[0]),
	.settings_bytes = DEVICE_SETTINGS(struct nic_settings),
	.depth_max = 4096,
	.data_align = 1,
	.io = DEVICE_IO_NONE,
	.has_frames = true,
	.check = nic_agree,
	.start = nic_start,
	.stop = nic_stop,
	.network = nic_network,
	.driver = &nic_driver,
};
