// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/histogram.h"

#define STAGE(kind)	((kind)-EVENT_FAULT_DETECT)
#define REQUESTS_MAX	16
#define LATE_MAX_NS	100000000ull
#define GIVEN_UP_NS	50000000ull
#define SLOW_IO_NS	10000000ull
#define IOS_PER_WINDOW	101
#define PAGES_PER_FRAME 64

enum fate { NORMAL, LATE, MISSING, OVERFLOWED, UNFINISHED, GIVEN_UP, INCONSISTENT, CUT };

struct arrival {
	__u64 when;
	size_t order;
	struct event event;
};

struct maker {
	struct synthetic_config c;
	unsigned int seed;
	struct arrival *arrivals;
	size_t count, capacity;
	struct synthetic *out;
	size_t fault_capacity;
	unsigned int *used; /* groups made so far, by device */
};

static __u64 below(struct maker *m, __u64 limit)
{
	__u64 r = (__u64)rand_r(&m->seed) << 31 ^ (__u64)rand_r(&m->seed);

	return limit ? r % limit : 0;
}

static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	*capacity = *capacity ? 2 * *capacity : 1024;
	items = realloc(items, *capacity * size);
	if (!items)
		abort();
	return items;
}

static void emit(struct maker *m, struct event event, __u64 delay)
{
	m->arrivals = grow(m->arrivals, m->count, &m->capacity, sizeof(*m->arrivals));
	if (delay)
		event.flags |= EVENT_LATE;
	m->arrivals[m->count] = (struct arrival){event.time_ns + delay, m->count, event};
	m->count++;
	if (event.time_ns > m->out->end_ns)
		m->out->end_ns = event.time_ns;
}

static struct fault *new_fault(struct maker *m)
{
	struct synthetic *s = m->out;

	s->faults = grow(s->faults, s->fault_count, &m->fault_capacity, sizeof(*s->faults));
	memset(&s->faults[s->fault_count], 0, sizeof(*s->faults));
	return &s->faults[s->fault_count++];
}

static enum fate draw_fate(struct maker *m, unsigned int index)
{
	const struct {
		unsigned int per_mille;
		enum fate fate;
	} fates[] = {
		{m->c.late, LATE},
		{m->c.missing, MISSING},
		{m->c.overflowed, OVERFLOWED},
		{m->c.unfinished, UNFINISHED},
		{m->c.given_up, GIVEN_UP},
		{m->c.inconsistent, INCONSISTENT},
	};
	__u64 r = below(m, 1000);

	if (index < m->c.cut)
		return CUT;
	for (size_t i = 0; i < sizeof(fates) / sizeof(fates[0]); i++) {
		if (r < fates[i].per_mille)
			return fates[i].fate;
		r -= fates[i].per_mille;
	}
	return NORMAL;
}

static __u8 seen_of(enum fate fate, unsigned int missing)
{
	switch (fate) {
	case MISSING:
		return (__u8) ~(1u << missing);
	case OVERFLOWED:
		return (__u8)(1u << STAGE(EVENT_FAULT_DETECT) | 1u << STAGE(EVENT_FAULT_RESUME));
	case UNFINISHED:
	case GIVEN_UP:
		return (__u8)((1u << STAGE(EVENT_FAULT_RESPONSE)) - 1);
	case CUT:
		return (__u8)(0xff << (missing + 1));
	default:
		return 0xff;
	}
}

static __u8 state_of(enum fate fate)
{
	switch (fate) {
	case OVERFLOWED:
		return FAULT_OVERFLOWED;
	case UNFINISHED:
	case GIVEN_UP:
	case CUT:
		return FAULT_UNFINISHED;
	case INCONSISTENT:
		return FAULT_INCONSISTENT;
	default:
		return FAULT_COMPLETE;
	}
}

/* Times of a group's n faults: each request detected after the one before, resolved in turn. */
static void draw_times(struct maker *m, struct fault *f, unsigned int n, __u64 start,
		       enum fate fate)
{
	__u64 t = start;

	for (unsigned int i = 0; i < n; i++) {
		f[i].at[0] = t += 1000 + below(m, 2000);
		f[i].at[1] = t += 500 + below(m, 1500);
	}
	for (unsigned int i = 0; i < n; i++)
		f[i].at[2] = t += 2000 + below(m, 20000);
	t += 5000 + below(m, 50000);
	for (unsigned int i = 0; i < n; i++)
		f[i].at[3] = t;
	for (unsigned int i = 0; i < n; i++) {
		f[i].cpu_fault_ns = t += 100 + below(m, 400);
		f[i].at[4] = t += f[i].flags & EVENT_MAJOR ? 1000000 + below(m, 9000000)
							   : 1000 + below(m, 9000);
		f[i].at[5] = t += 300 + below(m, 700);
	}
	t += 1000 + below(m, 3000);
	for (unsigned int i = 0; i < n; i++)
		f[i].at[6] = t;
	t += 1000 + below(m, 5000);
	for (unsigned int i = 0; i < n; i++)
		f[i].at[7] = t;
	/* Claims to be resolved before its handler ran: order is broken, nothing is missing. */
	for (unsigned int i = 0; i < n && fate == INCONSISTENT; i++)
		f[i].at[4] = f[i].at[3] - 400;
}

static struct event event_of(const struct fault *f, unsigned int kind, __u64 time_ns)
{
	return (struct event){
		.time_ns = time_ns,
		.address = f->address,
		.length = f->length,
		.device = f->device,
		.pasid = f->pasid,
		.group = f->group,
		.instance = f->instance,
		.pid = f->pid,
		.tid = kind == EVENT_FAULT_HANDLER ? f->handler_tid : f->pid,
		.kind = (__u16)kind,
		.queue = f->queue,
		.cpu = kind == EVENT_FAULT_HANDLER ? f->handler_cpu : 0,
		.code = kind >= EVENT_FAULT_RESPONSE ? f->code : 0,
	};
}

static void emit_request(struct maker *m, const struct fault *f, unsigned int kind, __u64 delay)
{
	struct event e = event_of(f, kind, f->at[STAGE(kind)]);

	if (!(f->seen & (1u << STAGE(kind))))
		return;
	e.flags = f->flags & (EVENT_READ | EVENT_WRITE);
	if (kind == EVENT_FAULT_REQUEST)
		e.flags = f->flags & (EVENT_READ | EVENT_WRITE | EVENT_LAST);
	if (kind == EVENT_FAULT_RESOLVED)
		e.flags |= f->flags & EVENT_MAJOR;
	emit(m, e, delay);
}

static void emit_group(struct maker *m, const struct fault *f, unsigned int kind, __u64 delay)
{
	struct event e = event_of(f, kind, f->at[STAGE(kind)]);

	if (!(f->seen & (1u << STAGE(kind))))
		return;
	e.flags = EVENT_GROUP;
	emit(m, e, delay);
}

static void emit_faults(struct maker *m, struct fault *f, unsigned int n, enum fate fate)
{
	unsigned int late = fate == LATE ? (unsigned int)below(m, FAULT_STAGES) : FAULT_STAGES;
	__u64 delay = 1 + below(m, LATE_MAX_NS);

	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		unsigned int kind = k + EVENT_FAULT_DETECT;
		bool group = kind == EVENT_FAULT_HANDLER || kind >= EVENT_FAULT_RESPONSE;

		if (group) {
			emit_group(m, f, kind, k == late ? delay : 0);
			continue;
		}
		for (unsigned int i = 0; i < n; i++)
			emit_request(m, &f[i], kind, k == late ? delay : 0);
	}
	for (unsigned int i = 0; i < n; i++) {
		struct event e = event_of(&f[i], EVENT_CPU_FAULT, f[i].cpu_fault_ns);

		if (fate == OVERFLOWED) {
			e = event_of(&f[i], EVENT_FAULT_OVERFLOW, f[i].at[1]);
			e.value = 32;
			f[i].overflows = 1;
		}
		if (fate == OVERFLOWED || fate == NORMAL)
			emit(m, e, 0);
		if (fate == NORMAL)
			f[i].cpu_faults = 1;
		else
			f[i].cpu_fault_ns = 0;
	}
	if (fate == GIVEN_UP) {
		struct event e = event_of(f, EVENT_FAULT_UNFINISHED, f->at[5] + GIVEN_UP_NS);

		e.flags = EVENT_GROUP;
		e.code = EVENT_FAULT_MAPPED;
		emit(m, e, 0);
	}
}

static void make_group(struct maker *m, unsigned int index, __u64 start)
{
	unsigned int device = 1 + (unsigned int)below(m, m->c.devices);
	unsigned int n = 1 + (unsigned int)below(m, m->c.requests_max);
	unsigned int missing = 1 + (unsigned int)below(m, FAULT_STAGES - 2);
	enum fate fate = draw_fate(m, index);
	size_t first = m->out->fault_count;
	unsigned int instance = m->used[device]++;
	__u64 page = below(m, 1 << 18), queue = below(m, m->c.queues);
	__u8 code = fate == NORMAL && !below(m, 50) ? RESPONSE_INVALID : RESPONSE_SUCCESS;
	struct fault *f;

	if (fate == OVERFLOWED)
		code = RESPONSE_AUTOMATIC;
	/* A group of which only group events are left has no address any more. */
	if (fate == CUT && missing > 4)
		missing = 4;
	for (unsigned int i = 0; i < n; i++) {
		f = new_fault(m);
		f->device = device;
		f->pasid = device % 2 ? PASID_NONE : device;
		f->group = instance % m->c.numbers;
		f->instance = instance / m->c.numbers + 1;
		f->address = (page + i) << 12;
		f->length = 4096;
		f->queue = (__u16)queue;
		f->pid = 1000 + device;
		f->flags = below(m, 3) ? EVENT_READ : EVENT_WRITE;
		if (!below(m, 4))
			f->flags |= EVENT_MAJOR;
		if (i == n - 1)
			f->flags |= EVENT_LAST;
		f->seen = seen_of(fate, missing);
		f->state = state_of(fate);
		f->code = code;
		f->handler_tid = 2000 + device;
		f->handler_cpu = (__u16)(device % 2);
	}
	f = &m->out->faults[first];
	draw_times(m, f, n, start, fate);
	emit_faults(m, f, n, fate);
	/* What was not told is not known: the truth holds what must be found. */
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < FAULT_STAGES; k++)
			if (!(f[i].seen & (1u << k)))
				f[i].at[k] = 0;
		if (!(f[i].seen & (1u << STAGE(EVENT_FAULT_REQUEST))))
			f[i].flags &= (__u8)~EVENT_LAST;
		if (!(f[i].seen & (1u << STAGE(EVENT_FAULT_RESOLVED))))
			f[i].flags &= (__u8)~EVENT_MAJOR;
		if (!(f[i].seen & (1u << STAGE(EVENT_FAULT_HANDLER)))) {
			f[i].handler_tid = 0;
			f[i].handler_cpu = 0;
		}
	}
}

static void make_noise(struct maker *m, __u64 start)
{
	for (unsigned int i = 0; i < m->c.cpu_noise; i++)
		emit(m,
		     (struct event){
			     .time_ns = start + below(m, m->c.gap_ns),
			     .address = below(m, 1ull << 40),
			     .value = 6,
			     .pid = 3000 + (__u32)below(m, 3),
			     .kind = EVENT_CPU_FAULT,
			     .queue = QUEUE_NONE,
		     },
		     0);
}

/* Slow I/Os are told one by one and counted in the frame of their window as all others. */
static void make_ios(struct maker *m, struct aggregate_frame *frame, struct aggregate_bin *bins)
{
	struct aggregate_row *rows = calloc(m->c.devices + 1, sizeof(*rows));
	__u64 from = frame->window * AGGREGATE_WINDOW_NS;

	for (unsigned int d = 1; d <= m->c.devices; d++) {
		struct aggregate_row *row = &rows[d - 1];

		*row = (struct aggregate_row){
			.key = {.window = frame->window,
				.device = d,
				.pid = 1000 + d,
				.kind = EVENT_IO_COMPLETE,
				.queue = QUEUE_NONE},
			.histogram = (__u32)frame->bin_count,
		};
		for (unsigned int i = 0; i < IOS_PER_WINDOW; i++) {
			__u64 latency = below(m, 40) ? 50000 + below(m, 100000)
						     : SLOW_IO_NS + below(m, SLOW_IO_NS);
			__u64 done = from + below(m, AGGREGATE_WINDOW_NS);

			bins[frame->bin_count++] =
				(struct aggregate_bin){histogram_bucket(latency), 1};
			row->bins++;
			row->counts.count++;
			row->counts.bytes += 4096;
			row->counts.latency_sum_ns += latency;
			if (latency > row->counts.latency_max_ns)
				row->counts.latency_max_ns = latency;
			if (latency >= SLOW_IO_NS)
				emit(m,
				     (struct event){.time_ns = done,
						    .device = d,
						    .value = latency,
						    .length = 4096,
						    .queue = (__u16)below(m, m->c.queues),
						    .code = below(m, 2) ? IO_FAULTED : IO_OK,
						    .kind = EVENT_IO_COMPLETE},
				     0);
		}
	}
	rows[m->c.devices] = (struct aggregate_row){
		.key = {.window = frame->window,
			.pid = 4000,
			.kind = EVENT_CPU_FAULT,
			.queue = QUEUE_NONE},
		.counts = {.count = 1009 + below(m, 1000)},
	};
	frame->rows = rows;
	frame->row_count = m->c.devices + 1;
	frame->bins = bins;
}

static int by_page(const void *a, const void *b)
{
	const struct aggregate_page *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->page < y->page ? -1 : x->page > y->page;
}

static void make_pages(struct maker *m, struct aggregate_frame *frame)
{
	struct aggregate_page *pages = calloc(PAGES_PER_FRAME, sizeof(*pages));

	for (unsigned int i = 0; i < PAGES_PER_FRAME; i++) {
		pages[i].device = 1 + (__u32)below(m, m->c.devices);
		pages[i].page = below(m, 1 << 12);
		pages[i].pasid = PASID_NONE;
		pages[i].reads = 1 + (__u32)below(m, 4);
		pages[i].writes = (__u32)below(m, 4);
	}
	qsort(pages, PAGES_PER_FRAME, sizeof(*pages), by_page);
	frame->pages = pages;
	frame->page_count = PAGES_PER_FRAME;
}

static void make_frames(struct maker *m)
{
	struct synthetic *s = m->out;
	__u64 first = m->c.start_ns / AGGREGATE_WINDOW_NS, last = s->end_ns / AGGREGATE_WINDOW_NS;

	s->frames = calloc(last - first + 1, sizeof(*s->frames));
	for (__u64 w = first; w <= last; w++) {
		struct aggregate_frame *frame = &s->frames[s->frame_count++];
		struct aggregate_bin *bins =
			calloc((size_t)m->c.devices * IOS_PER_WINDOW, sizeof(*bins));

		frame->window = w;
		make_ios(m, frame, bins);
		make_pages(m, frame);
	}
}

static int by_arrival(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->when != y->when)
		return x->when < y->when ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void make_devices(struct maker *m)
{
	struct synthetic *s = m->out;

	s->device_count = m->c.devices;
	s->devices = calloc(s->device_count, sizeof(*s->devices));
	for (unsigned int d = 0; d < m->c.devices; d++) {
		struct device_info *info = &s->devices[d];

		info->handle = d + 1;
		info->kind = DEVICE_EMULATED;
		snprintf(info->name, sizeof(info->name), "tenant%u/disk0", d);
		snprintf(info->vm, sizeof(info->vm), "tenant%u", d);
		strcpy(info->model, "block");
		strcpy(info->comm, "emulator");
		info->iommu_group = -1;
		info->pid = 1001 + d;
		info->queues = m->c.queues;
		info->memory = 1ull << 30;
		info->first_ns = m->c.start_ns;
	}
}

static void fill_defaults(struct synthetic_config *c)
{
	c->devices = c->devices ? c->devices : 3;
	c->queues = c->queues ? c->queues : 2;
	c->groups = c->groups ? c->groups : 997;
	c->requests_max = c->requests_max ? c->requests_max : 1;
	if (c->requests_max > REQUESTS_MAX)
		c->requests_max = REQUESTS_MAX;
	c->numbers = c->numbers ? c->numbers : 32;
	c->start_ns = c->start_ns ? c->start_ns : 1000 * AGGREGATE_WINDOW_NS;
	c->gap_ns = c->gap_ns ? c->gap_ns : 3000000;
}

void synthetic_make(struct synthetic *synthetic, const struct synthetic_config *config)
{
	struct maker m = {.c = *config, .seed = config->seed, .out = synthetic};
	__u64 t;

	memset(synthetic, 0, sizeof(*synthetic));
	fill_defaults(&m.c);
	m.used = calloc(m.c.devices + 1, sizeof(*m.used));
	make_devices(&m);
	strcpy(synthetic->host.hostname, "synthetic");
	strcpy(synthetic->host.kernel, "6.1.0-test");
	synthetic->host.start_ns = m.c.start_ns;
	synthetic->clock = (struct clock_anchor){m.c.start_ns, 1795269600000000000ull};
	t = m.c.start_ns;
	for (unsigned int i = 0; i < m.c.groups; i++) {
		make_group(&m, i, t);
		make_noise(&m, t);
		t += 1 + below(&m, 2 * m.c.gap_ns);
	}
	if (m.c.frames)
		make_frames(&m);
	qsort(m.arrivals, m.count, sizeof(*m.arrivals), by_arrival);
	synthetic->events = calloc(m.count ? m.count : 1, sizeof(*synthetic->events));
	for (size_t i = 0; i < m.count; i++)
		synthetic->events[i] = m.arrivals[i].event;
	synthetic->event_count = m.count;
	synthetic->loss.produced = m.count;
	synthetic->loss.received = m.count;
	synthetic->end_ns += LATE_MAX_NS;
	free(m.arrivals);
	free(m.used);
}

static int feed_head(const struct synthetic *s, struct stream sink)
{
	struct probe_info probe = {.name = "fault_detect", .state = PROBE_ON};
	int error = sink.ops->host(sink.self, &s->host);

	strcpy(probe.attach, "usdt faultline:fault_detect");
	error = error ? error : sink.ops->clock(sink.self, &s->clock);
	error = error ? error : sink.ops->probe(sink.self, &probe);
	for (size_t i = 0; !error && i < s->device_count; i++)
		error = sink.ops->device(sink.self, &s->devices[i]);
	return error;
}

int synthetic_feed(const struct synthetic *s, struct stream sink, size_t chunk)
{
	size_t at = 0;
	int error = feed_head(s, sink);

	for (size_t f = 0; !error && f <= s->frame_count; f++) {
		__u64 close = f < s->frame_count ? (s->frames[f].window + 1) * AGGREGATE_WINDOW_NS
						 : UINT64_MAX;
		size_t end = at;

		while (end < s->event_count &&
		       (s->events[end].time_ns < close || s->events[end].flags & EVENT_LATE))
			end++;
		while (!error && at < end) {
			size_t n = chunk && chunk < end - at ? chunk : end - at;

			error = stream_events(sink, s->events + at, n);
			at += n;
		}
		if (!error && f < s->frame_count)
			error = sink.ops->aggregate(sink.self, &s->frames[f]);
	}
	error = error ? error : sink.ops->loss(sink.self, &s->loss);
	return error ? error : sink.ops->end(sink.self, s->end_ns);
}

void synthetic_free(struct synthetic *s)
{
	for (size_t i = 0; i < s->frame_count; i++) {
		free((void *)s->frames[i].rows);
		free((void *)s->frames[i].bins);
		free((void *)s->frames[i].pages);
	}
	free(s->frames);
	free(s->faults);
	free(s->events);
	free(s->devices);
	memset(s, 0, sizeof(*s));
}
