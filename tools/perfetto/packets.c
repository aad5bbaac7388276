// SPDX-License-Identifier: GPL-2.0
#include "tools/perfetto/packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/hash.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "tools/perfetto/perfetto.pb-c.h"

#define SEQUENCE	 1 /* all packets are of one */
#define SEQUENCE_CLEARED 1
#define SEQUENCE_NEEDED	 2
#define CLOCK_REAL	 1 /* Perfetto's numbers of them */
#define CLOCK_MONO	 3
#define CLOCK_BOOT	 6
#define CLOCKS		 3
#define BY_RANK		 3

#define WHOLE_END 9007199254740992.0 /* up to here a double has each whole number */

/* Strings of a kind that are told once; what comes later is told each time. */
#define INTERNED_MAX 65536
/* Of one packet: a name, a category, and of each argument its name and its text. */
#define INTERNED_ONCE (2 * PACKET_ARGUMENTS_MAX + 2)

enum interned_kind {
	INTERNED_CATEGORY,
	INTERNED_NAME,
	INTERNED_ARGUMENT,
	INTERNED_TEXT,
	INTERNED_KINDS
};

struct interned {
	__u64 id;
	UT_hash_handle hh;
	char shown[]; /* behind it the text by which it is found */
};

/* Told with the packet that needs it first. */
struct untold {
	size_t count;
	Perfetto__InternedString strings[INTERNED_ONCE];
	Perfetto__InternedString *all[INTERNED_ONCE];
};

struct packets {
	FILE *file;
	const char *path;
	struct interned *interned[INTERNED_KINDS];
	struct untold untold[INTERNED_KINDS];
	__u64 tracks, count;
	__u8 *bytes;
	size_t room;
	int error;
	/* Of the packet that is being made. */
	Perfetto__DebugAnnotation arguments[PACKET_ARGUMENTS_MAX];
	Perfetto__DebugAnnotation *argument_list[PACKET_ARGUMENTS_MAX];
	char *texts[PACKET_ARGUMENTS_MAX]; /* that found no room among those interned */
};

static struct packet_argument *next_argument(struct packet_arguments *arguments, const char *name,
					     enum packet_argument_type type)
{
	static struct packet_argument none;
	struct packet_argument *argument = &none;

	if (arguments->count < PACKET_ARGUMENTS_MAX)
		argument = &arguments->all[arguments->count++];
	argument->name = name;
	argument->type = type;
	return argument;
}

void packet_count(struct packet_arguments *arguments, const char *name, __u64 count)
{
	next_argument(arguments, name, ARGUMENT_COUNT)->count = count;
}

void packet_count_known(struct packet_arguments *arguments, const char *name, __u64 count)
{
	if (count)
		packet_count(arguments, name, count);
}

void packet_address(struct packet_arguments *arguments, const char *name, __u64 address)
{
	next_argument(arguments, name, ARGUMENT_ADDRESS)->count = address;
}

void packet_real(struct packet_arguments *arguments, const char *name, double real)
{
	next_argument(arguments, name, ARGUMENT_REAL)->real = real;
}

void packet_truth(struct packet_arguments *arguments, const char *name, bool truth)
{
	next_argument(arguments, name, ARGUMENT_TRUTH)->count = truth;
}

void packet_text(struct packet_arguments *arguments, const char *name, const char *text)
{
	if (text && *text && strcmp(text, "-") != 0)
		next_argument(arguments, name, ARGUMENT_TEXT)->text = text;
}

static void packets_write(struct packets *p, Perfetto__TracePacket *packet)
{
	size_t size, used = 0;
	__u8 head[16];

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->has_sequence_flags = true;
	packet->sequence_flags = p->count ? SEQUENCE_NEEDED : SEQUENCE_CLEARED;
	size = perfetto__trace_packet__get_packed_size(packet);
	if (p->error)
		return;
	if (!array_grow(&p->bytes, &p->room, size, 1, ARRAY_PLAIN)) {
		p->error = -ENOMEM;
		return;
	}
	/* As an element of a message Trace: its field 1, its length, itself. */
	head[used++] = 1 << 3 | 2;
	for (size_t left = size; used < sizeof(head); left >>= 7) {
		head[used++] = (__u8)(left < 0x80 ? left : left | 0x80);
		if (left < 0x80)
			break;
	}
	perfetto__trace_packet__pack(packet, p->bytes);
	if (fwrite(head, 1, used, p->file) != used || fwrite(p->bytes, 1, size, p->file) != size)
		p->error = errno ? -errno : -EIO;
	p->count++;
}

/*
 * Times are CLOCK_MONOTONIC's. Perfetto's own are CLOCK_BOOTTIME's, to which it wants a way from every clock; a
 * recording does not know it, and nothing of ours is told by it: it is given as the same.
 */
static void put_clock(struct packets *p, __u64 monotonic_ns, __u64 realtime_ns)
{
	const struct {
		__u32 id;
		__u64 time_ns;
	} known[CLOCKS] = {
		{CLOCK_MONO, monotonic_ns}, {CLOCK_BOOT, monotonic_ns}, {CLOCK_REAL, realtime_ns}};
	Perfetto__ClockSnapshot__Clock clocks[CLOCKS], *all[CLOCKS];
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (size_t i = 0; i < CLOCKS; i++) {
		clocks[i] = (Perfetto__ClockSnapshot__Clock)PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
		clocks[i].clock_id = known[i].id;
		clocks[i].timestamp = known[i].time_ns;
		all[i] = &clocks[i];
	}
	snapshot.clocks = all;
	snapshot.n_clocks = realtime_ns ? CLOCKS : CLOCKS - 1;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = CLOCK_MONO;
	packet.clock_snapshot = &snapshot;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = CLOCK_MONO;
	packet.trace_packet_defaults = &defaults;
	packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = !p->count;
	packets_write(p, &packet);
}

/* What is before the first anchor is told by it (lib/base/wall_clock.h); readers want to see that. */
static void put_clock_before(struct packets *p, const struct clock_anchor *first)
{
	if (first->monotonic_ns > 1 && first->realtime_ns > first->monotonic_ns)
		put_clock(p, 1, first->realtime_ns - (first->monotonic_ns - 1));
}

int packets_open(struct packets **packets, FILE *file, const char *path,
		 const struct wall_clock *clock, __u64 first_ns)
{
	struct packets *p = calloc(1, sizeof(*p));
	__u64 last = 0;

	*packets = p;
	if (!p)
		return failed(-ENOMEM, "no memory for packets");
	p->file = file;
	p->path = path;
	for (size_t k = 0; k < INTERNED_KINDS; k++)
		for (size_t i = 0; i < INTERNED_ONCE; i++)
			p->untold[k].all[i] = &p->untold[k].strings[i];
	for (size_t i = 0; i < PACKET_ARGUMENTS_MAX; i++)
		p->argument_list[i] = &p->arguments[i];
	if (!clock->count)
		put_clock(p, first_ns, 0);
	else
		put_clock_before(p, &clock->anchors[0]);
	for (size_t i = 0; i < clock->count; i++) {
		/* Of a clock that goes back Perfetto forgets what was before. */
		if (clock->anchors[i].realtime_ns <= last && i)
			continue;
		last = clock->anchors[i].realtime_ns;
		put_clock(p, clock->anchors[i].monotonic_ns, last);
	}
	return packets_error(p);
}

void packets_close(struct packets *p)
{
	struct interned *interned, *next;

	if (!p)
		return;
	for (size_t k = 0; k < INTERNED_KINDS; k++)
		HASH_ITER(hh, p->interned[k], interned, next) {
			HASH_DEL(p->interned[k], interned);
			memory_free(interned);
		}
	free(p->bytes);
	free(p);
}

__u64 packets_track(struct packets *p, __u64 parent, const char *name, const char *unit)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	struct printable shown = printable_of(name);

	track.has_uuid = true;
	track.uuid = ++p->tracks;
	track.name = shown.text;
	track.has_parent_uuid = parent != 0;
	track.parent_uuid = parent;
	track.has_child_ordering = !unit;
	track.child_ordering = BY_RANK;
	track.has_sibling_order_rank = true;
	track.sibling_order_rank = (__s32)(p->tracks & 0x7fffffff);
	counter.unit_name = (char *)unit;
	track.counter = unit ? &counter : NULL;
	packet.track_descriptor = &track;
	packets_write(p, &packet);
	return track.uuid;
}

static struct interned *intern_new(struct packets *p, enum interned_kind kind, const char *text)
{
	struct printable shown = printable_of(text);
	size_t length = strlen(text), room = strlen(shown.text) + 1;
	struct untold *untold = &p->untold[kind];
	struct interned *interned;

	if (HASH_COUNT(p->interned[kind]) >= INTERNED_MAX || untold->count == INTERNED_ONCE)
		return NULL;
	interned = memory_calloc(1, sizeof(*interned) + room + length + 1);
	if (!interned)
		return NULL;
	memcpy(interned->shown, shown.text, room);
	memcpy(interned->shown + room, text, length);
	interned->id = HASH_COUNT(p->interned[kind]) + 1;
	HASH_ADD_KEYPTR(hh, p->interned[kind], interned->shown + room, length, interned);
	if (!interned->hh.tbl) {
		memory_free(interned);
		return NULL;
	}
	untold->strings[untold->count] = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
	untold->strings[untold->count].has_iid = true;
	untold->strings[untold->count].iid = interned->id;
	untold->strings[untold->count++].text = interned->shown;
	return interned;
}

/* Its number; 0: there is no room for another. */
static __u64 intern(struct packets *p, enum interned_kind kind, const char *text)
{
	struct interned *interned;

	HASH_FIND(hh, p->interned[kind], text, strlen(text), interned);
	if (!interned)
		interned = intern_new(p, kind, text);
	return interned ? interned->id : 0;
}

static void put_argument_text(struct packets *p, Perfetto__DebugAnnotation *out, const char *text,
			      size_t index)
{
	out->string_value_iid = intern(p, INTERNED_TEXT, text);
	out->has_string_value_iid = out->string_value_iid != 0;
	if (out->has_string_value_iid)
		return;
	p->texts[index] = printable_copy(text);
	out->string_value = p->texts[index];
}

static void put_argument(struct packets *p, const struct packet_argument *argument, size_t index)
{
	Perfetto__DebugAnnotation *out = &p->arguments[index];

	*out = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	out->has_name_iid = true;
	out->name_iid = intern(p, INTERNED_ARGUMENT, argument->name);
	switch (argument->type) {
	case ARGUMENT_COUNT:
		out->has_uint_value = true;
		out->uint_value = argument->count;
		break;
	case ARGUMENT_ADDRESS:
		out->has_pointer_value = true;
		out->pointer_value = argument->count;
		break;
	case ARGUMENT_REAL:
		out->has_double_value = true;
		out->double_value = argument->real;
		break;
	case ARGUMENT_TRUTH:
		out->has_bool_value = true;
		out->bool_value = argument->count;
		break;
	default:
		put_argument_text(p, out, argument->text, index);
	}
}

/* What the packet is the first to name. */
static bool tell_interned(struct packets *p, Perfetto__InternedData *data)
{
	struct untold *untold = p->untold;

	data->event_categories = untold[INTERNED_CATEGORY].all;
	data->n_event_categories = untold[INTERNED_CATEGORY].count;
	data->event_names = untold[INTERNED_NAME].all;
	data->n_event_names = untold[INTERNED_NAME].count;
	data->debug_annotation_names = untold[INTERNED_ARGUMENT].all;
	data->n_debug_annotation_names = untold[INTERNED_ARGUMENT].count;
	data->debug_annotation_string_values = untold[INTERNED_TEXT].all;
	data->n_debug_annotation_string_values = untold[INTERNED_TEXT].count;
	return data->n_event_categories + data->n_event_names + data->n_debug_annotation_names +
	       data->n_debug_annotation_string_values;
}

static void put_counter(Perfetto__TrackEvent *event, double value)
{
	/* A whole number needs fewer bytes. */
	event->has_counter_value = value >= 0 && value < WHOLE_END && value == (double)(__s64)value;
	event->counter_value = event->has_counter_value ? (__s64)value : 0;
	event->has_double_counter_value = !event->has_counter_value;
	event->double_counter_value = value;
}

void packets_put(struct packets *p, const struct packet *given)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	size_t arguments = given->arguments ? given->arguments->count : 0;
	uint64_t category;

	packet.has_timestamp = event.has_track_uuid = event.has_type = true;
	packet.timestamp = given->time_ns < INT64_MAX ? given->time_ns : INT64_MAX;
	packet.track_event = &event;
	event.type = given->type;
	event.track_uuid = given->track;
	if (given->category) {
		category = intern(p, INTERNED_CATEGORY, given->category);
		event.category_iids = &category;
		event.n_category_iids = category != 0;
	}
	if (given->name) {
		event.name_iid = intern(p, INTERNED_NAME, given->name);
		event.has_name_iid = event.name_iid != 0;
	}
	if (given->type == PACKET_COUNTER)
		put_counter(&event, given->value);
	for (size_t i = 0; i < arguments; i++)
		put_argument(p, &given->arguments->all[i], i);
	event.debug_annotations = p->argument_list;
	event.n_debug_annotations = arguments;
	event.flow_ids = (uint64_t *)given->flows;
	event.n_flow_ids = given->flow_count;
	packet.interned_data = tell_interned(p, &data) ? &data : NULL;
	packets_write(p, &packet);
	for (size_t k = 0; k < INTERNED_KINDS; k++)
		p->untold[k].count = 0;
	for (size_t i = 0; i < arguments; i++) {
		free(p->texts[i]);
		p->texts[i] = NULL;
	}
}

int packets_error(const struct packets *p)
{
	if (!p->error)
		return 0;
	return failed(p->error, "%s: cannot be written: %s", p->path, strerror(-p->error));
}
