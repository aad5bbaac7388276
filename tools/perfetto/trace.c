// SPDX-License-Identifier: GPL-2.0
#include "tools/perfetto/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/ios.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "tools/common.h"
#include "tools/perfetto/trace_private.h"

/* Faults are told at most so much later than they end, or began; but for those that are given up. */
#define SETTLED_NS 500000000ull

uint64_t perfetto_flow(const struct blame_key *key)
{
	return XXH3_64bits(key, sizeof(*key)) | 1;
}

struct device_tracks *perfetto_device(struct perfetto *p, __u32 device)
{
	static const char *const names[DEVICE_LANES] = {
		"invalidations", "stalled flows", "waits of queue pairs", "objectives broken"};
	struct device_tracks *tracks;
	char name[DEVICE_NAME_TEXT];

	HASH_FIND(hh, p->devices, &device, sizeof(device), tracks);
	if (tracks)
		return tracks;
	tracks = memory_calloc(1, sizeof(*tracks));
	if (!tracks)
		return NULL;
	tracks->device = device;
	HASH_ADD(hh, p->devices, device, sizeof(device), tracks);
	if (!tracks->hh.tbl) {
		memory_free(tracks);
		return NULL;
	}
	tracks->track =
		packets_track(p->packets, p->root,
			      device ? session_device_name(p->analysis->session, device, name)
				     : "no device known",
			      NULL);
	for (size_t i = 0; i < DEVICE_LANES; i++)
		tracks->lanes[i] = (struct lanes){.parent = tracks->track, .name = names[i]};
	return tracks;
}

struct queue_tracks *perfetto_queue(struct perfetto *p, __u32 device, __u16 queue)
{
	const struct queue_tracks_key key = {device, queue};
	struct device_tracks *owner;
	struct queue_tracks *tracks;
	char name[32] = "no queue known";
	__u64 track;

	HASH_FIND(hh, p->queues, &key, sizeof(key), tracks);
	if (tracks)
		return tracks;
	owner = perfetto_device(p, device);
	tracks = owner ? memory_calloc(1, sizeof(*tracks)) : NULL;
	if (!tracks)
		return NULL;
	tracks->key = key;
	HASH_ADD(hh, p->queues, key, sizeof(key), tracks);
	if (!tracks->hh.tbl) {
		memory_free(tracks);
		return NULL;
	}
	if (queue != QUEUE_NONE)
		snprintf(name, sizeof(name), "queue %u", queue);
	track = packets_track(p->packets, owner->track, name, NULL);
	tracks->faults = (struct lanes){.parent = track, .name = "faults"};
	tracks->ios = (struct lanes){.parent = track, .name = "I/Os"};
	return tracks;
}

struct lanes *perfetto_lanes(struct perfetto *p, __u32 device, enum device_lanes which)
{
	struct device_tracks *tracks = perfetto_device(p, device);

	return tracks ? &tracks->lanes[which] : NULL;
}

__u64 perfetto_slice_begin(struct perfetto *p, struct lanes *lanes,
			   const struct perfetto_slice *slice)
{
	const struct packet packet = {
		.type = PACKET_BEGIN,
		.time_ns = slice->from_ns,
		.track = lanes_place(lanes, p->packets, slice->from_ns, slice->to_ns),
		.category = slice->category,
		.name = slice->name,
		.arguments = slice->arguments,
		.flows = slice->flows,
		.flow_count = slice->flow_count,
	};

	packets_put(p->packets, &packet);
	return packet.track;
}

void perfetto_slice_end(struct perfetto *p, __u64 track, const struct perfetto_slice *slice)
{
	const struct packet packet = {
		.type = PACKET_END,
		.time_ns = slice->to_ns,
		.track = track,
	};

	packets_put(p->packets, &packet);
}

void perfetto_slice(struct perfetto *p, struct lanes *lanes, const struct perfetto_slice *slice)
{
	if (lanes)
		perfetto_slice_end(p, perfetto_slice_begin(p, lanes, slice), slice);
	else
		p->left_out++;
}

static int perfetto_on_events(void *self, const struct event *events, size_t count)
{
	struct perfetto *p = self;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		p->now_ns = e->time_ns > p->now_ns ? e->time_ns : p->now_ns;
		if (event_is_io(e))
			perfetto_io(p, e);
		else if (e->kind == EVENT_CPU_FAULT && e->device != DEVICE_NONE)
			perfetto_cpu_fault(p, e);
		else if (e->kind == EVENT_INJECT_START || e->kind == EVENT_INJECT_STOP)
			perfetto_injection(p, e);
	}
	if (p->now_ns > SETTLED_NS) {
		perfetto_flush_ios(p, p->now_ns - SETTLED_NS);
		perfetto_flush_counters(p, p->now_ns - SETTLED_NS);
	}
	return packets_error(p->packets);
}

static int perfetto_on_tick(void *self, __u64 now_ns)
{
	struct perfetto *p = self;

	p->now_ns = now_ns > p->now_ns ? now_ns : p->now_ns;
	return perfetto_on_events(p, NULL, 0);
}

struct stream perfetto_stream(struct perfetto *p)
{
	static const struct stream_ops ops = {.events = perfetto_on_events,
					      .tick = perfetto_on_tick};

	return (struct stream){&ops, p};
}

int perfetto_create(struct perfetto **perfetto, struct analysis *analysis, const char *host,
		    const struct trace_summary *summary, FILE *file, const char *path)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	__u64 first_ns = summary->host.start_ns ?: summary->first_ns;
	int err;

	*perfetto = p;
	if (!p)
		return failed(-ENOMEM, "no memory for a trace");
	p->analysis = analysis;
	err = packets_open(&p->packets, file, path, &summary->clock, first_ns);
	if (err)
		return err;
	p->root = packets_track(p->packets, 0, *host ? host : "host without a name", NULL);
	p->injections = (struct lanes){.parent = p->root, .name = "injections"};
	err = stalls_subscribe(analysis->stalls, (struct stall_sink){perfetto_on_stall, p});
	if (err)
		return err;
	invalidations_subscribe(analysis->invalidations,
				(struct invalidation_sink){perfetto_on_invalidation, p});
	return faults_subscribe(analysis->faults,
				(struct fault_sink){.began = perfetto_on_began,
						    .finished = perfetto_on_finished,
						    .over = perfetto_on_over,
						    .self = p});
}

/* What JSON has as facts: whoever looks at the slices must know what is missing. */
static void tell_recording(struct perfetto *p)
{
	const struct session *session = p->analysis->session;
	const struct loss_info *loss = session_loss(session);
	const struct host_info *host = session_host(session);
	unsigned int floor = floor_of(p->analysis);
	struct packet_arguments arguments = {0};
	struct wall_clock_step step = {0};
	char text[FLOOR_TEXT];
	struct packet packet = {
		.type = PACKET_INSTANT,
		.time_ns = session_first_ns(session),
		.track = packets_track(p->packets, p->root, "recording", NULL),
		.category = "recording",
		.name = floor ? "recording (counts are floors)" : "recording",
		.arguments = &arguments,
	};

	packet_text(&arguments, "host", host ? host->hostname : "");
	packet_text(&arguments, "kernel", host ? host->kernel : "");
	packet_text(&arguments, "command", host ? host->command : "");
	packet_count(&arguments, "events", session_events(session));
	packet_count(&arguments, "lost",
		     loss->lost + loss->missed + loss->access_lost + loss->access_missed);
	packet_text(&arguments, "floor", floor ? floor_text(floor, text) : "no");
	packet_text(&arguments, "complete", common_complete(session));
	packet_count(&arguments, "left_out", p->left_out);
	/* Behind one that goes back, wall-clock times are told as if it had not. */
	if (wall_clock_step(session_clock(session), session_first_ns(session),
			    session_last_ns(session), &step)) {
		packet_count(&arguments, "clock_steps", step.count);
		packet_real(&arguments, "clock_step_seconds", (double)step.by_ns / 1e9);
	}
	packets_put(p->packets, &packet);
}

int perfetto_finish(struct perfetto *p)
{
	perfetto_finish_waiting(p);
	perfetto_finish_happened(p);
	perfetto_finish_counters(p);
	tell_recording(p);
	return packets_error(p->packets);
}

void perfetto_destroy(struct perfetto *p)
{
	struct open_injection *injection, *next_injection;
	struct device_tracks *device, *next_device;
	struct queue_tracks *queue, *next_queue;

	if (!p)
		return;
	HASH_ITER(hh, p->devices, device, next_device) {
		HASH_DEL(p->devices, device);
		for (size_t i = 0; i < DEVICE_LANES; i++)
			lanes_free(&device->lanes[i]);
		memory_free(device);
	}
	HASH_ITER(hh, p->queues, queue, next_queue) {
		HASH_DEL(p->queues, queue);
		lanes_free(&queue->faults);
		lanes_free(&queue->ios);
		memory_free(queue->past);
		memory_free(queue);
	}
	HASH_ITER(hh, p->open_injections, injection, next_injection) {
		HASH_DEL(p->open_injections, injection);
		memory_free(injection);
	}
	lanes_free(&p->injections);
	memory_free(p->ios);
	memory_free(p->changes);
	packets_close(p->packets);
	free(p);
}
