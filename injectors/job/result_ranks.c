// SPDX-License-Identifier: GPL-2.0
/* What ranks have done, and what RDMA devices have counted. */
#include <stdio.h>
#include <stdlib.h>

#include "bpf/page.h"
#include "injectors/job/result_private.h"

static void sum_group(double *v, const struct ranks_result *ranks, __u64 cpu_ns)
{
	double seconds = (double)(ranks->end_ns - ranks->start_ns) / 1e9;

	result_add(&v[RESULT_INSTANCES], !ranks->refused);
	result_add(&v[RESULT_INSTANCES_REFUSED], ranks->refused);
	result_add(&v[RESULT_OPERATIONS], (double)ranks->operations);
	result_add(&v[RESULT_ERRORS], (double)ranks->errors);
	result_add(&v[RESULT_MISMATCHES], (double)ranks->mismatches);
	result_add(&v[RESULT_CACHE_HITS], (double)ranks->hits);
	result_add(&v[RESULT_CACHE_MISSES], (double)ranks->misses);
	result_add(&v[RESULT_COPIED], (double)ranks->copied);
	result_add(&v[RESULT_MOVED], (double)ranks->bytes);
	if (!(seconds > 0))
		return;
	v[RESULT_SECONDS] = fmax(v[RESULT_SECONDS], seconds);
	result_add(&v[RESULT_OPERATIONS_PER_S], (double)ranks->operations / seconds);
	result_add(&v[RESULT_GOODPUT], (double)ranks->bytes / seconds);
	if (cpu_ns)
		result_add(&v[RESULT_GOODPUT_PER_CPU], (double)ranks->bytes * 1e9 / (double)cpu_ns);
}

static void fill_ranks(struct result *result, const struct result_input *input)
{
	struct ranks_result *ranks = malloc(sizeof(*ranks));
	struct histogram *latency = malloc(sizeof(*latency));

	if (ranks && latency) {
		histogram_init(latency);
		for (__u32 i = 0; i < input->config->ranks_count; i++) {
			const char *error;

			*ranks = (struct ranks_result){0};
			histogram_init(&ranks->latency);
			error = machine_ranks(input->machine, i, ranks);
			sum_group(result->values, ranks, input->cpu_ns);
			histogram_merge(latency, &ranks->latency);
			if (*error && !*input->notes->failing)
				snprintf(input->notes->failing, sizeof(input->notes->failing),
					 "[ranks %s], %s", input->config->ranks[i].name, error);
		}
		result_fill_latency(result, latency);
	}
	free(latency);
	free(ranks);
}

struct rdma_sums {
	__u64 rnr, dropped, resent, useful, sent, commands, command_ns;
	__u64 registered, mapped, suppressed, paused_ns, protection, overruns;
};

static void add_rdma(struct rdma_sums *sums, const struct rdma_totals *totals)
{
	const struct transport_counters *transport = &totals->transport;

	sums->rnr += transport->rnr_sent;
	for (int i = 0; i < RDMA_DROPS; i++)
		sums->dropped += transport->dropped[i];
	for (int i = 0; i < RDMA_RESENDS; i++)
		sums->resent += transport->resent[i];
	sums->useful += transport->useful_bytes;
	sums->sent += totals->wire_bytes;
	sums->paused_ns += transport->paused_ns;
	for (int i = 0; i < VERBS_COMMAND_KINDS; i++) {
		sums->commands += totals->commands[i];
		sums->command_ns += totals->command_ns[i];
	}
	sums->registered += totals->registered_most;
	sums->mapped += totals->mapped_most;
	sums->suppressed += totals->suppressed;
	sums->protection += totals->protection;
	sums->overruns += totals->overflows;
}

static void show_rdma(double *v, const struct rdma_sums *sums)
{
	v[RESULT_RNR] = (double)sums->rnr;
	v[RESULT_DROPPED] = (double)sums->dropped;
	v[RESULT_RESENT] = (double)sums->resent;
	v[RESULT_COMMANDS] = (double)sums->commands;
	if (sums->commands)
		v[RESULT_COMMAND_MEAN] = (double)sums->command_ns / (double)sums->commands;
	v[RESULT_REGISTERED] = (double)(sums->registered >> PAGE_BITS);
	v[RESULT_MAPPED] = (double)(sums->mapped >> PAGE_BITS);
	v[RESULT_SUPPRESSED] = (double)sums->suppressed;
	v[RESULT_PAUSED] = (double)sums->paused_ns;
	v[RESULT_PROTECTION] = (double)sums->protection;
	v[RESULT_CQ_OVERRUNS] = (double)sums->overruns;
	v[RESULT_LANDED] = (double)sums->useful;
}

void result_fill_ranks(struct result *result, const struct result_input *input,
		       struct result_wires *wires)
{
	struct rdma_sums sums = {0};
	bool any = false;

	for (__u32 d = 0; d < input->config->device_count; d++) {
		const struct rdma_totals *totals = machine_rdma(input->machine, d);

		if (totals)
			add_rdma(&sums, totals);
		any |= totals != NULL;
	}
	if (!any)
		return;
	show_rdma(result->values, &sums);
	result_add(&wires->useful, (double)sums.useful);
	result_add(&wires->sent, (double)sums.sent);
	fill_ranks(result, input);
}
