// SPDX-License-Identifier: GPL-2.0
/* The guest's network card: its address, and what the guest's kernel has counted of it when its traffic is over. */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define INTERFACE    "eth0"
#define QUIET_LOOKS  5 /* in a row of QUIET_USEC that nothing has changed in */
#define QUIET_USEC   100000
#define QUIET_TRIES  300
#define TCP_TIMEWAIT 6
#define TCP_LISTENS  10

/* /proc/net/dev: eight numbers of what was received, eight of what was sent. */
enum {
	RECEIVED_BYTES,
	RECEIVED,
	RECEIVE_ERRORS,
	RECEIVE_DROPS,
	SENT_BYTES = 8,
	SENT,
	COUNTERS = 16
};

static bool set_address(int fd, unsigned long request, struct ifreq *interface, const char *text)
{
	struct sockaddr_in address = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1) {
		errno = EINVAL;
		return false;
	}
	memcpy(&interface->ifr_addr, &address, sizeof(address));
	return !ioctl(fd, request, interface);
}

/* Without IPv6 nobody speaks who was not asked to. */
static void disable_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/all/disable_ipv6", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1", 1) != 1)
		printf("guest: IPv6: %s\n", strerror(errno));
	close(fd);
}

/* A queue pair for each CPU: as the driver came up there was one CPU (machine_begin()). */
static bool set_channels(int fd, struct ifreq *interface)
{
	unsigned int cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	interface->ifr_data = (char *)&channels;
	if (ioctl(fd, SIOCETHTOOL, interface))
		return false;
	if (channels.max_combined == channels.combined_count)
		return true;
	channels.cmd = ETHTOOL_SCHANNELS;
	channels.combined_count = cpus < channels.max_combined ? cpus : channels.max_combined;
	return !ioctl(fd, SIOCETHTOOL, interface);
}

bool network_begin(struct load *load)
{
	const char *address = load->options->net_address;
	struct ifreq interface = {.ifr_name = INTERFACE};
	bool good;
	int fd;

	if (!*address)
		return true;
	disable_ipv6();
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	good = fd >= 0 && set_channels(fd, &interface) &&
	       set_address(fd, SIOCSIFADDR, &interface, address) &&
	       set_address(fd, SIOCSIFNETMASK, &interface, "255.255.255.0");
	interface.ifr_flags = IFF_UP;
	good = good && !ioctl(fd, SIOCSIFFLAGS, &interface);
	if (!good)
		load_error(load, INTERFACE, errno);
	if (fd >= 0)
		close(fd);
	return good;
}

static bool read_counters(unsigned long long counters[COUNTERS])
{
	char line[512];
	FILE *file = fopen("/proc/net/dev", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *next = strstr(line, INTERFACE ":");
		int used;

		if (!next)
			continue;
		next += sizeof(INTERFACE);
		for (int i = 0; i < COUNTERS; i++, next += used)
			if (sscanf(next, "%llu%n", &counters[i], &used) != 1)
				break;
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

/* Connections that may still send or receive something. */
static unsigned int connections(void)
{
	FILE *file = fopen("/proc/net/tcp", "re");
	unsigned int count = 0, state;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		count += sscanf(line, " %*u: %*s %*s %x", &state) == 1 && state != TCP_TIMEWAIT &&
			 state != TCP_LISTENS;
	if (file)
		fclose(file);
	return count;
}

static bool await_quiet(unsigned long long counters[COUNTERS])
{
	unsigned long long before[COUNTERS] = {0};
	int quiet = 0;

	for (int i = 0; i < QUIET_TRIES && quiet < QUIET_LOOKS; i++) {
		if (!read_counters(counters))
			return false;
		quiet = !connections() && !memcmp(before, counters, sizeof(before)) ? quiet + 1 : 0;
		memcpy(before, counters, sizeof(before));
		usleep(QUIET_USEC);
	}
	return quiet == QUIET_LOOKS;
}

/* A counter of TCP's: a line of /proc/net/snmp has the names, the next one the numbers. */
static unsigned long long tcp_counter(const char *name)
{
	FILE *file = fopen("/proc/net/snmp", "re");
	char names[1024], numbers[1024];
	unsigned long long value = 0;

	while (file && fgets(names, sizeof(names), file) && fgets(numbers, sizeof(numbers), file)) {
		char *next_name, *next_number, *word, *number;

		if (strncmp(names, "Tcp:", 4) != 0)
			continue;
		word = strtok_r(names, " \n", &next_name);
		number = strtok_r(numbers, " \n", &next_number);
		while (word && number) {
			if (!strcmp(word, name))
				sscanf(number, "%llu", &value);
			word = strtok_r(NULL, " \n", &next_name);
			number = strtok_r(NULL, " \n", &next_number);
		}
	}
	if (file)
		fclose(file);
	return value;
}

void network_end(struct load *load, uint64_t begin_ns)
{
	unsigned long long counters[COUNTERS] = {0};

	if (!*load->options->net_address)
		return;
	if (!await_quiet(counters))
		load_error(load, "the network is not quiet", ETIMEDOUT);
	say("net_frames_in", counters[RECEIVED]);
	say("net_in_bytes", counters[RECEIVED_BYTES]);
	say("net_drops", counters[RECEIVE_ERRORS] + counters[RECEIVE_DROPS]);
	say("net_frames_out", counters[SENT]);
	say("net_out_bytes", counters[SENT_BYTES]);
	say("tcp_resent", tcp_counter("RetransSegs"));
	say("tcp_checksum_errors", tcp_counter("InCsumErrors"));
	say("net_ms", (clock_ns() - begin_ns) / 1000000);
}
