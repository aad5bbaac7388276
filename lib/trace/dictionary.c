// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/flow.h"
#include "lib/trace/format.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define NEWS_MOST (16u << 20) /* of what is told while there is no room to write it */

struct trace_name {
	__u64 key;
	__u32 segment; /* that holds it */
	__u32 size;
	__u8 *payload;
	UT_hash_handle hh;
};

static __u64 name_key(__u8 type, __u32 id)
{
	return (__u64)type << 32 | id;
}

static struct trace_name *dictionary_add(struct trace_dictionary *dictionary, __u64 key)
{
	struct trace_name *name = calloc(1, sizeof(*name));

	if (!name)
		return NULL;
	name->key = key;
	HASH_ADD(hh, dictionary->names, key, sizeof(name->key), name);
	if (!name->hh.tbl) {
		free(name);
		return NULL;
	}
	dictionary->processes += key >> 32 == TRACE_PROCESS;
	return name;
}

int trace_dictionary_put(struct trace_dictionary *dictionary, __u8 type, __u32 id,
			 const struct trace_buffer *payload)
{
	__u64 key = name_key(type, id);
	struct trace_name *name;
	__u8 *copy;

	HASH_FIND(hh, dictionary->names, &key, sizeof(key), name);
	name = name ? name : dictionary_add(dictionary, key);
	copy = name ? realloc(name->payload, payload->size) : NULL;
	if (!copy)
		return failed(-ENOMEM, "no memory for the recording's dictionary");
	memcpy(copy, payload->bytes, payload->size);
	name->payload = copy;
	name->size = (__u32)payload->size;
	if (dictionary->news.size > NEWS_MOST)
		trace_dictionary_forget_told(dictionary);
	name->segment = dictionary->segment;
	trace_put_record(&dictionary->news, type, payload->bytes, payload->size);
	return 0;
}

void trace_dictionary_next_segment(struct trace_dictionary *dictionary)
{
	dictionary->segment++;
	memset(dictionary->told, 0, sizeof(dictionary->told));
}

void trace_dictionary_forget_told(struct trace_dictionary *dictionary)
{
	trace_dictionary_next_segment(dictionary);
	dictionary->news.size = 0;
}

static void dictionary_use(struct trace_dictionary *dictionary, __u8 type, __u32 id,
			   struct trace_buffer *out)
{
	/* Types share the places, and their ids are low numbers: each type begins elsewhere. */
	__u64 key = name_key(type, id), *told = &dictionary->told[(id + 911u * type) % TRACE_TOLD];
	struct trace_name *name;

	if (*told == key)
		return;
	*told = key;
	HASH_FIND(hh, dictionary->names, &key, sizeof(key), name);
	if (!name || name->segment == dictionary->segment)
		return;
	name->segment = dictionary->segment;
	trace_put_record(out, type, name->payload, name->size);
}

void trace_dictionary_use_events(struct trace_dictionary *dictionary, const struct event *events,
				 size_t count, struct trace_buffer *out)
{
	__u32 device = DEVICE_NONE;

	for (size_t i = 0; i < count; i++) {
		const struct event *event = &events[i];

		if (event->device != device)
			dictionary_use(dictionary, TRACE_DEVICE, event->device, out);
		device = event->device;
		if (event->kind == EVENT_DMA_LIVE || event->kind == EVENT_FAULT_OWNER)
			dictionary_use(dictionary, TRACE_STACK, event->group, out);
		if (event_flow(event))
			dictionary_use(dictionary, TRACE_FLOW, event_flow(event), out);
		if (!dictionary->processes)
			continue;
		dictionary_use(dictionary, TRACE_PROCESS, event->pid, out);
		if (event->tid != event->pid && event_has_thread(event))
			dictionary_use(dictionary, TRACE_PROCESS, event->tid, out);
	}
}

void trace_dictionary_use_frame(struct trace_dictionary *dictionary,
				const struct aggregate_frame *frame, struct trace_buffer *out)
{
	for (size_t i = 0; i < frame->row_count; i++) {
		dictionary_use(dictionary, TRACE_DEVICE, frame->rows[i].key.device, out);
		dictionary_use(dictionary, TRACE_PROCESS, frame->rows[i].key.pid, out);
	}
	for (size_t i = 0; i < frame->page_count; i++)
		if (!i || frame->pages[i].device != frame->pages[i - 1].device)
			dictionary_use(dictionary, TRACE_DEVICE, frame->pages[i].device, out);
}

void trace_dictionary_free(struct trace_dictionary *dictionary)
{
	struct trace_name *name, *next;

	HASH_ITER(hh, dictionary->names, name, next) {
		HASH_DEL(dictionary->names, name);
		free(name->payload);
		free(name);
	}
	trace_buffer_free(&dictionary->news);
}

void trace_put_record(struct trace_buffer *out, __u8 type, const void *payload, size_t size)
{
	trace_buffer_put_u8(out, type);
	trace_buffer_put_u32(out, (__u32)size);
	trace_buffer_put(out, payload, size);
}

bool trace_get_record(struct trace_cursor *in, __u8 *type, struct trace_cursor *payload)
{
	__u32 size;

	*type = trace_cursor_u8(in);
	size = trace_cursor_u32(in);
	*payload = (struct trace_cursor){.next = trace_cursor_take(in, size), .left = size};
	return !in->short_of;
}
