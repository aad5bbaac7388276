// SPDX-License-Identifier: GPL-2.0
/* What loads of verbs have done. */
#include <stdio.h>
#include <stdlib.h>

#include "bpf/event.h" /* enum pin_role */
#include "injectors/job/result_private.h"

/* Of devices with a mode, by their hosts' own count. */
static void show_hosts(double *v, const struct verbs_load_hosts *hosts)
{
	result_add(&v[RESULT_ENGINE_CPU], (double)hosts->engine_ns);
	result_add(&v[RESULT_HYV_REGISTERED], (double)hosts->registered_most);
	result_add(&v[RESULT_PINS_GUEST], (double)hosts->pinned_most[PIN_GUEST]);
	result_add(&v[RESULT_PINS_REMAP], (double)hosts->pinned_most[PIN_REMAP]);
	result_add(&v[RESULT_PINS_DRIVER], (double)hosts->pinned_most[PIN_DRIVER]);
	result_add(&v[RESULT_VERBS_REFUSED], (double)hosts->refused);
	result_add(&v[RESULT_REMAPS], (double)hosts->remaps);
	result_add(&v[RESULT_REMAPS_SKIPPED], (double)hosts->remaps_skipped);
	result_add(&v[RESULT_PINS_UNEQUAL], (double)hosts->unequal);
	for (int step = 0; step < 3; step++)
		if (hosts->least_ns[step])
			v[RESULT_WORK_POST_LEAST + step] = fmin(v[RESULT_WORK_POST_LEAST + step],
								(double)hosts->least_ns[step]);
}

static void show_load(double *v, const struct verbs_load_result *load)
{
	double seconds = (double)(load->end_ns - load->start_ns) / 1e9;

	result_add(&v[RESULT_OPERATIONS], (double)load->operations);
	result_add(&v[RESULT_ERRORS], (double)load->errors);
	result_add(&v[RESULT_MISMATCHES], (double)load->mismatches);
	result_add(&v[RESULT_MOVED], (double)load->bytes);
	result_add(&v[RESULT_REGIONS_REFUSED], (double)load->refused);
	result_add(&v[RESULT_STOPPED_CALLS], (double)load->stopped_calls);
	result_add(&v[RESULT_DATA_KICKS], (double)load->kicks);
	result_add(&v[RESULT_DATA_INJECTIONS], (double)load->injections);
	result_add(&v[RESULT_LOAD_CPU], (double)load->cpu_ns);
	v[RESULT_GUEST_PINNED] = (double)load->guest.pinned;
	v[RESULT_GUEST_RESIDENT] = (double)load->guest.resident;
	v[RESULT_MACHINE_PINNED] = (double)load->machine.pinned;
	v[RESULT_MACHINE_RESIDENT] = (double)load->machine.resident;
	if (load->operations)
		v[RESULT_OVER_SLO] = (double)load->over_slo / (double)load->operations;
	if (load->undo.count) {
		v[RESULT_UNDO_MEAN] = histogram_mean(&load->undo);
		v[RESULT_UNDO_P50] = (double)histogram_percentile(&load->undo, 50);
		v[RESULT_UNDO_MIN] = (double)load->undo.min;
	}
	if (!(seconds > 0))
		return;
	v[RESULT_SECONDS] = fmax(v[RESULT_SECONDS], seconds);
	result_add(&v[RESULT_OPERATIONS_PER_S], (double)load->operations / seconds);
	result_add(&v[RESULT_GOODPUT], (double)load->bytes / seconds);
}

static void fill_load(struct result *result, const struct result_input *input, __u32 index,
		      struct verbs_load_result *load, struct histogram *latency)
{
	const char *error;

	*load = (struct verbs_load_result){0};
	histogram_init(&load->latency);
	histogram_init(&load->undo);
	error = machine_verbs(input->machine, index, load);
	show_load(result->values, load);
	show_hosts(result->values, &load->hosts);
	histogram_merge(latency, &load->latency);
	if (*error && !*input->notes->failing)
		snprintf(input->notes->failing, sizeof(input->notes->failing), "[verbs %s], %s",
			 input->config->verbs[index].name, error);
}

void result_fill_verbs(struct result *result, const struct result_input *input)
{
	struct verbs_load_result *load = malloc(sizeof(*load));
	struct histogram *latency = malloc(sizeof(*latency));

	if (load && latency && input->config->verbs_count) {
		histogram_init(latency);
		for (__u32 i = 0; i < input->config->verbs_count; i++)
			fill_load(result, input, i, load, latency);
		result_fill_latency(result, latency);
	}
	free(latency);
	free(load);
}
