// SPDX-License-Identifier: GPL-2.0
/*
 * TCP's own view of what frames were lost: segments sent again, why, and what became of the connection.
 * Of the network namespaces of emulated machines; of all of the host if asked for.
 */
#include "bpf/kernel.h"

#include "bpf/flow.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Whether events of this socket's namespace are wanted, and whose they are. */
static __always_inline bool find_network(const struct sock *sk, struct flow_key *key)
{
	__u32 inode = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	const struct network_owner *network = bpf_map_lookup_elem(&networks, &inode);

	if (!network) {
		key->network = inode;
		return filter.all_networks;
	}
	key->device = network->device;
	return !network->dropped;
}

/* Connections of IPv4 may be of sockets for both: their frames are those of IPv4. */
static __always_inline void read_addresses(const struct sock_common *ends, struct flow_key *key)
{
	if (BPF_CORE_READ(ends, skc_family) == AF_INET6 &&
	    bpf_core_field_exists(ends->skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&key->source, ends, skc_v6_rcv_saddr.in6_u.u6_addr32);
		BPF_CORE_READ_INTO(&key->destination, ends, skc_v6_daddr.in6_u.u6_addr32);
		key->family = AF_INET6;
		if (key->destination[0] || key->destination[1] ||
		    key->destination[2] != bpf_htonl(0xffff))
			return;
		__builtin_memset(key->source, 0, sizeof(key->source));
		__builtin_memset(key->destination, 0, sizeof(key->destination));
	}
	key->family = AF_INET;
	key->source[0] = BPF_CORE_READ(ends, skc_rcv_saddr);
	key->destination[0] = BPF_CORE_READ(ends, skc_daddr);
}

/* From the socket to its peer. `ends`: of the socket, or of a connection that has none yet. */
static __always_inline struct event *tcp_event(struct probe_counter *counter, __u16 kind,
					       const struct sock *sk,
					       const struct sock_common *ends)
{
	struct flow_key key = {.protocol = IPPROTO_TCP};
	struct event *event;
	__u32 flow;

	if (!kind_wanted(kind) || !find_network(sk, &key))
		return NULL;
	read_addresses(ends, &key);
	key.source_port = BPF_CORE_READ(ends, skc_num);
	key.destination_port = bpf_ntohs(BPF_CORE_READ(ends, skc_dport));
	/* A socket that was closed has given its port back, but knows which it was. */
	if (!key.source_port)
		key.source_port =
			bpf_ntohs(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	flow = flow_id_of(&key);
	event = event_reserve(counter, kind);
	if (!event)
		return NULL;
	event->device = key.device;
	event->tid = flow;
	return event;
}

/*
 * What made TCP send it again. Beside the retransmission timer and tail loss probes only
 * tcp_xmit_retransmit_queue() does, of segments that are marked as lost, in the states Recovery and Loss.
 * Loss begins with the timer, which is not pending while it sends (tcp_write_timer_handler()) and is pending
 * whenever acknowledgements make TCP send more. A probe (tcp_send_loss_probe()) takes the last segment, which
 * is not marked; the timer that it comes from says less, as it may be pending in Recovery, too. Linux 6.1 to
 * 7.3.
 */
static __always_inline __u8 recovery_of(const struct sock *sk, const struct tcp_skb_cb *segment)
{
	const struct inet_connection_sock *connection = (const void *)sk;

	if (BPF_CORE_READ_BITFIELD_PROBED(connection, icsk_ca_state) == TCP_CA_LOSS)
		return BPF_CORE_READ(connection, icsk_pending) ? RECOVERY_SLOW_START
							       : RECOVERY_TIMEOUT;
	return BPF_CORE_READ(segment, sacked) & TCPCB_LOST ? RECOVERY_FAST : RECOVERY_PROBE;
}

static __always_inline __u64 sequence(__u32 first, __u32 end)
{
	return (__u64)first << 32 | end;
}

static __always_inline int retransmitted(const struct sock *sk, const struct sk_buff *skb,
					 int error)
{
	const struct tcp_skb_cb *segment =
		(const void *)skb + bpf_core_field_offset(struct sk_buff, cb);
	struct probe_counter *counter = probe_hit(PROBE_TCP_RETRANSMIT);
	struct event *event;

	if (!counter)
		return 0;
	event = tcp_event(counter, EVENT_TCP_RETRANSMIT, sk, &sk->__sk_common);
	if (!event)
		return 0;
	event->address = sequence(BPF_CORE_READ(segment, seq), BPF_CORE_READ(segment, end_seq));
	event->length = BPF_CORE_READ(skb, len);
	event->value =
		BPF_CORE_READ((const struct inet_connection_sock *)sk, icsk_rto) * filter.jiffy_ns;
	event->group = BPF_CORE_READ(segment, tcp_gso_segs);
	event->code = recovery_of(sk, segment);
	event->flags = error ? EVENT_MAJOR : 0;
	event_submit(counter, event);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tcp_retransmit, const struct sock *sk, const struct sk_buff *skb, int error)
{
	return retransmitted(sk, skb, error);
}

/* Until 6.17: only of what could be sent. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tcp_retransmit_sent, const struct sock *sk, const struct sk_buff *skb)
{
	return retransmitted(sk, skb, 0);
}

SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(tcp_synack, const struct sock *sk, const struct request_sock *request)
{
	struct probe_counter *counter = probe_hit(PROBE_TCP_SYNACK);
	struct event *event;
	__u32 first;

	if (!counter)
		return 0;
	event = tcp_event(counter, EVENT_TCP_SYNACK, sk, &request->__req_common);
	if (!event)
		return 0;
	first = BPF_CORE_READ((const struct tcp_request_sock *)request, snt_isn);
	event->address = sequence(first, first + 1);
	event_submit(counter, event);
	return 0;
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(tcp_state, struct sock *sk, __u8 state)
{
	const struct inet_connection_sock *connection = (const void *)sk;
	struct probe_counter *counter = probe_hit(PROBE_TCP_STATE);
	struct event *event;

	if (!counter || BPF_CORE_READ_BITFIELD_PROBED(connection, icsk_ca_state) == state)
		return 0;
	event = tcp_event(counter, EVENT_TCP_STATE, sk, &sk->__sk_common);
	if (!event)
		return 0;
	event->value = BPF_CORE_READ((const struct tcp_sock *)sk, snd_cwnd);
	event->code = state;
	event_submit(counter, event);
	return 0;
}

/* Also of those that no program has any more, to which no error is reported. */
SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(tcp_closed, const struct sock *sk)
{
	struct probe_counter *counter = probe_hit(PROBE_TCP_CLOSED);
	const struct tcp_sock *tcp = (const void *)sk;
	__u32 first = BPF_CORE_READ(tcp, snd_una), end = BPF_CORE_READ(tcp, snd_nxt);
	struct event *event;

	/* One that never had a peer, or was told of its end, has forgotten whose it was. */
	if (!counter || first == end || !BPF_CORE_READ(sk, __sk_common.skc_dport))
		return 0;
	event = tcp_event(counter, EVENT_TCP_CLOSED, sk, &sk->__sk_common);
	if (!event)
		return 0;
	event->address = sequence(first, end);
	event_submit(counter, event);
	return 0;
}

/* Also of sockets that have something else to tell, such as when a segment left. */
SEC("tp_btf/inet_sk_error_report")
int BPF_PROG(tcp_error, const struct sock *sk)
{
	struct probe_counter *counter = probe_hit(PROBE_TCP_ERROR);
	int error = BPF_CORE_READ(sk, sk_err);
	struct event *event;

	if (!counter || !error || BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	event = tcp_event(counter, EVENT_TCP_ERROR, sk, &sk->__sk_common);
	if (!event)
		return 0;
	event->value = error;
	event_submit(counter, event);
	return 0;
}
