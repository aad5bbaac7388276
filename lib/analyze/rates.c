// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/stage.h"
#include "lib/base/fail.h"

#define SECOND_NS     1000000000ull
#define BURST_DEFAULT 5
#define STEPS_SECOND  (SECOND_NS / RATE_STEP_NS)
#define STEPS	      (60 * STEPS_SECOND) /* of one minute: the longest interval asked for */

struct device_state {
	struct device_rate rate;
	struct burst burst; /* the one that goes on, faults 0 if none */
	__u64 newest_step;  /* time / RATE_STEP_NS */
	__u32 in_second;    /* sum of the newest STEPS_SECOND steps */
	__u32 steps[STEPS]; /* faults by step, modulo */
	__u64 recent[];	    /* times of the newest burst_faults faults, modulo */
};

struct rates {
	unsigned int burst_faults;
	struct slots devices; /* struct device_state * */
	struct burst *bursts;
	size_t burst_count, burst_capacity;
	__u64 bursts_total;
	struct burst worst;
};

static struct device_state *state_of(struct rates *r, __u32 device)
{
	struct device_state **slot = slots_make(&r->devices, device);

	if (slot && !*slot)
		*slot = calloc(1, sizeof(**slot) + r->burst_faults * sizeof((*slot)->recent[0]));
	return slot ? *slot : NULL;
}

static const struct device_state *find_state(const struct rates *r, __u32 device)
{
	struct device_state *const *slot = slots_find(&r->devices, device);

	return slot ? *slot : NULL;
}

static void close_burst(struct rates *r, struct device_state *d)
{
	if (d->burst.peak > r->worst.peak)
		r->worst = d->burst;
	if (r->burst_count < BURSTS_KEPT) {
		if (r->burst_count == r->burst_capacity) {
			size_t capacity = r->burst_capacity ? 2 * r->burst_capacity : 64;
			struct burst *grown = realloc(r->bursts, capacity * sizeof(*grown));

			if (grown) {
				r->bursts = grown;
				r->burst_capacity = capacity;
			}
		}
		if (r->burst_count < r->burst_capacity)
			r->bursts[r->burst_count++] = d->burst;
	}
	memset(&d->burst, 0, sizeof(d->burst));
}

/* Faults of the steps (newest - STEPS_SECOND, newest]; moves on to the step of a new fault. */
static void advance(struct device_state *d, __u64 step)
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

static void count_step(struct device_state *d, __u64 time_ns)
{
	__u64 step = time_ns / RATE_STEP_NS;

	if (!d->rate.faults || step > d->newest_step)
		advance(d, step);
	/* A late event counts where it belongs, if that is still held. */
	if (d->newest_step - step >= STEPS)
		return;
	d->steps[step % STEPS]++;
	if (d->newest_step - step < STEPS_SECOND)
		d->in_second++;
	if (d->in_second > d->rate.peak) {
		d->rate.peak = d->in_second;
		d->rate.peak_ns = time_ns;
	}
}

static void count_burst(struct rates *r, struct device_state *d, __u32 device, __u64 time_ns)
{
	/* The fault burst_faults before this one: if less than a second ago, they are too many. */
	__u64 *oldest = &d->recent[d->rate.faults % r->burst_faults];
	bool full = d->rate.faults >= r->burst_faults;
	bool dense = full && time_ns < *oldest + SECOND_NS && *oldest < time_ns + SECOND_NS;

	if (dense && !d->burst.faults) {
		d->burst = (struct burst){device, *oldest, *oldest, r->burst_faults, 0};
		d->rate.bursts++;
		r->bursts_total++;
	}
	if (dense) {
		d->burst.faults++;
		/* One that was held back begins before those that were told first. */
		if (time_ns > d->burst.to_ns)
			d->burst.to_ns = time_ns;
		if (time_ns < d->burst.from_ns)
			d->burst.from_ns = time_ns;
		if (d->in_second > d->burst.peak)
			d->burst.peak = d->in_second;
	} else if (d->burst.faults) {
		close_burst(r, d);
	}
	*oldest = time_ns;
}

static void on_began(void *self, const struct fault *fault)
{
	struct rates *r = self;
	struct device_state *d = state_of(r, fault->device);
	__u64 time_ns = fault_first_ns(fault);

	if (!d || !time_ns)
		return;
	count_step(d, time_ns);
	count_burst(r, d, fault->device, time_ns);
	d->rate.faults++;
	if (!d->rate.first_ns)
		d->rate.first_ns = time_ns;
	if (time_ns > d->rate.last_ns)
		d->rate.last_ns = time_ns;
}

int rates_create(struct rates **rates, struct faults *faults, unsigned int burst_faults)
{
	struct rates *r;

	*rates = NULL;
	if (burst_faults > BURST_FAULTS_MAX)
		return failed(-EINVAL, "a burst of more than %u faults: accepted: 1 to %d",
			      burst_faults, BURST_FAULTS_MAX);
	r = calloc(1, sizeof(*r));
	*rates = r;
	if (!r)
		return failed(-ENOMEM, "no memory for the rates");
	r->burst_faults = burst_faults ? burst_faults : BURST_DEFAULT;
	slots_init(&r->devices, sizeof(struct device_state *));
	return faults_subscribe(faults, (struct fault_sink){on_began, NULL, r});
}

void rates_destroy(struct rates *r)
{
	if (!r)
		return;
	for (__u32 h = 0; h < r->devices.end; h++) {
		struct device_state **slot = slots_find(&r->devices, h);

		if (slot)
			free(*slot);
	}
	slots_free(&r->devices);
	free(r->bursts);
	free(r);
}

struct device_rate rates_device(const struct rates *r, __u32 device)
{
	const struct device_state *d = find_state(r, device);

	return d ? d->rate : (struct device_rate){0};
}

double rates_now(const struct rates *r, __u32 device, __u64 now_ns, __u64 interval_ns)
{
	const struct device_state *d = find_state(r, device);
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

__u64 rates_bursts(const struct rates *r)
{
	return r->bursts_total;
}

unsigned int rates_burst_faults(const struct rates *r)
{
	return r->burst_faults;
}

bool rates_worst_burst(const struct rates *r, struct burst *burst)
{
	*burst = r->worst;
	for (__u32 h = 0; h < r->devices.end; h++) {
		const struct device_state *d = find_state(r, h);

		if (d && d->burst.peak > burst->peak)
			*burst = d->burst;
	}
	return burst->faults;
}

static int write_burst(const struct session *session, struct writer *writer,
		       const struct burst *burst)
{
	char text[NAME_TEXT];

	return writer_row(writer,
			  (union cell[]){
				  {.text = session_device_name(session, burst->device, text)},
				  {.count = burst->from_ns},
				  {.count = burst->to_ns - burst->from_ns},
				  {.count = burst->faults},
				  {.count = burst->peak},
			  });
}

int rates_write_bursts(const struct rates *r, const struct session *session, struct writer *writer,
		       size_t limit)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 20, false},
		{"from", NULL, COLUMN_TIME, 15, false},
		{"duration", "ns", COLUMN_DURATION, 8, false},
		{"faults", NULL, COLUMN_COUNT, 7, false},
		{"peak", "per_s", COLUMN_COUNT, 7, false},
	};
	static const struct table table = {"bursts", "Bursts", columns,
					   sizeof(columns) / sizeof(columns[0])};
	size_t rows = 0;
	int error = writer_begin(writer, &table);

	for (size_t i = 0; !error && i < r->burst_count && (!limit || rows < limit); i++, rows++)
		error = write_burst(session, writer, &r->bursts[i]);
	for (__u32 h = 0; !error && h < r->devices.end; h++) {
		const struct device_state *d = find_state(r, h);

		if (d && d->burst.faults && (!limit || rows++ < limit))
			error = write_burst(session, writer, &d->burst);
	}
	error = error ? error : writer_end(writer);
	if (!error && limit && r->bursts_total > limit)
		error = writer_note(writer, "... and %llu more bursts.", r->bursts_total - limit);
	return error;
}
