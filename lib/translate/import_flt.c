// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "bpf/page.h"
#include "lib/base/fail.h"
#include "lib/base/kinds.h"
#include "lib/trace/format.h"
#include "lib/trace/trace.h"
#include "lib/translate/import_private.h"

#define MAGIC_BYTES 8
#define LENGTH_MAX  (1ull << 30) /* of one I/O: a damaged one must not become a million pages */

enum wanted { WANT_ACCESSES, WANT_MAPPINGS, WANT_FAULTS, WANT_COUNT };

struct import {
	struct store *store;
	struct loss_info *loss;
	__u32 number;
	bool all_ios;		/* were asked for one by one */
	__u64 ios, ios_counted; /* one by one, and all of the recording */
	__u64 seen[WANT_COUNT];
	enum wanted wanted; /* what is taken in the second pass; WANT_COUNT: only counting */
};

static enum wanted class_of(const struct event *event)
{
	switch (event->kind) {
	case EVENT_IO_COMPLETE:
		return WANT_ACCESSES;
	case EVENT_DMA_MAP:
		return WANT_MAPPINGS;
	case EVENT_FAULT_DETECT:
	case EVENT_FAULT_ISR:
		return WANT_FAULTS;
	default:
		return WANT_COUNT;
	}
}

static int import_take(struct import *import, const struct event *event)
{
	__u64 key = (__u64)import->number << IMPORT_FILE_KEY_BITS ^ (__u64)event->device << 32 ^
		    event->pasid;
	__u64 length = event->length < LENGTH_MAX ? event->length : LENGTH_MAX;
	__u64 first = event->address >> PAGE_BITS;
	__u64 last = (event->address + (length ? length - 1 : 0)) >> PAGE_BITS;

	for (__u64 page = first; page <= last && !(page >> (IMPORT_ADDRESS_BITS - PAGE_BITS));
	     page++) {
		int error = store_add(import->store, key, page << PAGE_BITS, PAGE_BITS);

		if (error)
			return error;
	}
	return 0;
}

static int import_on_events(void *self, const struct event *events, size_t count)
{
	struct import *import = self;
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		enum wanted class = class_of(&events[i]);

		if (import->wanted == WANT_COUNT && class < WANT_COUNT) {
			import->seen[class]++;
			/* What a copy reads is a part of the I/O that writes it. */
			import->ios += class == WANT_ACCESSES && !(events[i].code & IO_PART);
		} else if (class == import->wanted && class < WANT_COUNT)
			error = import_take(import, &events[i]);
	}
	return error;
}

static int import_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct import *import = self;

	for (size_t i = 0; import->wanted == WANT_COUNT && i < frame->row_count; i++)
		if (frame->rows[i].key.kind == EVENT_IO_COMPLETE)
			import->ios_counted += frame->rows[i].counts.count;
	return 0;
}

static int import_on_host(void *self, const struct host_info *host)
{
	struct import *import = self;

	import->all_ios = host->kinds[0] && kinds_name(host->kinds, EVENT_IO_COMPLETE);
	return 0;
}

static int import_on_loss(void *self, const struct loss_info *loss)
{
	const struct import *import = self;

	*import->loss = *loss;
	return 0;
}

bool import_flt_knows(const unsigned char *bytes, size_t count)
{
	return count >= MAGIC_BYTES && !memcmp(bytes, TRACE_FILE_MAGIC, MAGIC_BYTES);
}

/* Twice through the file: first which kinds it has, then the best of them. */
int import_flt(struct store *store, const char *path, __u32 host, __u32 number,
	       struct import_missing *missing)
{
	static const struct stream_ops ops = {.host = import_on_host,
					      .events = import_on_events,
					      .aggregate = import_on_aggregate,
					      .loss = import_on_loss};
	struct import import = {
		.store = store, .loss = &missing->loss, .number = number, .wanted = WANT_COUNT};
	const struct trace_read_config config = {.path = path, .host = host};
	int error = trace_read(&config, (struct stream){&ops, &import});

	if (error)
		return error;
	for (int class = WANT_COUNT - 1; class >= 0; class --)
		if (import.seen[class])
			import.wanted = class;
	if (import.wanted == WANT_COUNT)
		return failed(
			-EINVAL,
			"%s holds no accesses: accepted: recordings made with --kind io_complete "
			"(emulated devices) or --kind dma_map",
			path);
	if (import.wanted == WANT_ACCESSES) {
		missing->taken = import.ios;
		if (!import.all_ios && import.ios_counted > import.ios)
			missing->counted_only = import.ios_counted - import.ios;
	}
	return trace_read(&config, (struct stream){&ops, &import});
}
