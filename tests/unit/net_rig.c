// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/net_rig.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>

#include "injectors/emu/machine_private.h"

#define FRAME_LEAST (ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr) + 4)

struct nic_settings *net_settings(void)
{
	return (struct nic_settings *)vhost_plan.device.settings.bytes;
}

void net_plan(enum rx_policy_index policy, __u16 pairs)
{
	struct vhost_settings vhost;

	vhost_rig_plan();
	vhost = vhost_plan.block->vhost;
	vhost_plan.device.class = &nic_class;
	vhost_plan.device.queues = pairs;
	*net_settings() = (struct nic_settings){
		.vhost = vhost,
		.rx_policy = policy,
		.rx_buffer = 2048,
		.mtu = 1500,
		.wire = NIC_WIRE_LOOP,
		.interrupt_frames = 1,
		.fault_limit = 4,
		.cache_bytes = 256 * 1024,
		.backup_entries = 1024,
		.bitmap_entries = 1024,
	};
	net_settings()->vhost.on_fault = VHOST_PAUSE;
}

void net_post(struct net_rig *rig, __u16 pair, __u16 id)
{
	struct frontend *front = &rig->v.front;

	front->queue[2 * pair].busy[id] = true;
	frontend_descriptor(front, 2 * pair, id,
			    (struct vring_desc){frontend_physical(front, NET_RX_AT(pair, id)),
						NET_BUFFER, VRING_DESC_F_WRITE, 0});
	frontend_publish(front, 2 * pair, id);
}

static void rings_start(struct net_rig *rig)
{
	__u16 pairs = vhost_plan.device.queues;

	assert_int_equal(frontend_get(&rig->v.front, VHOST_USER_GET_QUEUE_NUM), pairs);
	for (__u16 q = 0; q < 2 * pairs; q++) {
		frontend_make_queue(&rig->v.front, q, NET_SIZE);
		for (__u16 id = 0; id < NET_SIZE && !(q & 1); id++)
			net_post(rig, q / 2, id);
		assert_int_equal(frontend_start_queue(&rig->v.front, q, 0), 0);
	}
}

void net_start(struct net_rig *rig)
{
	vhost_rig_connect(&rig->v);
	if (rig->iommu)
		frontend_iommu_open(rig->iommu, &rig->v.front);
	frontend_negotiate(&rig->v.front, ~0ull);
	if (!rig->iommu) {
		rings_start(rig);
		return;
	}
	frontend_iommu_start(rig->iommu);
	pthread_mutex_lock(&rig->iommu->lock);
	rings_start(rig);
	pthread_mutex_unlock(&rig->iommu->lock);
}

void net_open(struct net_rig *rig, struct frontend_iommu *iommu)
{
	memset(rig, 0, sizeof(*rig));
	rig->iommu = iommu;
	vhost_plan.tenant.vm.iommu = iommu;
	vhost_rig_open(&rig->v);
	rig->nic = rig->v.machine->devices[0].model;
	net_start(rig);
}

struct frame_totals net_close(struct net_rig *rig)
{
	struct frame_totals totals;
	struct machine_totals machine;
	__u64 lost = 0;

	machine_stop(rig->v.machine);
	totals = *machine_frames(rig->v.machine, 0);
	machine_totals(rig->v.machine, &machine);
	if (rig->iommu)
		frontend_iommu_close(rig->iommu);
	machine_destroy(rig->v.machine);
	frontend_close(&rig->v.front);
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += totals.lost[reason];
	assert_int_equal(totals.in, totals.delivered + lost + totals.held);
	assert_int_equal(machine.violations, 0);
	return totals;
}

static __u32 frame_length(__u32 number)
{
	return (__u32)FRAME_LEAST + number * 677 % (1514 - (__u32)FRAME_LEAST + 1);
}

/* A datagram of one of 13 flows, that says its number. */
static void frame_fill(unsigned char *frame, __u32 number)
{
	__u32 length = frame_length(number);
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.protocol = IPPROTO_UDP,
		.tot_len = htons((__u16)(length - ETH_HLEN)),
		.saddr = htonl(0x0a4d0001),
		.daddr = htonl(0x0a4d0002),
	};
	struct udphdr udp = {.source = htons((__u16)(4000 + number % 13)), .dest = htons(9)};

	memset(frame, (int)number, length);
	frame[12] = ETH_P_IP >> 8;
	frame[13] = ETH_P_IP & 255;
	memcpy(frame + ETH_HLEN, &ip, sizeof(ip));
	memcpy(frame + ETH_HLEN + sizeof(ip), &udp, sizeof(udp));
	memcpy(frame + FRAME_LEAST - 4, &number, 4);
}

/* As the guest's CPUs find it. */
static unsigned char *memory_at(struct net_rig *rig, __u64 address)
{
	__u64 page = address / PAGE_BYTES;

	if (rig->iommu)
		address = rig->iommu->page[page] + address % PAGE_BYTES;
	return guest_memory_cpu(rig->v.memory, address);
}

/* And waits until the device has sent it. */
void net_send(struct net_rig *rig, __u16 pair)
{
	__u16 id = (__u16)(rig->sent % NET_SIZE), q = 2 * pair + 1;
	unsigned char *at = memory_at(rig, NET_TX_AT(pair, id));
	struct frontend *front = &rig->v.front;

	memset(at, 0, NET_HEADER);
	frame_fill(at + NET_HEADER, rig->sent);
	front->queue[q].busy[id] = true;
	frontend_descriptor(front, q, id,
			    (struct vring_desc){frontend_physical(front, NET_TX_AT(pair, id)),
						(__u32)NET_HEADER + frame_length(rig->sent), 0, 0});
	frontend_publish(front, q, id);
	frontend_kick(front, q);
	assert_int_equal(frontend_reap(front, q, NULL), id);
	rig->sent++;
}

/* What a buffer holds is a frame that was sent, whole, and of each ring in the order of sending. */
static void frame_check(struct net_rig *rig, __u16 pair, __u16 id, __u32 bytes)
{
	const unsigned char *at = memory_at(rig, NET_RX_AT(pair, id));
	const struct virtio_net_hdr_v1 header = {.num_buffers = 1};
	unsigned char expected[1514];
	__u32 number;

	assert_memory_equal(at, &header, NET_HEADER);
	memcpy(&number, at + NET_HEADER + FRAME_LEAST - 4, 4);
	assert_true(number < rig->sent);
	assert_true(number >= rig->newest[pair]);
	rig->newest[pair] = number + 1;
	assert_int_equal(bytes, NET_HEADER + frame_length(number));
	frame_fill(expected, number);
	assert_memory_equal(at + NET_HEADER, expected, frame_length(number));
}

void net_took(struct net_rig *rig, __u16 pair, int id, __u32 bytes)
{
	assert_true(id >= 0);
	if (bytes) {
		frame_check(rig, pair, (__u16)id, bytes);
		rig->received++;
	} else {
		rig->empty++;
	}
}

/* All that has been received by now; its buffers are posted again. */
void net_receive(struct net_rig *rig, __u16 pair)
{
	__u32 bytes;
	int id;

	while ((id = frontend_poll(&rig->v.front, 2 * pair, &bytes)) >= 0) {
		net_took(rig, pair, id, bytes);
		net_post(rig, pair, (__u16)id);
		frontend_kick(&rig->v.front, 2 * pair);
	}
}

static __u64 net_lost(struct nic_stats *stats)
{
	__u64 lost = stats->missed;

	for (int reason = 0; reason < LOSS_REASONS; reason++)
		lost += stats->rx.lost[reason];
	return lost;
}

bool net_settled(struct net_rig *rig)
{
	struct nic_stats stats;

	nic_stats(rig->nic, &stats);
	return stats.in + stats.missed >= rig->sent &&
	       rig->received + net_lost(&stats) >= rig->sent;
}

void net_settle(struct net_rig *rig)
{
	do
		for (__u16 pair = 0; pair < vhost_plan.device.queues; pair++)
			net_receive(rig, pair);
	while (!net_settled(rig));
}

/* Until so many frames of the loop have come in. */
void net_await_in(struct net_rig *rig, __u64 frames)
{
	struct nic_stats stats;

	do
		nic_stats(rig->nic, &stats);
	while (stats.in + stats.missed < frames);
}
