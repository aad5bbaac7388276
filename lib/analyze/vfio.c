// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/vfio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/slots.h"
#include "lib/base/fail.h"

struct vfio {
	struct slots containers; /* struct vfio_container * */
	struct slots devices;	 /* struct vfio_device_use * */
	unsigned int container_count;
	int error;
};

/* Something that happened `count` times, one by one or in a second's sum. */
struct happening {
	__u64 time_ns, count, bytes, ns;
	__u32 device;
	__u16 kind, queue;
	__u8 code, flags;
};

static void *make(struct vfio *v, struct slots *slots, __u32 handle, size_t size)
{
	void **slot = slots_make(slots, handle);

	/* A damaged recording may name any handle; what no device can have has no account. */
	if (!slot)
		return NULL;
	if (!*slot)
		*slot = calloc(1, size);
	if (*slot)
		return *slot;
	v->error = failed(-ENOMEM, "no memory for the account of a VFIO container");
	return NULL;
}

static struct vfio_container *container(struct vfio *v, __u32 handle)
{
	struct vfio_container **slot = slots_find(&v->containers, handle), *made;

	if (slot && *slot)
		return *slot;
	made = make(v, &v->containers, handle, sizeof(*made));
	if (!made)
		return NULL;
	histogram_init(&made->map_ns);
	histogram_init(&made->unmap_ns);
	histogram_init(&made->pin_ns);
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

/* The histogram that the latencies of this belong to, NULL: none. */
static struct histogram *account(struct vfio *v, const struct happening *h)
{
	struct vfio_container *c = container(v, h->device);

	if (!c)
		return NULL;
	if (h->code) {
		add_failure(c, h);
		return NULL;
	}
	switch (h->kind) {
	case EVENT_VFIO_MAP:
		add_maps(c, h);
		return &c->map_ns;
	case EVENT_VFIO_UNMAP:
		c->unmapped += h->bytes;
		if (h->flags & EVENT_PRIV) {
			c->closed += h->count;
			return NULL;
		}
		c->unmaps += h->count;
		return &c->unmap_ns;
	case EVENT_VFIO_PIN:
		add_pins(c, h);
		return &c->pin_ns;
	default:
		c->unpinned += h->bytes;
		return NULL;
	}
}

static void add_limit(struct vfio *v, const struct event *e)
{
	struct vfio_container *c = e->code < VFIO_LIMITS ? container(v, e->device) : NULL;
	struct vfio_limit_use *use;

	if (!c)
		return;
	use = &c->limits[e->code];
	use->seen = true;
	use->used = e->value;
	use->limit = e->length;
	use->exempt = e->flags & EVENT_PRIV;
	if (e->value > use->peak)
		use->peak = e->value;
}

static void add_to_device(struct vfio *v, const struct event *e)
{
	struct vfio_device_use *use = make(v, &v->devices, e->device, sizeof(*use));

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
	struct histogram *histogram;

	switch (e->kind) {
	case EVENT_VFIO_MAP:
	case EVENT_VFIO_UNMAP:
	case EVENT_VFIO_PIN:
	case EVENT_VFIO_UNPIN:
		histogram = account(v, &one);
		if (histogram)
			histogram_add(histogram, e->value);
		break;
	case EVENT_VFIO_LIMIT:
		add_limit(v, e);
		break;
	default:
		add_to_device(v, e);
		break;
	}
}

static int on_events(void *self, const struct event *events, size_t count)
{
	struct vfio *v = self;

	for (size_t i = 0; i < count; i++)
		if (events[i].kind >= EVENT_VFIO_MAP && events[i].kind <= EVENT_VFIO_IRQ)
			add_event(v, &events[i]);
	return v->error;
}

static void add_bins(struct histogram *histogram, const struct aggregate_frame *frame,
		     const struct aggregate_row *row)
{
	if (row->histogram > frame->bin_count || row->bins > frame->bin_count - row->histogram)
		return;
	for (__u32 i = 0; i < row->bins; i++) {
		const struct aggregate_bin *bin = &frame->bins[row->histogram + i];

		histogram_add_bucket(histogram, bin->bucket, bin->count);
	}
}

static void add_row(struct vfio *v, const struct aggregate_frame *frame,
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
	struct histogram *histogram;
	__u64 most;

	if (k->kind == EVENT_VFIO_IRQ) {
		use = make(v, &v->devices, k->device, sizeof(*use));
		if (use)
			use->interrupts += row->counts.count;
		return;
	}
	histogram = account(v, &sum);
	if (!histogram)
		return;
	/* Buckets know the maximum only to 1.6%; the counter knows it exactly. */
	most = histogram->max;
	if (row->counts.latency_max_ns > most)
		most = row->counts.latency_max_ns;
	add_bins(histogram, frame, row);
	histogram->max = most;
}

static int on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct vfio *v = self;

	for (size_t i = 0; i < frame->row_count; i++) {
		__u16 kind = frame->rows[i].key.kind;

		if ((kind >= EVENT_VFIO_MAP && kind <= EVENT_VFIO_UNPIN) || kind == EVENT_VFIO_IRQ)
			add_row(v, frame, &frame->rows[i]);
	}
	return v->error;
}

int vfio_create(struct vfio **vfio)
{
	struct vfio *v = calloc(1, sizeof(*v));

	*vfio = v;
	if (!v)
		return failed(-ENOMEM, "no memory for the account of VFIO");
	slots_init(&v->containers, sizeof(struct vfio_container *));
	slots_init(&v->devices, sizeof(struct vfio_device_use *));
	return 0;
}

struct stream vfio_stream(struct vfio *vfio)
{
	static const struct stream_ops ops = {.events = on_events, .aggregate = on_aggregate};

	return (struct stream){&ops, vfio};
}

static void free_all(struct slots *slots)
{
	for (__u32 h = 0; h < slots->end; h++) {
		void **slot = slots_find(slots, h);

		if (slot)
			free(*slot);
	}
	slots_free(slots);
}

void vfio_destroy(struct vfio *vfio)
{
	if (!vfio)
		return;
	free_all(&vfio->containers);
	free_all(&vfio->devices);
	free(vfio);
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
