// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/link.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

#define LOOPBACK_INDEX 1 /* of every namespace */
#define LINK_REPLY     (32 << 10)

/* A message and the place for its answer. */
struct link_request {
	struct nlmsghdr *header;
	char buffer[LINK_REPLY] __attribute__((aligned(8)));
};

/* A payload of `size` bytes behind a new header, all zero. */
static void *link_request_begin(struct link_request *request, __u16 type, __u16 flags, size_t size)
{
	request->header = mnl_nlmsg_put_header(request->buffer);
	request->header->nlmsg_type = type;
	request->header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	request->header->nlmsg_seq = 1;
	return mnl_nlmsg_put_extra_header(request->header, size);
}

static struct mnl_socket *open_socket(void)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int error;

	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) >= 0)
		return socket;
	error = errno;
	mnl_socket_close(socket);
	errno = error;
	return NULL;
}

/* Each answer goes to `take`; `what` begins the sentence of a refusal. */
static int link_ask(struct mnl_socket *socket, struct link_request *request, const char *what,
		    mnl_cb_t take, void *argument)
{
	ssize_t size = -1;
	int left = 1;

	if (socket)
		size = mnl_socket_sendto(socket, request->header, request->header->nlmsg_len);
	while (size >= 0 && left > 0) {
		size = mnl_socket_recvfrom(socket, request->buffer, sizeof(request->buffer));
		if (size >= 0)
			left = mnl_cb_run(request->buffer, (size_t)size, 1,
					  mnl_socket_get_portid(socket), take, argument);
	}
	return size < 0 || left < 0 ? failed(-errno, "%s: %s", what, strerror(errno)) : left;
}

static int link_request_exchange(struct link_request *request, const char *what, mnl_cb_t take,
				 void *argument)
{
	struct mnl_socket *socket = open_socket();
	int err = link_ask(socket, request, what, take, argument);

	if (socket)
		mnl_socket_close(socket);
	return err;
}

int link_loopback_up(void)
{
	struct link_request request;
	struct ifinfomsg *info = link_request_begin(&request, RTM_NEWLINK, 0, sizeof(*info));

	info->ifi_index = LOOPBACK_INDEX;
	info->ifi_flags = info->ifi_change = IFF_UP;
	return link_request_exchange(&request, "setting up a namespace's lo", NULL, NULL);
}

static int link_up(const struct link_config *config)
{
	struct link_request request;
	struct ifinfomsg *info = link_request_begin(&request, RTM_NEWLINK, 0, sizeof(*info));

	info->ifi_index = (int)config->index;
	info->ifi_flags = config->asked ? IFF_UP : IFF_UP | IFF_NOARP;
	info->ifi_change = IFF_UP | IFF_NOARP | IFF_MULTICAST;
	mnl_attr_put_u32(request.header, IFLA_MTU, config->mtu);
	mnl_attr_put_u32(request.header, IFLA_TXQLEN, config->queue_length);
	mnl_attr_put(request.header, IFLA_ADDRESS, LINK_MAC, config->mac);
	return link_request_exchange(&request, "setting up a TAP", NULL, NULL);
}

/* Without the route that comes with an address: ours has a metric of its own. */
static int link_add_address(const struct link_config *config)
{
	struct link_request request;
	struct ifaddrmsg *address = link_request_begin(&request, RTM_NEWADDR,
						       NLM_F_CREATE | NLM_F_EXCL, sizeof(*address));

	address->ifa_family = AF_INET;
	address->ifa_prefixlen = (__u8)config->prefix;
	address->ifa_index = config->index;
	mnl_attr_put(request.header, IFA_LOCAL, sizeof(config->address), &config->address);
	mnl_attr_put_u32(request.header, IFA_FLAGS, IFA_F_NOPREFIXROUTE);
	return link_request_exchange(&request, "giving a TAP its address", NULL, NULL);
}

static int link_add_route(const struct link_config *config)
{
	struct link_request request;
	struct rtmsg *route = link_request_begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL,
						 sizeof(*route));
	struct nlattr *metrics;
	__u32 network = config->address.s_addr & htonl(~0u << (32 - config->prefix));

	route->rtm_family = AF_INET;
	route->rtm_dst_len = (__u8)config->prefix;
	route->rtm_table = RT_TABLE_MAIN;
	route->rtm_protocol = RTPROT_STATIC;
	route->rtm_scope = RT_SCOPE_LINK;
	route->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(request.header, RTA_DST, network);
	mnl_attr_put_u32(request.header, RTA_OIF, config->index);
	mnl_attr_put(request.header, RTA_PREFSRC, sizeof(config->address), &config->address);
	metrics = mnl_attr_nest_start(request.header, RTA_METRICS);
	if (*config->congestion)
		mnl_attr_put_strz(request.header, RTAX_CC_ALGO, config->congestion);
	if (config->quick_ack)
		mnl_attr_put_u32(request.header, RTAX_QUICKACK, 1);
	mnl_attr_nest_end(request.header, metrics);
	return link_request_exchange(&request, "routing between two namespaces", NULL, NULL);
}

static int link_add_neighbour(const struct link_config *config)
{
	struct link_request request;
	struct ndmsg *neighbour = link_request_begin(&request, RTM_NEWNEIGH,
						     NLM_F_CREATE | NLM_F_EXCL, sizeof(*neighbour));

	neighbour->ndm_family = AF_INET;
	neighbour->ndm_ifindex = (int)config->index;
	neighbour->ndm_state = NUD_PERMANENT;
	mnl_attr_put(request.header, NDA_DST, sizeof(config->peer), &config->peer);
	mnl_attr_put(request.header, NDA_LLADDR, LINK_MAC, config->peer_mac);
	return link_request_exchange(&request, "naming a TAP's neighbour", NULL, NULL);
}

static int link_limit_rate(const struct link_config *config)
{
	struct link_request request;
	struct tcmsg *queue = link_request_begin(&request, RTM_NEWQDISC,
						 NLM_F_CREATE | NLM_F_REPLACE, sizeof(*queue));
	/* What it is told of Ethernet it need not guess from a table of times. */
	struct tc_tbf_qopt bucket = {.rate.linklayer = TC_LINKLAYER_ETHERNET,
				     .limit = config->backlog};
	struct nlattr *options;

	bucket.rate.rate = config->rate >> 32 ? ~0u : (__u32)config->rate;
	queue->tcm_family = AF_UNSPEC;
	queue->tcm_ifindex = (int)config->index;
	queue->tcm_parent = TC_H_ROOT;
	mnl_attr_put_strz(request.header, TCA_KIND, "tbf");
	options = mnl_attr_nest_start(request.header, TCA_OPTIONS);
	mnl_attr_put(request.header, TCA_TBF_PARMS, sizeof(bucket), &bucket);
	mnl_attr_put_u32(request.header, TCA_TBF_BURST, config->burst);
	if (config->rate >> 32)
		mnl_attr_put_u64(request.header, TCA_TBF_RATE64, config->rate);
	mnl_attr_nest_end(request.header, options);
	return link_request_exchange(
		&request, "limiting a link's rate (the kernel's token bucket, module sch_tbf)",
		NULL, NULL);
}

int link_configure(const struct link_config *config)
{
	/* A route is taken back when its link goes down: it comes last. */
	int err = link_loopback_up()
			  ?: link_up(config)
			  ?: link_add_address(config)
			  ?: link_add_route(config)
			  ?: link_add_neighbour(config);

	return err || !config->rate ? err : link_limit_rate(config);
}

static int take_statistics(const struct nlmsghdr *header, void *argument)
{
	struct link_statistics *statistics = argument;
	struct rtnl_link_stats64 all;
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, header, sizeof(struct ifinfomsg))
	{
		size_t size = mnl_attr_get_payload_len(attribute);

		if (mnl_attr_get_type(attribute) != IFLA_STATS64)
			continue;
		/* Older kernels know less at the end, newer ones more. */
		memset(&all, 0, sizeof(all));
		memcpy(&all, mnl_attr_get_payload(attribute),
		       size < sizeof(all) ? size : sizeof(all));
		*statistics = (struct link_statistics){
			.rx_packets = all.rx_packets,
			.tx_packets = all.tx_packets,
			.rx_bytes = all.rx_bytes,
			.tx_bytes = all.tx_bytes,
			.rx_errors = all.rx_errors,
			.tx_errors = all.tx_errors,
			.rx_dropped = all.rx_dropped,
			.tx_dropped = all.tx_dropped,
		};
	}
	return MNL_CB_OK;
}

int link_read_statistics(unsigned int index, struct link_statistics *statistics)
{
	struct link_observer *observer;
	int err = link_observe(&observer, index);

	if (err)
		return err;
	err = link_observed(observer, statistics);
	link_observe_end(observer);
	return err;
}

struct link_observer {
	struct mnl_socket *socket;
	unsigned int index;
};

int link_observe(struct link_observer **observer, unsigned int index)
{
	struct link_observer *new = malloc(sizeof(*new));

	if (!new)
		return failed(-ENOMEM, "no memory to look at a TAP");
	new->index = index;
	new->socket = open_socket();
	if (!new->socket) {
		free(new);
		return failed(-errno, "asking for a TAP's statistics: %s", strerror(errno));
	}
	*observer = new;
	return 0;
}

int link_observed(const struct link_observer *observer, struct link_statistics *statistics)
{
	struct link_request request;
	struct ifinfomsg *info = link_request_begin(&request, RTM_GETLINK, 0, sizeof(*info));

	memset(statistics, 0, sizeof(*statistics));
	info->ifi_index = (int)observer->index;
	return link_ask(observer->socket, &request, "reading a TAP's statistics", take_statistics,
			statistics);
}

void link_observe_end(struct link_observer *observer)
{
	if (!observer)
		return;
	mnl_socket_close(observer->socket);
	free(observer);
}
