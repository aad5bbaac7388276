/* SPDX-License-Identifier: GPL-2.0 */
/* What a network namespace counts, as nstat and `ip -s link` show it. */
#ifndef FAULTLINE_NET_NETWORK_COUNTERS_H
#define FAULTLINE_NET_NETWORK_COUNTERS_H

#include <linux/types.h>

#include "injectors/net/link.h"

struct network_counters {
#define NETWORK_COUNTER(member, group, name) __u64 member;
#include "injectors/net/network_counters.def"
#undef NETWORK_COUNTER
	struct link_statistics
		link; /* seen by the namespace: it receives (rx) what is written to its TAP */
};

/* Of the calling thread's namespace. -ENOENT with a sentence if the kernel has not all of them. */
int network_counters_read(unsigned int link, struct network_counters *counters);

/*
 * Fills `counters` but for the link's of texts as /proc/net/snmp and netstat have them: a line of names and
 * one of values for each group.
 */
int network_counters_parse(char *snmp, char *netstat, struct network_counters *counters);

#endif
