// SPDX-License-Identifier: GPL-2.0
/* [borrow] sections of a host: each a thread that waits for its time, borrows, runs the stock driver, returns, and tries again. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "injectors/cluster/accel.h"
#include "injectors/cluster/lend_private.h"
#include "injectors/cluster/seen.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* How often a thread that waits, and the one that looks after all, look at the clock. */
#define BORROWS_LOOK_NS (10 * NSEC_PER_MSEC)

struct borrow_thread {
	struct cluster *cluster;
	const struct borrow_config *config;
	struct borrow_results *results;
	__u32 function;
	struct lend_borrow borrow;
	struct bus bus;
	pthread_t thread;
	/* Read by who looks after it. */
	__u32 runs;	/* number of the borrow whose driver runs, + 1; 0: none */
	__u64 until_ns; /* of the run */
	int stop;	/* for its driver */
};
/* Of this process. */
static struct borrow_threads {
	struct borrow_thread *threads;
	__u32 count;
	pthread_t watch;
	bool watching;
	int end; /* of all of them */
} borrows;

static bool borrows_over(const struct cluster *cluster)
{
	return cluster_stopping(cluster) || __atomic_load_n(&borrows.end, __ATOMIC_ACQUIRE);
}

static void borrows_nap(void)
{
	struct timespec nap = timespec_of_ns(BORROWS_LOOK_NS);

	nanosleep(&nap, NULL);
}

/* Until then; false: all is over before. */
static bool borrow_sleep(const struct cluster *cluster, __u64 run_ns)
{
	while (!borrows_over(cluster)) {
		__u64 now = cluster_run_ns(cluster);

		if (now && now >= run_ns)
			return true;
		borrows_nap();
	}
	return false;
}

/* Drivers end when their time is over, or when the device is wanted back. */
static void *borrows_watch(void *argument)
{
	struct cluster *cluster = argument;
	bool over = false;

	while (!__atomic_load_n(&borrows.end, __ATOMIC_ACQUIRE) || !over) {
		over = borrows_over(cluster);
		for (__u32 i = 0; i < borrows.count; i++) {
			struct borrow_thread *thread = &borrows.threads[i];
			__u32 runs = __atomic_load_n(&thread->runs, __ATOMIC_ACQUIRE);

			if (over || (runs && (cluster_run_ns(cluster) >= thread->until_ns ||
					      lend_asked_back(cluster, runs - 1))))
				__atomic_store_n(&thread->stop, 1, __ATOMIC_RELEASE);
		}
		borrows_nap();
	}
	return NULL;
}

static int borrow_drive(struct borrow_thread *thread)
{
	struct cluster *cluster = thread->cluster;
	const struct borrow_config *config = thread->config;
	struct lend_record *record = lend_record(cluster, thread->borrow.number);
	struct io_user user;
	int err = io_user_open(&user, cluster, &config->io, config->device, CLUSTER_NONE, 0);

	if (err)
		return err;
	user.seen_as = seen_device(cluster, cluster->host, config->device);
	lend_step(cluster, STEP_PROBE, record, 0, 0, 0);
	err = stock_driver_run(&thread->bus, config, &user, &thread->stop);
	io_user_close(&user);
	lend_step(cluster, STEP_UNBIND, record, 0, 0, err);
	return err;
}

/* The device is ours. */
static int borrow_use(struct borrow_thread *thread)
{
	struct cluster *cluster = thread->cluster;
	bool local = thread->borrow.lender == thread->borrow.borrower;
	int err = local ? bus_local_open(&thread->bus, cluster, thread->function)
			: bus_lent_open(&thread->bus, cluster, &thread->borrow);

	if (err)
		return err;
	thread->until_ns =
		thread->config->for_ns ? cluster_run_ns(cluster) + thread->config->for_ns : ~0ull;
	__atomic_store_n(&thread->stop, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&thread->runs, thread->borrow.number + 1, __ATOMIC_RELEASE);
	err = borrow_drive(thread);
	__atomic_store_n(&thread->runs, 0, __ATOMIC_RELEASE);
	if (local)
		bus_local_close(&thread->bus);
	else
		bus_lent_close(&thread->bus);
	return err;
}

static bool borrow_device_gone(const struct borrow_thread *thread)
{
	return thread->results->error == -ENODEV || thread->results->error == -EHOSTDOWN;
}

/* All of its I/Os, or of its time. */
static bool borrow_done(const struct borrow_thread *thread)
{
	const struct io_config *io = &thread->config->io;
	const struct io_counts *counts = io_counts_of(thread->cluster, io);

	if (io->ios)
		return counts->ios + counts->errors >= io->ios;
	return cluster_run_ns(thread->cluster) >= thread->until_ns;
}

/* What it had to do ends with the device, or with what its driver met, unless it tries again. */
static void borrow_lost(struct borrow_thread *thread, const char *how)
{
	struct borrow_results *results = thread->results;

	if (thread->config->retry_ns || borrows_over(thread->cluster))
		return;
	results->failed = true;
	if (!results->error)
		results->error = -ENODEV;
	if (borrow_device_gone(thread) || !*results->text)
		snprintf(results->text, sizeof(results->text), "%s was %s: %s",
			 thread->cluster->config->devices[thread->config->device].name, how,
			 strerror(-results->error));
}

/* Why it is over: its I/Os, its time, or because it was taken. False: once more, if it tries again at all. */
static bool borrow_ended(struct borrow_thread *thread)
{
	const struct cluster *cluster = thread->cluster;
	bool asked = lend_asked_back(cluster, thread->borrow.number);

	switch (lend_end_of(cluster, thread->borrow.number)) {
	case LEND_END_RETURNED:
		thread->results->returned++;
		thread->results->revoked += asked;
		if (asked && !borrow_done(thread))
			borrow_lost(thread, "taken back");
		else if (thread->results->error)
			borrow_lost(thread, "lost");
		return !asked && !borrow_device_gone(thread);
	case LEND_END_REVOKED:
		thread->results->revoked++;
		borrow_lost(thread, "taken back");
		return false;
	default:
		thread->results->lost++;
		borrow_lost(thread, "lost");
		return false;
	}
}

/* One borrow from its request to its return. */
static bool borrow_once(struct borrow_thread *thread)
{
	struct cluster *cluster = thread->cluster;
	const struct borrow_config *config = thread->config;
	struct borrow_results *results = thread->results;
	struct lend_counts counts;
	int err;

	results->tries++;
	err = lend_borrow(
		cluster,
		&(struct lend_wish){.function = thread->function,
				    .adapters = {config->adapters[0], config->adapters[1]},
				    .window = config->window},
		&thread->borrow);
	if (err) {
		results->refused++;
		results->error = err;
		snprintf(results->text, sizeof(results->text), "%s", failure_text());
		return false;
	}
	results->borrows++;
	results->last = thread->borrow.number;
	lend_counts_of(cluster, thread->borrow.number, &counts);
	results->borrow_ns = counts.borrow_ns;
	results->error = borrow_use(thread);
	if (results->error)
		snprintf(results->text, sizeof(results->text), "%s", failure_text());
	/* Before it is given back, what is wrong with it says more than what its driver met first. */
	err = lend_check(cluster, &thread->borrow);
	if (results->error && err)
		results->error = err;
	lend_return(cluster, &thread->borrow);
	return borrow_ended(thread);
}

static void *borrow_thread_run(void *argument)
{
	struct borrow_thread *thread = argument;
	struct cluster *cluster = thread->cluster;
	__u64 next = thread->config->at_ns;
	bool counted = thread->config->io.ios;

	while (borrow_sleep(cluster, next)) {
		if (borrow_once(thread) || !thread->config->retry_ns)
			break;
		next = cluster_run_ns(cluster) + thread->config->retry_ns;
	}
	thread->results->over = true;
	if (counted)
		agent_work(cluster, -1);
	return NULL;
}

static int borrow_begin(struct cluster *cluster, __u32 number)
{
	const struct borrow_config *config = &cluster->config->borrows[number];
	struct borrow_thread *thread = &borrows.threads[borrows.count];

	*thread = (struct borrow_thread){
		.cluster = cluster,
		.config = config,
		.results = &cluster->lends->results[number],
		.function = function_of(cluster, config->device, config->function)};
	thread->results->over = false;
	if (config->io.ios)
		agent_work(cluster, 1);
	if (pthread_create(&thread->thread, NULL, borrow_thread_run, thread)) {
		if (config->io.ios)
			agent_work(cluster, -1);
		return failed(-EAGAIN, "no thread for [borrow %s]", config->name);
	}
	borrows.count++;
	return 0;
}

int borrows_start(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	int err = 0;

	borrows = (struct borrow_threads){
		.threads = calloc(config->borrow_count + 1ull, sizeof(*borrows.threads))};
	if (!borrows.threads)
		return failed(-ENOMEM, "no memory for %u [borrow] sections", config->borrow_count);
	for (__u32 i = 0; !err && i < config->borrow_count; i++)
		if (config->borrows[i].host == cluster->host)
			err = borrow_begin(cluster, i);
	if (!err && borrows.count) {
		borrows.watching = !pthread_create(&borrows.watch, NULL, borrows_watch, cluster);
		if (!borrows.watching)
			err = failed(-EAGAIN, "no thread for [borrow] sections");
	}
	if (err)
		borrows_stop(cluster);
	return err;
}

void borrows_stop(struct cluster *cluster)
{
	(void)cluster;
	__atomic_store_n(&borrows.end, 1, __ATOMIC_RELEASE);
	for (__u32 i = 0; i < borrows.count; i++) {
		__atomic_store_n(&borrows.threads[i].stop, 1, __ATOMIC_RELEASE);
		pthread_join(borrows.threads[i].thread, NULL);
	}
	if (borrows.watching)
		pthread_join(borrows.watch, NULL);
	free(borrows.threads);
	borrows = (struct borrow_threads){.end = 1};
}

const struct borrow_results *borrow_results_of(const struct cluster *cluster, __u32 borrow)
{
	return borrow < cluster->config->borrow_count ? &cluster->lends->results[borrow] : NULL;
}
