// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes a network card that is driven over vhost-user, as vhost.c does a disk: the first byte chooses the receive policy, the others are a
 * front-end and a guest that nobody trusts. What is sent comes back, into chains that the guest has made available. Whatever
 * comes, each frame is delivered, lost or held; none is held for a front-end that is gone; no DMA breaks an invariant of the
 * machine's, and memory that no table names stays as it is. `vhost_net --seeds DIR` writes first inputs.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/nic/nic_private.h"
#include "tests/fuzz/made/front.h"
#include "tests/fuzz/made/seeds.h"

#define STEPS 64
#define SEEDS 4
#define PAIRS 2
#define FRAME 128 /* bytes, with virtio's header */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Drivers of virtual machines pin nothing. */
static const enum rx_policy_index policies[] = {RX_POLICY_drop, RX_POLICY_cache, RX_POLICY_backup,
						RX_POLICY_ooo};
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

/* A machine until an input wants another policy: a process has one at a time. A front-end for each input. */
static struct front front;
static enum rx_policy_index policy_now;

static void world_make(enum rx_policy_index policy)
{
	struct device_config device = {.name = "net",
				       .class = &nic_class,
				       .queues = PAIRS,
				       .queue_depth = FRONT_SIZE,
				       .group_pages = 4,
				       .msi_cpu = -1};
	struct nic_settings *settings = (struct nic_settings *)device.settings.bytes;

	policy_now = policy;
	front = (struct front){
		.queues = 2 * PAIRS,
		.lengths = {1526, 1526, 12, FRAME, 2048, 4096, 26, 0},
		.features = 1ull << VIRTIO_NET_F_MQ,
	};
	*settings = (struct nic_settings){
		.rx_policy = policy,
		.rx_buffer = 2048,
		.mtu = 1500,
		.wire = NIC_WIRE_LOOP,
		.interrupt_frames = 1,
		.fault_limit = 2,
		.prefault = 3,
		.cache_bytes = 16 * 1024,
		.backup_entries = 16,
		.bitmap_entries = 32,
		.vhost.on_fault = VHOST_PAUSE,
	};
	snprintf(front.socket, sizeof(front.socket), "/tmp/faultline-fuzz-net-%d", getpid());
	snprintf(settings->vhost.socket, sizeof(settings->vhost.socket), "%s", front.socket);
	front.vhost = ((struct nic *)front_init(&front, &device))->vhost;
}

static void world_end(void)
{
	struct machine_totals totals;

	if (!front.machine)
		return;
	machine_stop(front.machine);
	machine_totals(front.machine, &totals);
	must(!totals.violations);
	machine_destroy(front.machine);
	close(front.event);
	for (__u32 i = 0; i < front.queues; i++)
		close(front.kick[i]);
}

/* What is to be sent: a header that may lie, and a segment of some flow. */
struct segment {
	struct virtio_net_hdr_v1 header;
	struct ethhdr ethernet;
	struct iphdr ip;
	struct tcphdr tcp;
} __attribute__((packed));

static __u64 any_frame(struct bytes *in)
{
	__u64 to = take_below(in, 64) * 0x3000ull + take_byte(in) * 16;
	struct segment segment = {
		.ethernet.h_proto = htons(ETH_P_IP),
		.ip = {.version = 4,
		       .ihl = 5,
		       .protocol = IPPROTO_TCP,
		       .tot_len = htons(FRAME - sizeof(struct virtio_net_hdr_v1) - ETH_HLEN),
		       .saddr = htonl(take_byte(in))},
		.tcp = {.source = htons(take_byte(in)),
			.doff = 5,
			.seq = htonl(take_byte(in) * 60u)},
	};

	take_bytes(in, &segment.header, take_below(in, sizeof(segment.header) + 1));
	memcpy(front.memory + to, &segment, sizeof(segment));
	return to;
}

/* What is right, so that what comes behind it is seen, too: a buffer to receive into, or a frame. */
static void honest(struct bytes *in)
{
	__u32 pair = take_below(in, PAIRS), slot = take_below(in, FRONT_SIZE),
	      count = take_below(in, FRONT_SIZE);

	for (__u32 i = 0; i < count; i++, slot = (slot + 1) % FRONT_SIZE) {
		const struct vring_desc buffer = {0x40000 + (pair * FRONT_SIZE + slot) * 0x1800ull,
						  1526, VRING_DESC_F_WRITE, 0};

		front_descriptor(&front, 2 * pair, (__u16)slot, &buffer);
		front_publish(&front, 2 * pair, (__u16)slot);
	}
	count = take_below(in, FRONT_SIZE);
	for (slot = 0; slot < count; slot++) {
		const struct vring_desc frame = {any_frame(in), FRAME, 0, 0};

		front_descriptor(&front, 2 * pair + 1, (__u16)slot, &frame);
		front_publish(&front, 2 * pair + 1, (__u16)slot);
	}
}

static void check(void)
{
	struct nic *nic = front.machine->devices[0].model;
	struct nic_stats stats;
	__u64 lost = 0;

	/* Before the first driver there is nothing that frames go to. */
	if (!nic->wire)
		return;
	nic_stats(nic, &stats);
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += reason == LOSS_BEFORE_NIC ? 0 : stats.rx.lost[reason];
	must(stats.in == stats.rx.frames + lost + stats.rx.held);
	must(!stats.broken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	enum rx_policy_index policy = policies[take_below(&in, POLICIES)];

	if (front.machine && policy != policy_now)
		world_end();
	if (!front.machine || policy != policy_now)
		world_make(policy);
	front_begin(&front, &in);
	honest(&in);
	front_steps(&front, &in, STEPS, honest);
	front_end(&front);
	check();
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory) {
		atexit(world_end);
		return 0;
	}
	for (uint8_t which = 0; which < POLICIES; which++)
		seeds_write_random(directory, which, SEEDS);
	exit(0);
}
