// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command of which again and again one thread stands still, as one does whose CPU the host has given to another
 * machine: stall SEED COMMAND [ARGUMENT...]. What all of it has started is held up alike. Its status is the command's.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"

#define EVERY_NS   (10 * NSEC_PER_MSEC)
#define LONGEST_NS (100 * NSEC_PER_MSEC)
#define LOOK_NS	   (NSEC_PER_MSEC / 2)
#define THREADS	   4096
#define TRACED_OPTIONS                                                                         \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | \
	 PTRACE_O_EXITKILL)

enum state { RUNS, INTERRUPTED, STANDS };

static struct thread {
	pid_t number;
	enum state state;
	__u64 until_ns;
} threads[THREADS];

static int thread_count;
static struct random moments;
static unsigned long stalls;

/* The one of that number, which may be new. */
static struct thread *thread_of(pid_t number)
{
	for (int i = 0; i < thread_count; i++)
		if (threads[i].number == number)
			return &threads[i];
	if (thread_count == THREADS) {
		fprintf(stderr, "stall: more than %d threads\n", THREADS);
		exit(125);
	}
	threads[thread_count] = (struct thread){.number = number};
	return &threads[thread_count++];
}

static void forget(struct thread *thread)
{
	*thread = threads[--thread_count];
}

static void stopped(struct thread *thread, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		/* A signal has stopped its process. */
		ptrace(PTRACE_LISTEN, thread->number, NULL, 0);
	} else if (event == PTRACE_EVENT_STOP && thread->state == INTERRUPTED) {
		thread->state = STANDS;
		thread->until_ns = monotonic_ns() + random_below(&moments, LONGEST_NS);
		stalls++;
	} else {
		/* One that was to be interrupted will stop once more. */
		ptrace(PTRACE_CONT, thread->number, NULL, event ? 0 : signal);
	}
}

/* All that has happened to threads; whether the command has ended. */
static bool look(pid_t command, int *status)
{
	pid_t number;

	while ((number = waitpid(-1, status, WNOHANG | __WALL)) > 0) {
		struct thread *thread = thread_of(number);

		if (WIFSTOPPED(*status)) {
			stopped(thread, *status);
			continue;
		}
		forget(thread);
		if (number == command)
			return true;
	}
	return false;
}

static void let_go(__u64 now_ns)
{
	for (int i = 0; i < thread_count; i++) {
		if (threads[i].state != STANDS || threads[i].until_ns > now_ns)
			continue;
		threads[i].state = RUNS;
		ptrace(PTRACE_CONT, threads[i].number, NULL, 0);
	}
}

static void stall_one(void)
{
	struct thread *thread = &threads[random_below(&moments, (__u64)thread_count)];

	if (thread->state == RUNS && !ptrace(PTRACE_INTERRUPT, thread->number, NULL, 0))
		thread->state = INTERRUPTED;
}

static int hold_up(pid_t command)
{
	const struct timespec pause = timespec_of_ns(LOOK_NS);
	__u64 next_ns = monotonic_ns();
	int status;

	thread_of(command);
	while (!look(command, &status)) {
		__u64 now = monotonic_ns();

		let_go(now);
		if (now >= next_ns) {
			next_ns = now + random_below(&moments, 2 * EVERY_NS);
			stall_one();
		}
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "stall: %lu times one thread stood still\n", stalls);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int begin[2];
	pid_t command;
	char byte;

	if (argc < 3 || pipe(begin)) {
		fprintf(stderr, "usage: stall SEED COMMAND [ARGUMENT...]\n");
		return 125;
	}
	moments.state = strtoull(argv[1], NULL, 10);
	command = fork();
	if (!command) {
		close(begin[1]);
		(void)!read(begin[0], &byte, 1);
		close(begin[0]);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	close(begin[0]);
	if (command < 0 || ptrace(PTRACE_SEIZE, command, NULL, TRACED_OPTIONS)) {
		perror("stall");
		return 125;
	}
	close(begin[1]);
	return hold_up(command);
}
