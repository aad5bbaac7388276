// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include <math.h>
#include "lib/analyze/rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

#define BURST_DEFAULT 5
#define STEPS_SECOND  (NSEC_PER_SEC / RATE_STEP_NS)
#define STEPS	      (60 * STEPS_SECOND) /* of one minute: the longest interval asked for */

/* Steps back to which a fault may be late: the second before it is held, too. */
#define LATE_STEPS (STEPS - 2 * STEPS_SECOND)

struct device_faults {
	struct device_rate rate;
	struct bursts bursts;
	struct burst worst; /* of those that are over */
	__u64 newest_step;  /* time / RATE_STEP_NS */
	__u32 in_second;    /* sum of the newest STEPS_SECOND steps */
	__u32 steps[STEPS]; /* faults by step, modulo */
};

struct rates {
	unsigned int burst_faults;
	struct slots devices; /* struct device_faults * */
	struct burst *over;   /* that no fault can join any more, the first BURSTS_KEPT */
	size_t over_count, over_capacity;
	__u64 dropped; /* faults told too late */
};

static struct device_faults *rates_state_of(struct rates *r, __u32 device)
{
	struct device_faults **slot = slots_make(&r->devices, device);

	if (slot && !*slot) {
		*slot = memory_calloc(1, sizeof(**slot));
		if (*slot)
			bursts_init(&(*slot)->bursts, r->burst_faults, LATE_STEPS * RATE_STEP_NS);
	}
	return slot ? *slot : NULL;
}

static const struct device_faults *find_state(const struct rates *r, __u32 device)
{
	struct device_faults *const *slot = slots_find(&r->devices, device);

	return slot ? *slot : NULL;
}

static void keep_burst(struct rates *r, struct device_faults *d, const struct burst *burst)
{
	if (burst->peak > d->worst.peak)
		d->worst = *burst;
	if (r->over_count == BURSTS_KEPT)
		return;
	if (!array_grow(&r->over, &r->over_capacity, r->over_count + 1, sizeof(*r->over),
			ARRAY_LIMITED))
		return;
	r->over[r->over_count++] = *burst;
}

/* Faults of the steps (newest - STEPS_SECOND, newest]; moves on to the step of a new fault. */
static void rates_advance(struct device_faults *d, __u64 step)
{
	__u64 gone = step - d->newest_step;

	if (gone >= STEPS) {
		memset(d->steps, 0, sizeof(d->steps));
		d->in_second = 0;
		d->newest_step = step;
		return;
	}
	while (d->newest_step < step) {
		d->newest_step++;
		d->in_second -= d->steps[(d->newest_step - STEPS_SECOND) % STEPS];
		d->steps[d->newest_step % STEPS] = 0;
	}
}

/* Faults of the STEPS_SECOND steps that end with this one. */
static __u32 second_until(const struct device_faults *d, __u64 step)
{
	__u32 sum = 0;

	if (step == d->newest_step)
		return d->in_second;
	for (__u64 i = 0; i < STEPS_SECOND && i <= step; i++)
		sum += d->steps[(step - i) % STEPS];
	return sum;
}

/* The most faults of any second that has this one, and the last step of that second. */
static __u32 count_step(struct device_faults *d, __u64 step, __u64 *peak_step)
{
	__u64 last = step + STEPS_SECOND - 1;
	__u32 sum, most;

	if (!d->rate.faults || step > d->newest_step)
		rates_advance(d, step);
	d->steps[step % STEPS]++;
	if (d->newest_step - step < STEPS_SECOND)
		d->in_second++;
	/* A late one counts in the seconds that ended meanwhile, too. */
	last = last < d->newest_step ? last : d->newest_step;
	most = sum = second_until(d, last);
	*peak_step = last;
	for (; last > step; last--) {
		sum -= d->steps[last % STEPS];
		sum += last >= STEPS_SECOND ? d->steps[(last - STEPS_SECOND) % STEPS] : 0;
		if (sum > most) {
			most = sum;
			*peak_step = last - 1;
		}
	}
	return most;
}

static void count_burst(struct rates *r, struct device_faults *d, __u32 device, __u64 time_ns,
			__u32 peak, __u64 peak_step)
{
	size_t before = d->bursts.open_count;
	struct burst *burst, over;

	if (!bursts_add(&d->bursts, time_ns, &burst))
		r->dropped++;
	/* Two that a late fault has united are one less. */
	d->rate.bursts += d->bursts.open_count - before;
	if (burst) {
		burst->device = device;
		if (peak > burst->peak) {
			__u64 since = (peak_step + 1) * RATE_STEP_NS;

			since = since > NSEC_PER_SEC ? since - NSEC_PER_SEC : 0;
			burst->peak = peak;
			burst->peak_ns = since > burst->from_ns ? since : burst->from_ns;
		}
	}
	while (bursts_take_over(&d->bursts, d->bursts.newest_ns, &over))
		keep_burst(r, d, &over);
}

static void rates_on_began(void *self, const struct fault *fault)
{
	struct rates *r = self;
	struct device_faults *d = rates_state_of(r, fault->device);
	__u64 time_ns = fault_first_ns(fault), step = time_ns / RATE_STEP_NS;
	__u64 peak_step = step;
	__u32 peak = 0;

	if (!d || !time_ns)
		return;
	if (!d->rate.faults || step + LATE_STEPS >= d->newest_step)
		peak = count_step(d, step, &peak_step);
	if (peak > d->rate.peak)
		d->rate.peak = peak;
	count_burst(r, d, fault->device, time_ns, peak, peak_step);
	d->rate.faults++;
	if (!d->rate.first_ns || time_ns < d->rate.first_ns)
		d->rate.first_ns = time_ns;
	if (time_ns > d->rate.last_ns)
		d->rate.last_ns = time_ns;
}

static int create_rates(struct analysis *a, const struct analysis_config *config)
{
	unsigned int burst_faults = config->burst_faults;
	struct rates *r;

	if (burst_faults > BURST_FAULTS_MAX)
		return failed(-EINVAL, "a burst of more than %u faults: accepted: 1 to %d",
			      burst_faults, BURST_FAULTS_MAX);
	a->rates = r = memory_calloc(1, sizeof(*r));
	if (!r)
		return failed(-ENOMEM, "no memory for the rates");
	r->burst_faults = burst_faults ? burst_faults : BURST_DEFAULT;
	slots_init(&r->devices, sizeof(struct device_faults *));
	return faults_subscribe(a->faults, (struct fault_sink){rates_on_began, NULL, r});
}

static void rates_destroy(struct rates *r)
{
	if (!r)
		return;
	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h)) {
		struct device_faults **slot = slots_find(&r->devices, h);

		if (!slot || !*slot)
			continue;
		bursts_free(&(*slot)->bursts);
		memory_free(*slot);
	}
	slots_free(&r->devices);
	memory_free(r->over);
	memory_free(r);
}

struct device_rate rates_device(const struct rates *r, __u32 device)
{
	const struct device_faults *d = find_state(r, device);

	return d ? d->rate : (struct device_rate){0};
}

/* Faults per second of the time [now - interval, now); interval up to 60 s. */
static double rates_now(const struct rates *r, __u32 device, __u64 now_ns, __u64 interval_ns)
{
	const struct device_faults *d = find_state(r, device);
	__u64 now = now_ns / RATE_STEP_NS, wanted = interval_ns / RATE_STEP_NS, sum = 0;

	if (!d || !d->rate.faults)
		return 0;
	wanted = wanted < 1 ? 1 : wanted > STEPS ? STEPS : wanted;
	for (__u64 i = 0; i < wanted && i <= now; i++) {
		__u64 step = now - i;

		if (step <= d->newest_step && d->newest_step - step < STEPS)
			sum += d->steps[step % STEPS];
	}
	return (double)sum * 1e9 / (double)(wanted * RATE_STEP_NS);
}

/* Which faults were near each other is not known of those that were not all seen. */
static bool is_known(const struct session *session, __u32 device)
{
	return !(unknown_numbers(session, device) & UNKNOWN_FAULTS);
}

__u64 rates_bursts(const struct rates *r, const struct session *session)
{
	__u64 sum = 0;

	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h))
		if (find_state(r, h) && is_known(session, h))
			sum += find_state(r, h)->rate.bursts;
	return sum;
}

__u64 rates_dropped(const struct rates *r)
{
	return r->dropped;
}

bool rates_worst_burst(const struct rates *r, const struct session *session, struct burst *worst)
{
	*worst = (struct burst){0};
	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h)) {
		const struct device_faults *d = find_state(r, h);

		if (!d || !is_known(session, h))
			continue;
		if (d->worst.peak > worst->peak)
			*worst = d->worst;
		for (size_t i = 0; i < d->bursts.open_count; i++)
			if (d->bursts.open[i].peak > worst->peak)
				*worst = d->bursts.open[i];
	}
	return worst->faults;
}

static int by_begin(const void *a, const void *b)
{
	const struct burst *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

/* Those that are over and those that may go on, by begin. NULL without memory. */
static struct burst *all_bursts(const struct rates *r, size_t *count)
{
	struct burst *all;

	*count = r->over_count;
	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h))
		*count += find_state(r, h) ? find_state(r, h)->bursts.open_count : 0;
	all = malloc((*count + 1) * sizeof(*all));
	if (!all)
		return NULL;
	*count = r->over_count;
	if (r->over_count)
		memcpy(all, r->over, r->over_count * sizeof(*all));
	for (__u32 h = 0; h < r->devices.end; h = slots_next(&r->devices, h)) {
		const struct device_faults *d = find_state(r, h);

		for (size_t i = 0; d && i < d->bursts.open_count; i++)
			all[(*count)++] = d->bursts.open[i];
	}
	qsort(all, *count, sizeof(*all), by_begin);
	return all;
}

#define BURSTS(COLUMN)                                                                         \
	COLUMN(device, none, TEXT, 20, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(from, none, TIME, 15, SHOWN, row->from_ns)                                      \
	COLUMN(duration, ns, DURATION, 8, SHOWN, row->to_ns - row->from_ns)                    \
	COLUMN(faults, none, COUNT, 7, SHOWN, row->faults)                                     \
	COLUMN(peak, per_s, COUNT, 7, SHOWN, row->peak)
TABLE(bursts, "Bursts", BURSTS, struct burst, struct session)

void rates_write_bursts(const struct analysis *analysis, struct writer *writer,
			const struct table_wish *wish)
{
	const struct rates *r = analysis->rates;
	const struct session *session = analysis->session;
	__u64 known = rates_bursts(r, session);
	size_t count, written = 0;
	struct burst *all = all_bursts(r, &count);

	if (!all) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the bursts"));
		return;
	}
	writer_begin_with(writer, &bursts_table, session);
	for (size_t i = 0; i < count && (!wish->limit || written < wish->limit); i++) {
		if (!is_known(session, all[i].device))
			continue;
		writer_row(writer, &all[i]);
		written++;
	}
	free(all);
	writer_end(writer);
	if (wish->limit && known > wish->limit)
		writer_note(writer, "... and %llu more bursts.", known - wish->limit);
}

static void rates_write_findings(const struct analysis *a, struct writer *writer)
{
	char name[DEVICE_NAME_TEXT], time[UNITS_TEXT];
	__u64 bursts = rates_bursts(a->rates, a->session);
	struct burst worst;

	if (!rates_worst_burst(a->rates, a->session, &worst))
		return;
	writer_note(writer,
		    "%llu burst%s (more than %u faults in 1 s). Worst: %llu in a second on "
		    "%s at %s.",
		    bursts, bursts == 1 ? "" : "s", a->rates->burst_faults, worst.peak,
		    session_device_name(a->session, worst.device, name),
		    session_when(a->session, worst.peak_ns, time));
}

static bool rates_has_rows(const struct analysis *a)
{
	return rates_bursts(a->rates, a->session);
}

static void rates_live(const struct analysis *a, struct live_device *row)
{
	struct device_rate rate = rates_device(a->rates, row->handle);

	row->bursts = rate.bursts;
	row->peak = rate.peak;
	row->last_fault_ns = rate.last_ns;
	row->rate = row->unknown & UNKNOWN_FAULTS
			    ? NAN
			    : rates_now(a->rates, row->handle, row->now_ns, row->interval_ns);
}

static const struct analyzer_table tables[] = {
	{&bursts_table, rates_write_bursts, rates_has_rows, REPORT_ROWS}, {0}};

DEFINE_ANALYZER_OF_FAULTS(rates, .tables = tables, .chapter = REPORT_FAULTS,
			  .findings = rates_write_findings, .device = rates_live)
