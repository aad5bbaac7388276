// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/network.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "injectors/net/netns.h"
#include "injectors/net/setting.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

#define ETHERNET_HEADER 18 /* with a VLAN's */
#define SEGMENTS_MOST	(64u << 10)
#define TUN_DEVICE	"/dev/net/tun"

/* Locally administered. */
static const __u8 network_macs[NETWORK_SIDES][LINK_MAC] = {
	[NETWORK_GUEST] = {0x02, 0x00, 0x0a, 0x4d, 0x00, 0x01},
	[NETWORK_WIRE] = {0x02, 0x00, 0x0a, 0x4d, 0x00, 0x02},
};
static const char *const network_addresses[NETWORK_SIDES] = {
	[NETWORK_GUEST] = NETWORK_GUEST_ADDRESS,
	[NETWORK_WIRE] = NETWORK_WIRE_ADDRESS,
};

void network_name(const char *device, char name[IFNAMSIZ])
{
	size_t length = 0;

	/* What the kernel does not take, or takes for a pattern. */
	for (; *device && length < IFNAMSIZ - 1; device++)
		if (isgraph((unsigned char)*device) && !strchr("/:%", *device))
			name[length++] = *device;
	name[length] = '\0';
	if (!length || !strcmp(name, "lo") || !strcmp(name, "all") || !strcmp(name, "default") ||
	    name[0] == '.')
		snprintf(name, IFNAMSIZ, "nic");
}

int network_parse_link(const char *text, __u64 *bits)
{
	if (!units_parse_bit_rate(text, NETWORK_LINK_LEAST, NETWORK_LINK_MOST, bits))
		return 0;
	return failed(-EINVAL,
		      "link: invalid rate '%s'; accepted: off, or bits a second from 1M to 100G",
		      text);
}

static int setting_ignore(void *argument, const char *name, const char *value)
{
	(void)argument, (void)name, (void)value;
	return 0;
}

static int check_congestion(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_' &&
		    *c != '-')
			return failed(-EINVAL,
				      "congestion: '%s' is no algorithm's name; accepted: cubic, "
				      "reno and what else the kernel has",
				      name);
	return 0;
}

int network_check(const struct network_config *config)
{
	char name[IFNAMSIZ];

	network_name(config->name, name);
	if (strcmp(config->name, name) != 0)
		return failed(-EINVAL,
			      "'%s' is no name for a network interface; accepted: up to %d "
			      "characters without blanks, '/', ':' and '%%'",
			      config->name, IFNAMSIZ - 1);
	if (config->mtu < NETWORK_MTU_LEAST || config->mtu > NETWORK_MTU_MOST)
		return failed(-EINVAL, "mtu=%u: accepted: %d to %d bytes", config->mtu,
			      NETWORK_MTU_LEAST, NETWORK_MTU_MOST);
	if (config->link && (config->link < NETWORK_LINK_LEAST || config->link > NETWORK_LINK_MOST))
		return failed(-EINVAL, "link=%llu: accepted: off, or bits a second from 1M to 100G",
			      config->link);
	if (config->guest_queues > NETWORK_QUEUES_MOST)
		return failed(-EINVAL, "a TAP of %u queues: accepted: at most %d",
			      config->guest_queues, NETWORK_QUEUES_MOST);
	if (!config->queue_length || config->queue_length > 1000000)
		return failed(-EINVAL, "a TAP's queue of %u frames: accepted: 1 to 1000000",
			      config->queue_length);
	return check_congestion(config->congestion)
		       ?: setting_each(config->settings, setting_ignore, NULL);
}

/* What the thread that makes an end knows. */
struct network_making {
	const struct network_config *config;
	struct network_end *end;
	enum network_side side;
	int outside; /* the host's namespace */
};

/* Something else may have its name, as where a container masks it. */
static int no_tun(int error)
{
	bool lacking = error == ENOENT || error == ENODEV || error == ENXIO || error == ENOTTY;

	return failed(lacking ? -EPERM : -error,
		      TUN_DEVICE ": %s; a TAP needs it: modprobe tun, or give it to the container",
		      error == ENOTTY ? "it is no TUN device" : strerror(error));
}

/* One queue of a TAP; the first makes it. */
static int open_queue(struct ifreq *request, unsigned long offload, int *queue)
{
	int header = NETWORK_HEADER;

	*queue = open(TUN_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*queue < 0)
		return no_tun(errno);
	if (ioctl(*queue, TUNSETIFF, request))
		return errno == ENOTTY ? no_tun(errno)
				       : failed(-errno, "making the TAP %s: %s", request->ifr_name,
						strerror(errno));
	if (ioctl(*queue, TUNSETOFFLOAD, offload) ||
	    (request->ifr_flags & IFF_VNET_HDR && ioctl(*queue, TUNSETVNETHDRSZ, &header)))
		return failed(-errno, "offload of the TAP %s: %s", request->ifr_name,
			      strerror(errno));
	return 0;
}

static int open_tap(const struct network_making *making)
{
	const struct network_config *config = making->config;
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	struct network_end *end = making->end;
	unsigned long offload = 0;
	__u32 queues = 1;
	int err = 0;

	if (making->side == NETWORK_GUEST && config->guest_queues > 1) {
		request.ifr_flags |= IFF_MULTI_QUEUE;
		queues = config->guest_queues;
	}
	snprintf(request.ifr_name, IFNAMSIZ, "%s", config->name);
	if (config->offload != NETWORK_OFFLOAD_NONE) {
		request.ifr_flags |= IFF_VNET_HDR;
		offload = TUN_F_CSUM;
	}
	if (config->offload == NETWORK_OFFLOAD_SEGMENTS)
		offload |= TUN_F_TSO4 | TUN_F_TSO_ECN;
	for (__u32 q = 0; !err && q < queues; q++)
		err = open_queue(&request, offload, &end->queues[q]);
	end->tap = end->queues[0];
	if (err)
		return err;
	snprintf(end->name, IFNAMSIZ, "%s", request.ifr_name);
	end->index = if_nametoindex(end->name);
	return end->index ? 0 : failed(-errno, "the TAP %s: %s", end->name, strerror(errno));
}

static int write_setting(void *argument, const char *name, const char *value)
{
	const struct network_making *making = argument;

	return setting_write(name, value, making->outside);
}

/* Before there is a link that could ask for routers or join a group. */
static int write_settings(const struct network_making *making)
{
	const char *classic = making->config->classic
				      ? "net.ipv4.tcp_early_retrans=0, net.ipv4.tcp_recovery=0, "
					"net.ipv4.tcp_frto=0"
				      : "";
	/* A kernel without IPv6 has nothing to forbid. */
	const char *no_ipv6 = access("/proc/sys/net/ipv6/conf/all", F_OK)
				      ? ""
				      : "net.ipv6.conf.all.disable_ipv6=1, "
					"net.ipv6.conf.default.disable_ipv6=1";

	return setting_each(no_ipv6, write_setting, (void *)making)
		       ?: setting_each(classic, write_setting, (void *)making)
		       ?: setting_each(making->config->settings, write_setting, (void *)making);
}

/* The kernel would load a module for an algorithm that it has not, and keep it: that is left to the user. */
static int congestion_is_there(const char *wanted)
{
	static const char path[] = "/proc/sys/net/ipv4/tcp_available_congestion_control";
	char names[512] = "", list[sizeof(names)], *rest = names, *name;
	FILE *file = fopen(path, "re");

	if (!file || !fgets(names, sizeof(names), file))
		names[0] = '\0';
	if (file)
		fclose(file);
	names[strcspn(names, "\n")] = '\0';
	strcpy(list, names);
	while ((name = strsep(&rest, " ")))
		if (!strcmp(name, wanted))
			return 0;
	return failed(-EINVAL,
		      "congestion=%s: this kernel has it not, or not yet (modprobe tcp_%s); "
		      "accepted: %s",
		      wanted, wanted, list);
}

static __u32 at_least(__u64 value, __u64 least)
{
	value = value < least ? least : value;
	return value > 1u << 30 ? 1u << 30 : (__u32)value;
}

static struct link_config link_of(const struct network_making *making)
{
	const struct network_config *config = making->config;
	enum network_side other = making->side == NETWORK_GUEST ? NETWORK_WIRE : NETWORK_GUEST;
	struct link_config link = {
		.index = making->end->index,
		.mtu = config->mtu,
		.queue_length = config->queue_length,
		.prefix = NETWORK_PREFIX,
		.congestion = config->congestion,
		.asked = config->asked && making->side == NETWORK_WIRE,
		.quick_ack = config->quick_ack,
		.rate = config->link / 8,
	};
	__u64 frame = config->mtu + ETHERNET_HEADER;

	if (config->offload == NETWORK_OFFLOAD_SEGMENTS)
		frame = SEGMENTS_MOST + ETHERNET_HEADER;
	/* At once what the link takes in a millisecond, or two frames; waiting what it takes in a tenth of a second. */
	link.burst = at_least(link.rate / 1000, 2 * frame);
	link.backlog = at_least(link.rate / 10, 64 * frame);
	memcpy(link.mac, network_macs[making->side], LINK_MAC);
	memcpy(link.peer_mac, network_macs[other], LINK_MAC);
	inet_pton(AF_INET, network_addresses[making->side], &link.address);
	inet_pton(AF_INET, network_addresses[other], &link.peer);
	return link;
}

static int rehearse_settings(void *argument)
{
	const struct network_making *making = argument;

	return setting_each(making->config->settings, write_setting, argument);
}

int network_rehearse(const struct network_config *config)
{
	struct network_making making = {.config = config, .outside = netns_open_own()};
	int err = 0;

	if (making.outside < 0)
		return making.outside;
	if (*config->congestion)
		err = congestion_is_there(config->congestion);
	if (!err && *config->settings)
		err = netns_run(NETNS_NEW, rehearse_settings, &making);
	close(making.outside);
	return err == -EPERM || err == -EACCES ? 0 : err;
}

/* Within the new namespace. */
static int make_end(void *argument)
{
	struct network_making *making = argument;
	struct network_end *end = making->end;
	struct link_config link;
	int err;

	end->netns = netns_open_own();
	if (end->netns < 0)
		return end->netns;
	end->inode = netns_inode(end->netns);
	err = write_settings(making);
	if (!err && *making->config->congestion)
		err = congestion_is_there(making->config->congestion);
	err = err ?: open_tap(making);
	if (err)
		return err;
	err = link_observe(&end->observer, end->index);
	if (err)
		return err;
	link = link_of(making);
	memcpy(end->mac, link.mac, sizeof(end->mac));
	end->address = link.address;
	return link_configure(&link);
}

static void clear_end(struct network_end *end)
{
	end->tap = end->netns = -1;
	for (int q = 0; q < NETWORK_QUEUES_MOST; q++)
		end->queues[q] = -1;
}

static void close_end(struct network_end *end)
{
	for (int q = 0; q < NETWORK_QUEUES_MOST; q++)
		if (end->queues[q] >= 0)
			close(end->queues[q]);
	if (end->netns >= 0)
		close(end->netns);
	link_observe_end(end->observer);
	end->observer = NULL;
	clear_end(end);
}

int network_open(struct network *network, const struct network_config *config)
{
	int outside, err = network_check(config);

	memset(network, 0, sizeof(*network));
	for (unsigned int i = 0; i < NETWORK_SIDES; i++)
		clear_end(&network->ends[i]);
	outside = err ?: netns_open_own();
	if (outside < 0)
		return outside;
	network->config = *config;
	for (unsigned int i = 0; !err && i < NETWORK_SIDES; i++) {
		struct network_making making = {config, &network->ends[i], i, outside};

		err = netns_run(NETNS_NEW, make_end, &making);
	}
	close(outside);
	if (err)
		network_close(network);
	return err;
}

void network_close(struct network *network)
{
	for (unsigned int i = 0; i < NETWORK_SIDES; i++)
		close_end(&network->ends[i]);
}

int network_run(const struct network *network, enum network_side side, int (*body)(void *argument),
		void *argument)
{
	return netns_run(network->ends[side].netns, body, argument);
}

struct network_counting {
	unsigned int index;
	struct network_counters *counters;
};

static int count_end(void *argument)
{
	struct network_counting *counting = argument;

	return network_counters_read(counting->index, counting->counters);
}

int network_count(const struct network *network, enum network_side side,
		  struct network_counters *counters)
{
	struct network_counting counting = {network->ends[side].index, counters};

	return network_run(network, side, count_end, &counting);
}
