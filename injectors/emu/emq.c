// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/emq.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "injectors/emu/lookup_private.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define DRAIN_LOOK_NS 20000 /* a DMA lasts from a copy to a disk access */

/* Host memory that the device never reads but for told(): what the token of an entry stands for. */
struct poster {
	const struct emq_request *request;
	pthread_cond_t acknowledgement;
	bool acknowledged;
};

struct emq_entry {
	struct lookup *lookup;
	__u64 iova, length;
	struct poster *token;
	enum emq_command command;
};

struct emq {
	pthread_mutex_t lock;
	pthread_cond_t doorbell, space;
	struct emq_entry *ring;
	__u32 entries, producer, consumer; /* indices run freely */
	bool stopped;
	struct emq_stats stats;
	/* The device's own, without the lock: commands taken and not yet acknowledged, and those of
	 * them about to be. */
	struct emq_entry *taken;
	struct poster **done;
	__u32 taken_count;
	pthread_t manager;
	bool running;
};

/* As many as the device can keep; what is left waits in the ring. */
static void emq_take(struct emq *emq)
{
	if (emq->producer == emq->consumer || emq->taken_count == emq->entries)
		return;
	while (emq->producer != emq->consumer && emq->taken_count < emq->entries)
		emq->taken[emq->taken_count++] = emq->ring[emq->consumer++ & (emq->entries - 1)];
	pthread_cond_broadcast(&emq->space);
}

static void entry_execute(const struct emq_entry *entry)
{
	const struct emq_request *request = entry->token->request;

	if (entry->command == EMQ_MAP)
		lookup_mapped(entry->lookup, entry->iova, entry->length);
	else
		lookup_withdraw(entry->lookup, entry->iova, entry->length);
	if (request->told)
		request->told(request->argument);
}

/* R3: from its execution on no DMA gets in; those that were in are waited for. */
static bool entry_complete(const struct emq_entry *entry)
{
	return entry->command == EMQ_MAP ||
	       !lookup_in_use(entry->lookup, entry->iova, entry->length);
}

/* Moves the tokens of what is complete to `done`, in order; returns their number. */
static __u32 emq_collect(struct emq *emq)
{
	__u32 kept = 0, count = 0;

	for (__u32 i = 0; i < emq->taken_count; i++) {
		if (entry_complete(&emq->taken[i]))
			emq->done[count++] = emq->taken[i].token;
		else
			emq->taken[kept++] = emq->taken[i];
	}
	emq->taken_count = kept;
	return count;
}

static void emq_acknowledge(struct emq *emq, __u32 count)
{
	for (__u32 i = 0; i < count; i++) {
		emq->done[i]->acknowledged = true;
		pthread_cond_signal(&emq->done[i]->acknowledgement);
	}
}

static void wait_for_work(struct emq *emq)
{
	while (emq->producer == emq->consumer && !emq->taken_count && !emq->stopped)
		pthread_cond_wait(&emq->doorbell, &emq->lock);
	/* Nobody rings when a DMA ends: its path is not to pay for that. */
	if (emq->taken_count &&
	    (emq->producer == emq->consumer || emq->taken_count == emq->entries))
		monotonic_cond_wait_until(&emq->doorbell, &emq->lock,
					  monotonic_ns() + DRAIN_LOOK_NS);
}

static void *emq_manage(void *argument)
{
	struct emq *emq = argument;
	__u32 first, count;

	pthread_mutex_lock(&emq->lock);
	for (;;) {
		wait_for_work(emq);
		first = emq->taken_count;
		emq_take(emq);
		if (!emq->taken_count)
			break;
		pthread_mutex_unlock(&emq->lock);
		for (__u32 i = first; i < emq->taken_count; i++)
			entry_execute(&emq->taken[i]);
		count = emq_collect(emq);
		pthread_mutex_lock(&emq->lock);
		emq_acknowledge(emq, count);
	}
	pthread_mutex_unlock(&emq->lock);
	return NULL;
}

int emq_create(struct emq **emq, __u32 entries)
{
	struct emq *new;
	int error;

	entries = entries ? entries : EMQ_ENTRIES;
	if (entries < 2 || entries > 65536 || (entries & (entries - 1)))
		return failed(-EINVAL,
			      "event message queue of %u entries: accepted: a power of two, "
			      "2 to 65536",
			      entries);
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for the event message queue");
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->doorbell);
	pthread_cond_init(&new->space, NULL);
	histogram_init(&new->stats.round_trip);
	new->entries = entries;
	new->ring = calloc(entries, sizeof(*new->ring));
	new->taken = calloc(entries, sizeof(*new->taken));
	new->done = calloc(entries, sizeof(void *));
	error = new->ring &&new->taken &&new->done
			? thread_start(&new->manager, NULL, emq_manage, new, "pa-manager")
			: failed(-ENOMEM, "no memory for the event message queue");
	new->running = !error;
	if (error)
		emq_destroy(new);
	else
		*emq = new;
	return error;
}

void emq_stop(struct emq *emq)
{
	if (!emq || !emq->running)
		return;
	pthread_mutex_lock(&emq->lock);
	emq->stopped = true;
	pthread_cond_signal(&emq->doorbell);
	pthread_cond_broadcast(&emq->space);
	pthread_mutex_unlock(&emq->lock);
	pthread_join(emq->manager, NULL);
	emq->running = false;
}

void emq_destroy(struct emq *emq)
{
	if (!emq)
		return;
	emq_stop(emq);
	pthread_cond_destroy(&emq->space);
	pthread_cond_destroy(&emq->doorbell);
	pthread_mutex_destroy(&emq->lock);
	free(emq->done);
	free(emq->taken);
	free(emq->ring);
	free(emq);
}

/* Waits for a free slot, with the lock held. False once stopped. */
static bool wait_for_space(struct emq *emq)
{
	if (emq->producer - emq->consumer == emq->entries)
		emq->stats.full_waits++;
	while (emq->producer - emq->consumer == emq->entries && !emq->stopped)
		pthread_cond_wait(&emq->space, &emq->lock);
	return !emq->stopped;
}

static void emq_put(struct emq *emq, const struct emq_request *request, struct poster *poster)
{
	__u32 depth;

	emq->ring[emq->producer++ & (emq->entries - 1)] = (struct emq_entry){
		.lookup = request->lookup,
		.iova = request->iova,
		.length = request->length,
		.token = poster,
		.command = request->command,
	};
	depth = emq->producer - emq->consumer;
	if (depth > emq->stats.depth_max)
		emq->stats.depth_max = depth;
	pthread_cond_signal(&emq->doorbell);
}

int emq_post(struct emq *emq, const struct emq_request *request)
{
	struct poster poster = {.request = request};
	__u64 start = monotonic_ns();

	pthread_mutex_lock(&emq->lock);
	if (!wait_for_space(emq)) {
		pthread_mutex_unlock(&emq->lock);
		return -ESHUTDOWN;
	}
	pthread_cond_init(&poster.acknowledgement, NULL);
	emq_put(emq, request, &poster);
	while (!poster.acknowledged)
		pthread_cond_wait(&poster.acknowledgement, &emq->lock);
	if (request->command == EMQ_MAP) {
		emq->stats.maps++;
	} else {
		emq->stats.invalidations++;
		histogram_add(&emq->stats.round_trip, monotonic_ns() - start);
	}
	pthread_mutex_unlock(&emq->lock);
	pthread_cond_destroy(&poster.acknowledgement);
	return 0;
}

void emq_stats(struct emq *emq, struct emq_stats *stats)
{
	pthread_mutex_lock(&emq->lock);
	*stats = emq->stats;
	stats->depth = emq->producer - emq->consumer;
	pthread_mutex_unlock(&emq->lock);
}
