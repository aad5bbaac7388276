/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two network namespaces with a TAP each: the guest's, whose frames an emulated NIC's driver carries, and the
 * wire's, at whose end the load is. Their kernels know each other's addresses beforehand, have no IPv6 and no
 * multicast: the only frames are those of programs.
 *
 * All of it is in descriptors of this process (O_CLOEXEC) and has no name on the host: it is gone with them,
 * however the process ends. Settings and devices of the host's own namespace are never touched.
 */
#ifndef FAULTLINE_NET_NETWORK_H
#define FAULTLINE_NET_NETWORK_H

#include <linux/types.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdbool.h>

#include "injectors/net/link.h"
#include "injectors/net/network_counters.h"

enum network_side { NETWORK_GUEST, NETWORK_WIRE, NETWORK_SIDES };

#define NETWORK_GUEST_ADDRESS "10.77.0.1"
#define NETWORK_WIRE_ADDRESS  "10.77.0.2"
#define NETWORK_PREFIX	      24
#define NETWORK_GUEST_MAC     "02:00:0a:4d:00:01" /* which the wire's end sends to, asking nobody */

/* What stands in front of each frame that a TAP gives and takes, with offload; without it nothing does. */
#define NETWORK_HEADER sizeof(struct virtio_net_hdr_mrg_rxbuf)

enum network_offload {
	NETWORK_OFFLOAD_NONE,	  /* frames are whole and within the MTU */
	NETWORK_OFFLOAD_CHECKSUM, /* their checksums may be left to us */
	NETWORK_OFFLOAD_SEGMENTS, /* likewise, and up to 64K of TCP are one frame (TSO for IPv4) */
};

#define NETWORK_MTU_LEAST    68 /* of IPv4 */
#define NETWORK_MTU_MOST     9216
#define NETWORK_QUEUES_MOST  64
#define NETWORK_LINK_LEAST   1000000ull /* bits/s */
#define NETWORK_LINK_MOST    100000000000ull
#define NETWORK_QUEUE_LENGTH 10000
#define NETWORK_CONGESTION   16	 /* TCP_CA_NAME_MAX */
#define NETWORK_SETTINGS     512 /* room for the text */

struct network_config {
	char name[IFNAMSIZ]; /* of both TAPs: network_name() */
	__u32 mtu;
	__u32 guest_queues; /* of the guest's TAP, 0: 1; the kernel keeps a flow on one */
	enum network_offload offload;
	__u64 link;			     /* bits/s that each side sends at most; 0: no limit */
	__u32 queue_length;		     /* frames that wait in a TAP for its reader */
	char congestion[NETWORK_CONGESTION]; /* "": as the host has it */
	bool asked;			 /* the wire's end answers ARP: the guest is a stranger */
	bool quick_ack;			 /* TCP delays no acknowledgement */
	bool classic;			 /* TCP without loss probes, RACK and F-RTO */
	char settings[NETWORK_SETTINGS]; /* "NAME=VALUE, ...", of both namespaces */
};

/* One of the two. */
struct network_end {
	int tap; /* non-blocking; a read or write is a frame */
	int queues
		[NETWORK_QUEUES_MOST];	/* of a TAP with several: the first is `tap`; -1: no more */
	struct link_observer *observer; /* of the TAP, for whoever is elsewhere */
	int netns;			/* keeps the namespace */
	__u64 inode;			/* of the namespace: what the kernel and events call it */
	unsigned int index;
	char name[IFNAMSIZ];
	__u8 mac[LINK_MAC];
	struct in_addr address;
};

struct network {
	struct network_end ends[NETWORK_SIDES];
	struct network_config config;
};

/* A name that interfaces may have, made of a device's. */
void network_name(const char *device, char name[IFNAMSIZ]);

/* "100M", "2.5G": bits a second, powers of 1000; "off": 0. -EINVAL with a sentence that names what is accepted. */
int network_parse_link(const char *text, __u64 *bits);

/*
 * What is wrong with the configuration, as far as that can be told without root and without the host:
 * -EINVAL with a sentence that names the value and what is accepted. network_open() does it, too.
 */
int network_check(const struct network_config *config);

/*
 * What this kernel would say of the algorithm and of the settings, tried in a network namespace of a moment:
 * -EINVAL with a sentence that names the value. What needs a right that we have not is left to network_open().
 */
int network_rehearse(const struct network_config *config);

/* Returns 0 or a negative errno with a sentence; then there is nothing to close. */
int network_open(struct network *network, const struct network_config *config);
void network_close(struct network *network);

/* Runs `body` in a thread of its own within a side's namespace (injectors/net/netns.h). */
int network_run(const struct network *network, enum network_side side, int (*body)(void *argument),
		void *argument);

/* What a side's namespace and its TAP have counted, from 0 on: both are new. */
int network_count(const struct network *network, enum network_side side,
		  struct network_counters *counters);

#endif
