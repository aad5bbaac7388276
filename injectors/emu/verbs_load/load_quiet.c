// SPDX-License-Identifier: GPL-2.0
/*
 * The clients' threads. With no_syscalls one measures under a filter that ends it at its first system call: it leaves by the only way
 * that it has, and what it has counted says that it got there.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/fail.h"

static void (*const tests[LOAD_TESTS])(struct load_lane *lane) = {
	[LOAD_create_qp] = load_create_qp,
	[LOAD_register] = load_register,
	[LOAD_read_latency] = load_transfers,
	[LOAD_write_bandwidth] = load_transfers,
	[LOAD_send] = load_ping,
	[LOAD_kv] = load_transfers,
	[LOAD_pressure] = load_transfers,
};

bool load_goes_on(const struct load_lane *lane, __u64 begun, __u64 now_ns)
{
	const struct verbs_load_config *config = lane->end->config;

	if (load_share_stopping(lane->end->share))
		return false;
	if (config->operations && begun >= config->operations)
		return false;
	return !config->duration_ns || now_ns < lane->counts->start_ns + config->duration_ns;
}

void load_count(struct load_lane *lane, __u64 took_ns, __u64 bytes)
{
	struct verbs_load_counts *counts = lane->counts;

	histogram_add(&counts->latency, took_ns);
	counts->operations++;
	counts->bytes += bytes;
	counts->over_slo += took_ns > lane->end->config->slo_ns;
	counts->end_ns = monotonic_ns();
}

void load_lane_failed(struct load_lane *lane, int error)
{
	load_share_fail(lane->end->share, error, failure_text());
}

/* The kernel may have no clock that is read without it: that one call is none of the data's. */
static int end_at_a_system_call(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return failed(-errno, "no_syscalls=yes: the kernel takes no seccomp filter: %m");
	return 0;
}

static void measure_quietly(struct load_lane *lane)
{
	struct verbs_load_counts *counts = lane->counts;
	__u64 cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	counts->start_ns = counts->end_ns = monotonic_ns();
	tests[lane->end->config->test](lane);
	counts->end_ns = monotonic_ns();
	counts->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

static void *run_lane(void *argument)
{
	struct load_lane *lane = argument;
	int error = 0;

	thread_short_slices();
	if (!lane->end->config->no_syscalls) {
		measure_quietly(lane);
		return NULL;
	}
	error = end_at_a_system_call();
	if (error) {
		load_lane_failed(lane, error);
		return NULL;
	}
	measure_quietly(lane);
	/* What glibc does at a thread's end it may not do any more. */
	for (;;)
		syscall(SYS_exit, 0);
}

static void join_lane(struct load_lane *lane)
{
	struct load_share *share = lane->end->share;

	pthread_join(lane->thread, NULL);
	if (lane->counts->finished || load_share_stopping(share))
		return;
	share->stopped_calls++;
	failed(-EPERM,
	       "client %u made a system call while it polled (no_syscalls=yes), after %llu "
	       "operations",
	       lane->index, lane->counts->operations);
	load_share_fail(share, -EPERM, failure_text());
}

void load_measure(struct load_end *end)
{
	__u32 clients = verbs_load_pairs(end->config) ?: 1;
	int error = 0;

	for (__u32 i = 0; !error && i < clients; i++) {
		struct load_lane *lane = &end->lane[i];

		error = thread_start(&lane->thread, &end->config->cpus, run_lane, lane, "verbs%u",
				     i);
		lane->running = !error;
	}
	if (error)
		load_share_fail(end->share, error, failure_text());
	for (__u32 i = 0; i < clients; i++)
		if (end->lane[i].running)
			join_lane(&end->lane[i]);
}
