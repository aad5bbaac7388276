// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/vhost/inflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/emu/vhost/vhost.h"
#include "lib/base/fail.h"

#define INFLIGHT_VERSION 1

struct inflight {
	unsigned char *mapped;
	__u64 bytes;
	__u16 queues, queue_size;
};

/* Queues begin on cache lines of their own. */
static __u64 inflight_queue_bytes(__u16 queue_size)
{
	return (sizeof(struct inflight_queue) + queue_size * sizeof(struct inflight_descriptor) +
		63) &
	       ~63ull;
}

static int inflight_check(__u16 queues, __u16 queue_size)
{
	if (!queues || queues > VHOST_QUEUES_MAX || !queue_size || queue_size > VHOST_SIZE_MAX)
		return failed(-EINVAL,
			      "in-flight requests of %u queues of %u: accepted: 1 to %d of 1 to %d",
			      queues, queue_size, VHOST_QUEUES_MAX, VHOST_SIZE_MAX);
	return 0;
}

int inflight_make(__u16 queues, __u16 queue_size, __u64 *bytes)
{
	int file, error = inflight_check(queues, queue_size);

	if (error)
		return error;
	*bytes = queues * inflight_queue_bytes(queue_size);
	*bytes = (*bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	file = memfd_create("faultline-inflight", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0)
		return failed(-errno, "cannot make a file of in-flight requests: %s",
			      strerror(errno));
	if (ftruncate(file, (off_t)*bytes) ||
	    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		error = failed(-errno, "cannot make a file of %llu bytes of in-flight requests: %s",
			       *bytes, strerror(errno));
		close(file);
		return error;
	}
	return file;
}

/* It cannot shrink below what is mapped, whoever else has it: a touch never has a SIGBUS. */
static int inflight_file_check(int file, __u64 bytes, __u64 offset)
{
	int seals = fcntl(file, F_GET_SEALS);
	struct stat status;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(file, &status))
		return failed(-EINVAL,
			      "a file of in-flight requests that may shrink: accepted: the one "
			      "that GET_INFLIGHT_FD gave");
	if (offset & (PAGE_BYTES - 1) || offset > (__u64)status.st_size ||
	    bytes > (__u64)status.st_size - offset)
		return failed(-EINVAL,
			      "in-flight requests at 0x%llx, 0x%llx bytes, of a file of 0x%llx",
			      offset, bytes, (unsigned long long)status.st_size);
	return 0;
}

int inflight_map(struct inflight **inflight, int file, __u64 bytes, __u64 offset, __u16 queues,
		 __u16 queue_size)
{
	int error = inflight_check(queues, queue_size);
	struct inflight *created;

	if (!error)
		error = inflight_file_check(file, bytes, offset);
	if (!error && bytes < queues * inflight_queue_bytes(queue_size))
		error = failed(-EINVAL,
			       "%llu bytes of in-flight requests: %u queues of %u take %llu", bytes,
			       queues, queue_size, queues * inflight_queue_bytes(queue_size));
	if (error)
		return error;
	created = calloc(1, sizeof(*created));
	if (!created)
		return failed(-ENOMEM, "no memory for in-flight requests");
	*created = (struct inflight){.bytes = bytes, .queues = queues, .queue_size = queue_size};
	created->mapped =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
	if (created->mapped == MAP_FAILED) {
		error = failed(-errno, "cannot map %llu bytes of in-flight requests: %s", bytes,
			       strerror(errno));
		free(created);
		return error;
	}
	*inflight = created;
	return 0;
}

void inflight_unmap(struct inflight *inflight)
{
	if (!inflight)
		return;
	munmap(inflight->mapped, inflight->bytes);
	free(inflight);
}

struct inflight_queue *inflight_queue(struct inflight *inflight, __u16 index, __u16 size)
{
	if (!inflight || index >= inflight->queues || size > inflight->queue_size)
		return NULL;
	return (void *)(inflight->mapped + index * inflight_queue_bytes(inflight->queue_size));
}

/* A store that nobody tears, in this order even if we end right after it. */
#define INFLIGHT_STORE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
#define INFLIGHT_LOAD(place)	     __atomic_load_n(&(place), __ATOMIC_ACQUIRE)

void inflight_take(struct inflight_queue *queue, __u16 head, __u64 counter)
{
	INFLIGHT_STORE(queue->descriptor[head].counter, counter);
	INFLIGHT_STORE(queue->descriptor[head].inflight, 1);
}

void inflight_begin_used(struct inflight_queue *queue, __u16 head)
{
	INFLIGHT_STORE(queue->descriptor[head].next, INFLIGHT_LOAD(queue->last_batch_head));
	INFLIGHT_STORE(queue->last_batch_head, head);
}

void inflight_end_used(struct inflight_queue *queue, __u16 head, __u16 used_index)
{
	INFLIGHT_STORE(queue->descriptor[head].inflight, 0);
	INFLIGHT_STORE(queue->used_index, used_index);
}

/* What was put into the used ring and not struck out yet. */
static int strike_out(struct inflight_queue *queue, __u16 size, __u16 used_index)
{
	__u16 left = (__u16)(used_index - INFLIGHT_LOAD(queue->used_index));
	__u16 head = INFLIGHT_LOAD(queue->last_batch_head);

	if (left > size)
		return failed(
			-EPROTO,
			"in-flight requests: %u of them were answered at once in a queue of %u",
			left, size);
	for (; left; left--) {
		if (head >= size)
			return failed(-EPROTO, "in-flight requests: descriptor %u of %u", head,
				      size);
		INFLIGHT_STORE(queue->descriptor[head].inflight, 0);
		head = INFLIGHT_LOAD(queue->descriptor[head].next);
	}
	INFLIGHT_STORE(queue->used_index, used_index);
	return 0;
}

struct taken {
	__u64 counter;
	__u16 head;
};

static int by_counter(const void *one, const void *other)
{
	const struct taken *first = one, *second = other;

	return (first->counter > second->counter) - (first->counter < second->counter);
}

int inflight_recover(struct inflight_queue *queue, __u16 size, __u16 used_index, __u16 *heads,
		     __u64 *counter)
{
	__u16 descriptors = INFLIGHT_LOAD(queue->descriptors);
	struct taken taken[VHOST_SIZE_MAX];
	int count = 0, error;

	*counter = 0;
	if (!INFLIGHT_LOAD(queue->version)) { /* new */
		queue->features = 0;
		INFLIGHT_STORE(queue->used_index, used_index);
		INFLIGHT_STORE(queue->descriptors, size);
		INFLIGHT_STORE(queue->version, INFLIGHT_VERSION);
		return 0;
	}
	if (INFLIGHT_LOAD(queue->version) != INFLIGHT_VERSION || descriptors != size)
		return failed(
			-EPROTO,
			"in-flight requests of version %u and %u descriptors: accepted: %d, %u",
			queue->version, descriptors, INFLIGHT_VERSION, size);
	error = strike_out(queue, size, used_index);
	if (error)
		return error;
	for (__u16 head = 0; head < size; head++)
		if (INFLIGHT_LOAD(queue->descriptor[head].inflight))
			taken[count++] = (struct taken){
				INFLIGHT_LOAD(queue->descriptor[head].counter), head};
	qsort(taken, (size_t)count, sizeof(*taken), by_counter);
	for (int i = 0; i < count; i++)
		heads[i] = taken[i].head;
	if (count)
		*counter = taken[count - 1].counter + 1;
	return count;
}
