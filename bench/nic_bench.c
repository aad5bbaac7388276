// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that a core's worth of an emulated NIC's receiving thread takes off the wire and brings into guest memory,
 * without a network: they are made up, as fast as they are taken, and no page ever leaves. What counts is CPU time
 * of that thread, the making included, and the frames that the guest got. Prints "NAME VALUE UNIT [PEER
 * PEER_VALUE]" a line. Peer: a ring that the same frames are copied to, with nothing checked. What is told of each
 * is the median of interleaved rounds; of a policy also the median of its ratios to pin within a round.
 *
 *	nic_bench ROUNDS
 *	nic_bench POLICY SIZE FRAMES	one run, for a profiler
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "injectors/emu/frame_totals.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/nic/generator.h"
#include "injectors/emu/nic/nic_settings.h"
#include "injectors/emu/nic/rx_backup.h"
#include "injectors/emu/nic/rx_cache.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define FRAMES	   400000
#define ROUNDS_MAX 101
/* Of policies alone, often and shortly: what disturbs one round is not in the median. */
#define POLICY_FRAMES 20000
#define POLICY_ROUNDS 301
#define QUEUES	      1
#define DEPTH	      4096
#define BUFFER	      2048
#define BATCH	      32
#define POLICIES      5
#define VARIANTS      (POLICIES + 2) /* and the two peers */

enum { GENERATOR = POLICIES, MEMCPY_RING };

static volatile sig_atomic_t no_stop;

static struct {
	struct tenant_config tenant;
	struct device_config device;
	struct traffic_config traffic;
	struct machine_config machine;
} plan;

static void describe_machine(__u32 policy, __u64 size, __u64 frames)
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

/* Of this process's thread of that name; 0: none calls itself so yet. */
static pid_t look_for_thread(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	pid_t found = 0;

	while (tasks && !found && (task = readdir(tasks))) {
		char path[sizeof("/proc/self/task//comm") + NAME_MAX], comm[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		file = fopen(path, "r");
		if (file && fgets(comm, sizeof(comm), file) && !strncmp(comm, name, strlen(name)) &&
		    comm[strlen(name)] == '\n')
			found = (pid_t)atoi(task->d_name);
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

static pid_t find_thread(const char *name)
{
	pid_t found = 0;

	for (int tries = 0; !found && tries < 1000; tries++) {
		found = look_for_thread(name);
		if (!found)
			sched_yield();
	}
	return found;
}

/* CPU time; 0: it is not told. */
static __u64 thread_ns(pid_t thread)
{
	char path[64];
	__u64 ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", thread);
	file = fopen(path, "r");
	if (file && fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return ns;
}

/*
 * The guest's thread sleeps and is woken all the time: were it to wake on the CPU of the NIC's, which never sleeps,
 * it would be late. Where there is one CPU only, nothing is changed.
 */
static void keep_apart(pid_t receiver, pid_t guest)
{
	cpu_set_t allowed, one;
	int cpu = 0, second;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		return;
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	for (second = cpu + 1; !CPU_ISSET(second, &allowed);)
		second++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	(void)sched_setaffinity(guest, sizeof(one), &one);
	CPU_ZERO(&one);
	CPU_SET(second, &one);
	(void)sched_setaffinity(receiver, sizeof(one), &one);
}

struct sample {
	double rate; /* frames a second of CPU time */
	double lost; /* percent: the guest was late */
};

static int nic_run(__u32 policy, __u64 size, __u64 frames, struct sample *sample)
{
	const struct frame_totals *totals;
	struct machine *machine;
	pid_t receiver = 0;
	__u64 ns = 0;
	int error;

	describe_machine(policy, size, frames);
	error = machine_create(&machine, &plan.machine);
	if (error)
		return error;
	error = machine_start(machine) ?: machine_begin(machine);
	if (!error) {
		receiver = find_thread("nic-rx");
		keep_apart(receiver, find_thread("guest-rx0"));
		error = machine_wait(machine, 60 * NSEC_PER_SEC, &no_stop);
	}
	if (!error)
		ns = thread_ns(receiver);
	machine_stop(machine);
	totals = machine_frames(machine, 0);
	*sample = (struct sample){
		.rate = ns ? (double)totals->delivered * NSEC_PER_SEC / (double)ns : 0,
		.lost = 100 * (1 - (double)totals->delivered / (double)frames),
	};
	machine_destroy(machine);
	return error;
}

static __u64 own_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec;
}

/* Batches as the NIC takes them, each frame copied to the next buffer of a ring; NULL: no copy, the making alone. */
static int peer_run(unsigned char *ring, __u64 size, __u64 frames, struct sample *sample)
{
	static unsigned char batch[BATCH][BUFFER];
	struct generator *generator;
	__u64 start;
	int error;

	describe_machine(0, size, frames);
	error = generator_create(&generator, &plan.traffic);
	if (error)
		return error;
	start = own_ns();
	for (__u64 done = 0; done < frames; done += BATCH) {
		__u32 lengths[BATCH];

		for (__u32 i = 0; i < BATCH; i++)
			lengths[i] = generator_next(generator, batch[i], BUFFER);
		for (__u32 i = 0; ring && i < BATCH; i++)
			memcpy(ring + (done + i) % DEPTH * BUFFER, batch[i], lengths[i]);
	}
	start = own_ns() - start;
	generator_destroy(generator);
	*sample = (struct sample){.rate = (double)frames * NSEC_PER_SEC / (double)start};
	return 0;
}

static int run_variant(int variant, unsigned char *ring, __u64 size, struct sample *sample)
{
	if (variant < POLICIES)
		return nic_run((__u32)variant, size, FRAMES, sample);
	return peer_run(variant == MEMCPY_RING ? ring : NULL, size, FRAMES, sample);
}

static int compare_samples(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median_of(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare_samples);
	return values[count / 2];
}

static double median_rate(const struct sample *samples, int rounds)
{
	double values[ROUNDS_MAX];

	for (int i = 0; i < rounds; i++)
		values[i] = samples[i].rate;
	return median_of(values, rounds);
}

static double median_lost(const struct sample *samples, int rounds)
{
	double values[ROUNDS_MAX];

	for (int i = 0; i < rounds; i++)
		values[i] = samples[i].lost;
	return median_of(values, rounds);
}

static double median_ratio(const struct sample *samples, const struct sample *to, int rounds)
{
	double values[ROUNDS_MAX];

	for (int i = 0; i < rounds; i++)
		values[i] = samples[i].rate / to[i].rate;
	return median_of(values, rounds);
}

static void print_size(__u64 size, struct sample samples[][ROUNDS_MAX], int rounds)
{
	printf("nic_%llu_generator %.0f frames/CPU-s\n", size,
	       median_rate(samples[GENERATOR], rounds));
	for (int policy = 0; policy < POLICIES; policy++) {
		const char *name = rx_policies[policy]->name;

		printf("nic_%llu_%s %.0f frames/CPU-s memcpy_ring %.0f\n", size, name,
		       median_rate(samples[policy], rounds),
		       median_rate(samples[MEMCPY_RING], rounds));
		printf("nic_%llu_%s_lost %.3f %%\n", size, name,
		       median_lost(samples[policy], rounds));
		if (policy != RX_POLICY_pin)
			printf("nic_%llu_%s_to_pin %.3f times\n", size, name,
			       median_ratio(samples[policy], samples[RX_POLICY_pin], rounds));
	}
}

static int measure_size(unsigned char *ring, __u64 size, int rounds)
{
	static struct sample samples[VARIANTS][ROUNDS_MAX];

	for (int round = 0; round < rounds; round++)
		for (int turn = 0; turn < VARIANTS; turn++) {
			int variant = (turn + round) % VARIANTS;
			int error = run_variant(variant, ring, size, &samples[variant][round]);

			if (error)
				return error;
		}
	print_size(size, samples, rounds);
	return 0;
}

static bool always_present(void *self, __u64 position)
{
	(void)self;
	(void)position;
	return true;
}

/* ns a frame that a policy takes to find its place, no memory and no wire being there. */
static double policy_ns(struct rx_ring *ring)
{
	static const unsigned char bytes[64];
	const struct rx_frame frame = {.bytes = bytes, .length = sizeof(bytes)};
	struct rx_verdict verdict;
	__u64 start = own_ns();

	for (__u32 done = 0; done < POLICY_FRAMES; done++) {
		if (done % BATCH == 0 && rx_ring_post(ring, ring->head + DEPTH))
			return 0;
		rx_ring_receive(ring, &frame, &verdict);
	}
	return (double)(own_ns() - start) / POLICY_FRAMES;
}

static int create_policy_rings(struct rx_ring *rings, struct rx_backup **backup,
			       struct rx_cache **cache)
{
	int error = rx_backup_create(backup, 64, BUFFER);

	if (!error)
		error = rx_cache_create(cache, 256 * 1024, BUFFER);
	for (int policy = 0; !error && policy < POLICIES; policy++) {
		const struct rx_settings settings = {
			.policy = rx_policies[policy],
			.size = DEPTH,
			.buffer_bytes = BUFFER,
			.frame_bytes = BUFFER,
			.bitmap_bits = 1024,
			.present = always_present,
			.backup = *backup,
			.cache = *cache,
		};

		error = rx_ring_create(&rings[policy], &settings);
	}
	return error;
}

static int measure_policies(void)
{
	static double ns[POLICIES][POLICY_ROUNDS];
	struct rx_ring rings[POLICIES] = {0};
	struct rx_backup *backup = NULL;
	struct rx_cache *cache = NULL;
	int error = create_policy_rings(rings, &backup, &cache);

	for (int round = 0; !error && round < POLICY_ROUNDS; round++)
		for (int policy = 0; policy < POLICIES; policy++)
			ns[policy][round] = policy_ns(&rings[policy]);
	for (int policy = 0; !error && policy < POLICIES; policy++)
		printf("nic_policy_%s %.2f ns pin %.2f\n", rx_policies[policy]->name,
		       median_of(ns[policy], POLICY_ROUNDS),
		       median_of(ns[RX_POLICY_pin], POLICY_ROUNDS));
	for (int policy = 0; policy < POLICIES; policy++)
		rx_ring_destroy(&rings[policy]);
	rx_backup_destroy(backup);
	rx_cache_destroy(cache);
	return error;
}

static int measure_nic(int rounds)
{
	unsigned char *ring = calloc(DEPTH, BUFFER);
	int error = ring ? 0 : failed(-ENOMEM, "no memory for a ring");

	if (!error)
		error = measure_size(ring, 64, rounds);
	if (!error)
		error = measure_size(ring, 1514, rounds);
	if (!error)
		error = measure_policies();
	free(ring);
	return error;
}

static int run_one(char **argv)
{
	struct sample sample;
	int error = failed(-EINVAL, "no policy %s", argv[0]);

	for (__u32 policy = 0; policy < POLICIES; policy++)
		if (!strcmp(argv[0], rx_policies[policy]->name))
			error = nic_run(policy, strtoull(argv[1], NULL, 10),
					strtoull(argv[2], NULL, 10), &sample);
	if (!error)
		printf("%.0f frames/CPU-s, %.3f%% lost\n", sample.rate, sample.lost);
	return error;
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;
	int error;

	if (argc != 4 && (rounds < 1 || rounds > ROUNDS_MAX)) {
		fprintf(stderr, "Usage: nic_bench ROUNDS | POLICY SIZE FRAMES\n");
		return 2;
	}
	/* A guest that does not run loses frames; without the right to it more of them. */
	(void)setpriority(PRIO_PROCESS, 0, -15);
	error = argc == 4 ? run_one(argv + 1) : measure_nic(rounds);
	if (error)
		fprintf(stderr, "faultline: %s\n", failure_text());
	return exit_code_of(error);
}
