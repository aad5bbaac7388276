// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/signals.h"

#define THREAD_STACK (256u << 10) /* a machine of a thousand tenants has thousands of threads */

#define SLICE_NS 100000

/* The kernel's, as far as all versions have it: libraries do not agree on who declares it. */
struct thread_scheduling {
	__u32 size, policy;
	__u64 flags;
	__s32 nice;
	__u32 priority;
	__u64 runtime_ns, deadline_ns, period_ns;
};

struct thread_birth {
	void *(*main)(void *);
	void *argument;
	char name[THREAD_NAME];
};

static void *thread_main(void *argument)
{
	struct thread_birth birth = *(struct thread_birth *)argument;

	free(argument);
	pthread_setname_np(pthread_self(), birth.name);
	/* Else the kernel may wake it 50 us late: as much as some of the delays that are injected. */
	prctl(PR_SET_TIMERSLACK, 1);
	return birth.main(birth.argument);
}

/* Signals belong to the thread that runs the campaign. SIGBUS is how a DMA to an absent page is caught. */
static int create_blocked(pthread_t *thread, const cpu_set_t *cpus, struct thread_birth *birth)
{
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	if (cpus && CPU_COUNT(cpus))
		pthread_attr_setaffinity_np(&attributes, sizeof(*cpus), cpus);
	error = signals_start_thread(thread, &attributes, thread_main, birth);
	pthread_attr_destroy(&attributes);
	return -error;
}

int thread_start(pthread_t *thread, const cpu_set_t *cpus, void *(*main)(void *), void *argument,
		 const char *format, ...)
{
	struct thread_birth *birth = malloc(sizeof(*birth));
	char name[THREAD_NAME];
	va_list arguments;
	int error;

	if (!birth)
		return failed(-ENOMEM, "no memory to start a thread");
	birth->main = main;
	birth->argument = argument;
	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	memcpy(birth->name, name, sizeof(name));
	error = create_blocked(thread, cpus, birth);
	if (!error)
		return 0;
	free(birth);
	if (error == -EINVAL && cpus)
		return failed(error, "thread %s: none of its CPUs is usable by this process", name);
	return failed(error, "thread %s: %s; more than `ulimit -u` allows?", name,
		      strerror(-error));
}

void thread_short_slices(void)
{
	struct thread_scheduling scheduling = {
		.size = sizeof(scheduling),
		.policy = SCHED_OTHER,
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime_ns = SLICE_NS,
	};

	/* Who was given another policy keeps it. */
	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)syscall(SYS_sched_setattr, 0, &scheduling, 0);
}

void monotonic_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

bool monotonic_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, __u64 deadline_ns)
{
	struct timespec deadline = timespec_of_ns(deadline_ns);

	return pthread_cond_timedwait(cond, lock, &deadline) != ETIMEDOUT;
}

void sleep_until(__u64 deadline_ns)
{
	struct timespec deadline = timespec_of_ns(deadline_ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
		;
}
