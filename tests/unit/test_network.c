// SPDX-License-Identifier: GPL-2.0
/* Two namespaces with a TAP each: what they are, what may be asked of them, and that nothing of them stays. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "injectors/net/netns.h"
#include "injectors/net/network.h"
#include "injectors/net/quiet.h"
#include "injectors/net/setting.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "tests/unit/child.h"
#include "tests/unit/tap_loop.h"

#define PORT 5201

static const struct network_config usual = {
	.name = "net0", .mtu = 1500, .queue_length = NETWORK_QUEUE_LENGTH, .congestion = "reno"};

/* Skipped only where the kernel has no TAP: tests/allowed-skips. */
static void need_tap(void)
{
	if (access("/dev/net/tun", F_OK))
		skip();
}

static void open_network(struct network *network, const struct network_config *config)
{
	int err;

	need_tap();
	err = network_open(network, config);
	if (err)
		fail_msg("%s", failure_text());
}

static void is_refused(const struct network_config *config, const char *said)
{
	struct network network;

	assert_int_equal(network_open(&network, config), -EINVAL);
	if (!strstr(failure_text(), said))
		fail_msg("'%s' is not in '%s'", said, failure_text());
	assert_int_equal(network.ends[0].tap, -1);
}

/* Output of a command in a side's namespace. */
struct look {
	const char *command;
	char text[64 << 10];
};

static int run_look(void *argument)
{
	struct look *look = argument;
	FILE *pipe = popen(look->command, "re");

	look->text[pipe ? fread(look->text, 1, sizeof(look->text) - 1, pipe) : 0] = '\0';
	if (pipe)
		pclose(pipe);
	return 0;
}

static const char *look_at(const struct network *network, enum network_side side,
			   const char *command)
{
	static struct look look;

	look.command = command;
	assert_int_equal(network_run(network, side, run_look, &look), 0);
	return look.text;
}

static void shows(const struct network *network, enum network_side side, const char *command,
		  const char *text)
{
	const char *shown = look_at(network, side, command);

	if (!strstr(shown, text))
		fail_msg("'%s' is not in '%s': %s", text, command, shown);
}

static void both_ends_are_what_was_asked_for(void **state)
{
	struct network_config config = usual;
	struct network network;

	config.mtu = 9000;
	config.link = 100000000;
	config.queue_length = 4321;
	open_network(&network, &config);
	assert_int_not_equal(network.ends[0].inode, network.ends[1].inode);
	shows(&network, NETWORK_GUEST, "ip -d link show net0", "mtu 9000");
	shows(&network, NETWORK_GUEST, "ip -d link show net0", "qlen 4321");
	shows(&network, NETWORK_WIRE, "ip -d link show net0", "qdisc tbf");
	shows(&network, NETWORK_GUEST, "ip -d link show net0", "NOARP,UP");
	shows(&network, NETWORK_GUEST, "ip -d link show net0", "persist off");
	shows(&network, NETWORK_GUEST, "ip -d link show net0", "link/ether 02:00:0a:4d:00:01");
	shows(&network, NETWORK_GUEST, "ip link show lo", "UP");
	shows(&network, NETWORK_GUEST, "ip addr show net0", "inet 10.77.0.1/24");
	shows(&network, NETWORK_WIRE, "ip addr show net0", "inet 10.77.0.2/24");
	shows(&network, NETWORK_GUEST, "ip route", "congctl reno");
	assert_null(strstr(look_at(&network, NETWORK_WIRE, "ip route"), "quickack"));
	shows(&network, NETWORK_GUEST, "ip neigh",
	      "10.77.0.2 dev net0 lladdr 02:00:0a:4d:00:02 PERMANENT");
	shows(&network, NETWORK_WIRE, "ip neigh",
	      "10.77.0.1 dev net0 lladdr 02:00:0a:4d:00:01 PERMANENT");
	shows(&network, NETWORK_GUEST, "tc qdisc show dev net0", "rate 100Mbit");
	assert_string_equal(look_at(&network, NETWORK_GUEST, "ip -6 addr"), "");
	network_close(&network);
	assert_int_equal(network.ends[1].netns, -1);
	config.quick_ack = true;
	config.congestion[0] = '\0';
	open_network(&network, &config);
	shows(&network, NETWORK_GUEST, "ip route", "quickack 1");
	shows(&network, NETWORK_WIRE, "ip route", "quickack 1");
	network_close(&network);
}

static void nobody_speaks_unasked(void **state)
{
	struct network network;
	struct pollfd polled[NETWORK_SIDES];

	open_network(&network, &usual);
	for (unsigned int i = 0; i < NETWORK_SIDES; i++)
		polled[i] = (struct pollfd){.fd = network.ends[i].tap, .events = POLLIN};
	/* The kernel's first questions for routers and its reports of groups come within this. */
	assert_int_equal(poll(polled, NETWORK_SIDES, 2500), 0);
	network_close(&network);
}

/* A connection of its own between the two sides, as programs make it. */
struct peer {
	int socket;
	const char *congestion; /* of the connection, told */
	char name[NETWORK_CONGESTION];
};

static int peer_listen(void *argument)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	struct peer *peer = argument;

	peer->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(peer->socket, (void *)&address, sizeof(address)) || listen(peer->socket, 4);
}

static int peer_connect(void *argument)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	struct peer *peer = argument;
	socklen_t size = sizeof(peer->name);

	inet_pton(AF_INET, NETWORK_GUEST_ADDRESS, &address.sin_addr);
	peer->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return connect(peer->socket, (void *)&address, sizeof(address)) ||
	       getsockopt(peer->socket, IPPROTO_TCP, TCP_CONGESTION, peer->name, &size);
}

struct stream {
	int socket;
	size_t bytes;
};

static void *write_stream(void *argument)
{
	struct stream *stream = argument;
	static char block[16 << 10];

	for (size_t left = stream->bytes; left;) {
		ssize_t size =
			write(stream->socket, block, left < sizeof(block) ? left : sizeof(block));

		if (size <= 0)
			break;
		left -= (size_t)size;
	}
	shutdown(stream->socket, SHUT_WR);
	return NULL;
}

/* From the wire to the guest; what arrived. */
static size_t transfer(const struct network *network, size_t bytes,
		       char congestion[NETWORK_CONGESTION])
{
	struct peer server = {.socket = -1}, client = {.socket = -1};
	struct stream stream = {.bytes = bytes};
	static char block[64 << 10];
	pthread_t writer;
	size_t arrived = 0;
	ssize_t size;
	int accepted;

	assert_int_equal(network_run(network, NETWORK_GUEST, peer_listen, &server), 0);
	assert_int_equal(network_run(network, NETWORK_WIRE, peer_connect, &client), 0);
	accepted = accept(server.socket, NULL, NULL);
	assert_true(accepted >= 0);
	stream.socket = client.socket;
	assert_int_equal(pthread_create(&writer, NULL, write_stream, &stream), 0);
	while ((size = read(accepted, block, sizeof(block))) > 0)
		arrived += (size_t)size;
	pthread_join(writer, NULL);
	if (congestion)
		memcpy(congestion, client.name, NETWORK_CONGESTION);
	close(accepted);
	close(client.socket);
	close(server.socket);
	return arrived;
}

static void connections_use_the_algorithm_and_are_counted(void **state)
{
	static const char *const algorithms[] = {"reno", "cubic"};
	struct network_config config = usual;
	char congestion[NETWORK_CONGESTION];
	struct network_counters guest, wire;
	struct network network;
	struct tap_loop loop;

	for (unsigned int i = 0; i < COUNT(algorithms); i++) {
		strcpy(config.congestion, algorithms[i]);
		open_network(&network, &config);
		tap_loop_start(&loop, &network);
		assert_int_equal(transfer(&network, 1 << 20, congestion), 1 << 20);
		assert_string_equal(congestion, algorithms[i]);
		tap_loop_stop(&loop);
		assert_int_equal(network_count(&network, NETWORK_GUEST, &guest), 0);
		assert_int_equal(network_count(&network, NETWORK_WIRE, &wire), 0);
		/* Exactly: there are no frames but those of TCP, and none was lost. */
		assert_int_equal(loop.strange, 0);
		assert_int_equal(loop.lost, 0);
		assert_int_equal(wire.link.tx_packets, loop.carried[NETWORK_WIRE]);
		assert_int_equal(wire.link.tx_bytes, loop.bytes[NETWORK_WIRE]);
		assert_int_equal(guest.link.rx_packets, loop.carried[NETWORK_WIRE]);
		assert_int_equal(guest.link.tx_packets, loop.carried[NETWORK_GUEST]);
		assert_int_equal(wire.link.rx_packets, loop.carried[NETWORK_GUEST]);
		assert_int_equal(guest.in_segments, loop.carried[NETWORK_WIRE]);
		/* A host that is late looks like loss. */
		assert_in_range(wire.retransmits, 0, wire.probes + wire.timeouts);
		assert_true(loop.largest <= 1514);
		network_close(&network);
	}
}

static void lost_frames_are_counted_as_nstat_counts_them(void **state)
{
	struct network_counters wire;
	struct network_config config = usual;
	struct network network;
	struct tap_loop loop;
	unsigned long told = 0;
	const char *line;

	config.link = 100000000;
	open_network(&network, &config);
	tap_loop_start(&loop, &network);
	loop.lose_every = 50;
	assert_int_equal(transfer(&network, 4 << 20, NULL), 4 << 20);
	tap_loop_stop(&loop);
	assert_int_equal(network_count(&network, NETWORK_WIRE, &wire), 0);
	assert_true(loop.lost > 10);
	assert_true(wire.retransmits >= loop.lost);
	assert_true(wire.fast_retransmits + wire.slow_start_retransmits + wire.timeouts > 0);
	line = strstr(look_at(&network, NETWORK_WIRE, "nstat -as"), "TcpRetransSegs");
	assert_non_null(line);
	assert_int_equal(sscanf(line, "TcpRetransSegs %lu", &told), 1);
	assert_int_equal(wire.retransmits, told);
	network_close(&network);
}

/* Nobody carries what a closed socket still has to say: until that is done, it is not counted to the end. */
static void counters_are_waited_for(void **state)
{
	struct peer server = {.socket = -1}, client = {.socket = -1};
	struct network_counters wire;
	struct network network;
	struct tap_loop loop;

	open_network(&network, &usual);
	tap_loop_start(&loop, &network);
	assert_int_equal(network_run(&network, NETWORK_GUEST, peer_listen, &server), 0);
	assert_int_equal(network_run(&network, NETWORK_WIRE, peer_connect, &client), 0);
	assert_int_equal(network_await_quiet(&network, SECOND), 0);
	tap_loop_stop(&loop);
	close(server.socket);
	close(client.socket);
	assert_true(network_await_quiet(&network, 0) > 0);
	assert_true(network_await_quiet(&network, 450 * NSEC_PER_MSEC) > 0);
	tap_loop_start(&loop, &network);
	assert_int_equal(network_await_quiet(&network, 20 * SECOND), 0);
	tap_loop_stop(&loop);
	assert_int_equal(network_count(&network, NETWORK_WIRE, &wire), 0);
	assert_true(wire.retransmits > 0);
	assert_true(wire.timeouts + wire.probes > 0);
	network_close(&network);
}

/* Lines as the kernel writes them: what is unacknowledged, and which timer runs. */
static void what_is_left_to_send_is_counted(void **state)
{
	static const struct {
		const char *rest;
		int left;
	} lines[] = {
		{"0A 00000005:00000000 00:00000000", 0}, /* listens */
		{"06 00000000:00000000 03:00000F00", 0}, /* TIME_WAIT */
		{"01 00000000:00000010 02:00000F00", 0}, /* keepalive; the other has to read */
		{"01 00000001:00000000 00:00000000", 1},
		{"04 00000000:00000000 01:00000010", 1}, /* FIN_WAIT1 */
		{"03 00000000:00000000 01:00000010", 1}, /* a SYN-ACK */
		{"01 00000000:00000000 04:00000010", 1}, /* a window of zero */
	};
	char path[] = "/tmp/faultline-quiet-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < COUNT(lines); i++) {
		FILE *file = fopen(path, "we");

		assert_non_null(file);
		fprintf(file,
			"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n");
		fprintf(file, "   0: 0100A8C0:1451 0200A8C0:C001 %s 00000000     0        0 1\n",
			lines[i].rest);
		fprintf(file,
			"   1: 0000000000000000FFFF00000100A8C0:1451 0000000000000000FFFF0000"
			"0200A8C0:C001 %s 00000000     0        0 1\n",
			lines[i].rest);
		fclose(file);
		assert_int_equal(quiet_count(path), 2 * lines[i].left);
	}
	close(fd);
	unlink(path);
	assert_int_equal(quiet_count(path), -ENOENT);
}

static __u64 time_of_transfer(const struct network_config *config, size_t bytes)
{
	struct timespec begin, end;
	struct network network;
	struct tap_loop loop;

	open_network(&network, config);
	tap_loop_start(&loop, &network);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(transfer(&network, bytes, NULL), bytes);
	clock_gettime(CLOCK_MONOTONIC, &end);
	tap_loop_stop(&loop);
	network_close(&network);
	return (__u64)((end.tv_sec - begin.tv_sec) * (long)SECOND + end.tv_nsec - begin.tv_nsec);
}

/* A busy host makes it slower, never faster. */
static void a_link_is_no_faster_than_asked(void **state)
{
	struct network_config config = usual;

	config.link = 20000000;
	assert_true(time_of_transfer(&config, 1 << 20) > 8 * (1 << 20) / 20 * 1000ull * 9 / 10);
}

static void segments_come_as_one_frame_if_wanted(void **state)
{
	static const struct {
		enum network_offload offload;
		__u64 least, most;
	} expected[] = {{NETWORK_OFFLOAD_NONE, 1000, 1514},
			{NETWORK_OFFLOAD_CHECKSUM, 1000, 1514 + NETWORK_HEADER},
			{NETWORK_OFFLOAD_SEGMENTS, 8000, 66000}};
	struct network_config config = usual;
	struct network network;
	struct tap_loop loop;

	for (unsigned int i = 0; i < COUNT(expected); i++) {
		config.offload = expected[i].offload;
		open_network(&network, &config);
		tap_loop_start(&loop, &network);
		assert_int_equal(transfer(&network, 4 << 20, NULL), 4 << 20);
		tap_loop_stop(&loop);
		assert_in_range(loop.largest, expected[i].least, expected[i].most);
		assert_int_equal(loop.strange, 0);
		network_close(&network);
	}
}

static void classic_has_neither_probes_nor_rack(void **state)
{
	static const struct {
		const char *name, *modern;
	} settings[] = {{"early_retrans", "3\n"}, {"recovery", "1\n"}, {"frto", "2\n"}};
	struct network_config config = usual;
	struct network network;

	for (unsigned int classic = 0; classic < 2; classic++) {
		config.classic = classic;
		open_network(&network, &config);
		for (unsigned int i = 0; i < COUNT(settings); i++) {
			char command[80];

			snprintf(command, sizeof(command), "cat /proc/sys/net/ipv4/tcp_%s",
				 settings[i].name);
			assert_string_equal(look_at(&network, i % 2, command),
					    classic ? "0\n" : settings[i].modern);
		}
		network_close(&network);
	}
}

static void settings_are_those_of_the_namespaces(void **state)
{
	struct network_config config = usual;
	struct network network;

	strcpy(config.settings, "net.ipv4.tcp_rmem = 4096 32768 32768, net.ipv4.tcp_sack=0");
	open_network(&network, &config);
	assert_string_equal(look_at(&network, NETWORK_GUEST, "cat /proc/sys/net/ipv4/tcp_rmem"),
			    "4096\t32768\t32768\n");
	assert_string_equal(look_at(&network, NETWORK_WIRE, "cat /proc/sys/net/ipv4/tcp_sack"),
			    "0\n");
	network_close(&network);
}

static void bad_settings_are_refused(void **state)
{
	static const struct {
		const char *settings, *said;
	} bad[] = {
		{"kernel.panic=1",
		 "'kernel.panic' is no setting of a network; accepted: net.NAME=VALUE"},
		{"net.ipv4.tcp_sack", "'net.ipv4.tcp_sack' has no value"},
		{"net.ipv4.tcp_sack=", "'net.ipv4.tcp_sack' has no value"},
		{"net.ipv4.tcp_sack=1,", "'' has no value"},
		{"net/ipv4/tcp_sack=1", "is no setting of a network"},
		{"net.ipv4/../../kernel.panic=1", "is no setting of a network"},
		{"net...kernel.panic=1", "is no setting of a network"},
		{"net..=1", "is no setting of a network"},
		{"net.ipv4..tcp_sack=1", "is no setting of a network"},
		{"net.=1", "is no setting of a network"},
		{"net.ipv4.=1", "is no setting of a network"},
		{" net.ipv4.no_such_thing=1",
		 "net.ipv4.no_such_thing: a network namespace has no such"},
		{"net.ipv4.tcp_sack=many", "net.ipv4.tcp_sack=many: the kernel refuses the value"},
	};
	struct network_config config = usual;

	need_tap();
	for (unsigned int i = 0; i < COUNT(bad); i++) {
		strcpy(config.settings, bad[i].settings);
		is_refused(&config, bad[i].said);
	}
}

struct shared {
	int outside;
	int err;
};

static int write_shared(void *argument)
{
	struct shared *shared = argument;

	return setting_write("net.ipv4.tcp_sack", "1", shared->outside);
}

/* Here the namespace itself stands for the host's: its files are the same ones. */
static void what_the_host_shares_is_not_written(void **state)
{
	struct network_config config = usual;
	struct shared shared;
	struct network network;

	strcpy(config.settings, "net.ipv4.tcp_sack=0");
	open_network(&network, &config);
	shared.outside = network.ends[NETWORK_GUEST].netns;
	assert_int_equal(network_run(&network, NETWORK_GUEST, write_shared, &shared), -EINVAL);
	assert_non_null(strstr(failure_text(), "net.ipv4.tcp_sack is the whole host's"));
	assert_string_equal(look_at(&network, NETWORK_GUEST, "cat /proc/sys/net/ipv4/tcp_sack"),
			    "0\n");
	/* That nobody can look is no reason to call it the host's. */
	shared.outside = network.ends[NETWORK_GUEST].tap;
	assert_int_equal(network_run(&network, NETWORK_GUEST, write_shared, &shared), -EINVAL);
	assert_null(strstr(failure_text(), "whole host's"));
	assert_string_equal(look_at(&network, NETWORK_GUEST, "cat /proc/sys/net/ipv4/tcp_sack"),
			    "0\n");
	shared.outside = network.ends[NETWORK_WIRE].netns;
	assert_int_equal(network_run(&network, NETWORK_GUEST, write_shared, &shared), 0);
	assert_string_equal(look_at(&network, NETWORK_GUEST, "cat /proc/sys/net/ipv4/tcp_sack"),
			    "1\n");
	assert_string_equal(look_at(&network, NETWORK_WIRE, "cat /proc/sys/net/ipv4/tcp_sack"),
			    "0\n");
	network_close(&network);
}

static void bad_configurations_are_refused(void **state)
{
	struct network_config config = usual;

	config.mtu = 67;
	is_refused(&config, "mtu=67: accepted: 68 to 9216 bytes");
	config.mtu = 9217;
	is_refused(&config, "mtu=9217: accepted: 68 to 9216 bytes");
	config = usual;
	config.link = 999999;
	is_refused(&config, "link=999999: accepted: off, or bits a second from 1M to 100G");
	config = usual;
	config.queue_length = 0;
	is_refused(&config, "queue of 0 frames: accepted: 1 to 1000000");
	config = usual;
	strcpy(config.name, "a/b");
	is_refused(&config, "'a/b' is no name for a network interface");
	config = usual;
	strcpy(config.congestion, "Cubic!");
	is_refused(&config, "'Cubic!' is no algorithm's name");
	strcpy(config.congestion, "nosuch");
	need_tap();
	is_refused(
		&config,
		"congestion=nosuch: this kernel has it not, or not yet (modprobe tcp_nosuch); accepted: ");
	assert_non_null(strstr(failure_text(), "reno"));
}

static void is_refused_before(const char *settings, const char *sentence)
{
	struct network_config config = usual;

	strcpy(config.settings, settings);
	assert_int_equal(network_rehearse(&config), -EINVAL);
	assert_non_null(strstr(failure_text(), sentence));
}

static void what_the_kernel_refuses_is_told_before(void **state)
{
	struct network_config config = usual;

	need_tap();
	assert_int_equal(network_rehearse(&config), 0);
	strcpy(config.settings, "net.ipv4.tcp_sack=0, net.ipv4.tcp_rmem=4096 32768 32768");
	assert_int_equal(network_rehearse(&config), 0);
	strcpy(config.congestion, "nosuch");
	assert_int_equal(network_rehearse(&config), -EINVAL);
	assert_non_null(strstr(failure_text(), "congestion=nosuch: this kernel has it not"));
	is_refused_before("net.ipv4.nosuch=1",
			  "sysctl: net.ipv4.nosuch: a network namespace has no such setting");
	is_refused_before("net.ipv4.tcp_sack=x", "net.ipv4.tcp_sack=x: the kernel refuses the "
						 "value: Invalid argument; it has '1'");
}

static void links_are_bits_a_second(void **state)
{
	static const struct {
		const char *text;
		__u64 bits;
	} good[] = {{"off", 0},		{"100M", 100000000},  {"2.5G", 2500000000},
		    {"1000k", 1000000}, {"1000000", 1000000}, {"100G", 100000000000}};
	static const char *const bad[] = {"",	   "M",	  "0",	   "999k",  "101G", "100m",
					  "100 M", "-1M", "1e99G", "100MM", "on",   "nan"};
	__u64 bits;

	for (unsigned int i = 0; i < COUNT(good); i++) {
		assert_int_equal(network_parse_link(good[i].text, &bits), 0);
		assert_int_equal(bits, good[i].bits);
	}
	for (unsigned int i = 0; i < COUNT(bad); i++) {
		assert_int_equal(network_parse_link(bad[i], &bits), -EINVAL);
		assert_non_null(
			strstr(failure_text(), "accepted: off, or bits a second from 1M to 100G"));
	}
}

static void names_of_devices_become_names_of_interfaces(void **state)
{
	static const struct {
		const char *device, *name;
	} names[] = {
		{"net", "net"}, {"vm/net0", "vmnet0"}, {"lo", "nic"},
		{"all", "nic"}, {"", "nic"},	       {"/", "nic"},
		{"..", "nic"},	{"a b%d:c", "abdc"},   {"abcdefghijklmnopqrst", "abcdefghijklmno"}};
	char name[IFNAMSIZ];

	for (unsigned int i = 0; i < COUNT(names); i++) {
		network_name(names[i].device, name);
		assert_string_equal(name, names[i].name);
	}
}

static void counters_that_are_missing_are_told(void **state)
{
	struct network_counters counters = {0};
	char snmp[] = "Tcp: InSegs OutSegs\nTcp: 5 7\n",
	     netstat[] = "TcpExt: TCPTimeouts\nTcpExt: 3\n";

	assert_int_equal(network_counters_parse(snmp, netstat, &counters), -ENOENT);
	assert_non_null(strstr(failure_text(), "snmp has no Tcp RetransSegs"));
	assert_int_equal(counters.in_segments, 5);
	assert_int_equal(counters.out_segments, 7);
	assert_int_equal(counters.timeouts, 3);
}

/* What anybody could find of a network on the host. */
static char *state_of_host(void)
{
	static const char command[] =
		"ip -j link | sed -E 's/\"(rx|tx)[^]]*//g'; tc qdisc; ip route; ip rule; ip neigh | wc -l; ls /run/netns 2>/dev/null; "
		"sysctl -a 2>/dev/null | grep -E '^net[.]' | grep -vE 'conntrack_count|fib_sync_mem|inode_cur'; "
		"ls /sys/class/net; ls -d /proc/sys/net/ipv4/conf/*; lsmod 2>/dev/null | wc -l";
	struct look *look = calloc(1, sizeof(*look));
	char *text;

	look->command = command;
	run_look(look);
	text = strdup(look->text);
	free(look);
	return text;
}

/* Whether any process has a namespace open or is in one. */
static bool namespace_is_used(__u64 inode)
{
	struct look *look = calloc(1, sizeof(*look));
	char command[200];
	bool used;

	snprintf(
		command, sizeof(command),
		"ls -l /proc/[0-9]*/fd /proc/[0-9]*/task/*/ns/net 2>/dev/null | grep -F 'net:[%llu]'",
		inode);
	look->command = command;
	run_look(look);
	used = look->text[0];
	free(look);
	return used;
}

static void a_killed_process_leaves_nothing(void **state)
{
	char *before, *during, *after;
	struct network network;
	int told[2], status;
	__u64 inodes[2];
	pid_t child;

	open_network(&network, &usual); /* loads what modules it takes */
	network_close(&network);
	before = state_of_host();
	assert_non_null(strstr(before, "net.ipv4.tcp_sack"));
	assert_int_equal(pipe(told), 0);
	child = child_fork();
	if (!child) {
		struct network_config config = usual;

		config.link = 100000000;
		config.classic = true;
		strcpy(config.settings, "net.ipv4.tcp_sack=0");
		assert_int_equal(network_open(&network, &config), 0);
		inodes[0] = network.ends[0].inode;
		inodes[1] = network.ends[1].inode;
		assert_int_equal(write(told[1], inodes, sizeof(inodes)), sizeof(inodes));
		pause();
	}
	assert_int_equal(read(told[0], inodes, sizeof(inodes)), sizeof(inodes));
	assert_true(namespace_is_used(inodes[0]));
	during = state_of_host();
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	after = state_of_host();
	assert_string_equal(before, during);
	assert_string_equal(before, after);
	assert_false(namespace_is_used(inodes[0]));
	assert_false(namespace_is_used(inodes[1]));
	free(before);
	free(during);
	free(after);
	close(told[0]);
	close(told[1]);
}

static void closing_leaves_no_descriptor(void **state)
{
	struct network_config config = usual;
	struct network network;
	int before, after;

	before = dup(0);
	close(before);
	open_network(&network, &usual);
	assert_int_equal(fcntl(network.ends[0].tap, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(network.ends[1].netns, F_GETFD), FD_CLOEXEC);
	network_close(&network);
	network_close(&network);
	strcpy(config.settings, "net.ipv4.tcp_sack=many");
	assert_int_equal(network_open(&network, &config), -EINVAL);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

static void two_networks_do_not_meet(void **state)
{
	struct network networks[2];
	struct tap_loop loops[2];

	for (unsigned int i = 0; i < 2; i++) {
		open_network(&networks[i], &usual);
		tap_loop_start(&loops[i], &networks[i]);
	}
	assert_int_equal(transfer(&networks[1], 1 << 16, NULL), 1 << 16);
	tap_loop_stop(&loops[0]);
	tap_loop_stop(&loops[1]);
	assert_int_equal(loops[0].carried[0] + loops[0].carried[1], 0);
	assert_true(loops[1].carried[NETWORK_WIRE] > 40);
	network_close(&networks[0]);
	network_close(&networks[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_are_what_was_asked_for),
		cmocka_unit_test(nobody_speaks_unasked),
		cmocka_unit_test(connections_use_the_algorithm_and_are_counted),
		cmocka_unit_test(lost_frames_are_counted_as_nstat_counts_them),
		cmocka_unit_test(counters_are_waited_for),
		cmocka_unit_test(what_is_left_to_send_is_counted),
		cmocka_unit_test(a_link_is_no_faster_than_asked),
		cmocka_unit_test(segments_come_as_one_frame_if_wanted),
		cmocka_unit_test(classic_has_neither_probes_nor_rack),
		cmocka_unit_test(settings_are_those_of_the_namespaces),
		cmocka_unit_test(bad_settings_are_refused),
		cmocka_unit_test(what_the_host_shares_is_not_written),
		cmocka_unit_test(bad_configurations_are_refused),
		cmocka_unit_test(what_the_kernel_refuses_is_told_before),
		cmocka_unit_test(links_are_bits_a_second),
		cmocka_unit_test(names_of_devices_become_names_of_interfaces),
		cmocka_unit_test(counters_that_are_missing_are_told),
		cmocka_unit_test(a_killed_process_leaves_nothing),
		cmocka_unit_test(closing_leaves_no_descriptor),
		cmocka_unit_test(two_networks_do_not_meet),
	};

	return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
