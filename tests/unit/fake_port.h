/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device's port and a guest's memory for tests of device models and workloads alone: plain memory
 * with a map of absent pages. A DMA that meets one waits `fault_ns` and finds it present.
 * Defines the functions of device.h and memory.h, so it takes their place in the test's program.
 */
#ifndef FAULTLINE_FAKE_PORT_H
#define FAULTLINE_FAKE_PORT_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/device.h"
#include "injectors/emu/workload.h"
#include "lib/base/clock.h"

#define FAKE_PAGES 4096

struct guest_memory {
	char *bytes;
	__u64 size;
	int file; /* that it is of; -1: none */
};

struct port {
	struct guest_memory memory;
	__u64 iova_offset;
	bool absent[FAKE_PAGES];
	__u64 fault_ns; /* how long one fault takes */
	__u64 faults;
	int fail_data; /* what the next data DMAs return, and how many of them */
	__u32 fail_count;
	bool stopping;
	__u64 blocked_ns[RING_QUEUES_MAX], fault_end_ns[RING_QUEUES_MAX];
	void (*on_io)(void *argument); /* called once an I/O is reported, after its completion */
	void *argument;
	void (*on_dma)(struct port *port); /* called before each */
	/* what port_io_done() was told */
	__u64 accesses, ios, faulted, errors, violations;
	struct {
		__u64 iova;
		__u32 length;
		__u8 flags, code;
	} last;
	pthread_mutex_t lock;
};

static inline void fake_port_init(struct port *port, __u64 bytes, __u64 iova_offset)
{
	*port = (struct port){.iova_offset = iova_offset};
	port->memory.size = bytes;
	port->memory.file = -1;
	port->memory.bytes = aligned_alloc(HUGE_BYTES, bytes);
	memset(port->memory.bytes, 0, bytes);
	pthread_mutex_init(&port->lock, NULL);
}

/* Tests free what they own: the sanitizers look. */
static inline void fake_port_free(struct port *port)
{
	free(port->memory.bytes);
	pthread_mutex_destroy(&port->lock);
}

void *guest_memory_cpu(struct guest_memory *memory, __u64 guest_address)
{
	return memory->bytes + guest_address;
}

int guest_memory_file(const struct guest_memory *memory)
{
	return memory->file;
}

int guest_memory_unserved(struct guest_memory *memory, void **mapping)
{
	*mapping = memory->bytes;
	return 0;
}

/* No other process has it. */
int guest_memory_of_view(struct guest_memory *memory, __u64 address, __u64 bytes,
			 __u64 *guest_address)
{
	(void)memory;
	(void)address;
	(void)bytes;
	(void)guest_address;
	return -ENOENT;
}

void port_direct_thread(struct port *port, __u16 queue)
{
	(void)port;
	(void)queue;
}

int port_dma_undiscard(struct port *port, const struct dma *dma)
{
	(void)port;
	(void)dma;
	return -EFAULT;
}

static bool fake_absent(struct port *port, __u64 first, __u64 last)
{
	for (__u64 page = first; page <= last; page++)
		if (__atomic_load_n(&port->absent[page], __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* Waits as a paused queue does, in steps short enough to notice the end. */
static int fake_fault(struct port *port, __u16 queue, __u64 first, __u64 last)
{
	__u64 start = monotonic_ns();
	struct timespec step = {.tv_nsec = 20000};

	__atomic_add_fetch(&port->faults, 1, __ATOMIC_RELAXED);
	while (monotonic_ns() - start < __atomic_load_n(&port->fault_ns, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&port->stopping, __ATOMIC_ACQUIRE))
			return -ESHUTDOWN;
		nanosleep(&step, NULL);
	}
	for (__u64 page = first; page <= last; page++)
		__atomic_store_n(&port->absent[page], false, __ATOMIC_RELEASE);
	port->fault_end_ns[queue] = monotonic_ns();
	port->blocked_ns[queue] += port->fault_end_ns[queue] - start;
	return 0;
}

int port_dma_begin(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length,
		   bool write, struct dma *dma)
{
	__u64 address = iova - port->iova_offset;
	int err = 0;

	(void)pasid;
	(void)write;
	if (port->on_dma)
		port->on_dma(port);
	if (iova < port->iova_offset || address >= port->memory.size ||
	    length > port->memory.size - address)
		return -EINVAL;
	/* Rings are small; what tests make fail is the data. */
	if (length >= PAGE_BYTES && __atomic_load_n(&port->fail_count, __ATOMIC_RELAXED)) {
		__atomic_sub_fetch(&port->fail_count, 1, __ATOMIC_RELAXED);
		return port->fail_data;
	}
	if (fake_absent(port, address / PAGE_BYTES, (address + length - 1) / PAGE_BYTES))
		err = fake_fault(port, queue, address / PAGE_BYTES,
				 (address + length - 1) / PAGE_BYTES);
	dma->iova = iova;
	dma->length = length;
	dma->segments = 1;
	dma->iov[0] = (struct iovec){port->memory.bytes + address, length};
	return err;
}

int port_dma_try(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length, bool write,
		 struct dma *dma, __u64 *absent, unsigned int room)
{
	__u64 first = (iova - port->iova_offset) / PAGE_BYTES;
	__u64 last = (iova - port->iova_offset + length - 1) / PAGE_BYTES;
	unsigned int count = 0;

	if (iova - port->iova_offset < port->memory.size)
		for (__u64 page = first; page <= last && count < room; page++)
			if (fake_absent(port, page, page))
				absent[count++] = page * PAGE_BYTES + port->iova_offset;
	return count ? (int)count : port_dma_begin(port, queue, pasid, iova, length, write, dma);
}

/* The pages are there soon, and nobody is told. */
int port_request(struct port *port, struct port_request *request)
{
	for (__u32 i = 0; i < request->count; i++)
		__atomic_store_n(
			&port->absent[(request->pages[i] - port->iova_offset) / PAGE_BYTES], false,
			__ATOMIC_RELEASE);
	__atomic_add_fetch(&port->faults, 1, __ATOMIC_RELAXED);
	return -EAGAIN;
}

void port_dma_end(struct port *port, struct dma *dma)
{
	(void)port;
	dma->segments = 0;
}

/* As the real one: an aligned word in one access. */
static void fake_copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 2 && !(((uintptr_t)to | (uintptr_t)from) & 1))
		__atomic_store_n((__u16 *)to,
				 __atomic_load_n((const __u16 *)from, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
	else
		memcpy(to, from, bytes);
}

int port_dma_read(struct port *port, __u16 queue, __u32 pasid, __u64 iova, void *to, size_t bytes)
{
	struct dma dma;
	int err = port_dma_begin(port, queue, pasid, iova, bytes, false, &dma);

	if (!err)
		fake_copy(to, dma.iov[0].iov_base, bytes);
	return err;
}

int port_dma_write(struct port *port, __u16 queue, __u32 pasid, __u64 iova, const void *from,
		   size_t bytes)
{
	struct dma dma;
	int err = port_dma_begin(port, queue, pasid, iova, bytes, true, &dma);

	if (!err)
		fake_copy(dma.iov[0].iov_base, from, bytes);
	return err;
}

void port_io_done(struct port *port, __u16 queue, __u64 iova, __u32 length, __u8 flags, __u8 code,
		  __u64 start_ns, __u64 end_ns)
{
	(void)queue;
	(void)start_ns;
	(void)end_ns;
	pthread_mutex_lock(&port->lock);
	port->accesses++;
	port->ios += !(code & IO_PART);
	port->faulted += !!(code & IO_FAULTED);
	port->errors += !!(code & IO_ERROR);
	port->last.iova = iova;
	port->last.length = length;
	port->last.flags = flags;
	port->last.code = code;
	pthread_mutex_unlock(&port->lock);
	if (port->on_io)
		port->on_io(port->argument);
}

bool port_restarts(struct port *port)
{
	(void)port;
	return false;
}

void port_ios_done(struct port *port, __u16 queue, const struct io_range *ios, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		port_io_done(port, queue, ios[i].address, ios[i].length, ios[i].flags, ios[i].code,
			     ios[i].start_ns, ios[i].end_ns);
}

static inline __u64 fake_port_ios(struct port *port)
{
	__u64 ios;

	pthread_mutex_lock(&port->lock);
	ios = port->ios;
	pthread_mutex_unlock(&port->lock);
	return ios;
}

void port_dma_violation(struct port *port, __u64 iova)
{
	(void)iova;
	__atomic_add_fetch(&port->violations, 1, __ATOMIC_RELAXED);
}

__u64 port_blocked_ns(const struct port *port, __u16 queue)
{
	return port->blocked_ns[queue];
}

__u64 port_fault_end_ns(const struct port *port, __u16 queue)
{
	return port->fault_end_ns[queue];
}

/* Runs a workload to its end; ending it once more changes nothing. */
static inline struct workload_result fake_drive(struct port *port, struct channel *channel,
						const struct workload_config *config)
{
	struct workload_result result;
	struct workload *workload;

	assert_int_equal(workload_create(&workload, config, &port->memory, channel), 0);
	assert_int_equal(workload_start(workload), 0);
	assert_int_equal(workload_wait(workload, 60 * NSEC_PER_SEC), 0);
	workload_stop(workload);
	workload_stop(workload);
	result = *workload_result(workload);
	workload_destroy(workload);
	return result;
}

#endif
