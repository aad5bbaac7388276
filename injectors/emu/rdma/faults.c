// SPDX-License-Identifier: GPL-2.0
/*
 * The fault unit (NPF, ASPLOS'17, section 4): absent pages become page requests, without anybody waiting. A queue pair may
 * have fault_limit reports open, of each kind ({initiator, responder} x {reads, writes}) its share, at least one. What faults
 * while its kind has no report left is handled by the transport as ever, and not reported: a bit is cleared clear_delay
 * after its report has resumed, and then what was not reported is tried again, and reported if it is absent still.
 *
 * A fault is open from its report until port_request_resume(): so long its group means it, for observers. The profile's time
 * until the host hears of it is between the claim of its groups and their requests. The port's threads only put what was
 * answered into a list; all else is the engine's.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"

/* profile=connectx: of the 220 us that NPF measured (figure 3) 198 are the device's: firmware, before the host hears of it, and
 * after the host has answered. */
#define CONNECTX_DETECT_NS (150 * NSEC_PER_USEC)
#define CONNECTX_RESUME_NS (48 * NSEC_PER_USEC)

/* Nothing tells when a refused request may be raised: tries again after this, then twice it, ... */
#define REFUSED_NS	  (100 * NSEC_PER_USEC)
#define REFUSED_DOUBLINGS 6

static __u32 least(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

int fault_unit_create(struct rdma *device)
{
	struct fault_unit *unit = &device->faults;
	__u32 wanted = device->settings->queue_pairs * device->settings->fault_limit;

	unit->room = least(wanted, FAULTS_OPEN_MAX);
	unit->limit = device->settings->fault_limit / RDMA_SIDES ?: 1;
	if (device->settings->profile == RDMA_PROFILE_CONNECTX) {
		unit->detect_ns = CONNECTX_DETECT_NS;
		unit->resume_ns = CONNECTX_RESUME_NS;
	}
	unit->faults = calloc(unit->room, sizeof(*unit->faults));
	unit->open = calloc(unit->room, sizeof(*unit->open));
	unit->free = calloc(unit->room, sizeof(*unit->free));
	if (!unit->faults || !unit->open || !unit->free)
		return -ENOMEM;
	for (__u32 i = 0; i < unit->room; i++) {
		unit->free[i] = unit->room - 1 - i;
		unit->faults[i].device = device;
	}
	return 0;
}

void fault_unit_destroy(struct rdma *device)
{
	free(device->faults.faults);
	free(device->faults.open);
	free(device->faults.free);
}

static struct rdma_fault *fault_take(struct fault_unit *unit)
{
	__u32 index;

	if (unit->open_count == unit->room)
		return NULL;
	index = unit->free[unit->room - unit->open_count - 1];
	unit->open[unit->open_count++] = index;
	return &unit->faults[index];
}

/* At a place of unit->open, where another is afterwards. */
static void fault_give_back(struct fault_unit *unit, __u32 place)
{
	__u32 index = unit->open[place];

	unit->faults[index].state = FAULT_FREE;
	unit->faults[index].pair = NULL;
	unit->open[place] = unit->open[--unit->open_count];
	unit->free[unit->room - unit->open_count - 1] = index;
}

/* The port's threads: nothing but a list, and a bell. */
static void fault_done(struct port_request *request, int error)
{
	struct rdma_fault *fault = (struct rdma_fault *)request;
	struct rdma *device = fault->device;
	struct fault_unit *unit = &device->faults;

	fault->error = error;
	/* Not when the engine sees it, whose time is that of its round's begin. */
	fault->due_ns = unit->resume_ns ? monotonic_ns() + unit->resume_ns : 0;
	fault->next_answered = atomic_load(&unit->answered);
	while (!atomic_compare_exchange_weak(&unit->answered, &fault->next_answered, fault))
		;
	doorbell_ring(device->bell);
}

static void fault_raise(struct rdma *device, struct rdma_fault *fault, __u64 now_ns)
{
	__u32 doublings = least(fault->refusals, REFUSED_DOUBLINGS);
	bool claimed = fault->state == FAULT_CLAIMED;
	int error;

	/* From here on another thread may have it. */
	fault->state = FAULT_RAISED;
	error = claimed ? port_request_send(&fault->request)
			: port_request(device->port, &fault->request);
	if (!error) {
		device->totals.faults++;
		device->totals.fault_pages += fault->request.count;
		return;
	}
	fault->error = error == -EAGAIN ? -EAGAIN : -EIO;
	fault->state = error == -EAGAIN ? FAULT_HELD : FAULT_FAILED;
	fault->due_ns = now_ns + (error == -EAGAIN ? (__u64)REFUSED_NS << doublings : 0);
	/* Of a claim all until now has been told. */
	if (claimed || !fault->own.found_ns)
		fault->own.found_ns = now_ns;
	fault->refusals++;
	device->totals.refused++;
}

/* The host hears of it later. What has no index yet is raised as a whole then, and says since when. */
static void fault_detect(struct rdma *device, struct rdma_fault *fault, __u64 now_ns)
{
	int error = port_request_claim(device->port, &fault->request);

	fault->state = !error ? FAULT_CLAIMED : error == -EAGAIN ? FAULT_HELD : FAULT_FAILED;
	if (error == -EAGAIN)
		fault->own.found_ns = now_ns;
	else if (error)
		device->totals.refused++;
	fault->error = error ? -EIO : 0;
	fault->due_ns = monotonic_ns() + device->faults.detect_ns;
}

static void report_page(struct rdma_fault *fault, __u64 page)
{
	__u32 count = fault->request.count;

	if (count < FAULT_PAGES && (!count || fault->pages[count - 1] != page))
		fault->pages[fault->request.count++] = page;
}

/* What is absent of a range, which a region may not have as a whole: then its DMA will say so. */
static void add_absent(struct rdma_fault *fault, __u64 iova, __u64 bytes)
{
	bool write = fault->request.access == EVENT_WRITE;
	struct rdma *device = fault->device;
	struct dma *dma = &device->faults.probe;
	__u64 absent[GROUP_PAGES_MAX + 1];

	while (bytes && fault->request.count < FAULT_PAGES) {
		__u64 piece = bytes < HUGE_BYTES / 2 ? bytes : HUGE_BYTES / 2;
		int found =
			port_dma_try(device->port, fault->request.queue, device->pasid, iova, piece,
				     write, dma, absent, sizeof(absent) / sizeof(absent[0]));

		if (found < 0)
			return;
		if (!found)
			port_dma_end(device->port, dma);
		for (int i = 0; i < found; i++)
			report_page(fault, absent[i]);
		iova += piece;
		bytes -= piece;
	}
}

/* prefault=request: from the bytes that faulted to the end of the request. */
static void add_request(struct rdma_fault *fault, const struct rdma_transfer *transfer)
{
	struct transfer_walk parts = {transfer, .skip = transfer->offset,
				      .left = transfer->total - transfer->offset};
	const struct region *region;
	struct verbs_sge part;
	__u32 looked = 0;
	__u64 iova, run;

	/* Scattered pages are looked at one by one: not at more than a report can have. */
	while (transfer_next(&parts, &part) &&
	       !transfer_check(fault->pair, transfer, &part, &region)) {
		for (; part.length && looked++ < FAULT_PAGES;
		     part.address += run, part.length -= (__u32)run) {
			run = region_run(region, part.address, part.length, &iova);
			add_absent(fault, iova, run);
		}
	}
}

static bool has_page(const struct rdma_fault *fault, __u64 page)
{
	for (__u32 i = 0; i < fault->request.count; i++)
		if (fault->pages[i] == page)
			return true;
	return false;
}

/* The open report of this kind that stands in the way; NULL: the pair may have one more. */
static const struct rdma_fault *fault_before(const struct rdma_pair *pair, enum rdma_side side,
					     __u64 page)
{
	const struct fault_unit *unit = &pair->device->faults;
	const struct rdma_fault *newest = NULL;
	bool full = pair->faults.open[side] >= unit->limit ||
		    pair->faults.all >= pair->device->settings->fault_limit;

	for (__u32 i = 0; i < unit->open_count; i++) {
		const struct rdma_fault *fault = &unit->faults[unit->open[i]];

		if (fault->pair != pair)
			continue;
		if (fault->side == side && fault->state != FAULT_CLEARING && has_page(fault, page))
			return fault;
		if (full && (fault->side == side || !newest))
			newest = fault;
	}
	return newest;
}

static struct observe_fault fault_observed(const struct rdma_fault *fault)
{
	struct observe_fault seen = {0};

	if (fault->state == FAULT_CLAIMED || fault->state == FAULT_RAISED ||
	    fault->state == FAULT_ANSWERED)
		seen.known = !port_request_group((struct port_request *)&fault->request, 0,
						 &seen.group, &seen.truth);
	return seen;
}

static void suppress(struct rdma_pair *pair, const struct rdma_transfer *transfer, __u64 page,
		     __u32 bytes, const struct rdma_fault *before)
{
	struct rdma *device = pair->device;
	bool window = before && before->state == FAULT_CLEARING;
	struct observe_fault fault = {0};

	if (before && !window)
		fault = fault_observed(before);
	pair->faults.met[transfer->side] = window ? NULL : before;
	pair->faults.waiting[transfer->side] = true;
	device->totals.suppressed++;
	observe_suppressed(device->observe, pair->number, transfer->side, page, bytes, window,
			   fault);
}

void faults_absent(struct rdma_pair *pair, const struct rdma_transfer *transfer, const __u64 *pages,
		   __u32 count, __u32 bytes)
{
	const struct rdma_fault *before = fault_before(pair, transfer->side, pages[0]);
	struct rdma *device = pair->device;
	struct rdma_fault *fault = before ? NULL : fault_take(&device->faults);
	__u64 now_ns = monotonic_ns();

	if (!fault) {
		suppress(pair, transfer, pages[0], bytes, before);
		return;
	}
	fault->pair = pair;
	fault->side = transfer->side;
	fault->refusals = 0;
	fault->own = (struct port_request_own){fault->pages, fault->groups, 0};
	fault->request.own = &fault->own;
	fault->request.queue = pair_queue(pair);
	fault->request.access = side_writes(fault->side) ? EVENT_WRITE : EVENT_READ;
	fault->request.count = 0;
	fault->request.done = fault_done;
	for (__u32 i = 0; i < count; i++)
		report_page(fault, pages[i]);
	if (device->settings->prefault == RDMA_PREFAULT_REQUEST)
		add_request(fault, transfer);
	pair->faults.open[fault->side]++;
	pair->faults.all++;
	pair->faults.met[fault->side] = fault;
	fault->state = FAULT_HELD;
	if (device->faults.detect_ns)
		fault_detect(device, fault, now_ns);
	else
		fault_raise(device, fault, now_ns);
}

/* Its bit is cleared: what was not reported meanwhile may be now. */
static void fault_clear(struct rdma_fault *fault, __u64 now_ns)
{
	struct rdma_pair *pair = fault->pair;

	if (!pair)
		return;
	pair->faults.open[fault->side]--;
	pair->faults.all--;
	fault->pair = NULL;
	for (int side = 0; side < RDMA_SIDES; side++) {
		if (!pair->faults.waiting[side] ||
		    pair->faults.open[side] >= pair->device->faults.limit)
			continue;
		pair->faults.waiting[side] = false;
		transport_memory(pair->transport, (enum rdma_side)side, -EAGAIN, now_ns);
	}
}

/* What done() was told, to the transport. */
static int fault_result(int error)
{
	if (!error)
		return 0;
	return error == -EAGAIN || error == -ETIMEDOUT ? -EAGAIN : -EIO;
}

/* The device goes on. */
static void fault_resume(struct rdma *device, struct rdma_fault *fault, bool raised, __u64 now_ns)
{
	struct rdma_pair *pair = fault->pair;

	if (raised)
		port_request_resume(&fault->request);
	fault->state = FAULT_CLEARING;
	fault->due_ns = now_ns + device->settings->clear_delay_ns;
	if (!pair)
		return;
	for (int side = 0; side < RDMA_SIDES; side++)
		if (pair->faults.met[side] == fault)
			pair->faults.met[side] = NULL;
	/* It tries again by this, and waits once more if it must. */
	pair->faults.waiting[fault->side] = false;
	transport_memory(pair->transport, fault->side, fault_result(fault->error), now_ns);
}

static bool take_answered(struct rdma *device)
{
	struct rdma_fault *fault = atomic_exchange(&device->faults.answered, NULL);
	bool any = fault;

	for (; fault; fault = fault->next_answered)
		fault->state = FAULT_ANSWERED;
	return any;
}

/* True: it is over, and the place is free. */
static bool fault_step(struct rdma *device, struct rdma_fault *fault, __u64 now_ns)
{
	switch (fault->state) {
	case FAULT_HELD:
		if (!fault->pair)
			return true;
		fault_raise(device, fault, now_ns);
		return false;
	case FAULT_CLAIMED:
		/* Told of: the host hears of it, even if nobody waits any more. */
		fault_raise(device, fault, now_ns);
		return false;
	case FAULT_FAILED:
	case FAULT_ANSWERED:
		fault_resume(device, fault, fault->state == FAULT_ANSWERED, now_ns);
		return false;
	case FAULT_CLEARING:
		fault_clear(fault, now_ns);
		return true;
	case FAULT_RAISED:
	case FAULT_FREE:
		break;
	}
	return false;
}

bool faults_run(struct rdma *device, __u64 now_ns)
{
	struct fault_unit *unit = &device->faults;
	bool any = false;

	if (!unit->open_count)
		return false;
	any = take_answered(device);
	for (__u32 i = 0; i < unit->open_count;) {
		struct rdma_fault *fault = &unit->faults[unit->open[i]];

		if (fault->state == FAULT_RAISED || fault->due_ns > now_ns) {
			i++;
			continue;
		}
		any = true;
		if (fault_step(device, fault, now_ns))
			fault_give_back(unit, i);
		else
			i++;
	}
	return any;
}

__u64 faults_next_ns(const struct rdma *device)
{
	const struct fault_unit *unit = &device->faults;
	__u64 next = 0;

	for (__u32 i = 0; i < unit->open_count; i++) {
		const struct rdma_fault *fault = &unit->faults[unit->open[i]];

		if (fault->state != FAULT_RAISED && (!next || fault->due_ns < next))
			next = fault->due_ns;
	}
	return next;
}

void faults_forget(struct rdma_pair *pair)
{
	struct fault_unit *unit = &pair->device->faults;

	for (__u32 i = 0; i < unit->open_count; i++)
		if (unit->faults[unit->open[i]].pair == pair)
			unit->faults[unit->open[i]].pair = NULL;
	pair->faults = (struct pair_faults){0};
}

struct observe_fault fault_unit_open(const struct rdma_pair *pair, enum rdma_side side)
{
	const struct rdma_fault *met = pair->faults.met[side];

	return met ? fault_observed(met) : (struct observe_fault){0};
}

/* The port has told of all that was raised: it stopped before us. What was not, never will be. */
void faults_end(struct rdma *device)
{
	struct fault_unit *unit = &device->faults;

	take_answered(device);
	while (unit->open_count) {
		struct rdma_fault *fault = &unit->faults[unit->open[0]];

		if (fault->state == FAULT_ANSWERED)
			port_request_resume(&fault->request);
		else if (fault->state == FAULT_CLAIMED)
			port_request_drop(&fault->request);
		fault_give_back(unit, 0);
	}
}
