// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/access_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/fail.h"

#define CAPACITY_MAX (1u << 24)

static int check(const struct access_ring *ring, size_t bytes, __u32 capacity)
{
	if (ring->magic != ACCESS_LOG_MAGIC)
		return failed(-EPROTO, "access log: magic is %#llx", ring->magic);
	if (ring->record_size != sizeof(struct access_record))
		return failed(-EPROTO, "access log: record size is %u, accepted: %zu",
			      ring->record_size, sizeof(struct access_record));
	if (!capacity || capacity & (capacity - 1) || capacity > CAPACITY_MAX)
		return failed(-EPROTO, "access log: capacity is %u, accepted: powers of two to %u",
			      capacity, CAPACITY_MAX);
	if (sizeof(*ring) + (size_t)capacity * sizeof(struct access_record) > bytes)
		return failed(-EPROTO, "access log: %u records do not fit into %zu bytes", capacity,
			      bytes);
	return 0;
}

/* Looks at all there are: a record whose device was held up stands behind younger ones. */
static void skip_older(struct access_reader *reader, __u64 since_ns)
{
	const struct access_ring *ring = reader->ring;
	__u64 head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	__u64 oldest = head > reader->capacity ? head - reader->capacity : 0;

	reader->discarded = __atomic_load_n(&ring->discarded, __ATOMIC_RELAXED);
	reader->cursor = head;
	if (since_ns == READ_FROM_NOW)
		return;
	reader->cursor = oldest;
	while (reader->cursor < head &&
	       ring->records[reader->cursor & (reader->capacity - 1)].time_ns < since_ns)
		reader->cursor++;
	reader->late = reader->discarded || (oldest && reader->cursor == oldest);
}

int access_reader_open(struct access_reader *reader, int fd, __u64 since_ns)
{
	int seals = fcntl(fd, F_GET_SEALS), error;
	const struct access_ring *ring;
	struct stat status;
	__u32 capacity;

	/* Without the seal the file could shrink under us: a bus error at the next read. */
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return failed(-EPROTO, "access log: is not sealed against shrinking");
	if (fstat(fd, &status) || (size_t)status.st_size < sizeof(*ring))
		return failed(-EPROTO, "access log: is too small");
	ring = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return failed(-errno, "access log: cannot be mapped: %s", strerror(errno));
	capacity = __atomic_load_n(&ring->capacity, __ATOMIC_RELAXED);
	error = check(ring, status.st_size, capacity);
	if (error) {
		munmap((void *)ring, status.st_size);
		return error;
	}
	*reader = (struct access_reader){
		.ring = ring,
		.bytes = status.st_size,
		.capacity = capacity,
	};
	if (since_ns)
		skip_older(reader, since_ns);
	return 0;
}

void access_reader_close(struct access_reader *reader)
{
	if (reader->ring)
		munmap((void *)reader->ring, reader->bytes);
	reader->ring = NULL;
}

static void count_discarded(struct access_reader *reader)
{
	__u64 discarded = __atomic_load_n(&reader->ring->discarded, __ATOMIC_RELAXED);

	if (discarded > reader->discarded) {
		reader->lost += discarded - reader->discarded;
		reader->discarded = discarded;
	}
}

/* What the producer may have overwritten while we copied: the first of the copies. */
static size_t torn(const struct access_reader *reader, size_t count)
{
	__u64 begun = __atomic_load_n(&reader->ring->reserved, __ATOMIC_ACQUIRE) - reader->cursor;

	if (begun <= reader->capacity)
		return 0;
	return begun - reader->capacity < count ? begun - reader->capacity : count;
}

long access_reader_read(struct access_reader *reader, struct access_record *records, size_t room)
{
	__u64 head = __atomic_load_n(&reader->ring->head, __ATOMIC_ACQUIRE);
	__u64 ready = head - reader->cursor;
	size_t count, gone;

	count_discarded(reader);
	if ((__s64)ready < 0)
		return failed(-EPROTO, "access log: went back from record %llu to %llu",
			      reader->cursor, head);
	if (ready > reader->capacity) {
		reader->lost += ready - reader->capacity;
		reader->cursor = head - reader->capacity;
		ready = reader->capacity;
	}
	count = ready < room ? ready : room;
	for (size_t i = 0; i < count; i++)
		records[i] = reader->ring->records[(reader->cursor + i) & (reader->capacity - 1)];
	/* The copies must be complete before the producer's position is read. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	gone = torn(reader, count);
	reader->lost += gone;
	reader->cursor += count;
	memmove(records, records + gone, (count - gone) * sizeof(records[0]));
	return count - gone;
}
