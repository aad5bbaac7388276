// SPDX-License-Identifier: GPL-2.0
/* The course of one end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/fail.h"

const char *load_end_name(const struct load_end *end)
{
	return end->index ? "peer end" : "active end";
}

int load_needs(const struct load_end *end, const char *verb, int error)
{
	char why[192];

	/* The device has stopped: nobody was refused anything. */
	if (!error || error == -EPIPE)
		return error;
	snprintf(why, sizeof(why), "%s", failure_text());
	return failed(error, "%s: %s was refused: %s", load_end_name(end), verb,
		      *why ? why : strerror(-error));
}

static int set_up(struct load_end *end)
{
	struct load_share *share = end->share;
	bool moves = verbs_load_moves(end->config->test);
	int error = load_memory_open(end) ?: load_queues_open(end) ?: load_watch_begin(end);

	if (!error && end->index && end->config->test == LOAD_send)
		load_pong_begin(&end->lane[0]);
	if (error)
		return error;
	load_share_reach(share, end->index, LOAD_READY);
	if (!moves)
		return 0;
	if (!load_share_await(share, end->index, LOAD_READY))
		return -EPIPE;
	error = load_queues_connect(end);
	if (error)
		return error;
	load_share_reach(share, end->index, LOAD_CONNECTED);
	return load_share_await(share, end->index, LOAD_CONNECTED) &&
			       load_share_await_pressure(share)
		       ? 0
		       : -EPIPE;
}

static void exits_of(const struct load_end *end, __u64 *kicks, __u64 *injections)
{
	*kicks = *injections = 0;
	if (end->place->exits)
		end->place->exits(end->place, kicks, injections);
}

static int be_active(struct load_end *end)
{
	__u64 kicks, injections, kicks_end, injections_end;
	int error = end->config->test == LOAD_register ? 0 : load_look(end);

	if (error)
		return error;
	exits_of(end, &kicks, &injections);
	load_measure(end);
	exits_of(end, &kicks_end, &injections_end);
	end->share->kicks = kicks_end - kicks;
	end->share->injections = injections_end - injections;
	return 0;
}

/* What has been written there, by who has now ended. */
static void check_written(struct load_end *end)
{
	const struct verbs_load_config *config = end->config;
	__u64 operations = end->share->counts[0][0].operations;

	if (config->test != LOAD_write_bandwidth || !config->verify)
		return;
	for (__u64 i = 0; i < config->outstanding && i < operations; i++)
		end->lane[0].counts->mismatches +=
			!load_right(end, i * config->size, config->size, i * config->size);
}

static void be_peer(struct load_end *end)
{
	if (end->config->test == LOAD_send)
		load_pong(&end->lane[0]);
	if (load_share_await(end->share, end->index, LOAD_MEASURED))
		check_written(end);
}

static int run(struct load_end *end)
{
	int error = set_up(end);

	if (error)
		return error;
	if (end->index)
		be_peer(end);
	else
		error = be_active(end);
	load_share_reach(end->share, end->index, LOAD_MEASURED);
	/* The other may look at this one's memory until it has measured. */
	if (!error && verbs_load_moves(end->config->test))
		load_share_await(end->share, end->index, LOAD_MEASURED);
	return error;
}

void load_end_run(struct load_place *place, struct load_share *share, int index)
{
	struct load_end *end = calloc(1, sizeof(*end));
	int error;

	if (!end) {
		load_share_fail(share, -ENOMEM, "no memory for an end of it");
		load_share_reach(share, index, LOAD_OVER);
		return;
	}
	*end = (struct load_end){
		.place = place, .share = share, .config = &share->config, .index = index};
	for (__u32 i = 0; i < LOAD_CLIENTS_MAX; i++)
		end->lane[i] = (struct load_lane){
			.end = end,
			.index = i,
			.counts = &share->counts[index][i],
			.random = {.state = share->config.seed * 8191 + i},
		};
	error = run(end);
	if (error)
		load_share_fail(share, error, failure_text());
	load_watch_end(end);
	load_queues_close(end);
	load_memory_close(end);
	load_share_reach(share, index, LOAD_OVER);
	free(end);
}
