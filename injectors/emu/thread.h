/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads and time of the emulated machine.
 *
 * A machine with hundreds of tenants has over a thousand threads: small stacks, a name each for
 * people looking with `top -H`, and no timer slack, so that an injected 20 us is 20 us.
 */
#ifndef FAULTLINE_EMU_THREAD_H
#define FAULTLINE_EMU_THREAD_H

#include <linux/types.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "lib/base/clock.h"

#define THREAD_NAME 16

/* Starts main(argument) under a name (cut to 15 bytes), on `cpus` if not NULL and not empty.
 * Asynchronous signals are blocked in it. Negative errno with a sentence. */
int thread_start(pthread_t *thread, const cpu_set_t *cpus, void *(*main)(void *), void *argument,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * The calling thread is one that others wait for: on a busy machine it is to run at once, and for as long as it takes to serve them,
 * not after the 3 ms that each of its neighbours may go on. Linux 6.12 and later do that; else nothing changes.
 */
void thread_short_slices(void);

/* A condition variable whose timed waits take CLOCK_MONOTONIC. */
void monotonic_cond_init(pthread_cond_t *cond);
/* Waits until signalled, or at most until `deadline_ns`. False once that has passed. */
bool monotonic_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, __u64 deadline_ns);

void sleep_until(__u64 deadline_ns);

#endif
