// SPDX-License-Identifier: GPL-2.0
/*
 * One TCP connection (iperf3) between the two namespaces of an emulated NIC, without faults and without a limit of
 * the link. Peers: two TAPs between which two threads copy frames, which is the least that carries frames through user
 * space, and a veth pair, whose frames never leave the kernel. Prints "NAME VALUE UNIT PEER PEER_VALUE" a
 * line; needs root. What is told of each is the median of interleaved rounds.
 *
 *	tap_bench ROUNDS
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/machine.h"
#include "injectors/emu/nic/nic.h"
#include "injectors/emu/thread.h"
#include "injectors/net/netns.h"
#include "injectors/net/program.h"
#include "injectors/net/program_result.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define ROUNDS_MAX 101
#define FRAME_ROOM (64 * 1024 + 64)

enum variant { NIC, TAP_LOOP, VETH, VARIANTS };

static volatile sig_atomic_t no_stop;
static struct program_host host;

static int start(struct network_program **program, const struct network *network,
		 enum network_side side, const char *command)
{
	struct program_config config = {
		.side = side,
		.role = side == NETWORK_GUEST ? PROGRAM_SERVER : PROGRAM_LOAD,
		.ready_timeout_ns = 10 * NSEC_PER_SEC,
	};

	strcpy(config.name, side == NETWORK_GUEST ? "server" : "load");
	strcpy(config.run, command);
	if (side == NETWORK_GUEST)
		strcpy(config.ready, "tcp:5201");
	return program_start(program, &host, network, &config);
}

static int take_goodput(const struct network_program *load, double *rate)
{
	struct program_result result;
	__u64 discarded;
	size_t size;
	char *text = program_output(load, &size, &discarded);
	int error = text ? program_result_parse(RESULT_IPERF3, text, size, &result) : -ENOMEM;

	free(text);
	if (!error)
		*rate = 8 * result.goodput;
	return error;
}

/* Bits a second of payload from the wire's side to the guest's, at this address of it. */
static int run_iperf3(const struct network *network, const char *address, double *rate)
{
	struct network_program *server, *load;
	char command[64];
	int error = start(&server, network, NETWORK_GUEST, "iperf3 -s");

	if (error)
		return error;
	error = program_await_ready(server, &no_stop);
	snprintf(command, sizeof(command), "iperf3 -c %s -t 2 -J", address);
	if (!error)
		error = start(&load, network, NETWORK_WIRE, command);
	if (!error) {
		error = program_wait(load, 30 * NSEC_PER_SEC);
		if (!error)
			error = take_goodput(load, rate);
		program_free(load);
	}
	program_free(server);
	return error;
}

static int run_nic(enum nic_offload offload, double *rate)
{
	struct tenant_config tenant = {.name = "vm", .memory = 16 * HUGE_BYTES};
	struct device_config device = {
		.name = "net",
		.class = &nic_class,
		.queues = 1,
		.queue_depth = 1024,
		.group_pages = 8,
	};
	const struct machine_config config = {
		.name = "bench",
		.tenant_count = 1,
		.device_count = 1,
		.tenants = &tenant,
		.devices = &device,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 256,
		.premap = true,
		.seed = 1,
	};
	struct machine *machine;
	int error;

	*(struct nic_settings *)device.settings.bytes = (struct nic_settings){
		.rx_policy = RX_POLICY_backup,
		.rx_buffer = offload == NIC_OFFLOAD_SEGMENTS ? 4096 : 2048,
		.mtu = 1500,
		.offload = offload,
		.wire = NIC_WIRE_TAP,
		.interrupt_frames = 1,
		.fault_limit = 4,
		.backup_entries = 64,
		.bitmap_entries = 1024,
	};
	error = machine_create(&machine, &config);
	if (error)
		return error;
	error = machine_start(machine) ?: machine_begin(machine);
	if (!error)
		error = run_iperf3(machine_network(machine, 0), NETWORK_GUEST_ADDRESS, rate);
	machine_stop(machine);
	machine_destroy(machine);
	return error;
}

static int open_network(struct network *network, enum nic_offload offload)
{
	const struct nic_settings settings = {
		.mtu = 1500, .offload = offload, .wire = NIC_WIRE_TAP};
	struct network_config config;

	nic_network_config(&settings, "bench", &config);
	return network_open(network, &config);
}

struct tap_copier {
	pthread_t thread;
	int from, to, stop;
};

static void *copy_frames(void *argument)
{
	struct tap_copier *copier = argument;
	struct pollfd ready[2] = {{.fd = copier->from, .events = POLLIN},
				  {.fd = copier->stop, .events = POLLIN}};
	static _Thread_local char frame[FRAME_ROOM];

	while (!ready[1].revents) {
		ssize_t length = read(copier->from, frame, sizeof(frame));

		if (length < 0)
			poll(ready, 2, -1);
		/* What it does not take is lost, as on the NIC's wire. */
		else if (write(copier->to, frame, (size_t)length) < 0)
			continue;
	}
	return NULL;
}

static int run_tap_loop(enum nic_offload offload, double *rate)
{
	struct tap_copier copiers[2];
	struct network network;
	int stop, error = open_network(&network, offload), started = 0;

	if (error)
		return error;
	stop = eventfd(0, EFD_CLOEXEC);
	for (; !error && started < 2; started += !error) {
		copiers[started] = (struct tap_copier){.from = network.ends[started].tap,
						       .to = network.ends[!started].tap,
						       .stop = stop};
		error = thread_start(&copiers[started].thread, NULL, copy_frames, &copiers[started],
				     "tap-loop%d", started);
	}
	if (!error)
		error = run_iperf3(&network, NETWORK_GUEST_ADDRESS, rate);
	(void)eventfd_write(stop, 1);
	while (started)
		pthread_join(copiers[--started].thread, NULL);
	close(stop);
	network_close(&network);
	return error;
}

/* Its far end goes to the guest's namespace, whose descriptor this is. */
static int add_veth(void *argument)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "ip link add veth0 type veth peer name veth1 netns /proc/%d/fd/%d &&"
		 " ip addr add 10.78.0.2/24 dev veth0 && ip link set veth0 up",
		 getpid(), *(const int *)argument);
	return system(command) ? failed(-EIO, "no veth pair") : 0;
}

static int set_far_veth(void *argument)
{
	(void)argument;
	return system("ip addr add 10.78.0.1/24 dev veth1 && ip link set veth1 up")
		       ? failed(-EIO, "no veth pair")
		       : 0;
}

/* In the namespaces of a network whose TAPs nobody reads. */
static int run_veth(double *rate)
{
	struct network network;
	int error = open_network(&network, NIC_OFFLOAD_NONE);

	if (error)
		return error;
	error = network_run(&network, NETWORK_WIRE, add_veth, &network.ends[NETWORK_GUEST].netns);
	if (!error)
		error = network_run(&network, NETWORK_GUEST, set_far_veth, NULL);
	if (!error)
		error = run_iperf3(&network, "10.78.0.1", rate);
	network_close(&network);
	return error;
}

static int carry(enum variant variant, enum nic_offload offload, double *rate)
{
	switch (variant) {
	case NIC:
		return run_nic(offload, rate);
	case TAP_LOOP:
		return run_tap_loop(offload, rate);
	default:
		return run_veth(rate);
	}
}

static int compare_rates(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static int measure_offload(const char *name, enum nic_offload offload, int rounds)
{
	double samples[VARIANTS][ROUNDS_MAX];
	int error = 0;

	for (int round = 0; !error && round < rounds; round++)
		for (int turn = 0; !error && turn < VARIANTS; turn++) {
			enum variant variant = (enum variant)((turn + round) % VARIANTS);

			error = carry(variant, offload, &samples[variant][round]);
		}
	if (error)
		return error;
	for (int variant = 0; variant < VARIANTS; variant++)
		qsort(samples[variant], (size_t)rounds, sizeof(double), compare_rates);
	printf("%s %.0f bits/s TAP_loop %.0f\n", name, samples[NIC][rounds / 2],
	       samples[TAP_LOOP][rounds / 2]);
	printf("%s %.0f bits/s veth %.0f\n", name, samples[NIC][rounds / 2],
	       samples[VETH][rounds / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;
	int error;

	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "Usage: tap_bench ROUNDS\n");
		return 2;
	}
	error = program_host_open(&host);
	if (!error) {
		error = measure_offload("nic_tap_whole_frames", NIC_OFFLOAD_NONE, rounds);
		if (!error)
			error = measure_offload("nic_tap_segments", NIC_OFFLOAD_SEGMENTS, rounds);
		program_host_close(&host);
	}
	if (error)
		fprintf(stderr, "faultline: %s\n", failure_text());
	return exit_code_of(error);
}
