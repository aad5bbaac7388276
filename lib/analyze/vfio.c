// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/vfio.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/slots.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct vfio {
	struct slots containers; /* struct vfio_container * */
	struct slots devices;	 /* struct vfio_device_use * */
	unsigned int container_count;
	struct window *window; /* NULL: nobody looks */
	struct period period;
	int error;
};

/* Something that happened `count` times, one by one or in a second's sum. */
struct happening {
	__u64 time_ns, count, bytes, ns;
	__u32 device;
	__u16 kind, queue;
	__u8 code, flags;
};

static void *vfio_make(struct vfio *v, struct slots *slots, __u32 handle, size_t size)
{
	void **slot = slots_make(slots, handle);

	/* A damaged recording may name any handle; what no device can have has no account. */
	if (!slot)
		return NULL;
	if (!*slot)
		*slot = memory_calloc(1, size);
	if (*slot)
		return *slot;
	v->error = failed(-ENOMEM, "no memory for the account of a VFIO container");
	return NULL;
}

static struct vfio_container *vfio_container_make(struct vfio *v, __u32 handle)
{
	struct vfio_container **slot = slots_find(&v->containers, handle), *made;

	if (slot && *slot)
		return *slot;
	made = vfio_make(v, &v->containers, handle, sizeof(*made));
	if (!made)
		return NULL;
	for (unsigned int i = 0; i < VFIO_LATENCIES; i++)
		histogram_init(&made->latency[i]);
	v->container_count++;
	return made;
}

static void add_failure(struct vfio_container *c, const struct happening *h)
{
	unsigned int i = 0;

	c->failed += h->kind == EVENT_VFIO_PIN ? 0 : h->count;
	while (i < c->failure_count &&
	       (c->failures[i].kind != h->kind || c->failures[i].error != h->code))
		i++;
	if (i == VFIO_FAILURES)
		i--;
	else if (i == c->failure_count)
		c->failures[c->failure_count++] = (struct vfio_failure){h->kind, h->code, 0};
	c->failures[i].count += h->count;
}

static void add_maps(struct vfio_container *c, const struct happening *h)
{
	__u64 window = h->time_ns / AGGREGATE_WINDOW_NS;

	c->maps += h->count;
	c->mapped += h->bytes;
	if (window != c->window) {
		c->window = window;
		c->window_maps = 0;
	}
	c->window_maps += h->count;
	if (c->window_maps > c->most_maps)
		c->most_maps = c->window_maps;
}

static void add_pins(struct vfio_container *c, const struct happening *h)
{
	c->pins += h->count;
	c->pinned += h->bytes;
	if (h->queue >= VFIO_ORDERS)
		return;
	c->runs[h->queue] += h->count;
	c->run_bytes[h->queue] += h->bytes;
}

/* The latencies that this one's belong to, VFIO_LATENCIES: none. */
static enum vfio_latency vfio_account(struct vfio *v, const struct happening *h)
{
	struct vfio_container *c = vfio_container_make(v, h->device);

	if (!c)
		return VFIO_LATENCIES;
	if (h->code) {
		add_failure(c, h);
		return VFIO_LATENCIES;
	}
	switch (h->kind) {
	case EVENT_VFIO_MAP:
		add_maps(c, h);
		return VFIO_MAP_NS;
	case EVENT_VFIO_UNMAP:
		c->unmapped += h->bytes;
		if (h->flags & EVENT_PRIV) {
			c->closed += h->count;
			return VFIO_LATENCIES;
		}
		c->unmaps += h->count;
		return VFIO_UNMAP_NS;
	case EVENT_VFIO_PIN:
		add_pins(c, h);
		return VFIO_PIN_NS;
	default:
		c->unpinned += h->bytes;
		return VFIO_LATENCIES;
	}
}

/* `most_ns`: the greatest of them, which is known better than a bucket's middle; 0: not among these. */
static void vfio_add_newest(struct vfio *v, __u32 device, enum vfio_latency which, __u64 ns,
			    __u64 most_ns, __u32 count)
{
	struct window_sample *sample = window_add(v->window);

	if (!sample)
		return;
	sample->owner = device;
	sample->part = which;
	sample->ns[0] = ns;
	sample->ns[1] = most_ns;
	sample->count = count;
}

static void add_limit(struct vfio *v, const struct event *e)
{
	struct vfio_container *c = e->code < VFIO_LIMITS ? vfio_container_make(v, e->device) : NULL;
	struct vfio_limit_use *use;

	if (!c)
		return;
	use = &c->limits[e->code];
	use->seen = true;
	use->used = e->value;
	use->limit = e->length;
	use->exempt = e->flags & EVENT_PRIV;
	/* What it was before the period it still is as that begins. */
	if (e->value > use->peak || e->time_ns < v->period.since_ns)
		use->peak = e->value;
}

static void add_to_device(struct vfio *v, const struct event *e)
{
	struct vfio_device_use *use = vfio_make(v, &v->devices, e->device, sizeof(*use));

	if (!use)
		return;
	if (e->kind == EVENT_VFIO_IRQ) {
		use->interrupts++;
	} else if (e->kind == EVENT_VFIO_VECTOR) {
		if (e->length)
			use->vectors_failed++;
		else
			use->vectors += e->value;
	} else if (e->code) {
		use->reset_failed++;
	} else {
		use->resets++;
		use->reset_ns += e->value;
		if (e->value > use->reset_max_ns)
			use->reset_max_ns = e->value;
	}
}

static void add_event(struct vfio *v, const struct event *e)
{
	struct happening one = {e->time_ns, 1,	      e->length, e->value, e->device,
				e->kind,    e->queue, e->code,	 e->flags};
	enum vfio_latency which;

	switch (e->kind) {
	case EVENT_VFIO_MAP:
	case EVENT_VFIO_UNMAP:
	case EVENT_VFIO_PIN:
	case EVENT_VFIO_UNPIN:
		which = vfio_account(v, &one);
		if (which == VFIO_LATENCIES)
			break;
		histogram_add(&vfio_container_make(v, e->device)->latency[which], e->value);
		vfio_add_newest(v, e->device, which, e->value, e->value, 1);
		break;
	case EVENT_VFIO_LIMIT:
		add_limit(v, e);
		break;
	default:
		add_to_device(v, e);
		break;
	}
}

static int vfio_on_events(void *self, const struct event *events, size_t count)
{
	struct vfio *v = self;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		if (e->kind < EVENT_VFIO_MAP || e->kind > EVENT_VFIO_IRQ)
			continue;
		if (period_has(&v->period, e->time_ns))
			add_event(v, e);
		else if (e->kind == EVENT_VFIO_LIMIT && !period_is_after(&v->period, e->time_ns))
			add_limit(v, e);
	}
	return v->error;
}

static void vfio_add_bins(struct vfio *v, enum vfio_latency which,
			  const struct aggregate_frame *frame, const struct aggregate_row *row)
{
	struct histogram *histogram = &vfio_container_make(v, row->key.device)->latency[which];
	/* Buckets know the maximum only to 1.6%; the counter knows it exactly. */
	__u64 most = row->counts.latency_max_ns > histogram->max ? row->counts.latency_max_ns
								 : histogram->max;

	if (row->histogram > frame->bin_count || row->bins > frame->bin_count - row->histogram)
		return;
	for (__u32 i = 0; i < row->bins; i++) {
		const struct aggregate_bin *bin = &frame->bins[row->histogram + i];

		histogram_add_bucket(histogram, bin->bucket, bin->count);
		/* Bins are ordered: the greatest is in the last. */
		vfio_add_newest(v, row->key.device, which, histogram_bucket_middle(bin->bucket),
				i + 1 == row->bins ? row->counts.latency_max_ns : 0, bin->count);
	}
	histogram->max = most;
}

static void vfio_add_row(struct vfio *v, const struct aggregate_frame *frame,
			 const struct aggregate_row *row)
{
	const struct aggregate_key *k = &row->key;
	struct happening sum = {frame->window * AGGREGATE_WINDOW_NS,
				row->counts.count,
				row->counts.bytes,
				0,
				k->device,
				k->kind,
				k->queue,
				k->code,
				k->flags};
	struct vfio_device_use *use;
	enum vfio_latency which;

	if (k->kind == EVENT_VFIO_IRQ) {
		use = vfio_make(v, &v->devices, k->device, sizeof(*use));
		if (use)
			use->interrupts += row->counts.count;
		return;
	}
	which = vfio_account(v, &sum);
	if (which != VFIO_LATENCIES)
		vfio_add_bins(v, which, frame, row);
}

static int vfio_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct vfio *v = self;

	if (!period_has_window(&v->period, frame->window))
		return 0;
	for (size_t i = 0; i < frame->row_count; i++) {
		__u16 kind = frame->rows[i].key.kind;

		if ((kind >= EVENT_VFIO_MAP && kind <= EVENT_VFIO_UNPIN) || kind == EVENT_VFIO_IRQ)
			vfio_add_row(v, frame, &frame->rows[i]);
	}
	return v->error;
}

static void vfio_newest_empty(struct vfio_container *c)
{
	for (unsigned int i = 0; c->newest && i < VFIO_LATENCIES; i++)
		histogram_init(&c->newest[i]);
}

static void vfio_newest_add(struct histogram *h, const struct window_sample *sample)
{
	__u64 most = sample->ns[1] > h->max ? sample->ns[1] : h->max;

	histogram_add_many(h, sample->ns[0], sample->count);
	if (sample->ns[1])
		h->max = most;
}

/* Histograms of the window are made by those who look, not while the stream passes. */
void vfio_look(const struct analysis *a, __u64 now_ns, __u64 length_ns)
{
	struct vfio *v = a->vfio;

	window_look(v->window, now_ns, length_ns);
	for (__u32 h = 0; h < v->containers.end; h++) {
		struct vfio_container **slot = slots_find(&v->containers, h);

		if (slot && *slot)
			vfio_newest_empty(*slot);
	}
	for (size_t i = 0; i < window_count(v->window); i++) {
		const struct window_sample *sample = window_at(v->window, i);
		struct vfio_container *c = vfio_container_make(v, sample->owner);

		if (c && !c->newest) {
			c->newest = memory_calloc(VFIO_LATENCIES, sizeof(*c->newest));
			vfio_newest_empty(c);
		}
		if (c && c->newest)
			vfio_newest_add(&c->newest[sample->part], sample);
	}
}

int vfio_create(struct vfio **vfio, bool windowed, const struct period *period)
{
	struct vfio *v = memory_calloc(1, sizeof(*v));

	*vfio = v;
	if (!v)
		return failed(-ENOMEM, "no memory for the account of VFIO");
	if (windowed && !(v->window = window_create()))
		return failed(-ENOMEM, "no memory for the newest latencies");
	if (period)
		v->period = *period;
	slots_init(&v->containers, sizeof(struct vfio_container *));
	slots_init(&v->devices, sizeof(struct vfio_device_use *));
	return 0;
}

struct stream vfio_stream(struct vfio *vfio)
{
	static const struct stream_ops ops = {.events = vfio_on_events,
					      .aggregate = vfio_on_aggregate};

	return (struct stream){&ops, vfio};
}

static void free_all(struct slots *slots)
{
	for (__u32 h = 0; h < slots->end; h++) {
		void **slot = slots_find(slots, h);

		if (slot)
			memory_free(*slot);
	}
	slots_free(slots);
}

void vfio_destroy(struct vfio *vfio)
{
	if (!vfio)
		return;
	for (__u32 h = 0; h < vfio->containers.end; h++) {
		struct vfio_container **slot = slots_find(&vfio->containers, h);

		if (slot && *slot)
			memory_free((*slot)->newest);
	}
	window_destroy(vfio->window);
	free_all(&vfio->containers);
	free_all(&vfio->devices);
	memory_free(vfio);
}

unsigned int vfio_containers(const struct vfio *vfio)
{
	return vfio->container_count;
}

const struct vfio_container *vfio_container(const struct vfio *vfio, __u32 handle)
{
	struct vfio_container *const *slot = slots_find(&vfio->containers, handle);

	return slot ? *slot : NULL;
}

const struct vfio_device_use *vfio_device(const struct vfio *vfio, __u32 handle)
{
	struct vfio_device_use *const *slot = slots_find(&vfio->devices, handle);

	return slot ? *slot : NULL;
}
