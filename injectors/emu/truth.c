// SPDX-License-Identifier: GPL-2.0
/*
 * Records go to a chunk of the calling thread. Chunks are mapped and populated ahead by a thread of
 * ours, so that logging neither waits for memory nor causes the CPU faults that it tells about.
 */
#include "injectors/emu/truth.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/probes.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"

#define CHUNK_BYTES   (256u << 10)
#define CHUNK_RECORDS ((CHUNK_BYTES - sizeof(struct chunk)) / sizeof(struct truth_record))
#define CHUNKS_READY  4 /* mapped ahead, so that no page fault falls into a stage that is timed */

struct chunk {
	struct chunk *next;
	size_t count;
	struct truth_record records[];
};

static struct {
	FILE *file;
	char *path;
	atomic_bool enabled;
	_Atomic unsigned int opened; /* counts logs: a thread's chunk belongs to one of them */
	_Atomic __u64 lost;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t wanted;
	pthread_t provider;
	bool stopping;
	unsigned int ready_count;
	struct chunk *ready, *used;
} truth = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER};

static _Thread_local struct {
	struct chunk *chunk;
	unsigned int opened;
	__u32 tid;
} mine;

static struct chunk *chunk_map(void)
{
	struct chunk *chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return chunk == MAP_FAILED ? NULL : chunk;
}

static void chunks_unmap(struct chunk *chunk)
{
	while (chunk) {
		struct chunk *next = chunk->next;

		munmap(chunk, CHUNK_BYTES);
		chunk = next;
	}
}

static void *provide_chunks(void *argument)
{
	struct chunk *chunk;

	(void)argument;
	pthread_mutex_lock(&truth.lock);
	while (!truth.stopping) {
		if (truth.ready_count >= CHUNKS_READY) {
			pthread_cond_wait(&truth.wanted, &truth.lock);
			continue;
		}
		pthread_mutex_unlock(&truth.lock);
		chunk = chunk_map();
		pthread_mutex_lock(&truth.lock);
		if (!chunk) {
			/* Whoever needs one tries again, and counts the loss if that fails too. */
			pthread_cond_wait(&truth.wanted, &truth.lock);
			continue;
		}
		chunk->next = truth.ready;
		truth.ready = chunk;
		truth.ready_count++;
	}
	pthread_mutex_unlock(&truth.lock);
	return NULL;
}

static struct chunk *chunk_take(void)
{
	struct chunk *chunk;

	pthread_mutex_lock(&truth.lock);
	chunk = truth.ready;
	if (chunk) {
		truth.ready = chunk->next;
		truth.ready_count--;
	}
	pthread_cond_signal(&truth.wanted);
	pthread_mutex_unlock(&truth.lock);
	if (!chunk)
		chunk = chunk_map();
	if (!chunk)
		return NULL;
	pthread_mutex_lock(&truth.lock);
	chunk->next = truth.used;
	truth.used = chunk;
	pthread_mutex_unlock(&truth.lock);
	return chunk;
}

static int refuse_path(const char *path, int error)
{
	if (error == EEXIST)
		return failed(-error, "truth log %s exists: name another file", path);
	return failed(-error, "cannot create truth log %s: %s", path, strerror(error));
}

int truth_check(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	struct stat status;

	if (!lstat(path, &status))
		return refuse_path(path, EEXIST);
	if (errno != ENOENT || !*path)
		return refuse_path(path, errno);
	if (slash && !slash[1])
		return refuse_path(path, EISDIR);
	return faccessat(AT_FDCWD, files_folder(path, folder), W_OK | X_OK, AT_EACCESS)
		       ? refuse_path(path, errno)
		       : 0;
}

int truth_open(const char *path, bool overwrite)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (overwrite ? O_TRUNC : O_EXCL);
	int descriptor, error;

	if (truth_enabled())
		return failed(-EBUSY, "a truth log is open already");
	descriptor = open(path, flags, 0644);
	if (descriptor < 0)
		return refuse_path(path, errno);
	truth.file = fdopen(descriptor, "w");
	truth.path = strdup(path);
	if (!truth.file || !truth.path) {
		close(descriptor);
		free(truth.path);
		return failed(-ENOMEM, "no memory for truth log %s", path);
	}
	truth.stopping = false;
	error = pthread_create(&truth.provider, NULL, provide_chunks, NULL);
	if (error) {
		fclose(truth.file);
		free(truth.path);
		return failed(-error, "cannot start the truth log's thread: %s", strerror(error));
	}
	atomic_store(&truth.lost, 0);
	atomic_fetch_add(&truth.opened, 1);
	atomic_store(&truth.enabled, true);
	return 0;
}

/* Relaxed: a log is opened before a machine starts and closed after it has stopped. */
bool truth_enabled(void)
{
	return atomic_load_explicit(&truth.enabled, memory_order_relaxed);
}

void truth_log(struct truth_record record)
{
	if (!truth_enabled())
		return;
	if (!record.time_ns)
		record.time_ns = monotonic_ns();
	if (!mine.tid)
		mine.tid = gettid();
	record.tid = mine.tid;
	if (!mine.chunk || mine.opened != truth.opened || mine.chunk->count == CHUNK_RECORDS) {
		mine.chunk = chunk_take();
		mine.opened = truth.opened;
	}
	if (mine.chunk)
		mine.chunk->records[mine.chunk->count++] = record;
	else
		atomic_fetch_add(&truth.lost, 1);
}

static const char *who_name(unsigned int who)
{
	static const char *const names[] = {
		[TRUTH_DEVICE] = "device",	   [TRUTH_IOMMU] = "iommu",
		[TRUTH_SERVICE] = "service",	   [TRUTH_PAGER] = "pager",
		[TRUTH_RECLAIMER] = "reclaimer",   [TRUTH_INJECTOR] = "injector",
		[TRUTH_GUEST] = "guest",	   [TRUTH_PROTECTOR] = "protector",
		[TRUTH_HYPERVISOR] = "hypervisor",
	};

	return who < sizeof(names) / sizeof(names[0]) ? names[who] : "unknown";
}

static const char *what_name(unsigned int what)
{
	static const char *const names[] = {
		[TRUTH_DETECT] = "detect",
		[TRUTH_HELD] = "held",
		[TRUTH_RESUME] = "resume",
		[TRUTH_ABANDON] = "abandon",
		[TRUTH_REQUEST] = "request",
		[TRUTH_OVERFLOW] = "overflow",
		[TRUTH_VOID] = "void",
		[TRUTH_IO] = "io",
		[TRUTH_IO_PART] = "io_part",
		[TRUTH_INVALIDATE_ACK] = "invalidate_ack",
		[TRUTH_ISR] = "isr",
		[TRUTH_HANDLER] = "handler",
		[TRUTH_RESOLVED] = "resolved",
		[TRUTH_MAPPED] = "mapped",
		[TRUTH_RESPONSE] = "response",
		[TRUTH_INVALIDATE_START] = "invalidate_start",
		[TRUTH_INVALIDATE_DEVICE] = "invalidate_device",
		[TRUTH_INVALIDATE_FREED] = "invalidate_freed",
		[TRUTH_PAGE_IN] = "page_in",
		[TRUTH_EVICTED] = "evicted",
		[TRUTH_EVICT_FAILED] = "evict_failed",
		[TRUTH_INJECT_START] = "inject_start",
		[TRUTH_INJECT_STOP] = "inject_stop",
		[TRUTH_GUEST_START] = "guest_start",
		[TRUTH_GUEST_IO] = "guest_io",
		[TRUTH_GUEST_END] = "guest_end",
		[TRUTH_FLOW] = "flow",
		[TRUTH_FRAME] = "frame",
		[TRUTH_FRAME_LOST] = "frame_lost",
		[TRUTH_FRAME_HELD] = "frame_held",
		[TRUTH_HEAD_ADVANCED] = "head_advanced",
		[TRUTH_FRAMES_MISSED] = "frames_missed",
		[TRUTH_RING_STATE] = "ring_state",
		[TRUTH_RNR_SENT] = "rnr_sent",
		[TRUTH_RNR_RECEIVED] = "rnr_received",
		[TRUTH_PACKET_DROPPED] = "packet_dropped",
		[TRUTH_PACKET_RESENT] = "packet_resent",
		[TRUTH_QP_REWOUND] = "qp_rewound",
		[TRUTH_FAULT_SUPPRESSED] = "fault_suppressed",
		[TRUTH_QP_PAUSED] = "qp_paused",
		[TRUTH_QP_RESUMED] = "qp_resumed",
		[TRUTH_QP_ERROR] = "qp_error",
		[TRUTH_QP_STATE] = "qp_state",
		[TRUTH_RDMA_COUNTER] = "rdma_counter",
		[TRUTH_RDMA_REGION] = "rdma_region",
		[TRUTH_RDMA_ADVISED] = "rdma_advised",
		[TRUTH_PIN] = "pin",
		[TRUTH_UNPIN] = "unpin",
		[TRUTH_PIN_REFUSED] = "pin_refused",
		[TRUTH_VERB] = "verb",
		[TRUTH_VERB_STAGE] = "verb_stage",
		[TRUTH_VERB_WOKEN] = "verb_woken",
		[TRUTH_PINNED] = "pinned",
		[TRUTH_UNPINNED] = "unpinned",
		[TRUTH_REGISTERED] = "registered",
		[TRUTH_GUEST_EXITS] = "guest_exits",
		[TRUTH_GUEST_BEGAN] = "guest_began",
		[TRUTH_GUEST_ENDED] = "guest_ended",
		[TRUTH_WORK_REQUEST] = "work_request",
		[TRUTH_WORK_STAGE] = "work_stage",
	};

	return what < sizeof(names) / sizeof(names[0]) ? names[what] : "unknown";
}

/* Only numbers and the words above are written: nothing a JSON library would have to escape. */
static void write_optional(const char *key, __u32 value, __u32 none)
{
	if (value == none)
		fprintf(truth.file, ",\"%s\":null", key);
	else
		fprintf(truth.file, ",\"%s\":%u", key, value);
}

static void write_record(const struct truth_record *record)
{
	fprintf(truth.file, "{\"time_ns\":%llu,\"who\":\"%s\",\"what\":\"%s\",\"fault\":%llu",
		record->time_ns, who_name(record->who), what_name(record->what), record->fault);
	write_optional("device", record->device, DEVICE_ALL);
	write_optional("queue", record->queue, QUEUE_NONE);
	write_optional("pasid", record->pasid, PASID_NONE);
	fprintf(truth.file,
		",\"group\":%u,\"address\":%llu,\"length\":%llu,\"value\":%llu,\"code\":%u,"
		"\"flags\":%u,\"tenant\":%u,\"tid\":%u}\n",
		record->group, record->address, record->length, record->value, record->code,
		record->flags, record->tenant, record->tid);
}

struct sorted {
	__u64 time_ns;
	const struct truth_record *record;
};

static int by_time(const void *a, const void *b)
{
	const struct sorted *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	/* As logged, within a chunk. */
	return left->record < right->record ? -1 : left->record > right->record;
}

static int truth_write_all(void)
{
	struct sorted *records;
	size_t count = 0;

	for (struct chunk *chunk = truth.used; chunk; chunk = chunk->next)
		count += chunk->count;
	records = malloc((count + 1) * sizeof(*records));
	if (!records)
		return failed(-ENOMEM, "no memory to sort the %zu records of truth log %s", count,
			      truth.path);
	count = 0;
	for (struct chunk *chunk = truth.used; chunk; chunk = chunk->next) {
		for (size_t i = 0; i < chunk->count; i++)
			records[count++] = (struct sorted){.time_ns = chunk->records[i].time_ns,
							   .record = &chunk->records[i]};
	}
	qsort(records, count, sizeof(*records), by_time);
	for (size_t i = 0; i < count; i++)
		write_record(records[i].record);
	free(records);
	return 0;
}

int truth_close(void)
{
	int error, closed;
	__u64 lost;

	if (!truth_enabled())
		return 0;
	atomic_store(&truth.enabled, false);
	pthread_mutex_lock(&truth.lock);
	truth.stopping = true;
	pthread_cond_signal(&truth.wanted);
	pthread_mutex_unlock(&truth.lock);
	pthread_join(truth.provider, NULL);
	error = truth_write_all();
	if (!error && ferror(truth.file))
		error = failed(-EIO, "cannot write truth log %s: is the disk full?", truth.path);
	closed = fclose(truth.file);
	if (!error && closed)
		error = failed(-errno, "cannot write truth log %s: %s", truth.path,
			       strerror(errno));
	lost = atomic_load(&truth.lost);
	if (!error && lost)
		error = failed(-ENOMEM, "truth log %s lacks %llu records for want of memory",
			       truth.path, lost);
	chunks_unmap(truth.used);
	chunks_unmap(truth.ready);
	truth.used = truth.ready = NULL;
	truth.ready_count = 0;
	free(truth.path);
	return error;
}
