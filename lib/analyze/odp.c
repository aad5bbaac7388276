// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/odp.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/odp_private.h"
#include "lib/analyze/stage.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define PAGE_BYTES 4096ull

struct odp_device *odp_device_find(const struct odp *odp, __u32 device)
{
	struct odp_device *const *slot = slots_find(&odp->devices, device);

	return slot ? *slot : NULL;
}

static struct odp_device *device_make(struct odp *odp, __u32 device)
{
	struct odp_device **slot = slots_make(&odp->devices, device);

	if (slot && !*slot) {
		*slot = memory_calloc(1, sizeof(**slot));
		if (*slot)
			histogram_init(&(*slot)->totals.latency);
	}
	return slot ? *slot : NULL;
}

/* Where something of a region is counted: there and for its device. */
struct accounts {
	struct odp_totals *both[2];
	size_t count;
};

static struct accounts accounts_with(struct odp *odp, __u32 device_handle,
				     struct odp_region *region)
{
	struct odp_device *device = device_make(odp, device_handle);
	struct accounts accounts = {0};

	if (device) {
		device->paged = true;
		accounts.both[accounts.count++] = &device->totals;
	}
	if (region)
		accounts.both[accounts.count++] = &region->totals;
	return accounts;
}

static struct accounts accounts_of(struct odp *odp, __u32 device, __u32 key)
{
	return accounts_with(odp, device, odp_region_make(odp, device, key));
}

static bool is_rdma(const struct odp *odp, __u32 device)
{
	const struct device_info *info = session_device(odp->session, device);

	return info && info->kind == DEVICE_IB;
}

static void odp_add_newest(struct odp *odp, const struct fault *fault, __u32 key)
{
	struct window_sample *sample = window_add(odp->window);

	if (!sample)
		return;
	sample->owner = fault->device;
	sample->part = key;
	sample->ns[0] = fault_last_ns(fault) - fault_first_ns(fault);
}

static void count_fault(struct odp *odp, const struct fault *fault, __u32 key,
			const struct accounts *accounts)
{
	const __u8 response = 1u << (EVENT_FAULT_RESPONSE - EVENT_FAULT_DETECT);
	const __u8 mapped = 1u << (EVENT_FAULT_MAPPED - EVENT_FAULT_DETECT);

	for (size_t i = 0; i < accounts->count; i++) {
		struct odp_totals *totals = accounts->both[i];

		totals->faults++;
		totals->bytes += fault->length;
		totals->major += !!(fault->flags & EVENT_MAJOR);
		totals->unknown += !fault_effort_known(fault);
		totals->failed += fault->seen & response && fault->code != RESPONSE_SUCCESS;
		if (fault->seen & (response | mapped))
			histogram_add(&totals->latency,
				      fault_last_ns(fault) - fault_first_ns(fault));
	}
	if (fault->seen & (response | mapped))
		odp_add_newest(odp, fault, key);
}

/* Each of an emulated device's faults is one page. */
static void count_waiting(struct odp *odp)
{
	const __u8 mapped = 1u << (EVENT_FAULT_MAPPED - EVENT_FAULT_DETECT);

	for (size_t i = 0; i < odp->waiting_count; i++) {
		const struct fault *fault = &odp->waiting[i];
		struct odp_region *region =
			odp_region_at(odp, fault->device, fault->address, fault_first_ns(fault));
		struct accounts accounts = accounts_with(odp, fault->device, region);

		count_fault(odp, fault, region ? region->key : 0, &accounts);
		for (size_t k = 0; k < accounts.count; k++)
			accounts.both[k]->pages += !!(fault->seen & mapped);
	}
	odp->waiting_count = 0;
}

static void odp_on_finished(void *self, const struct fault *fault)
{
	struct odp *odp = self;
	struct accounts accounts;

	if (is_rdma(odp, fault->device)) {
		accounts = accounts_of(odp, fault->device, fault->group);
		count_fault(odp, fault, fault->group, &accounts);
	} else if (odp_is_emulated(odp, fault->device)) {
		if (array_grow(&odp->waiting, &odp->waiting_room, odp->waiting_count + 1,
			       sizeof(*odp->waiting), ARRAY_LIMITED))
			odp->waiting[odp->waiting_count++] = *fault;
		else
			odp->dropped++;
	}
}

static bool is_asked_for(const struct odp *odp, __u64 time_ns)
{
	return period_has(session_period(odp->session), time_ns);
}

static void span_begins(struct odp_device *device, const struct event *e)
{
	for (size_t i = 0; i < device->open_count; i++)
		if (device->open[i].instance == e->instance)
			return;
	if (device->open_count < SPANS_KEPT)
		device->open[device->open_count++] = (struct odp_span){e->time_ns, 0, e->instance};
}

static void span_ends(struct odp_device *device, const struct event *e)
{
	for (size_t i = 0; i < device->open_count; i++) {
		struct odp_span *span = &device->open[i];

		if (span->instance != e->instance)
			continue;
		span->end_ns = e->time_ns;
		device->over[device->over_count++ % SPANS_KEPT] = *span;
		*span = device->open[--device->open_count];
		return;
	}
}

/* When the fault of this event began, as far as it is known. */
static __u64 begin_of(const struct odp_device *device, const struct event *e)
{
	for (size_t i = 0; i < device->open_count; i++)
		if (device->open[i].instance == e->instance)
			return device->open[i].begin_ns;
	return e->time_ns;
}

static void take_stage(struct odp *odp, const struct event *e)
{
	bool emulated = odp_is_emulated(odp, e->device);
	struct odp_device *device;

	if (!emulated && !is_rdma(odp, e->device))
		return;
	device = device_make(odp, e->device);
	if (!device)
		return;
	if (emulated) {
		if (e->kind == EVENT_FAULT_RESPONSE)
			span_ends(device, e);
		else
			span_begins(device, e);
		return;
	}
	if (e->kind == EVENT_FAULT_MAPPED && is_asked_for(odp, begin_of(device, e))) {
		struct accounts accounts = accounts_of(odp, e->device, (__u32)e->value);

		for (size_t i = 0; i < accounts.count; i++)
			accounts.both[i]->pages += e->value >> 32;
	}
	if (e->flags & EVENT_LAST && e->kind > EVENT_FAULT_HANDLER)
		span_ends(device, e);
	else
		span_begins(device, e);
}

static void take_invalidation(struct odp *odp, const struct event *e)
{
	struct accounts accounts = accounts_of(odp, e->device, e->group);

	for (size_t i = 0; i < accounts.count; i++) {
		accounts.both[i]->invalidations++;
		accounts.both[i]->invalidated_pages += e->instance;
	}
}

/* What the host took from an emulated device. */
static void take_freed(struct odp *odp, const struct event *e)
{
	struct accounts accounts;

	if (!odp_is_emulated(odp, e->device))
		return;
	accounts = accounts_with(odp, e->device,
				 odp_region_at(odp, e->device, e->address, e->time_ns));
	for (size_t i = 0; i < accounts.count; i++) {
		accounts.both[i]->invalidations++;
		accounts.both[i]->invalidated_pages += e->length / PAGE_BYTES;
	}
}

static void take_prefetch(struct odp *odp, const struct event *e)
{
	struct accounts accounts = accounts_of(odp, e->device, e->group);

	for (size_t i = 0; i < accounts.count; i++) {
		accounts.both[i]->prefetches++;
		accounts.both[i]->prefetched_pages += e->instance;
	}
}

/* The longest fault that was being served at some time since `since_ns`, 0 if none was. */
static __u64 longest_since(const struct odp_device *device, __u64 since_ns, __u64 now_ns)
{
	size_t kept = device->over_count < SPANS_KEPT ? device->over_count : SPANS_KEPT;
	__u64 longest = 0;

	for (size_t i = 0; i < kept + device->open_count; i++) {
		const struct odp_span *span = i < kept ? &device->over[i] : &device->open[i - kept];
		__u64 end_ns = span->end_ns ? span->end_ns : now_ns;
		/* Never 0: a fault that began just now is one, too. */
		__u64 length = end_ns > span->begin_ns ? end_ns - span->begin_ns : 1;

		if (end_ns >= since_ns && length > longest)
			longest = length;
	}
	return longest;
}

static void odp_take_counter(struct odp *odp, const struct event *e)
{
	struct odp_device *device = device_make(odp, e->device);
	struct odp_counter *counter;
	__u64 longest;

	if (!device || e->code >= RDMA_COUNTERS)
		return;
	device->counted = true;
	counter = &device->counters[e->code];
	counter->moved += e->value;
	longest = longest_since(device, e->time_ns - e->length, e->time_ns);
	if (longest)
		counter->during += e->value;
	if (longest > counter->longest_ns)
		counter->longest_ns = longest;
}

static void take_counted(struct odp *odp, const struct event *e)
{
	if (e->kind == EVENT_ODP_INVALIDATE)
		take_invalidation(odp, e);
	else if (e->kind == EVENT_ODP_PREFETCH)
		take_prefetch(odp, e);
	else if (e->kind == EVENT_INVALIDATE_FREED)
		take_freed(odp, e);
	else
		odp_take_counter(odp, e);
}

static int odp_on_events(void *self, const struct event *events, size_t count)
{
	struct odp *odp = self;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];

		switch (e->kind) {
		case EVENT_FAULT_ISR:
		case EVENT_FAULT_HANDLER:
		case EVENT_FAULT_MAPPED:
		case EVENT_FAULT_RESPONSE:
			take_stage(odp, e);
			break;
		case EVENT_ODP_REGION:
			odp_take_region(odp, e);
			break;
		case EVENT_ODP_INVALIDATE:
		case EVENT_ODP_PREFETCH:
		case EVENT_RDMA_COUNTER:
		case EVENT_INVALIDATE_FREED:
			if (is_asked_for(odp, e->time_ns))
				take_counted(odp, e);
			break;
		default:
			break;
		}
	}
	count_waiting(odp);
	return 0;
}

static int odp_on_time(void *self, __u64 now_ns)
{
	(void)now_ns;
	count_waiting(self);
	return 0;
}

static int odp_on_process(void *self, const struct process_info *info)
{
	struct odp *odp = self;
	struct odp_process *process;

	HASH_FIND(hh, odp->processes, &info->pid, sizeof(info->pid), process);
	if (!process && HASH_COUNT(odp->processes) < ODP_REGIONS_MAX) {
		process = memory_calloc(1, sizeof(*process));
		if (!process)
			return 0;
		process->pid = info->pid;
		HASH_ADD(hh, odp->processes, pid, sizeof(process->pid), process);
		if (!process->hh.tbl) {
			memory_free(process);
			return 0;
		}
	}
	if (process)
		memcpy(process->comm, info->comm, sizeof(process->comm) - 1);
	return 0;
}

/* Histograms of the window are made by those who look, not while the stream passes. */
static void odp_newest_empty(struct odp_totals *totals)
{
	if (totals->newest)
		histogram_init(totals->newest);
}

static void odp_newest_add(struct odp_totals *totals, __u64 ns)
{
	if (!totals->newest) {
		totals->newest = memory_calloc(1, sizeof(*totals->newest));
		odp_newest_empty(totals);
	}
	if (totals->newest)
		histogram_add(totals->newest, ns);
}

void odp_look(const struct analysis *a, __u64 now_ns, __u64 length_ns)
{
	struct odp *odp = a->odp;
	struct odp_entry *entry;

	window_look(odp->window, now_ns, length_ns);
	for (__u32 h = 0; h < odp->devices.end; h = slots_next(&odp->devices, h))
		if (odp_device_find(odp, h))
			odp_newest_empty(&odp_device_find(odp, h)->totals);
	for (entry = odp->regions; entry; entry = entry->hh.next)
		odp_newest_empty(&entry->region.totals);
	for (size_t i = 0; i < window_count(odp->window); i++) {
		const struct window_sample *sample = window_at(odp->window, i);
		const struct odp_region_key key = {sample->owner, sample->part};
		struct odp_device *device = odp_device_find(odp, sample->owner);

		if (device)
			odp_newest_add(&device->totals, sample->ns[0]);
		HASH_FIND(hh, odp->regions, &key, sizeof(key), entry);
		if (entry)
			odp_newest_add(&entry->region.totals, sample->ns[0]);
	}
}

int odp_create(struct odp **odp, const struct session *session, struct faults *faults,
	       bool windowed)
{
	struct odp *o = memory_calloc(1, sizeof(*o));

	*odp = o;
	if (!o)
		return failed(-ENOMEM, "no memory for on-demand paging");
	o->session = session;
	if (windowed && !(o->window = window_create()))
		return failed(-ENOMEM, "no memory for the newest latencies");
	slots_init(&o->devices, sizeof(struct odp_device *));
	return faults_subscribe(faults, (struct fault_sink){NULL, odp_on_finished, o});
}

struct stream odp_stream(struct odp *odp)
{
	static const struct stream_ops ops = {.events = odp_on_events,
					      .process = odp_on_process,
					      .tick = odp_on_time,
					      .end = odp_on_time};

	return (struct stream){&ops, odp};
}

void odp_destroy(struct odp *odp)
{
	struct odp_process *process, *after;
	struct odp_entry *entry, *next;

	if (!odp)
		return;
	HASH_ITER(hh, odp->processes, process, after) {
		HASH_DEL(odp->processes, process);
		memory_free(process);
	}
	HASH_ITER(hh, odp->regions, entry, next) {
		HASH_DEL(odp->regions, entry);
		memory_free(entry->region.totals.newest);
		memory_free(entry);
	}
	for (__u32 h = 0; h < odp->devices.end; h = slots_next(&odp->devices, h)) {
		struct odp_device *device = odp_device_find(odp, h);

		if (device)
			memory_free(device->totals.newest);
		memory_free(device);
	}
	window_destroy(odp->window);
	memory_free(odp->waiting);
	slots_free(&odp->devices);
	memory_free(odp);
}

const struct odp_totals *odp_of_device(const struct odp *odp, __u32 device)
{
	const struct odp_device *found = odp_device_find(odp, device);

	return found && found->paged ? &found->totals : NULL;
}

const struct odp_counter *odp_counter(const struct odp *odp, __u32 device,
				      enum rdma_counter counter)
{
	const struct odp_device *found = odp_device_find(odp, device);

	if (!found || (unsigned int)counter >= RDMA_COUNTERS || !found->counters[counter].moved)
		return NULL;
	return &found->counters[counter];
}

bool odp_seen(const struct odp *odp)
{
	if (odp->regions)
		return true;
	for (__u32 h = 0; h < odp->devices.end; h = slots_next(&odp->devices, h)) {
		const struct odp_device *device = odp_device_find(odp, h);

		if (device && (device->paged || device->counted))
			return true;
	}
	return false;
}
