// SPDX-License-Identifier: GPL-2.0
/* From whoever has something to tell to the process of the host whose machine it is of, which fires the probe. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "injectors/cluster/probes.h"
#include "injectors/cluster/seen_private.h"
#include "injectors/emu/access_log.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define RELAY_NS  (5 * NSEC_PER_MSEC)
#define GAUGES_NS (100 * NSEC_PER_MSEC)

/* Of this process. */
static struct {
	pthread_mutex_t lock; /* its threads take turns with its rings; and with what follows */
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping;
	struct registry *registry;
	struct access_log *log;
	__u64 gauges_ns;
} mine = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* Another thread of the parent may have held the lock when this process came to be, and its relay is not ours. */
static void forget_parent(void)
{
	mine = (typeof(mine)){.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
}

int sights_create(struct cluster *cluster)
{
	static bool watched;
	const struct cluster_config *config = cluster->config;
	struct sights *s = shared_alloc(cluster, sizeof(*s));

	if (!s)
		return -ENOMEM;
	cluster->sights = s;
	s->producers = agent_count(cluster) + 1;
	s->run = (__u32)(monotonic_ns() / NSEC_PER_USEC);
	s->gauges_of_host = config->device_count + config->fabric->node_count + s->producers;
	s->cursors = shared_alloc(cluster, sizeof(*s->cursors) * s->producers * config->host_count);
	s->own = shared_alloc(cluster, sizeof(*s->own) * SEEN_OWN * s->producers);
	s->cross = shared_alloc(cluster,
				sizeof(*s->cross) * SEEN_CROSS * s->producers * config->host_count);
	s->gauges =
		shared_alloc(cluster, sizeof(*s->gauges) * config->host_count * s->gauges_of_host);
	if (!s->cursors || !s->own || !s->cross || !s->gauges)
		return -ENOMEM;
	if (!watched && pthread_atfork(NULL, NULL, forget_parent))
		return failed(-ENOMEM, "no memory for what a fork has to do");
	watched = true;
	return sights_number(cluster);
}

static __u32 producer_of(const struct cluster *cluster)
{
	__u32 last = cluster->sights->producers - 1;

	return cluster->self < last ? cluster->self : last;
}

static struct seen_cursor *cursor_of(const struct sights *s, const struct cluster *cluster,
				     __u32 producer, __u32 host)
{
	return &s->cursors[(size_t)producer * cluster->config->host_count + host];
}

static struct seen_record *seen_slot(const struct cluster *cluster, __u32 producer, __u32 host,
				     __u64 at)
{
	const struct sights *s = cluster->sights;
	__u32 hosts = cluster->config->host_count;

	if (producer < s->producers - 1 && agent_info(cluster, producer)->host == host)
		return &s->own[(size_t)producer * SEEN_OWN + at % SEEN_OWN];
	return &s->cross[((size_t)producer * hosts + host) * SEEN_CROSS + at % SEEN_CROSS];
}

static __u64 room_of(const struct cluster *cluster, __u32 producer, __u32 host)
{
	return producer < cluster->sights->producers - 1 &&
			       agent_info(cluster, producer)->host == host
		       ? SEEN_OWN
		       : SEEN_CROSS;
}

static void seen_log_io(const struct seen_record *record)
{
	__u8 flags = record->at[0] >> 56;
	struct io_range range = {
		.address = record->at[1] & ((1ull << 48) - 1),
		.length = record->at[2] < (2u << 20) ? record->at[2] : 2u << 20,
		.flags = flags & (EVENT_READ | EVENT_WRITE),
		.code = record->at[0] >> 48 & 0xff,
		.start_ns = record->begin_ns,
		.end_ns = record->end_ns,
	};

	if (mine.log)
		access_log_add(mine.log, (__u32)record->at[0], record->at[0] >> 32 & 0xffff, &range,
			       1);
}

/* The only place of each probe. */
static void fire(const struct seen_record *record)
{
	const __u64 *at = record->at;

	if (record->kind == EVENT_LEND_IO)
		seen_log_io(record);
	switch (record->kind) {
#define FIRE(KIND, probe)              \
	case EVENT_##KIND:             \
		LEND_PROBE(probe, at); \
		break;
		LEND_PROBES(FIRE)
#undef FIRE
	case EVENT_INJECT_START:
		INJECT_PROBE(start, at[0], at[1], at[2]);
		break;
	case EVENT_INJECT_STOP:
		INJECT_PROBE(stop, at[0], at[1], at[2]);
		break;
	default:
		break;
	}
}

void seen_post(struct cluster *cluster, __u32 host, const struct seen_record *record)
{
	__u32 producer = producer_of(cluster);
	struct seen_cursor *cursor;
	__u64 head;

	if (host >= cluster->config->host_count ||
	    ((__u32)record->at[0] == SEEN_NONE && record->kind != EVENT_INJECT_START &&
	     record->kind != EVENT_INJECT_STOP)) {
		atomic_fetch_add(&cluster->sights->unplaced, 1);
		return;
	}
	if (cluster->self == host) { /* agents 0 to host_count - 1 are the hosts' own */
		fire(record);
		return;
	}
	cursor = cursor_of(cluster->sights, cluster, producer, host);
	pthread_mutex_lock(&mine.lock);
	head = atomic_load_explicit(&cursor->head, memory_order_relaxed);
	if (head - atomic_load_explicit(&cursor->tail, memory_order_acquire) >=
	    room_of(cluster, producer, host)) {
		atomic_fetch_add(&cursor->lost, 1);
	} else {
		*seen_slot(cluster, producer, host, head) = *record;
		atomic_store_explicit(&cursor->head, head + 1, memory_order_release);
	}
	pthread_mutex_unlock(&mine.lock);
}

__u64 seen_lost(const struct cluster *cluster)
{
	const struct sights *s = cluster->sights;
	__u64 lost = atomic_load(&s->unplaced);

	for (size_t i = 0; i < (size_t)s->producers * cluster->config->host_count; i++)
		lost += atomic_load(&s->cursors[i].lost);
	return lost;
}

/* Takes before it fires: a host that is killed between the two loses that one, and its next life tells nothing twice. */
static void drain(struct cluster *cluster, __u32 producer)
{
	struct seen_cursor *cursor = cursor_of(cluster->sights, cluster, producer, cluster->host);
	__u64 head = atomic_load_explicit(&cursor->head, memory_order_acquire);
	__u64 tail = atomic_load_explicit(&cursor->tail, memory_order_relaxed);

	/* Nothing of ours writes that. */
	if (head - tail > room_of(cluster, producer, cluster->host)) {
		tail = head;
		atomic_store_explicit(&cursor->tail, tail, memory_order_release);
	}
	while (tail != head) {
		struct seen_record record = *seen_slot(cluster, producer, cluster->host, tail);

		atomic_store_explicit(&cursor->tail, ++tail, memory_order_release);
		fire(&record);
	}
}

/* So that a recording knows that it has not got all. */
static void tell_no_room(struct cluster *cluster)
{
	struct seen_record record = {.kind = EVENT_LEND_LOST};

	record.at[5] = PASID_NONE | (__u64)cluster->sights->run << 32;
	for (__u32 producer = 0; producer < cluster->sights->producers; producer++) {
		struct seen_cursor *cursor =
			cursor_of(cluster->sights, cluster, producer, cluster->host);
		__u64 lost = atomic_load(&cursor->lost);

		record.at[3] += lost - cursor->lost_told;
		cursor->lost_told = lost;
	}
	if (record.at[3])
		fire(&record);
}

void seen_relay(struct cluster *cluster)
{
	__u64 now = monotonic_ns();

	for (__u32 producer = 0; producer < cluster->sights->producers; producer++)
		drain(cluster, producer);
	if (now - mine.gauges_ns < GAUGES_NS)
		return;
	mine.gauges_ns = now;
	tell_no_room(cluster);
	seen_gauges_fire(cluster);
}

static void *relay(void *argument)
{
	struct timespec until;

	pthread_mutex_lock(&mine.lock);
	while (!mine.stopping) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += RELAY_NS;
		if (until.tv_nsec >= (long)NSEC_PER_SEC) {
			until.tv_nsec -= NSEC_PER_SEC;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&mine.wake, &mine.lock, &until);
		pthread_mutex_unlock(&mine.lock);
		seen_relay(argument);
		pthread_mutex_lock(&mine.lock);
	}
	pthread_mutex_unlock(&mine.lock);
	return NULL;
}

int seen_open(struct cluster *cluster)
{
	struct registry_device *devices;
	__u32 count;
	int err = seen_registry(cluster, cluster->host, &devices, &count);

	if (err)
		return err;
	err = access_log_create(&mine.log, &(struct access_log_config){.devices = count});
	if (!err)
		err = registry_open(&mine.registry, devices, count,
				    access_log_descriptor(mine.log));
	free(devices);
	if (!err) {
		err = -pthread_create(&mine.thread, NULL, relay, cluster);
		if (err)
			failed(err, "cannot start the thread that tells what is seen");
		mine.running = !err;
	}
	if (err)
		seen_close(cluster);
	return err;
}

void seen_close(struct cluster *cluster)
{
	struct access_log_stats stats = {};

	if (mine.running) {
		pthread_mutex_lock(&mine.lock);
		mine.stopping = true;
		pthread_cond_signal(&mine.wake);
		pthread_mutex_unlock(&mine.lock);
		pthread_join(mine.thread, NULL);
		mine.gauges_ns = 0;
		seen_relay(cluster); /* what came last, and the counters as they end */
	}
	if (mine.log) {
		access_log_stop(mine.log);
		access_log_stats(mine.log, &stats);
	}
	if (mine.registry)
		registry_close(mine.registry, stats.produced);
	if (mine.log)
		access_log_destroy(mine.log);
	mine.registry = NULL;
	mine.log = NULL;
	mine.running = mine.stopping = false;
}
