// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/access_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "lib/base/fail.h"

#define TIME_RANGE (1ull << 29) /* ns that the bits of access_compact.time hold */

int access_device_init(struct access_device *device, __u32 buffers, __u32 buffer_records)
{
	struct access_compact *records =
		calloc((size_t)buffers * buffer_records, sizeof(struct access_compact));

	*device = (struct access_device){
		.buffers = buffers, .buffer_records = buffer_records, .posted = buffers};
	device->buffer = calloc(buffers, sizeof(*device->buffer));
	if (!records || !device->buffer) {
		free(records);
		free(device->buffer);
		device->buffer = NULL;
		return failed(-ENOMEM, "no memory for an access log of %u buffers of %u records",
			      buffers, buffer_records);
	}
	for (__u32 i = 0; i < buffers; i++)
		device->buffer[i].records = records + (size_t)i * buffer_records;
	pthread_mutex_init(&device->lock, NULL);
	return 0;
}

void access_device_free(struct access_device *device)
{
	if (!device->buffer)
		return;
	free(device->buffer[0].records);
	free(device->buffer);
	pthread_mutex_destroy(&device->lock);
}

static void buffer_close(struct access_device *device, struct access_buffer *buffer)
{
	__atomic_store_n(&buffer->closed, true, __ATOMIC_RELEASE);
	device->filling++;
}

/*
 * The buffer that can hold a record of this time and so many slots, or NULL: none is posted. Queues
 * race from their clock to here, so a time may lie before its predecessor's: the base leaves room on
 * both sides.
 */
static struct access_buffer *buffer_for(struct access_device *device, __u64 time_ns, __u32 slots)
{
	for (;;) {
		struct access_buffer *buffer = &device->buffer[device->filling % device->buffers];

		if (device->filling == __atomic_load_n(&device->posted, __ATOMIC_ACQUIRE))
			return NULL;
		if (!buffer->count) {
			buffer->base_ns = time_ns - TIME_RANGE / 2;
			return buffer;
		}
		if (time_ns - buffer->base_ns < TIME_RANGE &&
		    slots <= device->buffer_records - buffer->count)
			return buffer;
		buffer_close(device, buffer);
	}
}

bool access_device_add(struct access_device *device, const struct access_record *record)
{
	__u64 latency = (__u64)record->latency_high << 32 | record->latency;
	__u32 brief = latency < COMPACT_LONG ? (__u32)latency : COMPACT_LONG;
	__u32 slots = brief < COMPACT_LONG ? 1 : 2;
	struct access_buffer *buffer;
	bool hurry = false;

	buffer = buffer_for(device, record->time_ns, slots);
	if (!buffer) {
		__atomic_store_n(&device->discarded, device->discarded + 1, __ATOMIC_RELAXED);
		return false;
	}
	buffer->records[buffer->count] = (struct access_compact){
		.address = record->address,
		.latency_low = brief & 0xffff,
		.latency_high = brief >> 16,
		.length = record->length,
		.time = record->time_ns - buffer->base_ns,
		.queue = record->queue,
		.flags = record->code & IO_SOURCE ? 0 : record->flags,
		.error = !!(record->code & IO_ERROR),
		.faulted = !!(record->code & IO_FAULTED),
		.part = !!(record->code & IO_PART),
	};
	if (slots == 2)
		memcpy(&buffer->records[buffer->count + 1], &latency, sizeof(latency));
	/* The owner may read it from here on. */
	__atomic_store_n(&buffer->count, buffer->count + slots, __ATOMIC_RELEASE);
	__atomic_store_n(&device->accepted, device->accepted + 1, __ATOMIC_RELAXED);
	if (buffer->count == device->buffer_records) {
		buffer_close(device, buffer);
		hurry = __atomic_load_n(&device->posted, __ATOMIC_RELAXED) - device->filling == 1;
	}
	return hurry;
}

/* Gives a wholly taken buffer back to the device. */
static void buffer_post(struct access_device *device, struct access_buffer *buffer)
{
	buffer->closed = false;
	buffer->count = 0;
	device->taking++;
	device->taken = 0;
	__atomic_store_n(&device->posted, device->posted + 1, __ATOMIC_RELEASE);
}

static __u8 io_code_of(const struct access_compact *compact)
{
	return (compact->error ? IO_ERROR : IO_OK) | (compact->faulted ? IO_FAULTED : 0) |
	       (compact->part ? IO_PART : 0) | (compact->flags ? 0 : IO_SOURCE);
}

/* In units, as far as it is in the record itself. */
static __u32 brief_latency(const struct access_compact *compact)
{
	return (__u32)(compact->latency_high << 16 | compact->latency_low);
}

static __u64 latency_of(const struct access_compact *compact)
{
	__u64 latency = brief_latency(compact);

	if (latency == COMPACT_LONG)
		memcpy(&latency, compact + 1, sizeof(latency));
	return latency;
}

bool access_device_peek(struct access_device *device, struct access_record *record)
{
	for (;;) {
		struct access_buffer *buffer = &device->buffer[device->taking % device->buffers];
		/* In this order: once it is closed its count is final. */
		bool closed = __atomic_load_n(&buffer->closed, __ATOMIC_ACQUIRE);
		__u32 count = __atomic_load_n(&buffer->count, __ATOMIC_ACQUIRE);
		const struct access_compact *compact = &buffer->records[device->taken];

		if (device->taken < count) {
			__u64 latency = latency_of(compact);

			*record = (struct access_record){
				.time_ns = buffer->base_ns + compact->time,
				.address = compact->address,
				.length = compact->length,
				.latency = (__u32)latency,
				.latency_high = (__u16)(latency >> 32),
				.device = record->device,
				.queue = compact->queue,
				.flags = compact->flags ? compact->flags : EVENT_READ,
				.code = io_code_of(compact),
			};
			return true;
		}
		if (!closed)
			return false;
		buffer_post(device, buffer);
	}
}

void access_device_take(struct access_device *device)
{
	const struct access_buffer *buffer = &device->buffer[device->taking % device->buffers];

	device->taken += brief_latency(&buffer->records[device->taken]) == COMPACT_LONG ? 2 : 1;
}
