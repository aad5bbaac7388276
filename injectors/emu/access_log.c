// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/access_buffer.h"
#include "injectors/emu/channel.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define BUFFERS		    8
#define RECORDS_FEW_DEVICES 512 /* 64 KiB a device */
#define RECORDS_MANY	    64	/* 8 KiB, as there may be thousands of devices */
#define FEW_DEVICES	    64
#define RING_RECORDS	    65536
#define INTERVAL_NS	    (5 * NSEC_PER_MSEC)
#define BATCH		    64 /* records published at once: the most that a reader finds torn */

/* A device that has records to take, in a heap by the time of its oldest. */
struct merge_entry {
	struct access_record record;
	struct access_device *device;
};

struct access_log {
	struct access_log_config config;
	struct access_ring *ring;
	size_t ring_bytes;
	int descriptor;
	struct doorbell wake; /* rung by devices, waited for by the owner */
	pthread_t thread;
	bool running, stopping;
	__u64 republished;
	__u32 batched;
	struct access_record batch[BATCH];
	struct merge_entry *heap; /* one a device at most */
	__u32 heap_size;
	struct access_device device[];
};

/* Publishes the batch: readers can tell by `reserved` what was being overwritten under them. */
static void ring_publish(struct access_log *log)
{
	struct access_ring *ring = log->ring;
	__u64 head = ring->head;

	__atomic_store_n(&ring->reserved, head + log->batched, __ATOMIC_RELAXED);
	/* No record is touched before that is visible. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (__u32 i = 0; i < log->batched; i++)
		ring->records[(head + i) & (log->config.ring_records - 1)] = log->batch[i];
	__atomic_store_n(&ring->head, head + log->batched, __ATOMIC_RELEASE);
	__atomic_store_n(&log->republished, log->republished + log->batched, __ATOMIC_RELAXED);
	log->batched = 0;
}

static void ring_add(struct access_log *log, const struct access_record *record)
{
	if (log->config.taken)
		log->config.taken(log->config.argument, record);
	log->batch[log->batched++] = *record;
	if (log->batched == BATCH)
		ring_publish(log);
}

/* Restores the heap below `at`. */
static void heap_sink(struct access_log *log, __u32 at)
{
	struct merge_entry moved = log->heap[at];

	for (;;) {
		__u32 child = 2 * at + 1;

		if (child >= log->heap_size)
			break;
		if (child + 1 < log->heap_size &&
		    log->heap[child + 1].record.time_ns < log->heap[child].record.time_ns)
			child++;
		if (log->heap[child].record.time_ns >= moved.record.time_ns)
			break;
		log->heap[at] = log->heap[child];
		at = child;
	}
	log->heap[at] = moved;
}

/* Takes what all devices have, merged by time; what arrives meanwhile is taken too. */
static void owner_pass(struct access_log *log)
{
	__u64 discarded = 0;

	log->heap_size = 0;
	for (__u32 i = 0; i < log->config.devices; i++) {
		struct merge_entry *entry = &log->heap[log->heap_size];

		discarded += __atomic_load_n(&log->device[i].discarded, __ATOMIC_RELAXED);
		entry->device = &log->device[i];
		entry->record.device = (__u16)i;
		if (access_device_peek(entry->device, &entry->record))
			log->heap_size++;
	}
	for (__u32 i = log->heap_size / 2; i-- > 0;)
		heap_sink(log, i);
	while (log->heap_size) {
		struct merge_entry *first = &log->heap[0];

		ring_add(log, &first->record);
		access_device_take(first->device);
		if (!access_device_peek(first->device, &first->record))
			*first = log->heap[--log->heap_size];
		if (log->heap_size)
			heap_sink(log, 0);
	}
	ring_publish(log);
	__atomic_store_n(&log->ring->discarded, discarded, __ATOMIC_RELAXED);
}

static void *owner_thread(void *argument)
{
	struct access_log *log = argument;

	while (!__atomic_load_n(&log->stopping, __ATOMIC_ACQUIRE)) {
		__u32 seen = doorbell_count(&log->wake);
		__u64 next = monotonic_ns() + log->config.interval_ns;

		owner_pass(log);
		if (!__atomic_load_n(&log->stopping, __ATOMIC_ACQUIRE))
			doorbell_wait(&log->wake, seen, next);
	}
	/* The devices are silent: this takes the rest. */
	owner_pass(log);
	return NULL;
}

static int ring_create(struct access_log *log)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

	log->ring_bytes = sizeof(struct access_ring) +
			  log->config.ring_records * sizeof(struct access_record);
	log->descriptor = memfd_create("faultline-access-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (log->descriptor < 0)
		return failed(-errno, "cannot create the access log's memory: %s", strerror(errno));
	if (ftruncate(log->descriptor, (off_t)log->ring_bytes))
		return failed(-errno, "cannot give the access log %zu bytes: %s", log->ring_bytes,
			      strerror(errno));
	log->ring =
		mmap(NULL, log->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, log->descriptor, 0);
	if (log->ring == MAP_FAILED) {
		log->ring = NULL;
		return failed(-errno, "cannot map the access log: %s", strerror(errno));
	}
	/* From here on nobody resizes it and nobody else can map it writable. */
	if (fcntl(log->descriptor, F_ADD_SEALS, seals))
		return failed(-errno, "cannot seal the access log: %s", strerror(errno));
	log->ring->magic = ACCESS_LOG_MAGIC;
	log->ring->capacity = log->config.ring_records;
	log->ring->record_size = sizeof(struct access_record);
	return 0;
}

static int config_defaults(struct access_log_config *config)
{
	if (!config->buffers)
		config->buffers = BUFFERS;
	if (!config->buffer_records)
		config->buffer_records =
			config->devices <= FEW_DEVICES ? RECORDS_FEW_DEVICES : RECORDS_MANY;
	if (!config->ring_records)
		config->ring_records = RING_RECORDS;
	if (!config->interval_ns)
		config->interval_ns = INTERVAL_NS;
	if (config->buffers < 2 || config->buffers > 64)
		return failed(-EINVAL, "access log: %u buffers a device: accepted: 2 to 64",
			      config->buffers);
	if (config->buffer_records < 2)
		return failed(-EINVAL, "access log: %u records a buffer: accepted: from 2",
			      config->buffer_records);
	if (config->ring_records < BATCH || config->ring_records & (config->ring_records - 1))
		return failed(-EINVAL,
			      "access log: ring of %u records: accepted: powers of two "
			      "from %d",
			      config->ring_records, BATCH);
	return 0;
}

int access_log_create(struct access_log **log, const struct access_log_config *config)
{
	struct access_log_config filled = *config;
	struct access_log *new;
	int err;

	err = config_defaults(&filled);
	if (err)
		return err;
	new = calloc(1, sizeof(*new) + filled.devices * sizeof(new->device[0]));
	if (!new)
		return failed(-ENOMEM, "no memory for an access log of %u devices", filled.devices);
	new->config = filled;
	new->descriptor = -1;
	new->heap = calloc((size_t)filled.devices + 1, sizeof(*new->heap));
	err = new->heap ? ring_create(new) : failed(-ENOMEM, "no memory for the access log");
	for (__u32 i = 0; !err && i < filled.devices; i++)
		err = access_device_init(&new->device[i], filled.buffers, filled.buffer_records);
	if (!err)
		err = thread_start(&new->thread, NULL, owner_thread, new, "access-log");
	if (err) {
		access_log_destroy(new);
		return err;
	}
	new->running = true;
	*log = new;
	return 0;
}

void access_log_stop(struct access_log *log)
{
	if (!log || !log->running)
		return;
	__atomic_store_n(&log->stopping, true, __ATOMIC_RELEASE);
	doorbell_ring(&log->wake);
	pthread_join(log->thread, NULL);
	log->running = false;
}

void access_log_destroy(struct access_log *log)
{
	if (!log)
		return;
	access_log_stop(log);
	for (__u32 i = 0; i < log->config.devices; i++)
		access_device_free(&log->device[i]);
	if (log->ring)
		munmap(log->ring, log->ring_bytes);
	if (log->descriptor >= 0)
		close(log->descriptor);
	free(log->heap);
	free(log);
}

static struct access_record record_of(__u16 queue, const struct io_range *range)
{
	__u64 latency = range->end_ns > range->start_ns
				? (range->end_ns - range->start_ns) / ACCESS_LATENCY_NS
				: 0;

	if (latency > ACCESS_LATENCY_MAX)
		latency = ACCESS_LATENCY_MAX;
	return (struct access_record){
		.time_ns = range->end_ns,
		.address = range->address,
		.length = range->length,
		.latency = (__u32)latency,
		.latency_high = (__u16)(latency >> 32),
		.queue = queue,
		.flags = range->flags,
		.code = range->code,
	};
}

void access_log_add(struct access_log *log, __u32 device, __u16 queue,
		    const struct io_range *ranges, __u32 count)
{
	struct access_device *to = &log->device[device];
	bool hurry = false;

	pthread_mutex_lock(&to->lock);
	for (__u32 i = 0; i < count; i++) {
		struct access_record record = record_of(queue, &ranges[i]);

		hurry |= access_device_add(to, &record);
	}
	pthread_mutex_unlock(&to->lock);
	if (hurry && !log->config.punctual)
		doorbell_ring(&log->wake);
}

int access_log_descriptor(const struct access_log *log)
{
	return log->descriptor;
}

void access_log_stats(const struct access_log *log, struct access_log_stats *stats)
{
	*stats = (struct access_log_stats){
		.republished = __atomic_load_n(&log->republished, __ATOMIC_RELAXED)};
	for (__u32 i = 0; i < log->config.devices; i++) {
		const struct access_device *device = &log->device[i];
		__u64 discarded = __atomic_load_n(&device->discarded, __ATOMIC_RELAXED);

		stats->discarded += discarded;
		stats->produced += discarded + __atomic_load_n(&device->accepted, __ATOMIC_RELAXED);
	}
}
