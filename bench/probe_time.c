// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command that records an emulated machine, and tells what the kernel's statistics of run time say of the BPF program that all
 * probes of emulators lead to: prints "probe NS RUNS", of one run on average, the statistics' own cost included. The way into
 * the program, a trap, is not in it.
 *
 *	probe_time COMMAND...
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define PROGRAM "emulator" /* bpf/emu.bpf.c */
#define LOOK_NS (5 * NSEC_PER_MSEC)

struct run_time {
	__u64 ns, runs;
};

/* The latest of what is found: the program goes when its recorder does. */
static void look_at_programs(struct run_time *latest)
{
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		int program = bpf_prog_get_fd_by_id(id);
		struct bpf_prog_info info = {};
		__u32 bytes = sizeof(info);

		if (program < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(program, &info, &bytes) &&
		    !strcmp(info.name, PROGRAM) && info.run_cnt > latest->runs)
			*latest = (struct run_time){info.run_time_ns, info.run_cnt};
		close(program);
	}
}

/* What it prints is nobody's. */
static _Noreturn void become(char **command)
{
	int nothing = open("/dev/null", O_WRONLY);

	if (nothing >= 0)
		dup2(nothing, STDOUT_FILENO);
	execvp(command[0], command);
	fprintf(stderr, "probe_time: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	const struct timespec pause = timespec_of_ns(LOOK_NS);
	struct run_time latest = {0};
	int statistics = argc > 1 ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -1, status;
	pid_t child;

	if (statistics < 0) {
		fprintf(stderr, "Usage: probe_time COMMAND...   (as root, Linux 5.8 or later)\n");
		return 2;
	}
	child = fork();
	if (!child)
		become(argv + 1);
	while (child > 0 && !waitpid(child, &status, WNOHANG)) {
		look_at_programs(&latest);
		nanosleep(&pause, NULL);
	}
	close(statistics);
	if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) || !latest.runs) {
		fprintf(stderr, "probe_time: %s %s\n", argv[1],
			latest.runs ? "has failed" : "has run no program named " PROGRAM);
		return 1;
	}
	printf("probe %.1f %llu\n", (double)latest.ns / (double)latest.runs, latest.runs);
	return 0;
}
