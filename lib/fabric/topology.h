/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What PCIe is made of: root complexes, switches, NTB adapters, devices, and what joins them.
 *
 * Described by [host], [switch], [adapter], [device] and [link] sections, in jobs of `faultline fabric` as in those that
 * emulate hosts (docs/fabric.md). Routes and their cost: route.h, cost.h; keys: options.h. Nodes are named by index, in the
 * order of the job.
 */
#ifndef FAULTLINE_FABRIC_TOPOLOGY_H
#define FAULTLINE_FABRIC_TOPOLOGY_H

#include <linux/types.h>
#include <stdbool.h>

struct job_text;

#define FABRIC_NONE	 0xffffffffu
#define FABRIC_NAME	 64
#define FABRIC_NODES_MAX 1024
#define FABRIC_LINKS_MAX 1024

enum fabric_kind { FABRIC_ROOT, FABRIC_SWITCH, FABRIC_ADAPTER, FABRIC_DEVICE };

struct fabric_node {
	char name[FABRIC_NAME];
	enum fabric_kind kind;
	__u32 host; /* index of the host that it belongs to; FABRIC_NONE: a switch between hosts */
	__u32 upstream; /* node that it is under; FABRIC_NONE: a root, or such a switch */
	__u64 delay_ns; /* of one packet that passes; of a root: half where a path begins or ends */
	/* of adapters */
	__u64 bar_bytes;
	__u32 windows, requesters;
	bool bar_high; /* its BAR lies above 4 GiB */
};

struct fabric_link { /* a cable between adapters, or of one to a switch between hosts, or between such */
	char name[FABRIC_NAME];
	__u32 ends[2];
	__u64 delay_ns;
	__u64 bytes_per_s; /* usable, each direction */
};

struct fabric_host {
	char name[FABRIC_NAME];
	__u32 root;
	bool iommu;
};

/* One end of an edge, as the other sees it. */
struct fabric_edge {
	__u32 node;
	__u32 link; /* FABRIC_NONE: within a host */
};

struct fabric {
	__u32 node_count, link_count, host_count;
	struct fabric_node *nodes;
	struct fabric_link *links;
	struct fabric_host *hosts; /* in the order of the [host] sections */
	/* Neighbours of node n: edges[first[n]] up to edges[first[n + 1]], the one upstream first, then in the order of the job. */
	__u32 *first;
	struct fabric_edge *edges;
};

/*
 * Of a text that options_check_headings() has passed. Reads the keys of options.h; other keys of these sections are somebody
 * else's. job_wrong() with "file:line: ..." for what is no tree below each root, a name that is not known or is used twice, an
 * adapter with no or two cables, and values out of range.
 */
int fabric_build(struct fabric **fabric, const struct job_text *text);
void fabric_free(struct fabric *fabric);
/* FABRIC_NONE: no such node. */
__u32 fabric_find(const struct fabric *fabric, const char *name);

#endif
