// SPDX-License-Identifier: GPL-2.0
/*
 * TCP that loses what it is told to lose: a guest and a wire, each in a network namespace of its own, and a
 * NIC between them that drops chosen frames.
 *
 *	tcp_loss [--machine] [--short]
 *
 * --machine: as an emulated machine, whose NIC is vm/net. --short: loss probes and refused connections only.
 * Prints what the namespaces' own counters say, what was dropped, and what connections failed:
 *
 *	COUNTER GUEST WIRE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/emu/access_log.h"
#include "injectors/emu/probes.h"
#include "injectors/emu/registry.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define PORT	5201
#define SEGMENT 1000 /* bytes of an MSS that fits any options */
#define BURST	10   /* segments that a new connection may send at once */

/* What is lost, in primes. */
#define PROBES	 7 /* last segments of a burst, IPv4 */
#define PROBES_6 3 /* IPv6 */
#define ANSWERS	 5 /* of the wire's side, whose sockets are for both */
#define FAST	 11
#define TIMEOUTS 5
#define REFUSED	 3
#define RESET	 2
#define GIVEN_UP 2

enum side_index { GUEST, WIRE, SIDES };

static struct side {
	int space, tap;
	__u64 inode;
} sides[SIDES];

enum what { DATA, SYN, SYN_ACK };

/* Of frames from this side, `count` are dropped after `pass` of the same kind. */
static struct {
	pthread_mutex_t lock;
	enum side_index from;
	enum what what;
	int pass, count;
} plan = {.lock = PTHREAD_MUTEX_INITIALIZER};
static unsigned int dropped[SIDES];
static bool machine; /* else its probes would be those of a stranger */

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "tcp_loss: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	check(fd >= 0 && write(fd, text, strlen(text)) > 0, file);
	close(fd);
}

static void enter(enum side_index side)
{
	check(!setns(sides[side].space, CLONE_NEWNET), "setns");
}

/* Of this process alone: others may do the same, and whoever watches the host sees all of them. */
static __u32 ipv4_of(enum side_index side)
{
	return 0x0a800001 + side + (((__u32)getpid() & 0x7fff) << 8);
}

static struct in6_addr ipv6_of(enum side_index side)
{
	struct in6_addr address = {.s6_addr = {0xfd, 0x4f}};
	__u32 last = htonl(ipv4_of(side));

	memcpy(&address.s6_addr[12], &last, sizeof(last));
	return address;
}

static void set_address(int fd, struct ifreq *request, enum side_index side)
{
	struct sockaddr_in address = {.sin_family = AF_INET};

	address.sin_addr.s_addr = htonl(ipv4_of(side));
	memcpy(&request->ifr_addr, &address, sizeof(address));
	check(!ioctl(fd, SIOCSIFADDR, request), "address");
	address.sin_addr.s_addr = htonl(0xffffff00);
	memcpy(&request->ifr_netmask, &address, sizeof(address));
	check(!ioctl(fd, SIOCSIFNETMASK, request), "netmask");
	request->ifr_flags = IFF_UP;
	check(!ioctl(fd, SIOCSIFFLAGS, request), "up");
}

static void set_address_6(const struct ifreq *request, enum side_index side)
{
	struct {
		struct in6_addr address;
		__u32 prefix;
		int index;
	} six = {.prefix = 64, .index = (int)if_nametoindex(request->ifr_name)};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	six.address = ipv6_of(side);
	check(fd >= 0 && !ioctl(fd, SIOCSIFADDR, &six), "IPv6 address");
	close(fd);
}

static void make_side(enum side_index index)
{
	struct side *side = &sides[index];
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI, .ifr_name = "loss0"};
	struct stat space;
	int fd;

	check(!unshare(CLONE_NEWNET), "unshare");
	side->space = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	check(side->space >= 0 && !fstat(side->space, &space), "namespace");
	side->inode = space.st_ino;
	side->tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	check(side->tap >= 0 && !ioctl(side->tap, TUNSETIFF, &request), "/dev/net/tun");
	put("/proc/sys/net/ipv6/conf/loss0/accept_dad", "0");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	set_address(fd, &request, index);
	set_address_6(&request, index);
	close(fd);
}

/* What the NIC must know of a frame. */
struct segment {
	struct frames_probe run;
	size_t payload;
	bool syn, ack;
};

static bool parse(const __u8 *frame, size_t length, struct segment *segment)
{
	const struct iphdr *ip = (const void *)(frame + ETH_HLEN);
	const struct ip6_hdr *ip6 = (const void *)ip;
	size_t at, end;
	struct tcphdr tcp;

	*segment = (struct segment){.run = {.queue = 0, .code = LOSS_FAULT}};
	if (frame[12] == 0x08 && frame[13] == 0x00 && ip->protocol == IPPROTO_TCP) {
		at = ETH_HLEN + ip->ihl * 4u;
		end = ETH_HLEN + ntohs(ip->tot_len);
		segment->run.addresses = (__u64)ntohl(ip->saddr) << 32 | ntohl(ip->daddr);
	} else if (frame[12] == 0x86 && frame[13] == 0xdd && ip6->ip6_nxt == IPPROTO_TCP) {
		at = ETH_HLEN + sizeof(*ip6);
		end = at + ntohs(ip6->ip6_plen);
	} else {
		return false;
	}
	if (end > length || at + sizeof(tcp) > end)
		return false;
	memcpy(&tcp, frame + at, sizeof(tcp));
	segment->payload = end - at - tcp.doff * 4u;
	segment->syn = tcp.syn;
	segment->ack = tcp.ack;
	segment->run.ports = segment->run.addresses
				     ? (__u64)ntohs(tcp.source) << 32 |
					       (__u64)ntohs(tcp.dest) << 16 | IPPROTO_TCP
				     : ETH_P_IPV6;
	segment->run.sequence = (__u64)ntohl(tcp.seq) << 32 |
				(__u32)(ntohl(tcp.seq) + segment->payload + tcp.syn + tcp.fin);
	segment->run.frames = length | 1ull << 32;
	return true;
}

static bool is_meant(enum side_index from, const struct segment *segment)
{
	enum what what = !segment->syn ? DATA : segment->ack ? SYN_ACK : SYN;

	if (from != plan.from || what != plan.what || (what == DATA && !segment->payload))
		return false;
	if (plan.pass) {
		plan.pass--;
		return false;
	}
	return plan.count && plan.count--;
}

/* As if a page of its buffer had been absent: the run is told while the fault is open. */
static void lose(struct segment *segment)
{
	static __u32 group;
	struct fault_probe fault = {.queue = 0,
				    .pasid = PASID_NONE,
				    .group = ++group % 512,
				    .address = (__u64)group << 12,
				    .length = 4096,
				    .flags_code = EVENT_WRITE | EVENT_LAST};

	FAULT_PROBE(detect, &fault);
	FAULT_PROBE(request, &fault);
	FAULT_PROBE(response, &fault);
	segment->run.since = monotonic_ns();
	segment->run.code |= (fault.group + 1) << 8 | (__u64)PASID_NONE << 32;
	FRAMES_PROBE(lost, &segment->run);
	FAULT_PROBE(resume, &fault);
}

static bool is_lost(enum side_index from, const __u8 *frame, size_t length)
{
	struct segment segment;
	bool lost;

	if (!parse(frame, length, &segment))
		return false;
	pthread_mutex_lock(&plan.lock);
	lost = is_meant(from, &segment);
	dropped[from] += lost;
	pthread_mutex_unlock(&plan.lock);
	if (lost && machine)
		lose(&segment);
	return lost;
}

static void *nic(void *unused)
{
	struct pollfd taps[SIDES];
	__u8 frame[4096];

	for (int i = 0; i < SIDES; i++)
		taps[i] = (struct pollfd){.fd = sides[i].tap, .events = POLLIN};
	for (;;) {
		poll(taps, SIDES, -1);
		for (int i = 0; i < SIDES; i++) {
			ssize_t length =
				taps[i].revents ? read(taps[i].fd, frame, sizeof(frame)) : 0;

			if (length > ETH_HLEN && !is_lost(i, frame, (size_t)length))
				check(write(taps[!i].fd, frame, (size_t)length) == length, "TAP");
		}
	}
	return unused;
}

static void plan_loss(enum side_index from, enum what what, int pass, int count)
{
	pthread_mutex_lock(&plan.lock);
	check(!plan.count, "a loss that was planned did not happen");
	plan.from = from;
	plan.what = what;
	plan.pass = pass;
	plan.count = count;
	pthread_mutex_unlock(&plan.lock);
}

static struct sockaddr_storage address_of(int family, enum side_index side, __u16 port,
					  socklen_t *length)
{
	struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
	struct sockaddr_in *four = (void *)&address;
	struct sockaddr_in6 *six = (void *)&address;

	if (family == AF_INET) {
		four->sin_addr.s_addr = htonl(ipv4_of(side));
		four->sin_port = htons(port);
		*length = sizeof(*four);
	} else {
		six->sin6_addr = ipv6_of(side);
		six->sin6_port = htons(port);
		*length = sizeof(*six);
	}
	return address;
}

/* From the guest to the wire. Returns 0 or an errno. */
static int try_connect(int family, __u16 port, int *client)
{
	const int one = 1, segment = SEGMENT;
	struct sockaddr_storage to;
	socklen_t length;

	enter(GUEST);
	to = address_of(family, WIRE, port, &length);
	*client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(*client >= 0, "socket");
	setsockopt(*client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(*client, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
	return connect(*client, (void *)&to, length) ? errno : 0;
}

static int listener;

/* A socket for IPv6 that takes IPv4, too, as most programs have. */
static void listen_on_wire(void)
{
	const int zero = 0, segment = SEGMENT;
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};

	enter(WIRE);
	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
	check(listener >= 0 && !bind(listener, (void *)&any, sizeof(any)) && !listen(listener, 64),
	      "listen");
}

struct connection {
	int ends[SIDES];
};

static struct connection connected(int family)
{
	const int one = 1;
	struct connection c;

	check(!try_connect(family, PORT, &c.ends[GUEST]), "connect");
	c.ends[WIRE] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	check(c.ends[WIRE] >= 0, "accept");
	setsockopt(c.ends[WIRE], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return c;
}

/* Sends so many segments at once, and waits until all of it has come and is known to have. */
static void transfer(const struct connection *c, enum side_index from, int segments)
{
	static const char data[BURST * SEGMENT];
	char back[sizeof(data)];
	ssize_t size, got = 0;
	int unsent = 1, mss;
	socklen_t length = sizeof(mss);

	check(!getsockopt(c->ends[from], IPPROTO_TCP, TCP_MAXSEG, &mss, &length), "MSS");
	size = (ssize_t)segments * mss;
	check(write(c->ends[from], data, (size_t)size) == size, "write");
	while (got < size) {
		ssize_t n = read(c->ends[!from], back, sizeof(back));

		check(n > 0, "read");
		got += n;
	}
	while (unsent) {
		check(!ioctl(c->ends[from], SIOCOUTQ, &unsent), "SIOCOUTQ");
		if (unsent)
			usleep(200);
	}
}

/* In order: a socket that is left behind would send its last segment again and again. */
static void end(const struct connection *c)
{
	char byte;

	shutdown(c->ends[GUEST], SHUT_WR);
	check(!read(c->ends[WIRE], &byte, 1), "an end");
	close(c->ends[WIRE]);
	check(!read(c->ends[GUEST], &byte, 1), "the other end");
	close(c->ends[GUEST]);
}

/* On a connection of its own: the window is what it was. */
static void lose_of_burst(int family, enum side_index from, int segments, int pass, int count)
{
	struct connection c = connected(family);

	plan_loss(from, DATA, pass, count);
	transfer(&c, from, segments);
	end(&c);
}

static void fail_connections(void)
{
	const struct linger now = {.l_onoff = 1};
	char byte;

	for (int i = 0; i < REFUSED; i++) {
		int client, error = try_connect(AF_INET, PORT + 1, &client);

		errno = error;
		check(error == ECONNREFUSED, "a connection to nobody");
		close(client);
	}
	for (int i = 0; i < RESET; i++) {
		struct connection c = connected(AF_INET);

		setsockopt(c.ends[WIRE], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(c.ends[WIRE]);
		check(read(c.ends[GUEST], &byte, 1) < 0 && errno == ECONNRESET, "a reset");
		close(c.ends[GUEST]);
	}
}

/* The guest's sockets that nobody has any more and that wait for an acknowledgement: state FIN_WAIT1. */
static bool someone_waits(void)
{
	FILE *file;
	char line[512];
	bool found = false;

	enter(GUEST);
	file = fopen("/proc/thread-self/net/tcp", "re");
	check(file, "/proc/thread-self/net/tcp");
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, " 04 ") != NULL;
	fclose(file);
	return found;
}

/* Whoever sent is gone, what it sent is lost, and then its peer is gone, too: nobody is told of that. */
static void give_up(void)
{
	const struct linger now = {.l_onoff = 1};

	for (int i = 0; i < GIVEN_UP; i++) {
		struct connection c = connected(AF_INET);

		plan_loss(GUEST, DATA, 0, INT32_MAX);
		check(write(c.ends[GUEST], "lost", 4) == 4, "write");
		close(c.ends[GUEST]);
		setsockopt(c.ends[WIRE], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(c.ends[WIRE]);
		while (someone_waits())
			usleep(1000);
		pthread_mutex_lock(&plan.lock);
		check(plan.count < INT32_MAX, "nothing of it was lost");
		plan.count = 0;
		pthread_mutex_unlock(&plan.lock);
	}
}

static void lose_last_segments(void)
{
	for (int i = 0; i < PROBES; i++)
		lose_of_burst(AF_INET, GUEST, 3, 2, 1);
	for (int i = 0; i < PROBES_6; i++)
		lose_of_burst(AF_INET6, GUEST, 3, 2, 1);
	for (int i = 0; i < ANSWERS; i++)
		lose_of_burst(AF_INET, WIRE, 3, 2, 1);
}

static void lose_more(void)
{
	struct connection c;

	for (int i = 0; i < FAST; i++)
		lose_of_burst(AF_INET, GUEST, BURST, 1, 1 + i % 3);
	/* Without probes the timer is all there is. */
	enter(GUEST);
	put("/proc/sys/net/ipv4/tcp_early_retrans", "0");
	for (int i = 0; i < TIMEOUTS; i++)
		lose_of_burst(AF_INET, GUEST, 1, 0, 1 + i % 2);
	lose_of_burst(AF_INET, GUEST, BURST, 0, BURST);
	for (int i = 0; i < 2; i++) {
		plan_loss(GUEST, SYN, 0, 1);
		c = connected(AF_INET);
		end(&c);
	}
	plan_loss(WIRE, SYN_ACK, 0, 1);
	c = connected(AF_INET);
	end(&c);
}

/* A line of names, then one of numbers. */
static unsigned long long counter(const char *file, const char *name)
{
	char names[8192], numbers[8192], *n, *v, *name_at = names, *number_at = numbers;
	FILE *from = fopen(file, "re");

	check(from, file);
	while (fgets(names, sizeof(names), from) && fgets(numbers, sizeof(numbers), from)) {
		name_at = names;
		number_at = numbers;
		while ((n = strsep(&name_at, " \n")) && (v = strsep(&number_at, " \n")))
			if (!strcmp(n, name)) {
				fclose(from);
				return strtoull(v, NULL, 10);
			}
	}
	fclose(from);
	errno = ENOENT;
	check(false, name);
	return 0;
}

static void print_counters(void)
{
	static const struct {
		const char *file, *name;
	} counters[] = {
		{"/proc/thread-self/net/snmp", "RetransSegs"},
		{"/proc/thread-self/net/netstat", "TCPTimeouts"},
		{"/proc/thread-self/net/netstat", "TCPLossProbes"},
		{"/proc/thread-self/net/netstat", "TCPFastRetrans"},
		{"/proc/thread-self/net/netstat", "TCPSlowStartRetrans"},
		{"/proc/thread-self/net/netstat", "TCPSynRetrans"},
		{"/proc/thread-self/net/netstat", "TCPRetransFail"},
	};
	unsigned long long values[SIDES];

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		for (int side = 0; side < SIDES; side++) {
			enter(side);
			values[side] = counter(counters[i].file, counters[i].name);
		}
		printf("%s %llu %llu\n", counters[i].name, values[GUEST], values[WIRE]);
	}
	printf("addresses %u %u\n", ipv4_of(GUEST), ipv4_of(WIRE));
	printf("dropped %u %u\n", dropped[GUEST], dropped[WIRE]);
	printf("refused %d 0\nreset %d 0\ngiven_up %d 0\n", REFUSED, RESET, GIVEN_UP);
}

static struct registry *be_machine(void)
{
	const struct access_log_config config = {.devices = 1};
	struct registry_device device = {.name = "vm/net",
					 .tenant = "vm",
					 .model = "nic",
					 .queues = 1,
					 .pasid = PASID_NONE,
					 .memory = 4096,
					 .network_guest = sides[GUEST].inode,
					 .network_wire = sides[WIRE].inode};
	struct registry *registry;
	struct access_log *log;

	if (access_log_create(&log, &config) ||
	    registry_open(&registry, &device, 1, access_log_descriptor(log))) {
		fprintf(stderr, "tcp_loss: %s\n", failure_text());
		exit(1);
	}
	return registry;
}

int main(int argc, char **argv)
{
	bool brief = false;
	struct registry *registry = NULL;
	pthread_t thread;

	for (int i = 1; i < argc; i++) {
		machine |= !strcmp(argv[i], "--machine");
		brief |= !strcmp(argv[i], "--short");
	}
	for (int i = 0; i < SIDES; i++)
		make_side(i);
	check(!pthread_create(&thread, NULL, nic, NULL), "thread");
	if (machine)
		registry = be_machine();
	listen_on_wire();
	lose_last_segments();
	fail_connections();
	give_up();
	if (!brief)
		lose_more();
	plan_loss(GUEST, DATA, 0, 0);
	usleep(100000); /* for the last acknowledgement */
	print_counters();
	registry_close(registry, 0);
	return 0;
}
