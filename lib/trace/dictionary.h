/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: what the events of a flight recorder name (devices, stacks, processes, flows), so that a
 * segment is told again those that it uses, and no others.
 */
#ifndef FAULTLINE_TRACE_DICTIONARY_H
#define FAULTLINE_TRACE_DICTIONARY_H

#include "lib/base/stream.h"
#include "lib/trace/buffer.h"

#define TRACE_TOLD 4096 /* names remembered as told already, by their lowest bits */

struct trace_name;

struct trace_dictionary {
	struct trace_name *names;
	size_t processes; /* of the names */
	__u32 segment;	  /* counts up */
	__u64 told[TRACE_TOLD];
	struct trace_buffer news; /* records that no segment holds */
};

/* A new record, which replaces an earlier one of the same name: behind dictionary->news. */
int trace_dictionary_put(struct trace_dictionary *dictionary, __u8 type, __u32 id,
			 const struct trace_buffer *payload);
/* Nothing is told in the segment that begins. */
void trace_dictionary_next_segment(struct trace_dictionary *dictionary);
/* Nothing is told, in this segment either: what is new is told with what uses it. */
void trace_dictionary_forget_told(struct trace_dictionary *dictionary);
/* Appends to `out` the records that these name and the current segment does not hold; it does then. */
void trace_dictionary_use_events(struct trace_dictionary *dictionary, const struct event *events,
				 size_t count, struct trace_buffer *out);
void trace_dictionary_use_frame(struct trace_dictionary *dictionary,
				const struct aggregate_frame *frame, struct trace_buffer *out);
void trace_dictionary_free(struct trace_dictionary *dictionary);

/* One of several records in a payload: a RECORDS frame. */
void trace_put_record(struct trace_buffer *out, __u8 type, const void *payload, size_t size);
/* The next one. False behind the last, or if the rest is none. */
bool trace_get_record(struct trace_cursor *in, __u8 *type, struct trace_cursor *payload);

#endif
