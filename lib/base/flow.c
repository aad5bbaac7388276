// SPDX-License-Identifier: GPL-2.0
#include "lib/base/flow.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#define END_TEXT (INET6_ADDRSTRLEN + 8) /* "[", "]:65535" */

static bool has_ports(const struct flow_info *flow)
{
	return flow->protocol == IPPROTO_TCP || flow->protocol == IPPROTO_UDP ||
	       flow->source_port || flow->destination_port;
}

static void format_end(const struct flow_info *flow, const __u8 *address, __u16 port, char *text,
		       size_t size)
{
	char name[INET6_ADDRSTRLEN] = "?";
	bool brackets = flow->family == AF_INET6;

	inet_ntop(flow->family, address, name, sizeof(name));
	if (!has_ports(flow))
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, brackets ? "[%s]:%u" : "%s:%u", name, port);
}

static const char *format_protocol(const struct flow_info *flow, char text[20])
{
	switch (flow->protocol) {
	case IPPROTO_TCP:
		return "";
	case IPPROTO_UDP:
		return " (UDP)";
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return " (ICMP)";
	default:
		snprintf(text, 20, " (protocol %u)", flow->protocol);
		return text;
	}
}

const char *flow_format(const struct flow_info *flow, char text[FLOW_TEXT])
{
	char source[END_TEXT], destination[END_TEXT], protocol[20];

	if (flow->family != AF_INET && flow->family != AF_INET6) {
		snprintf(text, FLOW_TEXT, "ethertype 0x%04x", flow->ethertype);
		return text;
	}
	format_end(flow, flow->source, flow->source_port, source, sizeof(source));
	format_end(flow, flow->destination, flow->destination_port, destination,
		   sizeof(destination));
	snprintf(text, FLOW_TEXT, "%s > %s%s", source, destination,
		 format_protocol(flow, protocol));
	return text;
}
