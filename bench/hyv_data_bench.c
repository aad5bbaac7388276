// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs' data path, polled: reads one after the other, writes with ten under way; past the hypervisor, natively, and as memcpy() by a
 * second thread, which is asked by a store to a ring and says so by a store, with nothing else in between. Each has two threads, one
 * that asks and one that moves the data, and each of these a CPU of its own; a queue pair is connected to itself, so that one
 * engine is both ends. Prints "NAME VALUE UNIT PEER PEER_VALUE" a line: medians of interleaved rounds; in a round
 * the median of reads, or of the times of 64 writes, so that what takes a thread's CPU away meanwhile counts little.
 *
 *	hyv_data_bench ROUNDS
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/hyv_sides.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define ROUNDS_MAX  101
#define READS	    4000 /* in a round */
#define BATCHES	    80	 /* of writes */
#define BATCH	    64
#define SAMPLES_MAX READS
#define OUTSTANDING 10
#define DEPTH	    16
#define QUEUES	    (64u << 10) /* bytes before the data */
#define HALF	    (1u << 20)	/* of the data: from, to */
#define RIGHTS	    (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define MEMCPY	    SIDES /* beside them */

enum data_what { LATENCY, RATE };

static const struct hyv_task steps[] = {
	{LATENCY, READS, 4},	{LATENCY, READS, 16384}, {RATE, BATCHES, 1},
	{RATE, BATCHES, 64},	{RATE, BATCHES, 1024},	 {RATE, BATCHES, 4096},
	{RATE, BATCHES, 16384}, {RATE, BATCHES, 65536},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* Of one task, shared with the guest's process. */
struct data_timed {
	__u32 count;
	__u64 ns[SAMPLES_MAX];
};

/* By side, and of memcpy. */
static double medians[SIDES + 1][STEPS][ROUNDS_MAX];
static double leasts[SIDES + 1][STEPS];
static int cpus[2]; /* of who asks, and of who moves */

/* One who asks, over verbs or without. */
struct asker {
	struct verbs_queue *queue;
	struct verbs_pair *pair;
	struct verbs_mr region;
	__u64 asked, done;
};

static struct {
	_Atomic __u64 asked __attribute__((aligned(64)));
	_Atomic __u64 done __attribute__((aligned(64)));
	_Atomic bool stop;
	__u64 bytes;
	unsigned char from[HALF], to[HALF];
} copies __attribute__((aligned(64)));

static int run_on(pid_t thread, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return sched_setaffinity(thread, sizeof(one), &one)
		       ? failed(-errno, "a thread's CPU: %s", strerror(errno))
		       : 0;
}

/* Which of the places for transfers that one is at. */
static __u64 transfer_offset(__u64 number, __u64 bytes)
{
	return number % OUTSTANDING * bytes;
}

static void *copy_served(void *unused)
{
	__u64 done = 0, at;

	(void)run_on(0, cpus[1]);
	while (!atomic_load_explicit(&copies.stop, memory_order_relaxed)) {
		if (atomic_load_explicit(&copies.asked, memory_order_acquire) == done) {
			__builtin_ia32_pause();
			continue;
		}
		at = transfer_offset(done, copies.bytes);
		memcpy(copies.to + at, copies.from + at, copies.bytes);
		atomic_store_explicit(&copies.done, ++done, memory_order_release);
	}
	return unused;
}

static int data_ask(struct asker *asker, const struct hyv_task *task)
{
	__u64 at = transfer_offset(asker->asked++, task->size);
	struct verbs_send send = {
		.id = asker->asked,
		.remote_address = asker->region.address + HALF + at,
		.remote_key = asker->region.key,
		.opcode = task->what == RATE ? VERBS_WRITE : VERBS_READ,
		.flags = VERBS_SEND_SIGNALED,
		.pieces = 1,
		.piece = {{asker->region.address + at, (__u32)task->size, asker->region.key}},
	};

	if (asker->pair)
		return verbs_post_send(asker->pair, &send);
	atomic_store_explicit(&copies.asked, asker->asked, memory_order_release);
	return 0;
}

/* Takes what is done by now. */
static int data_reap(struct asker *asker)
{
	struct verbs_completion completions[OUTSTANDING];
	int count;

	if (!asker->pair) {
		asker->done = atomic_load_explicit(&copies.done, memory_order_acquire);
		return 0;
	}
	count = verbs_poll_cq(asker->queue, OUTSTANDING, completions);
	for (int i = 0; i < count; i++)
		if (completions[i].status != VERBS_SUCCESS)
			return failed(-EIO, "a work request completed with \"%s\"",
				      verbs_status_name(completions[i].status));
	asker->done += (__u64)count;
	if (!count)
		__builtin_ia32_pause();
	return 0;
}

static int measure_reads(struct asker *asker, const struct hyv_task *task, struct data_timed *timed)
{
	int error = 0;

	while (!error && timed->count < task->count) {
		__u64 start_ns = monotonic_ns();

		error = data_ask(asker, task);
		while (!error && asker->done < asker->asked)
			error = data_reap(asker);
		timed->ns[timed->count++] = monotonic_ns() - start_ns;
	}
	return error;
}

static int measure_writes(struct asker *asker, const struct hyv_task *task,
			  struct data_timed *timed)
{
	__u64 start_ns = monotonic_ns(), all = (__u64)task->count * BATCH;
	int error = 0;

	while (!error && timed->count < task->count) {
		while (!error && asker->asked < all && asker->asked - asker->done < OUTSTANDING)
			error = data_ask(asker, task);
		if (!error)
			error = data_reap(asker);
		if (asker->done >= (timed->count + 1ull) * BATCH) {
			__u64 now_ns = monotonic_ns();

			timed->ns[timed->count++] = now_ns - start_ns;
			start_ns = now_ns;
		}
	}
	return error;
}

static int measure_with(struct asker *asker, const struct hyv_task *task, struct data_timed *timed)
{
	int error = run_on(0, cpus[0]);

	if (error)
		return error;
	return task->what == LATENCY ? measure_reads(asker, task, timed)
				     : measure_writes(asker, task, timed);
}

static int connect_self(struct hyv_place *place, struct asker *asker)
{
	static const enum verbs_pair_state states[] = {VERBS_INIT, VERBS_RTR, VERBS_RTS};
	struct verbs_pair_attributes attributes = {
		.send_depth = DEPTH,
		.receive_depth = DEPTH,
		.guest_address = place->address + QUEUES / 2,
	};
	int error = verbs_create_cq(place->device, &asker->queue, place->address, 2 * DEPTH);

	attributes.send_queue = attributes.receive_queue = asker->queue;
	if (!error)
		error = verbs_create_qp(place->device, &asker->pair, &attributes);
	for (size_t i = 0; !error && i < sizeof(states) / sizeof(states[0]); i++)
		error = verbs_modify_qp(asker->pair, states[i], verbs_pair_number(asker->pair),
					true);
	return error;
}

/* At either end. */
static int do_data_task(struct hyv_place *place, const struct hyv_task *task, void *results)
{
	struct asker asker = {0};
	int error = verbs_reg_mr(place->device, &asker.region, place->address + QUEUES, 2 * HALF,
				 VERBS_PINNED, RIGHTS);

	if (error)
		return failed(error, "a region: %s", strerror(-error));
	error = connect_self(place, &asker);
	if (!error)
		error = measure_with(&asker, task, results);
	if (asker.pair)
		(void)verbs_destroy_qp(asker.pair);
	if (asker.queue)
		(void)verbs_destroy_cq(asker.queue);
	(void)verbs_dereg_mr(place->device, &asker.region);
	return error ? failed(error, "data: %s", strerror(-error)) : 0;
}

static int measure_copies(const struct hyv_task *task, struct data_timed *timed)
{
	struct asker asker = {0};
	pthread_t thread;
	int error;

	atomic_store(&copies.asked, 0);
	atomic_store(&copies.done, 0);
	atomic_store(&copies.stop, false);
	copies.bytes = task->size;
	error = pthread_create(&thread, NULL, copy_served, NULL);
	if (error)
		return failed(-error, "a second thread: %s", strerror(error));
	error = measure_with(&asker, task, timed);
	atomic_store(&copies.stop, true);
	pthread_join(thread, NULL);
	return error;
}

static int run_data_step(int side, size_t step, int round)
{
	struct data_timed *timed = hyv_sides_results();
	double least;
	int error;

	memset(timed, 0, sizeof(*timed));
	error = side == MEMCPY ? measure_copies(&steps[step], timed)
			       : hyv_sides_do((enum hyv_side)side, &steps[step]);
	if (error)
		return error;
	medians[side][step][round] = hyv_median_ns(timed->ns, timed->count, &least);
	if (!leasts[side][step] || least < leasts[side][step])
		leasts[side][step] = least;
	return 0;
}

static int run_data_rounds(int rounds)
{
	int error = 0;

	for (int round = 0; round < rounds; round++)
		for (size_t step = 0; step < STEPS; step++)
			for (int turn = 0; !error && turn <= SIDES; turn++)
				error = run_data_step((turn + round) % (SIDES + 1), step, round);
	return error;
}

static void print_pair(size_t step, const char *kind, const double value[SIDES + 1])
{
	static const char *const peers[SIDES + 1] = {"native", NULL, "memcpy"};
	bool rate = steps[step].what == RATE;
	double bytes = (double)steps[step].size * BATCH * NSEC_PER_SEC;

	for (int peer = 0; peer <= SIDES; peer++)
		if (peers[peer])
			printf("hyv_%s_%llu%s %.0f %s %s %.0f\n", rate ? "write" : "read",
			       steps[step].size, kind,
			       rate ? bytes / value[SIDE_HYBRID] : value[SIDE_HYBRID],
			       rate ? "bytes/s" : "ns", peers[peer],
			       rate ? bytes / value[peer] : value[peer]);
}

static void print_steps(int rounds)
{
	for (size_t step = 0; step < STEPS; step++) {
		double median[SIDES + 1], least[SIDES + 1];

		for (int side = 0; side <= SIDES; side++) {
			median[side] = hyv_median(medians[side][step], rounds);
			least[side] = leasts[side][step];
		}
		print_pair(step, "", median);
		print_pair(step, steps[step].what == LATENCY ? "_least" : "_best", least);
	}
}

/* The engines of the devices: threads of this process. */
static int place_engines(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	int placed = 0, error = 0;

	while (tasks && !error && (entry = readdir(tasks))) {
		char path[64], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && !strncmp(name, "rdma ", 5)) {
			error = run_on(atoi(entry->d_name), cpus[1]);
			placed++;
		}
		fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return error || placed == SIDES
		       ? error
		       : failed(-ESRCH, "%d engines of %d are found", placed, SIDES);
}

static int choose_cpus(void)
{
	cpu_set_t allowed;
	int found = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return failed(-errno, "this process's CPUs: %s", strerror(errno));
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET((size_t)cpu, &allowed))
			cpus[found++] = cpu;
	return found == 2 ? 0 : failed(-EINVAL, "two threads that poll need two CPUs");
}

int main(int argc, char **argv)
{
	const struct hyv_sides_config config = {.memory = QUEUES + 2 * HALF,
						.run = do_data_task,
						.results_bytes = sizeof(struct data_timed)};
	int rounds = argc == 2 ? atoi(argv[1]) : 0, error;

	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "Usage: hyv_data_bench ROUNDS\n");
		return 2;
	}
	memset(copies.from, 1, HALF);
	memset(copies.to, 2, HALF);
	error = choose_cpus();
	if (!error)
		error = hyv_sides_open(&config);
	if (!error)
		error = place_engines();
	if (!error)
		error = run_data_rounds(rounds);
	if (!error)
		print_steps(rounds);
	else
		fprintf(stderr, "hyv_data_bench: %s\n", failure_text());
	hyv_sides_close();
	return exit_code_of(error);
}
