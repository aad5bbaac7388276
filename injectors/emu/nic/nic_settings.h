/* SPDX-License-Identifier: GPL-2.0 */
/* What a [device] with model=nic says of itself (nic_class.c has the rows, their ranges and meanings). */
#ifndef FAULTLINE_NIC_SETTINGS_H
#define FAULTLINE_NIC_SETTINGS_H

#include <linux/types.h>
#include <stdbool.h>

#include "injectors/emu/vhost/vhost_settings.h"

/* In the order of policies.def, as rx_policies[]. */
enum rx_policy_index {
#define RX_POLICY(name) RX_POLICY_##name,
#include "injectors/emu/nic/policies.def"
};

enum nic_wire { NIC_WIRE_TAP, NIC_WIRE_GENERATOR, NIC_WIRE_LOOP };
enum nic_offload { NIC_OFFLOAD_NONE, NIC_OFFLOAD_CHECKSUM, NIC_OFFLOAD_SEGMENTS };

struct nic_settings {
	struct vhost_settings vhost; /* first */
	__u32 rx_policy;	     /* index in rx_policies[] */
	__u64 rx_buffer;	     /* bytes */
	__u32 mtu;		     /* of a frame without its Ethernet header */
	enum nic_offload offload;
	enum nic_wire wire;
	__u64 interrupt_delay_ns;
	__u32 interrupt_frames;
	__u32 prefault; /* buffers behind the one that faulted */
	__u32 fault_limit; /* page requests outstanding for a ring: what is asked for together is one */
	__u64 cache_bytes;
	__u32 backup_entries, bitmap_entries;
	/* wire = tap */
	__u64 link; /* bits per second, 0: no limit */
	__u32 tcp_classic;
	bool delayed_ack;
	char congestion[16];
	char sysctl[512];
};

#endif
