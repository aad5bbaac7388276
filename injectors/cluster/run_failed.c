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

/* Lost for good; or without an I/O, whether it was refused or met errors. */
static const char *failed_borrow(const struct cluster *cluster, __u32 index)
{
	const struct borrow_results *results = borrow_results_of(cluster, index);
	const struct borrow_config *config = &cluster->config->borrows[index];

	if (results->failed || (results->error && failed_to_begin(cluster, &config->io)))
		return results->text;
	return failed_with_host(cluster, config->host, &config->io);
}

__u32 run_failed(const struct cluster *cluster)
{
	__u32 count = 0;

	for (__u32 i = cluster->config->host_count; i < agent_count(cluster); i++)
		count += failed_agent(cluster, i) != NULL;
	for (__u32 i = 0; i < cluster->config->borrow_count; i++)
		count += failed_borrow(cluster, i) != NULL;
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

void run_note_failed(const struct cluster *cluster, struct cluster_result *result)
{
	struct failed_users failed = {.result = result};

	for (__u32 i = cluster->config->host_count; i < agent_count(cluster); i++)
		failed_note(&failed, agent_info(cluster, i)->name, failed_agent(cluster, i));
	for (__u32 i = 0; i < cluster->config->borrow_count; i++)
		failed_note(&failed, cluster->config->borrows[i].name, failed_borrow(cluster, i));
	if (failed.more)
		snprintf(result->note + failed.used, RESULT_NOTE_MORE, "; and %u more",
			 failed.more);
}
