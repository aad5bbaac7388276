/* SPDX-License-Identifier: GPL-2.0 */
/* A machine with one NIC that is driven over vhost-user, and a virtio-net driver whose frames come back to it. */
#ifndef FAULTLINE_TESTS_NET_RIG_H
#define FAULTLINE_TESTS_NET_RIG_H

#include "tests/unit/vhost_rig.h"

#include <linux/if_ether.h>
#include <linux/virtio_net.h>

#include "injectors/emu/nic/nic_private.h"
#include "tests/unit/vhost_iommu.h"

#define NET_SIZE   64 /* of a virtqueue */
#define NET_HEADER sizeof(struct virtio_net_hdr_v1)
#define NET_BUFFER (NET_HEADER + 1514) /* as Linux posts them, but for a VLAN's tag */
/* Each has two pages of its own; every other one lies in both. */
#define NET_RX_AT(q, id) (RIG_DATA + (q)*0x80000ull + (id) * (2 * PAGE_BYTES) + ((id)&1) * 3000)
#define NET_TX_AT(q, id) (RIG_DATA + 0x200000ull + (q)*0x40000ull + (id)*2048ull)

struct net_rig {
	struct vhost_rig v;
	struct nic *nic;
	__u32 sent, received;	      /* frames */
	__u32 empty;		      /* buffers that came back with nothing in them */
	__u32 newest[2];	      /* number of the frame that a ring received last, + 1 */
	struct frontend_iommu *iommu; /* NULL: none */
};

/* What the next rig is like, beside vhost_plan: a wire that brings back what is sent. */
struct nic_settings *net_settings(void);
void net_plan(enum rx_policy_index policy, __u16 pairs);
/* A front-end with all buffers of its rings posted. */
void net_start(struct net_rig *rig);
/* `iommu`: the test's, NULL: there is none. */
void net_open(struct net_rig *rig, struct frontend_iommu *iommu);
/* in = delivered + lost + held, no invariant broken: checked. */
struct frame_totals net_close(struct net_rig *rig);

/* A receive buffer, to be filled. */
void net_post(struct net_rig *rig, __u16 pair, __u16 id);
/* The next frame, and waits until the device has sent it. */
void net_send(struct net_rig *rig, __u16 pair);
/* A buffer has come back: what it holds is a frame that was sent, whole, and of each ring in the order of sending. */
void net_took(struct net_rig *rig, __u16 pair, int id, __u32 bytes);
/* All that has been received by now; its buffers are posted again. */
void net_receive(struct net_rig *rig, __u16 pair);
/* Whether every frame has been received or lost. And until that, and until so many have come in off the wire. */
bool net_settled(struct net_rig *rig);
void net_settle(struct net_rig *rig);
void net_await_in(struct net_rig *rig, __u64 frames);

#endif
