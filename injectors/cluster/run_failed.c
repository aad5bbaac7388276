// SPDX-License-Identifier: GPL-2.0
/* Users that could not do what they were there for, each with a sentence. */
#include <stdio.h>
#include <string.h>

#include "injectors/cluster/io_user.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/run_private.h"

struct failed_users {
	struct cluster_result *result;
	size_t used;
	__u32 more; /* of whom there is no room to tell */
};

static bool failed_to_begin(const struct cluster *cluster, const struct io_config *io)
{
	const struct io_counts *counts = io_counts_of(cluster, io);

	return !counts || !counts->ios;
}

static const char *failed_with_host(const struct cluster *cluster, __u32 host,
				    const struct io_config *io)
{
	if (agent_state(cluster, host) != AGENT_DEAD || !failed_to_begin(cluster, io))
		return NULL;
	return "its host was killed before it had an I/O";
}

/* NULL: it has not. One that was killed by itself is counted as that. */
static const char *failed_agent(const struct cluster *cluster, __u32 agent)
{
	const struct agent_info *info = agent_info(cluster, agent);
	const struct cluster_config *config = cluster->config;

	if (agent_state(cluster, agent) == AGENT_FAILED)
		return agent_text(cluster, agent);
	switch (info->kind) {
	case AGENT_VM:
		return failed_with_host(cluster, info->host, &config->vms[info->config].io);
	case AGENT_CLIENT:
		return failed_with_host(cluster, info->host, &config->clients[info->config].io);
	case AGENT_INITIATOR:
		return failed_with_host(cluster, info->host, &config->targets[info->config].io);
	default:
		return NULL;
	}
}

/*
 * It was to have begun by the end of the run, and was refused until then, or had no CPU: what it gets while all ends, when nothing is
 * injected any more, is too late for an I/O.
 */
static const char *failed_until_the_end(const struct cluster *cluster, __u32 index,
					__u64 duration_ns)
{
	const struct borrow_results *results = borrow_results_of(cluster, index);
	const struct borrow_config *config = &cluster->config->borrows[index];

	if (config->at_ns >= duration_ns || !failed_to_begin(cluster, &config->io) ||
	    (results->tries && !results->refused))
		return NULL;
	return results->refused ? results->text
				: "the run was over before it could ask; give it a longer duration";
}

/* Lost for good; or without an I/O, whether it was refused, met errors or came too late. */
static const char *failed_borrow(const struct cluster *cluster, __u32 index, __u64 duration_ns)
{
	const struct borrow_results *results = borrow_results_of(cluster, index);
	const struct borrow_config *config = &cluster->config->borrows[index];
	const char *text;

	if (results->failed || (results->error && failed_to_begin(cluster, &config->io)))
		return results->text;
	text = failed_with_host(cluster, config->host, &config->io);
	return text ?: failed_until_the_end(cluster, index, duration_ns);
}

__u32 run_failed(const struct cluster *cluster, __u64 duration_ns)
{
	__u32 count = 0;

	for (__u32 i = cluster->config->host_count; i < agent_count(cluster); i++)
		count += failed_agent(cluster, i) != NULL;
	for (__u32 i = 0; i < cluster->config->borrow_count; i++)
		count += failed_borrow(cluster, i, duration_ns) != NULL;
	return count;
}

static void failed_note(struct failed_users *failed, const char *name, const char *text)
{
	char *note = failed->result->note + failed->used;
	size_t room = sizeof(failed->result->note) - failed->used - RESULT_NOTE_MORE;
	size_t length = strlen(name);

	if (!text)
		return;
	if (!strncmp(text, name, length) && !strncmp(text + length, ": ", 2))
		text += length + 2;
	if (failed->more || length + strlen(text) + sizeof("; : ") > room)
		failed->more++;
	else
		failed->used += (size_t)snprintf(note, room, "%s%s: %s", failed->used ? "; " : "",
						 name, text);
}

void run_note_failed(const struct cluster *cluster, __u64 duration_ns,
		     struct cluster_result *result)
{
	struct failed_users failed = {.result = result};

	for (__u32 i = cluster->config->host_count; i < agent_count(cluster); i++)
		failed_note(&failed, agent_info(cluster, i)->name, failed_agent(cluster, i));
	for (__u32 i = 0; i < cluster->config->borrow_count; i++)
		failed_note(&failed, cluster->config->borrows[i].name,
			    failed_borrow(cluster, i, duration_ns));
	if (failed.more)
		snprintf(result->note + failed.used, RESULT_NOTE_MORE, "; and %u more",
			 failed.more);
}
