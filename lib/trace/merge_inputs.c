// SPDX-License-Identifier: GPL-2.0
/* Before a merge: who is in which recording, and is it the same as another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/merge_private.h"

/* The output would be gone, or would be read while it is written. */
static int check_output(const struct trace_merge_config *config, const char *input)
{
	struct stat output, file;

	if (stat(config->path, &output) || !S_ISREG(output.st_mode))
		return 0;
	if ((!stat(input, &file) && same_file(&file, &output)) || trace_has_segment(input, &output))
		return failed(-EINVAL, "%s: is the input %s; choose another name for the output",
			      config->path, input);
	return 0;
}

static int add_hosts(struct merge_inputs *inputs, size_t more)
{
	struct trace_merged *result = inputs->result;
	size_t count = result->count + more;
	struct trace_merged_host *hosts;
	struct merge_host *own;

	if (count > TRACE_HOSTS_MAX)
		return failed(-EINVAL, "%zu hosts and more; accepted: up to %d in one recording",
			      count, TRACE_HOSTS_MAX);
	hosts = realloc(result->hosts, count * sizeof(*hosts));
	if (hosts)
		result->hosts = hosts;
	own = realloc(inputs->hosts, count * sizeof(*own));
	if (own)
		inputs->hosts = own;
	if (!hosts || !own)
		return failed(-ENOMEM, "no memory for %zu hosts", count);
	memset(hosts + result->count, 0, more * sizeof(*hosts));
	memset(own + result->count, 0, more * sizeof(*own));
	result->count = count;
	return 0;
}

static bool name_is_taken(const struct trace_merged *result, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(result->hosts[i].origin.name, name))
			return true;
	return false;
}

/* The host's, and what tells it from others of this name. */
static void name_host(struct trace_merged *result, size_t index, const char *hostname)
{
	struct trace_origin *origin = &result->hosts[index].origin;

	snprintf(origin->name, sizeof(origin->name), "%s", hostname[0] ? hostname : "unnamed");
	for (size_t i = 2; name_is_taken(result, index, origin->name); i++)
		snprintf(origin->name, sizeof(origin->name), "%.*s#%zu", NAME_TEXT,
			 hostname[0] ? hostname : "unnamed", i);
}

/* Whether both are of one capture: copies, and parts of a flight recorder that were saved from it. */
static bool is_same_capture(const struct trace_merged_host *a, const struct trace_merged_host *b)
{
	if (a->boot_id[0] && b->boot_id[0])
		return !strcmp(a->boot_id, b->boot_id) && a->start_ns == b->start_ns;
	return a->origin.recording == b->origin.recording;
}

static int check_twice(const struct trace_merged *result, size_t index)
{
	const struct trace_merged_host *host = &result->hosts[index];

	for (size_t i = 0; i < index; i++)
		if (is_same_capture(&result->hosts[i], host))
			return failed(-EINVAL,
				      "%s: is of the same recording of host %s as %s; what it "
				      "holds would be counted twice",
				      host->input, result->hosts[i].origin.name,
				      result->hosts[i].input);
	return 0;
}

static void take_summary(struct merge_inputs *inputs, size_t index, struct trace_summary *summary,
			 const struct trace_origin *origin)
{
	struct trace_merged_host *host = &inputs->result->hosts[index];
	struct wall_clock *clock = &inputs->hosts[index].clock;
	__u64 first_ns = summary->host.start_ns ?: summary->first_ns;

	/* It keeps what it is known by: its anchors go with it. */
	*clock = summary->clock;
	summary->clock = (struct wall_clock){0};
	name_host(inputs->result, index, summary->host.hostname);
	host->origin.recording = origin ? origin->recording : summary->recording;
	snprintf(host->boot_id, sizeof(host->boot_id), "%s", summary->host.boot_id);
	host->start_ns = summary->host.start_ns;
	host->events = summary->events;
	host->frames = summary->frames;
	host->clock = clock->count;
	host->from_ns = first_ns ? wall_clock_at(clock, first_ns) : 0;
	host->to_ns = summary->last_ns ? wall_clock_at(clock, summary->last_ns) : 0;
	host->loss = summary->loss;
	wall_clock_step(clock, first_ns, summary->last_ns, &host->step);
}

static int look_at_hosts(struct merge_inputs *inputs, struct merge_input *input,
			 const struct trace_hosts *hosts)
{
	size_t count = hosts->count ?: 1;
	struct trace_summary *summaries = calloc(count, sizeof(*summaries));
	int err = summaries ? failed_input(trace_summarize_hosts(input->path, summaries, count))
			    : failed(-ENOMEM, "no memory to look at %s", input->path);

	input->first = inputs->result->count;
	input->count = count;
	err = err ? err : add_hosts(inputs, count);
	for (size_t i = 0; !err && i < count; i++) {
		size_t index = input->first + i;

		inputs->result->hosts[index].input = input->path;
		take_summary(inputs, index, &summaries[i], hosts->count ? &hosts->all[i] : NULL);
		err = check_twice(inputs->result, index);
	}
	if (!err)
		inputs->bytes += summaries[0].bytes;
	for (size_t i = 0; summaries && i < count; i++)
		trace_summary_free(&summaries[i]);
	free(summaries);
	return err;
}

static int look_through(struct merge_inputs *inputs, struct merge_input *input,
			const struct trace_merge_config *config)
{
	struct trace_hosts hosts;
	int err;

	if (!strcmp(input->path, "-"))
		return failed(-EINVAL, "standard input cannot be read twice; name a file");
	err = check_output(config, input->path)
		      ?: failed_input(trace_hosts_read(input->path, &hosts));
	if (err)
		return err;
	err = look_at_hosts(inputs, input, &hosts);
	trace_hosts_free(&hosts);
	return err;
}

int merge_look(struct merge_inputs *inputs, const struct trace_merge_config *config,
	       struct trace_merged *result)
{
	int err = 0;

	*inputs = (struct merge_inputs){
		.all = calloc(config->count + 1, sizeof(*inputs->all)),
		.result = result,
	};
	if (!inputs->all)
		return failed(-ENOMEM, "no memory for %zu recordings", config->count);
	for (size_t i = 0; !err && i < config->count; i++) {
		inputs->all[i].path = config->inputs[i];
		inputs->all[i].frames.source.fd = -1;
		err = look_through(inputs, &inputs->all[i], config);
		inputs->count = i + 1;
	}
	return err;
}

void merge_forget(struct merge_inputs *inputs)
{
	for (size_t i = 0; inputs->hosts && i < inputs->result->count; i++)
		wall_clock_free(&inputs->hosts[i].clock);
	free(inputs->hosts);
	free(inputs->all);
}
