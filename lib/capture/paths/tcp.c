// SPDX-License-Identifier: GPL-2.0
/* TCP of the networks of emulated NICs, or of all of the host: what it sent again. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/capture/capture_private.h"
#include "lib/capture/flows.h"
#include "lib/capture/groups.h"
#include "lib/capture/paths/rows.h"
#include "bpf/tcp.skel.h"

static DEFINE_OBJECT(tcp);

#define NONE_NEED "no segment need get lost"

static const struct probe_row rows[] = {
	{PROBE_TCP_RETRANSMIT, "tcp_retransmit", &tcp_object, EVENT_TCP_RETRANSMIT,
	 METHODS(TRACEPOINT_AS(tcp_retransmit_skb, "tcp_retransmit", .arguments = 3),
		 TRACEPOINT_AS(tcp_retransmit_skb, "tcp_retransmit_sent", .arguments = 2)),
	 .place = PLACE_NETWORKS, .without = "what TCP sent again is not known, nor why",
	 .unaccused = NONE_NEED},
	{PROBE_TCP_SYNACK, "tcp_synack", &tcp_object, EVENT_TCP_SYNACK,
	 METHODS(TRACEPOINT_AS(tcp_retransmit_synack, "tcp_synack")), .place = PLACE_NETWORKS,
	 .without = "which answers to new connections TCP sent again is not known",
	 .unaccused = NONE_NEED},
	/* Who sends again has lost, and been told so by this: only loss probes come without. */
	{PROBE_TCP_STATE, "tcp_state", &tcp_object, EVENT_TCP_STATE,
	 METHODS(TRACEPOINT_AS(tcp_cong_state_set, "tcp_state")), .place = PLACE_NETWORKS,
	 .without = "when TCP saw congestion is not known", .with = "tcp_retransmit"},
	{PROBE_TCP_ERROR, "tcp_error", &tcp_object, EVENT_TCP_ERROR,
	 METHODS(TRACEPOINT_AS(inet_sk_error_report, "tcp_error")), .place = PLACE_NETWORKS,
	 .without = "which connections TCP gave up is not known", .unaccused = "none need fail"},
	{PROBE_TCP_CLOSED, "tcp_closed", &tcp_object, EVENT_TCP_CLOSED,
	 METHODS(TRACEPOINT_AS(tcp_destroy_sock, "tcp_closed")), .place = PLACE_NETWORKS,
	 .without = "which connections ended without a program that was told is not known",
	 .unaccused = "none need end while it is recorded"},
};

struct network_entry {
	__u32 pid; /* of its machine */
	__u32 inode;
};

struct networks {
	struct network_entry *list;
	size_t count, room;
};

/* A namespace is one machine's: a second that names it gets none of what happens there. */
static void network_enter(struct capture *c, __u32 pid, __u32 inode,
			  const struct network_owner *network)
{
	struct networks *n = c->networks;

	if (!array_grow(&n->list, &n->room, n->count + 1, sizeof(*n->list), ARRAY_PLAIN) ||
	    bpf_map_update_elem(c->maps.networks, &inode, network, BPF_NOEXIST))
		__atomic_fetch_add(&c->maps.state->state_failed, 1, __ATOMIC_RELAXED);
	else
		n->list[n->count++] = (struct network_entry){pid, inode};
}

void capture_enter_networks(struct capture *c, const struct device_key *key, __u32 handle,
			    const __u64 inodes[HELLO_NETWORKS])
{
	const struct network_owner network = {
		.device = device_table_number(c->devices, key),
		.dropped = handle == HANDLE_DROPPED,
	};

	if (!inodes[0] || !network.device)
		return;
	for (size_t i = 0; i < HELLO_NETWORKS; i++)
		network_enter(c, key->owner, (__u32)inodes[i], &network);
	if (!network.dropped)
		probe_set_expect_networks(c->probes);
}

static int open_networks(struct capture *c, __u64 now_ns)
{
	const struct flows_config config = {
		.flows = c->maps.flows,
		.names = c->maps.flow_names,
		.state = c->maps.state,
		.devices = c->devices,
	};

	(void)now_ns;
	c->networks = calloc(1, sizeof(*c->networks));
	if (!c->networks)
		return failed(-ENOMEM, "no memory for the networks of machines");
	return flows_create(&c->flows, &config);
}

static int forget_networks(struct capture *c, __u64 now_ns)
{
	struct networks *n = c->networks;
	size_t kept = 0;

	(void)now_ns;
	for (size_t i = 0; i < n->count; i++) {
		if (owner_set_has(&c->ended, n->list[i].pid))
			bpf_map_delete_elem(c->maps.networks, &n->list[i].inode);
		else
			n->list[kept++] = n->list[i];
	}
	n->count = kept;
	return 0;
}

static int sweep_flows(struct capture *c, __u64 now_ns)
{
	flows_sweep(c->flows, now_ns);
	return 0;
}

static int close_networks(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	if (c->networks)
		free(c->networks->list);
	free(c->networks);
	flows_destroy(c->flows);
	return 0;
}

const struct path tcp_path = {
	.name = "TCP",
	.needs = "a kernel with the tracepoints tcp:*",
	ROWS(rows),
	.steps = {[STEP_OPEN] = open_networks,
		  [STEP_SECOND] = sweep_flows,
		  [STEP_ENDED] = forget_networks,
		  [STEP_CLOSE] = close_networks},
};
