// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that a core's worth of an emulated NIC's receiving thread takes off the wire and brings into guest memory,
 * without a network: they are made up, as fast as they are taken, and no page ever leaves. What counts is CPU time
 * of that thread, the making included, and the frames that the guest got. Prints "NAME VALUE UNIT [PEER
 * PEER_VALUE]" a line. Peers: a ring that the same frames are copied to, with nothing checked, and for policies pin.
 * What is told of each is the median of interleaved rounds.
 *
 *	nic_bench [POLICY SIZE FRAMES]		one run of one policy, for a profiler
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "injectors/emu/frame_totals.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/nic/generator.h"
#include "injectors/emu/nic/nic_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define FRAMES	 500000
#define ROUNDS	 3
#define QUEUES	 1
#define DEPTH	 4096
#define BUFFER	 2048
#define POLICIES 5
#define VARIANTS (POLICIES + 2) /* and the two peers */

enum { GENERATOR = POLICIES, MEMCPY_RING };

static volatile sig_atomic_t no_stop;

static struct {
	struct tenant_config tenant;
	struct device_config device;
	struct traffic_config traffic;
	struct machine_config machine;
} plan;

static void describe(__u32 policy, __u64 size, __u64 frames)
{
	memset(&plan, 0, sizeof(plan));
	strcpy(plan.tenant.name, "vm");
	plan.tenant.memory = 16 * HUGE_BYTES;
	strcpy(plan.device.name, "net");
	plan.device.class = &nic_class;
	plan.device.queues = QUEUES;
	plan.device.queue_depth = DEPTH;
	plan.device.group_pages = 8;
	*(struct nic_settings *)plan.device.settings.bytes = (struct nic_settings){
		.rx_policy = policy,
		.rx_buffer = BUFFER,
		.mtu = 1500,
		.wire = NIC_WIRE_GENERATOR,
		.interrupt_frames = 1,
		.fault_limit = 4,
		.cache_bytes = 256 * 1024,
		.backup_entries = 64,
		.bitmap_entries = 1024,
	};
	plan.traffic = (struct traffic_config){
		.name = "frames",
		.flows = 16,
		.sizes = {size},
		.size_weights = {1},
		.size_count = 1,
		.count = frames,
		.seed = 7,
	};
	plan.machine = (struct machine_config){
		.name = "bench",
		.tenant_count = 1,
		.device_count = 1,
		.traffic_count = 1,
		.tenants = &plan.tenant,
		.devices = &plan.device,
		.traffics = &plan.traffic,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 256,
		.premap = true,
		.seed = 1,
	};
}

static bool is_named(const char *task, const char *name)
{
	char path[sizeof("/proc/self/task//comm") + NAME_MAX], found[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(found, sizeof(found), file))
		found[0] = '\0';
	fclose(file);
	found[strcspn(found, "\n")] = '\0';
	return !strcmp(found, name);
}

/* CPU time of this process's thread of that name; 0: there is none. */
static __u64 thread_ns(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	__u64 ns = 0;
	FILE *file;
	char path[sizeof("/proc/self/task//schedstat") + NAME_MAX];

	while (tasks && (task = readdir(tasks))) {
		if (!is_named(task->d_name, name))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", task->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%llu", &ns) != 1)
			ns = 0;
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return ns;
}

/* Frames a second of the receiving thread's CPU time, or a negative errno. */
static double nic_run(__u32 policy, __u64 size, __u64 frames)
{
	struct machine *machine;
	__u64 ns = 0, delivered;
	int error;

	describe(policy, size, frames);
	error = machine_create(&machine, &plan.machine);
	if (error)
		return error;
	error = machine_start(machine);
	if (!error)
		error = machine_wait(machine, 60 * NSEC_PER_SEC, &no_stop);
	if (!error)
		ns = thread_ns("nic-rx");
	machine_stop(machine);
	delivered = machine_frames(machine, 0)->delivered;
	machine_destroy(machine);
	if (error)
		return error;
	return ns ? (double)delivered * NSEC_PER_SEC / (double)ns : 0;
}

static __u64 own_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec;
}

/* Batches as the NIC takes them, each frame copied to the next buffer of a ring; NULL: no copy, the making alone. */
static double peer_run(unsigned char *ring, __u64 size, __u64 frames)
{
	static unsigned char batch[NIC_BATCH][BUFFER];
	struct generator *generator;
	__u64 start;
	int error;

	describe(0, size, frames);
	error = generator_create(&generator, &plan.traffic);
	if (error)
		return error;
	start = own_ns();
	for (__u64 done = 0; done < frames;) {
		__u32 count = 0, lengths[NIC_BATCH];

		for (; count < NIC_BATCH; count++)
			lengths[count] = generator_next(generator, batch[count], BUFFER);
		for (__u32 i = 0; ring && i < count; i++)
			memcpy(ring + (done + i) % DEPTH * BUFFER, batch[i], lengths[i]);
		done += count;
	}
	start = own_ns() - start;
	generator_destroy(generator);
	return (double)frames * NSEC_PER_SEC / (double)start;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double run(int variant, unsigned char *ring, __u64 size)
{
	if (variant < POLICIES)
		return nic_run((__u32)variant, size, FRAMES);
	return peer_run(variant == MEMCPY_RING ? ring : NULL, size, FRAMES);
}

static void print(__u64 size, const double *rate)
{
	double pin = rate[RX_POLICY_pin];

	printf("nic_%llu_pin %.0f frames/CPU-s memcpy_ring %.0f\n", size, pin, rate[MEMCPY_RING]);
	for (int policy = 0; policy < POLICIES; policy++)
		if (policy != RX_POLICY_pin)
			printf("nic_%llu_%s %.0f frames/CPU-s pin %.0f\n", size,
			       rx_policies[policy]->name, rate[policy], pin);
	printf("nic_%llu_generator %.0f frames/CPU-s\n", size, rate[GENERATOR]);
}

static int measure(unsigned char *ring, __u64 size)
{
	double samples[VARIANTS][ROUNDS], medians[VARIANTS];

	for (int round = 0; round < ROUNDS; round++)
		for (int turn = 0; turn < VARIANTS; turn++) {
			int variant = (turn + round) % VARIANTS;
			double rate = run(variant, ring, size);

			if (rate < 0)
				return (int)rate;
			samples[variant][round] = rate;
		}
	for (int variant = 0; variant < VARIANTS; variant++) {
		qsort(samples[variant], ROUNDS, sizeof(double), compare);
		medians[variant] = samples[variant][ROUNDS / 2];
	}
	print(size, medians);
	return 0;
}

static int measure_all(void)
{
	unsigned char *ring = calloc(DEPTH, BUFFER);
	int error = ring ? 0 : failed(-ENOMEM, "no memory for a ring");

	if (!error)
		error = measure(ring, 64);
	if (!error)
		error = measure(ring, 1514);
	free(ring);
	return error;
}

static int run_one(char **argv)
{
	double rate = -EINVAL;

	for (__u32 policy = 0; policy < POLICIES; policy++)
		if (!strcmp(argv[0], rx_policies[policy]->name))
			rate = nic_run(policy, strtoull(argv[1], NULL, 10),
				       strtoull(argv[2], NULL, 10));
	if (rate < 0)
		return failed_in((int)rate, "nic_bench POLICY SIZE FRAMES");
	printf("%.0f frames/CPU-s\n", rate);
	return 0;
}

int main(int argc, char **argv)
{
	int error = argc == 4 ? run_one(argv + 1) : measure_all();

	if (error)
		fprintf(stderr, "faultline: %s\n", failure_text());
	return exit_code_of(error);
}
