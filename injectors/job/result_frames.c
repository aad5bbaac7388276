// SPDX-License-Identifier: GPL-2.0
/* What NICs have counted. */
#include "injectors/job/result_private.h"

static const struct {
	enum result_column column;
	enum loss_reason reason;
} losses[] = {
	{RESULT_LOST_FAULT, LOSS_FAULT},	   {RESULT_LOST_NO_BUFFER, LOSS_NO_BUFFER},
	{RESULT_LOST_CACHE_FULL, LOSS_CACHE_FULL}, {RESULT_LOST_BACKUP_FULL, LOSS_BACKUP_FULL},
	{RESULT_LOST_BEFORE_NIC, LOSS_BEFORE_NIC}, {RESULT_LOST_WIRE, LOSS_WIRE},
	{RESULT_LOST_OVERLONG, LOSS_OVERLONG},
};

static void add_device(double *v, const struct frame_totals *frames)
{
	result_add(&v[RESULT_FRAMES], (double)frames->in);
	result_add(&v[RESULT_DELIVERED], (double)frames->delivered);
	for (int reason = 0; reason < LOSS_REASONS; reason++)
		result_add(&v[RESULT_LOST], (double)frames->lost[reason]);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		result_add(&v[losses[i].column], (double)frames->lost[losses[i].reason]);
	result_add(&v[RESULT_LOST_INNOCENT], (double)frames->lost_innocent);
	result_add(&v[RESULT_HELD], (double)frames->held_ever);
	result_add(&v[RESULT_HELD_NOW], (double)frames->held);
	result_add(&v[RESULT_FRAME_ERRORS],
		   (double)(frames->sent_lost + frames->refused + frames->halted));
	result_add(&v[RESULT_INTERRUPTS], (double)frames->interrupts);
	result_add(&v[RESULT_MISMATCHES], (double)frames->mismatches);
	if (frames->has_least)
		v[RESULT_MIN_GOODPUT] =
			fmin(v[RESULT_MIN_GOODPUT], (double)frames->least_bytes * 10);
}

/* Of frames that nobody but us has made. */
static void add_made_up(double *v, const struct frame_totals *frames)
{
	double seconds = (double)(frames->end_ns - frames->begin_ns) / 1e9;

	if (!(seconds > 0))
		return;
	v[RESULT_SECONDS] = fmax(v[RESULT_SECONDS], seconds);
	result_add(&v[RESULT_GOODPUT], (double)frames->delivered_bytes / seconds);
}

static void add_flows(double *v, const struct frame_totals *frames)
{
	result_add(&v[RESULT_STALLS], (double)frames->stalls);
	v[RESULT_MAX_STALL] = fmax(v[RESULT_MAX_STALL], (double)frames->stall_max_ns);
}

static void fill_networks(double *v, const struct network_sums *networks)
{
	if (!networks->count)
		return;
	v[RESULT_FRAME_ERRORS] += (double)networks->guest_dropped;
	v[RESULT_RETRANSMITS] = (double)networks->retransmits;
	v[RESULT_TIMEOUTS] = (double)networks->timeouts;
	v[RESULT_SPURIOUS_TIMEOUTS] = (double)networks->spurious_timeouts;
	v[RESULT_PROBES] = (double)networks->probes;
	v[RESULT_FAST] = (double)networks->fast;
}

void result_fill_frames(struct result *result, const struct result_input *input,
			struct result_wires *wires)
{
	const struct machine_config *config = input->config;
	double *v = result->values, steady = NAN;
	bool known = true;

	for (__u32 d = 0; d < config->device_count; d++) {
		const struct device_class *class = config->devices[d].class;
		const struct frame_totals *frames = machine_frames(input->machine, d);

		if (!frames)
			continue;
		add_device(v, frames);
		result_add(&wires->sent, (double)(frames->in_bytes + frames->sent_bytes));
		if (class->networked && class->networked(&config->devices[d].settings))
			add_flows(v, frames);
		else {
			add_made_up(v, frames);
			result_add(&wires->useful, (double)frames->delivered_bytes);
		}
		known &= frames->steady_ns > 0;
		steady = fmax(steady, (double)frames->steady_ns);
	}
	if (known)
		v[RESULT_TIME_TO_STEADY] = steady;
	fill_networks(v, &input->networks);
}
