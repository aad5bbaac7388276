/* SPDX-License-Identifier: GPL-2.0 */
/* Links of the calling thread's network namespace, configured by rtnetlink. */
#ifndef FAULTLINE_NET_LINK_H
#define FAULTLINE_NET_LINK_H

#include <linux/types.h>
#include <stdbool.h>
#include <net/if.h>
#include <netinet/in.h>

#define LINK_MAC 6

/* An end of a link on which two hosts know each other beforehand: nothing is asked for or announced, but as `asked` says. */
struct link_config {
	unsigned int index;
	__u32 mtu;
	__u32 queue_length; /* frames that wait for a reader of the TAP */
	__u8 mac[LINK_MAC], peer_mac[LINK_MAC];
	struct in_addr address, peer;
	unsigned int prefix;
	bool asked;	/* ARP is answered: the peer is somebody else's */
	bool quick_ack; /* of what comes from the peer each segment is acknowledged at once */
	const char *congestion; /* of connections to the peer; "": the namespace's own */
	__u64 rate;		/* bytes/s that it sends at most; 0: any */
	__u32 burst, backlog;	/* of the token bucket, bytes: at once, and waiting */
};

/* Gives it all of that and sets it up; the loopback device, too. Returns 0 or a negative errno. */
int link_configure(const struct link_config *config);
/* The loopback device alone, of the namespace of this thread. */
int link_loopback_up(void);

/* As `ip -s link` shows them. */
struct link_statistics {
	__u64 rx_packets, tx_packets, rx_bytes, tx_bytes;
	__u64 rx_errors, tx_errors, rx_dropped, tx_dropped;
};

int link_read_statistics(unsigned int index, struct link_statistics *statistics);

/* The same of a link of the namespace in which the observer was made, from any namespace. One thread at a time. */
struct link_observer;
int link_observe(struct link_observer **observer, unsigned int index);
int link_observed(const struct link_observer *observer, struct link_statistics *statistics);
void link_observe_end(struct link_observer *observer); /* may be NULL */

#endif
