// SPDX-License-Identifier: GPL-2.0
/* The model `nic`: its options, and what it agrees to. */
#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/machine.h"
#include "injectors/emu/nic/nic_private.h"
#include "injectors/emu/nic/wires.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define FRAME_HEADER  18    /* Ethernet's, with a VLAN tag */
#define FRAME_LARGEST 65535 /* of IP: what one frame of several segments stands for */

__u32 nic_header_bytes(const struct nic_settings *settings)
{
	return settings->offload != NIC_OFFLOAD_NONE ? FRAME_OFFLOAD_BYTES : 0;
}

__u32 nic_frame_bytes(const struct nic_settings *settings)
{
	__u32 bytes = settings->mtu + FRAME_HEADER;

	if (settings->offload == NIC_OFFLOAD_SEGMENTS && settings->mtu < FRAME_LARGEST)
		bytes = FRAME_LARGEST + FRAME_HEADER;
	return bytes + nic_header_bytes(settings);
}

/* Of all its rings and buffers. */
static __u64 memory_bytes(const struct device_config *device, const struct nic_settings *settings)
{
	__u64 start = device->queues * ring_bytes(device->queue_depth);

	return nic_layout(start, device->queues, device->queue_depth, settings->rx_buffer).end;
}

/* As the driver does it. */
static __u64 nic_pins(const struct device_config *device, __u64 bytes)
{
	const struct nic_settings *settings = (const void *)device->settings.bytes;

	(void)bytes;
	return rx_policies[settings->rx_policy]->pins ? memory_bytes(device, settings) : 0;
}

/* Where the guest finds its rings and buffers. */
static int check_memory(const struct device_check *check, const struct nic_settings *settings)
{
	const struct device_config *device = check->device;
	__u64 bytes = memory_bytes(device, settings);

	if (bytes <= check->bytes)
		return 0;
	return failed(
		-EBADMSG,
		"%s: %s has %u rings of %u buffers of %llu bytes, which take %llu MiB; its share "
		"of its tenant's memory is %llu MiB; accepted: more memory, fewer queues or buffers",
		check->where, device->name, device->queues, device->queue_depth,
		settings->rx_buffer, (bytes >> 20) + 1, check->bytes >> 20);
}

static int check_frames(const struct device_check *check, const struct nic_settings *settings)
{
	const struct device_config *device = check->device;
	__u32 bytes = nic_frame_bytes(settings);
	__u64 needed = (bytes + settings->rx_buffer - 1) / settings->rx_buffer;
	__u64 sent = (bytes + NIC_TX_BUFFER - 1) / NIC_TX_BUFFER;

	if (needed > RX_FRAME_BUFFERS)
		return failed(
			-EBADMSG,
			"%s: rx_buffer=%llu of %s: a frame of up to %u bytes would take %llu; "
			"accepted: at most %d buffers a frame",
			check->where, settings->rx_buffer, device->name, bytes, needed,
			RX_FRAME_BUFFERS);
	if (needed > device->queue_depth || sent > device->queue_depth)
		return failed(
			-EBADMSG,
			"%s: queue_depth=%u of %s: a frame of up to %u bytes takes %llu buffers; "
			"accepted: at least as many, or a smaller mtu",
			check->where, device->queue_depth, device->name, bytes,
			needed > sent ? needed : sent);
	if (settings->rx_policy == RX_POLICY_ooo && needed > NIC_RANGES)
		return failed(
			-EBADMSG,
			"%s: rx_buffer=%llu of %s: a frame of up to %u bytes would take %llu, "
			"which rx_policy=ooo may scatter; accepted: at most %d buffers a "
			"frame",
			check->where, settings->rx_buffer, device->name, bytes, needed, NIC_RANGES);
	if (settings->rx_policy == RX_POLICY_cache && settings->cache_bytes < bytes)
		return failed(-EBADMSG,
			      "%s: cache_bytes=%llu of %s: a frame of up to %u bytes has no room; "
			      "accepted: at least as many",
			      check->where, settings->cache_bytes, device->name, bytes);
	if (settings->rx_policy == RX_POLICY_backup && needed > settings->bitmap_entries)
		return failed(-EBADMSG,
			      "%s: bitmap_entries=%u of %s: a frame of up to %u bytes takes %llu; "
			      "accepted: at least as many",
			      check->where, settings->bitmap_entries, device->name, bytes, needed);
	return 0;
}

/* What the guest sends is its own; a wire may bring anything. */
static int check_sent_sizes(const struct device_check *check, const struct nic_settings *settings)
{
	const struct traffic_config *traffic = check->traffic;
	__u32 most = nic_frame_bytes(settings) - nic_header_bytes(settings);

	for (__u32 i = 0; i < traffic->size_count && settings->wire == NIC_WIRE_LOOP; i++)
		if (traffic->sizes[i] > most)
			return failed(-EBADMSG,
				      "%s: [traffic %s] sizes: the guest of %s does not send "
				      "frames of %llu bytes; accepted: up to %u, or a larger mtu",
				      check->where, traffic->name, check->device->name,
				      traffic->sizes[i], most);
	return 0;
}

#define VM_DEPTH_LEAST 256 /* of QEMU's virtio-net; the most is of our virtqueues */

/* What a virtual machine's driver leaves no choice in, and what of it is not offered. */
static int check_vm(const struct device_check *check, const struct nic_settings *settings)
{
	const struct device_config *device = check->device;
	const char *lacks =
		settings->rx_policy == RX_POLICY_pin
			? "rx_policy=pin: its guest's buffers are anywhere; accepted: drop, cache, backup, ooo"
		: settings->offload != NIC_OFFLOAD_NONE
			? "offload: none is offered to its guest; accepted: none"
		: settings->wire == NIC_WIRE_LOOP
			? "wire=loop: its guest sends what it likes; accepted: tap, generator"
		: settings->mtu > ETH_DATA_LEN
			? "mtu: its guest's buffers have room for Ethernet's; accepted: up to 1500"
			: NULL;

	if (lacks)
		return failed(-EBADMSG, "%s: %s is a virtual machine's: %s", check->where,
			      device->name, lacks);
	if (device->queue_depth < VM_DEPTH_LEAST || device->queue_depth > VHOST_SIZE_MAX)
		return failed(
			-EBADMSG,
			"%s: queue_depth=%u of %s, which is a virtual machine's; accepted: %d to %d",
			check->where, device->queue_depth, device->name, VM_DEPTH_LEAST,
			VHOST_SIZE_MAX);
	if (2 * device->queues > VHOST_QUEUES_MAX)
		return failed(
			-EBADMSG,
			"%s: queues=%u of %s, which is a virtual machine's; accepted: up to %d",
			check->where, device->queues, device->name, VHOST_QUEUES_MAX / 2);
	return 0;
}

static int nic_agree(const struct device_check *check)
{
	const struct nic_settings *settings = (const void *)check->device->settings.bytes;
	int err;

	if (check->traffic && check->vm && check->traffic->verify)
		return failed(-EBADMSG,
			      "%s: [traffic %s] verify=yes: %s is a virtual machine's, whose guest "
			      "does what it likes with frames; accepted: no",
			      check->where, check->traffic->name, check->device->name);
	if (check->traffic)
		return check_sent_sizes(check, settings);
	if (check->device->lookup == LOOKUP_UFFD)
		return failed(-EBADMSG,
			      "%s: lookup=uffd of %s: a NIC looks before it writes, by its "
			      "rx_policy; accepted: pa-bitmap, ats",
			      check->where, check->device->name);
	err = check->vm ? check_vm(check, settings) : 0;
	if (!err)
		err = check_frames(check, settings);
	if (!err && !check->vm)
		err = check_memory(check, settings);
	if (!err && settings->wire == NIC_WIRE_TAP) {
		struct network_config network;

		nic_network_config(settings, check->device->name, &network);
		err = network_check(&network) ?: network_rehearse(&network);
		if (err == -EINVAL)
			err = failed_in(-EBADMSG, "%s: %s", check->where, check->device->name);
	}
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
		.quick_ack = !settings->delayed_ack,
	};
	network_name(device, config->name);
	strcpy(config->congestion, settings->congestion);
	strcpy(config->settings, settings->sysctl);
}

static void nic_namespaces(void *device, __u64 *guest, __u64 *wire)
{
	const struct network *network = nic_network(device);

	*guest = network ? network->ends[NETWORK_GUEST].inode : 0;
	*wire = network ? network->ends[NETWORK_WIRE].inode : 0;
}

static bool nic_is_networked(const struct device_settings *settings)
{
	return ((const struct nic_settings *)settings->bytes)->wire == NIC_WIRE_TAP;
}

static const char *nic_variant(const struct device_settings *settings)
{
	return rx_policies[((const struct nic_settings *)settings->bytes)->rx_policy]->name;
}

static struct vhost_settings *nic_vhost_settings(struct device_settings *settings)
{
	return &((struct nic_settings *)settings->bytes)->vhost;
}

static struct vhost *nic_vhost_device(void *device)
{
	return ((struct nic *)device)->vhost;
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

static const struct option_choice on_fault_choices[] = {
	{"park", VHOST_PARK}, {"pause", VHOST_PAUSE}, {NULL, 0}};

static const struct option_row nic_rows[] = {
	{"device", "rx_policy", OPTION_CHOICE, SETTING(rx_policy), .otherwise = "backup",
	 .choices = rx_policy_choices,
	 .meaning =
		 "what becomes of a frame whose buffer is absent. pin: none ever is; drop: it is "
		 "lost; cache: the ring pauses, frames wait in the device's cache (VPRI); backup: "
		 "it goes to a pinned backup ring (NPF); ooo: the next present buffer takes it"},
	{"device", "rx_buffer", OPTION_BYTES, SETTING(rx_buffer), 256, 64 * KIB, "2K",
	 .meaning =
		 "size of a receive buffer; a frame may take several. A virtual machine's driver "
		 "has its own, each for a whole frame",
	 .multiple = 64},
	{"device", "mtu", OPTION_COUNT, SETTING(mtu), NETWORK_MTU_LEAST, NETWORK_MTU_MOST, "1500",
	 .meaning = "longest packet, without its Ethernet header"},
	{"device", "offload", OPTION_CHOICE, SETTING(offload), .otherwise = "none",
	 .choices = offloads,
	 .meaning = "what the guest's kernel leaves to the NIC: checksums; also the cutting of TCP "
		    "into segments, so that a frame may have 64K"},
	{"device", "wire", OPTION_CHOICE, SETTING(wire), .otherwise = "tap", .choices = wires,
	 .meaning =
		 "tap: a network of two namespaces, in which programs run; generator: frames of a "
		 "[traffic] arrive; loop: the guest sends a [traffic], which comes back"},
	{"device", "interrupt_delay", OPTION_TIME, SETTING(interrupt_delay_ns), 0, 1e8, "0",
	 .meaning = "how long the first frame waits for others before the guest is interrupted"},
	{"device", "interrupt_frames", OPTION_COUNT, SETTING(interrupt_frames), 0, 4096, "0",
	 .meaning =
		 "frames after which it is interrupted without waiting for more; 0: however many",
	 .needs = {{"interrupt_delay", NULL}}},
	{"device", "prefault", OPTION_COUNT, SETTING(prefault), 0, NIC_PREFAULT_MAX, "0",
	 .meaning = "buffers behind the one that faulted whose absent pages are asked for with it",
	 .needs = {{"rx_policy", "drop,cache,backup,ooo"}}},
	{"device", "fault_limit", OPTION_COUNT, SETTING(fault_limit), 1, 64, "4",
	 .meaning =
		 "page requests that a receive ring may have unanswered (NPF 4: 4); what is asked "
		 "for together is one",
	 .needs = {{"rx_policy", "drop,cache,backup,ooo"}}},
	{"device", "cache_bytes", OPTION_BYTES, SETTING(cache_bytes), 2 * KIB, 1024 * MIB, "256K",
	 .meaning = "size of the cache that frames of all rings pass through",
	 .needs = {{"rx_policy", "cache"}}},
	{"device", "backup_entries", OPTION_COUNT, SETTING(backup_entries), 1,
	 RX_BACKUP_ENTRIES_MAX, "1024",
	 .meaning = "frames in the backup ring, which all receive rings share",
	 .needs = {{"rx_policy", "backup"}}},
	{"device", "bitmap_entries", OPTION_COUNT, SETTING(bitmap_entries), 1, RX_BITMAP_BITS_MAX,
	 "1024", .meaning = "buffers beyond the head that a ring's bitmap has room for",
	 .needs = {{"rx_policy", "backup"}}},
	{"device", "link", OPTION_OWN, SETTING(link), NETWORK_LINK_LEAST, NETWORK_LINK_MOST, "100M",
	 .own = &own_link, .meaning = "what each side sends at most", .needs = {{"wire", "tap"}}},
	{"device", "congestion", OPTION_TEXT, SETTING(congestion), .otherwise = "cubic",
	 .meaning = "TCP's congestion control; empty: as the host has it",
	 .needs = {{"wire", "tap"}}},
	{"device", "tcp", OPTION_CHOICE, SETTING(tcp_classic), .otherwise = "modern",
	 .choices = tcps, .meaning = "classic: no tail loss probe, no RACK, no F-RTO",
	 .needs = {{"wire", "tap"}}},
	{"device", "delayed_ack", OPTION_BOOL, SETTING(delayed_ack), .otherwise = "yes",
	 .meaning = "TCP may wait for a second segment, up to 40 ms, before it acknowledges one: "
		    "such an acknowledgement may end a stall before a timeout does",
	 .needs = {{"wire", "tap"}}},
	{"device", "sysctl", OPTION_TEXT, SETTING(sysctl), .otherwise = "",
	 .meaning = "net.* settings of both namespaces: NAME=VALUE, ...",
	 .needs = {{"wire", "tap"}}},
	{"device", "socket", OPTION_TEXT, SETTING(vhost.socket), .otherwise = "",
	 .meaning =
		 "path at which a virtual machine finds the device (vhost-user); empty: one that "
		 "lasts as long as the run",
	 .needs = {{"tenant.backend", "vm"}}},
	{"device", "on_fault", OPTION_CHOICE, SETTING(vhost.on_fault), .otherwise = "pause",
	 .choices = on_fault_choices,
	 .meaning = "what a virtual machine's transmit queue does while a frame waits for pages: "
		    "it pauses, or others of its frames overtake it",
	 .needs = {{"tenant.backend", "vm"}}},
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
	.pins = nic_pins,
	.start = nic_start,
	.stop = nic_stop,
	.variant = nic_variant,
	.networked = nic_is_networked,
	.network = nic_network,
	.namespaces = nic_namespaces,
	.with_network = "wire=tap",
	.with_traffic = "wire=generator or loop",
	.vhost = nic_vhost_settings,
	.vhost_device = nic_vhost_device,
	.virtqueues = 2,
	.vm_driver = &nic_vm_driver,
	.driver = &nic_driver,
};
