// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fail.h"

int ring_open(struct ring *ring, int fd, size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *consumer, *producer;

	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		return failed(failed_system(-errno), "mapping an event ring: %s", strerror(errno));
	producer = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, page);
	if (producer == MAP_FAILED) {
		int error = -errno;

		munmap(consumer, page);
		return failed(failed_system(error), "mapping an event ring of %zu bytes: %s", bytes,
			      strerror(-error));
	}
	*ring = (struct ring){
		.consumer = consumer,
		.producer = producer,
		.data = (unsigned char *)producer + page,
		.bytes = bytes,
		.page = page,
	};
	return 0;
}

void ring_close(struct ring *ring)
{
	if (!ring->consumer)
		return;
	munmap(ring->consumer, ring->page);
	munmap((void *)ring->producer, ring->page + 2 * ring->bytes);
	memset(ring, 0, sizeof(*ring));
}

long ring_drain(struct ring *ring, ring_take_fn take, void *self, bool *blocked)
{
	unsigned long position = *ring->consumer;
	unsigned long end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	unsigned long given_back = position;
	long taken = 0;
	int error = 0;

	*blocked = false;
	while (position < end) {
		const unsigned char *record = ring->data + (position & (ring->bytes - 1));
		__u32 header = __atomic_load_n((const __u32 *)record, __ATOMIC_ACQUIRE);
		__u32 length = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (header & BPF_RINGBUF_BUSY_BIT) {
			*blocked = true;
			break;
		}
		if (!(header & BPF_RINGBUF_DISCARD_BIT) && length == sizeof(struct event)) {
			error = take(self, (const struct event *)(record + BPF_RINGBUF_HDR_SZ));
			taken++;
			if (error)
				end = 0; /* behind this record */
		}
		position += (length + BPF_RINGBUF_HDR_SZ + 7) & ~7ul;
		/* Gives room back while we go: a producer at its limit loses less. */
		if (position - given_back > ring->bytes / 16) {
			__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
			given_back = position;
		}
	}
	__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
	return error ? error : taken;
}
