// SPDX-License-Identifier: GPL-2.0
/* One machine under several policies at once: its accesses are made once, and each policy has a world of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/bursts.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "tools/fleet/fleet.h"

#define NONE 0 /* the first of protect_policies */

/* What is counted of a device while time passes; behind it, what the day before had. */
struct fleet_watch {
	struct bursts bursts;
	__u64 day_bursts, day_peak;
	__u64 *recent; /* times of faults, the last second's from `oldest` on */
	size_t recent_count, recent_room, oldest;
	__u64 pinned, day_pinned_max;
	struct what_if_counts before;
	size_t samples;
	__u64 sampled; /* pinned at the last sample */
	__u64 footprint_half;
};

/* How often each page of the machine was used, and faulted without a policy. */
struct page_uses {
	__u32 *uses, *faults;
	__u64 count;
};

struct lane {
	struct what_if *what_if;
	struct fleet_watch watched[FLEET_DEVICES];
	struct fleet_outcome *outcome;
	const struct fleet_config *config;
	const struct fleet_machine *machine;
	struct page_uses *pages; /* where `none` is judged, else NULL */
	__u8 population;
	bool failed;
};

void fleet_outcome_free(struct fleet_outcome *outcome)
{
	free(outcome->devices);
	free(outcome->bursts);
	free(outcome->curve.moments);
	*outcome = (struct fleet_outcome){0};
}

/* How many faults the second that ends with this one has; its beginning is not in it, as in lib/analyze/bursts.h. */
static bool count_peak(struct fleet_watch *w, __u64 time_ns)
{
	while (w->oldest < w->recent_count && time_ns - w->recent[w->oldest] >= NSEC_PER_SEC)
		w->oldest++;
	if (w->oldest == w->recent_count)
		w->oldest = w->recent_count = 0;
	if (!array_grow(&w->recent, &w->recent_room, w->recent_count + 1, sizeof(w->recent[0]),
			ARRAY_PLAIN))
		return false;
	w->recent[w->recent_count++] = time_ns;
	if (w->recent_count - w->oldest > w->day_peak)
		w->day_peak = w->recent_count - w->oldest;
	return true;
}

static void keep_bursts(struct lane *lane, __u32 model, __u64 now_ns)
{
	struct fleet_outcome *o = lane->outcome;
	struct fleet_watch *w = &lane->watched[model];
	struct burst burst;

	while (bursts_take_over(&w->bursts, now_ns, &burst)) {
		w->day_bursts++;
		if (!o)
			continue;
		if (!array_grow(&o->bursts, &o->burst_room, o->burst_count + 1,
				sizeof(o->bursts[0]), ARRAY_PLAIN)) {
			lane->failed = true;
			return;
		}
		o->bursts[o->burst_count++] = (struct fleet_burst){
			lane->machine->number, lane->population, (__u8)model, burst.from_ns,
			burst.to_ns,	       burst.faults,	 burst.peak};
	}
}

static void on_fault(void *argument, const struct what_if_access *access, __u64 gap_ns,
		     bool avoided)
{
	struct lane *lane = argument;
	struct fleet_watch *w = &lane->watched[access->domain];
	struct burst *burst;

	(void)gap_ns;
	if (lane->pages && access->page < lane->pages->count)
		lane->pages->faults[access->page]++;
	if (avoided)
		return;
	keep_bursts(lane, access->domain, access->time_ns);
	if (!bursts_add(&w->bursts, access->time_ns, &burst) || !count_peak(w, access->time_ns))
		lane->failed = true;
}

static void on_act(void *argument, __u32 domain, const struct protect_action *action)
{
	struct fleet_watch *w = &((struct lane *)argument)->watched[domain];

	w->pinned += action->pin ? 1 : -1ull;
	if (w->pinned > w->day_pinned_max)
		w->day_pinned_max = w->pinned;
}

void fleet_curve_add(struct fleet_curve *sum, struct fleet_curve *part)
{
	for (size_t i = 0; i < FLEET_DEVICES * part->count; i++) {
		sum->moments[i].footprint += part->moments[i].footprint;
		sum->moments[i].active += part->moments[i].active;
		sum->moments[i].pinned += part->moments[i].pinned;
		sum->moments[i].faults += part->moments[i].faults;
	}
	free(part->moments);
	*part = (struct fleet_curve){0};
}

/* Machines begin with their first access; the curve is of the fleet's time. */
static void put_moment(struct lane *lane, __u32 model, const struct what_if_sample *sample)
{
	struct fleet_curve *curve = &lane->outcome->curve;
	__u64 at = sample->time_ns / lane->config->moment_ns;

	if (at < curve->count)
		curve->moments[FLEET_DEVICES * at + model] = (struct fleet_moment){
			sample->pages, sample->active, sample->pinned, sample->faults};
}

static void count_samples(struct lane *lane, __u32 model, struct fleet_device *device)
{
	struct fleet_watch *w = &lane->watched[model];
	const struct what_if_sample *sample;

	for (; (sample = what_if_sample(lane->what_if, model, w->samples)); w->samples++) {
		device->shrinks += sample->pinned < w->sampled;
		device->samples++;
		w->sampled = sample->pinned;
		if (sample->time_ns <= lane->config->length_ns / 2)
			w->footprint_half = sample->pages;
		put_moment(lane, model, sample);
	}
	device->footprint_half = w->footprint_half;
}

/* The end of a day, which at last is the fleet's, lies between two samples. */
static void put_end(struct lane *lane, __u32 model, const struct what_if_counts *now)
{
	struct fleet_curve *curve = &lane->outcome->curve;

	curve->moments[FLEET_DEVICES * (curve->count - 1) + model] = (struct fleet_moment){
		now->pages, now->policy.active, now->policy.pinned, now->faults};
}

static bool end_of_day(struct lane *lane, __u32 model, __u8 day, __u64 day_ns)
{
	struct fleet_outcome *o = lane->outcome;
	struct fleet_watch *w = &lane->watched[model];
	struct what_if_counts now, *before = &w->before;
	struct fleet_device *device;

	if (!array_grow(&o->devices, &o->device_room, o->device_count + 1, sizeof(o->devices[0]),
			ARRAY_PLAIN))
		return false;
	what_if_counts(lane->what_if, model, &now);
	device = &o->devices[o->device_count++];
	*device = (struct fleet_device){
		.machine = lane->machine->number,
		.population = lane->population,
		.model = (__u8)model,
		.day = day,
		.memory_pages = lane->machine->memory_pages,
		.accesses = now.accesses - before->accesses,
		.footprint = now.pages,
		.first_accesses = now.first_accesses - before->first_accesses,
		.first_pinned = now.first_pinned - before->first_pinned,
		.faults = now.faults - before->faults,
		.unprotected = now.faults + now.avoided - before->faults - before->avoided,
		.bursts = w->day_bursts,
		.peak = w->day_peak,
		.pinned_mean = (double)(now.pinned_time - before->pinned_time) / (double)day_ns,
		.pinned_max = w->day_pinned_max,
		.pinned_end = w->pinned,
		.pins = now.policy.pins - before->policy.pins,
		.useless = now.policy.useless - before->policy.useless,
	};
	count_samples(lane, model, device);
	put_end(lane, model, &now);
	*before = now;
	w->day_bursts = w->day_peak = 0;
	w->day_pinned_max = w->pinned;
	return !now.policy.untracked;
}

static void judge_pages(const struct page_uses *pages, __u32 first, __u32 end,
			struct fleet_device *device)
{
	for (__u64 page = first; page < end && page < pages->count; page++) {
		__u32 uses = pages->uses[page], faults = pages->faults[page];

		device->pages_few += uses && uses < FLEET_FEW;
		device->pages_twice += uses > 2;
		device->faults_few += uses < FLEET_FEW ? faults : 0;
		device->faults_some += uses < FLEET_SOME ? faults : 0;
		device->faults_all += faults;
	}
}

static void lanes_end_day(struct lane *lanes, size_t count, __u8 day, __u64 from_ns, __u64 to_ns)
{
	for (struct lane *lane = lanes; lane < lanes + count; lane++) {
		what_if_end(lane->what_if, to_ns);
		for (__u32 model = 0; model < FLEET_DEVICES; model++) {
			/* A burst is one of the day in which it begins; nothing joins it later than a second. */
			keep_bursts(lane, model, to_ns + NSEC_PER_SEC);
			if (lane->machine->has[model] &&
			    !end_of_day(lane, model, day, to_ns - from_ns))
				lane->failed = true;
		}
	}
}

/* Once all is over, on every lane: what pages were used for has nothing to do with policies. */
static void lanes_judge_pages(struct lane *lanes, size_t count, const struct page_uses *pages)
{
	for (struct lane *lane = lanes; lane < lanes + count; lane++) {
		struct fleet_outcome *o = lane->outcome;

		/* The last day's are the last of them. */
		for (size_t i = o->device_count; i-- > 0;) {
			struct fleet_device *device = &o->devices[i];
			__u32 first, end;

			if (device->day != o->devices[o->device_count - 1].day)
				break;
			population_range(&lane->machine->population->keys, device->model,
					 device->memory_pages, &first, &end);
			judge_pages(pages, first, end, device);
		}
	}
}

static int lane_open(struct lane *lane, const struct fleet_config *config, __u32 policy,
		     const struct fleet_machine *machine, struct fleet_outcome *outcome)
{
	struct what_if_config rule = config->rule;
	int err;

	*lane = (struct lane){
		.config = config,
		.outcome = outcome,
		.machine = machine,
		.population = machine->population_number,
	};
	for (__u32 model = 0; model < FLEET_DEVICES; model++)
		bursts_init(&lane->watched[model].bursts, FLEET_BURST, 0);
	rule.keys = config->protector.keys;
	rule.keys.policy = policy;
	rule.memory_pages = machine->memory_pages;
	rule.sample_ns = config->moment_ns;
	rule.fault = on_fault;
	rule.act = on_act;
	rule.argument = lane;
	outcome->curve.count = (size_t)(config->length_ns / config->moment_ns) + 1;
	outcome->curve.moments =
		calloc(FLEET_DEVICES * outcome->curve.count, sizeof(outcome->curve.moments[0]));
	if (!outcome->curve.moments)
		return failed(-ENOMEM, "no memory for machine %u", machine->number);
	err = what_if_create(&lane->what_if, &rule);
	/* Of a device that the machine does not have, nothing is heard. */
	for (__u32 model = 0; err >= 0 && model < FLEET_DEVICES; model++)
		err = what_if_add_domain(lane->what_if, machine->memory_pages);
	return err < 0 ? err : 0;
}

static void lane_close(struct lane *lane)
{
	what_if_destroy(lane->what_if);
	for (__u32 model = 0; model < FLEET_DEVICES; model++) {
		bursts_free(&lane->watched[model].bursts);
		free(lane->watched[model].recent);
	}
}

static void lanes_access(struct lane *lanes, size_t count, struct page_uses *pages,
			 const struct what_if_access *access)
{
	if (access->page < pages->count)
		pages->uses[access->page] += access->count;
	for (size_t i = 0; i < count; i++)
		what_if_access(lanes[i].what_if, access);
}

static int lanes_run(struct lane *lanes, size_t count, struct page_uses *pages)
{
	const struct fleet_config *config = lanes[0].config;
	const struct fleet_machine *machine = lanes[0].machine;
	struct fleet_accesses accesses;
	struct what_if_access access;
	__u64 from_ns = 0, to_ns;
	__u8 day = 0;
	int err = fleet_accesses_open(&accesses, config, machine);
	bool more = !err && fleet_accesses_next(&accesses, &access);

	do {
		to_ns = from_ns + FLEET_DAY_NS < config->length_ns ? from_ns + FLEET_DAY_NS
								   : config->length_ns;
		for (; more && access.time_ns < to_ns;
		     more = fleet_accesses_next(&accesses, &access))
			lanes_access(lanes, count, pages, &access);
		if (!accesses.error)
			lanes_end_day(lanes, count, day++, from_ns, to_ns);
		from_ns = to_ns;
	} while (!accesses.error && to_ns < config->length_ns);
	err = fleet_accesses_close(&accesses);
	for (size_t i = 0; !err && i < count; i++)
		if (lanes[i].failed)
			err = failed(-ENOMEM, "no memory for machine %u", machine->number);
	return err;
}

/* What each policy avoided follows from what there was without any. */
static void tell_unprotected(const struct fleet_outcome *none,
			     struct fleet_outcome *const *outcomes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < outcomes[i]->device_count; j++)
			outcomes[i]->devices[j].unprotected = none->devices[j].faults;
}

static int page_uses_open(struct page_uses *pages, __u64 count)
{
	pages->count = count;
	pages->uses = calloc(count, sizeof(pages->uses[0]));
	pages->faults = calloc(count, sizeof(pages->faults[0]));
	return pages->uses && pages->faults ? 0
					    : failed(-ENOMEM, "no memory for %llu pages", count);
}

/* Under `interval` every policy tells what would have been; else a world without any has to. */
static struct lane *unprotected_lane(struct lane *lanes, const struct fleet_config *const *configs,
				     size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (configs[i]->protector.keys.policy == NONE ||
		    configs[i]->rule.rule == WHAT_IF_INTERVAL)
			return &lanes[i];
	return NULL;
}

int fleet_simulate(const struct fleet_config *const *configs, size_t count, __u32 number,
		   struct fleet_outcome *const *outcomes)
{
	const struct fleet_machine machine = fleet_machine(configs[0], number);
	struct lane lanes[FLEET_POLICIES + 1];
	struct lane *unprotected = unprotected_lane(lanes, configs, count);
	struct page_uses pages = {0};
	struct fleet_outcome none = {0};
	size_t opened = 0;
	int err = page_uses_open(&pages, machine.memory_pages);

	for (size_t i = 0; !err && i < count; i++)
		err = lane_open(&lanes[opened++], configs[i], configs[i]->protector.keys.policy,
				&machine, outcomes[i]);
	if (!err && !unprotected) {
		unprotected = &lanes[opened];
		err = lane_open(&lanes[opened++], configs[0], NONE, &machine, &none);
	}
	if (!err) {
		unprotected->pages = &pages;
		err = lanes_run(lanes, opened, &pages);
	}
	if (!err) {
		lanes_judge_pages(lanes, opened, &pages);
		if (configs[0]->rule.rule == WHAT_IF_RECLAIM)
			tell_unprotected(unprotected->outcome, outcomes, count);
	}
	while (opened)
		lane_close(&lanes[--opened]);
	fleet_outcome_free(&none);
	free(pages.uses);
	free(pages.faults);
	return err;
}
