// SPDX-License-Identifier: GPL-2.0
/* A rank's thread, and what patterns ask of it. */
#include <errno.h>
#include <sched.h>

#include "injectors/emu/ranks/rank_pattern.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define POLLS	     32 /* before it sleeps; the device may need this CPU, so each lets others run */
#define SLEEP_MAX_NS (5 * NSEC_PER_MSEC) /* how late it sees that it is to stop */

void *rank_cpu(struct rank *rank, __u64 address)
{
	return guest_memory_cpu(rank->memory->memory, address);
}

__u64 rank_next_buffer(struct rank *rank)
{
	return rank->buffers + rank->next_buffer++ % rank->buffer_slots * rank->layout.largest;
}

__u64 rank_work_buffer(const struct rank *rank, __u32 index)
{
	return rank->work_address + index * rank->layout.largest;
}

/* Completions that there are; without any waits for one, until `deadline_ns` at most. */
static int rank_pause(struct rank *rank, __u64 deadline_ns)
{
	__u64 latest;
	int count;

	for (int i = 0; i < POLLS; i++) {
		count = rank_progress(rank);
		if (count)
			return count < 0 ? count : 0;
		if (ranks_group_stopping(rank->group))
			return -ECANCELED;
		sched_yield();
	}
	latest = monotonic_ns() + SLEEP_MAX_NS;
	count = verbs_wait_cq(rank->queue, deadline_ns < latest ? deadline_ns : latest);
	return count == -EPIPE ? -ECANCELED : 0;
}

static int await_count(struct rank *rank, const __u64 *counter, __u64 least)
{
	int err = 0;

	while (!err && *counter < least)
		err = rank_pause(rank, ~0ull);
	return err;
}

int rank_await_sent(struct rank *rank, __u32 peer, __u64 number)
{
	return await_count(rank, &rank->channel[peer]->out.done, number + 1);
}

int rank_await_received(struct rank *rank, __u32 peer, __u64 number)
{
	return await_count(rank, &rank->channel[peer]->in.done, number + 1);
}

/* All that it has sent has arrived, and whoever sent to it knows. */
static int rank_finish(struct rank *rank)
{
	int err = 0;

	for (__u32 peer = 0; !err && peer < rank->config->count; peer++) {
		const struct rank_channel *channel = rank->channel[peer];

		if (!channel)
			continue;
		err = await_count(rank, &channel->out.done, channel->out.wanted);
		if (!err && rank->config->op == RANKS_READ)
			err = await_count(rank, &channel->finished, channel->in.done);
		if (!err)
			err = await_count(rank, &channel->control_done, channel->control_sent);
	}
	return err;
}

static int rank_await_time(struct rank *rank, __u64 due_ns)
{
	int err = 0;

	while (!err && monotonic_ns() < due_ns)
		err = rank_pause(rank, due_ns);
	return err;
}

static int rank_want(struct rank *rank, const struct rank_part *part,
		     struct rank_direction *direction, __u64 *number)
{
	__u32 window = rank->layout.window;
	__u64 mine = direction->wanted;
	struct rank_message *message = &direction->message[mine & (window - 1)];
	int err = mine >= window ? await_count(rank, &direction->done, mine - window + 1) : 0;

	if (err)
		return err;
	message->address = part->address;
	message->bytes = part->bytes;
	message->seed = part->seed;
	message->work = part->work;
	message->begun_ns = rank->config->rate > 0 ? rank->due_ns : monotonic_ns();
	direction->wanted++;
	if (number)
		*number = mine;
	return rank_advance(rank, rank->channel[part->peer]);
}

int rank_send(struct rank *rank, const struct rank_part *part, __u64 *number)
{
	if (part->seed && rank->config->verify)
		content_fill(rank_cpu(rank, part->address), part->bytes, part->seed);
	return rank_want(rank, part, &rank->channel[part->peer]->out, number);
}

int rank_receive(struct rank *rank, const struct rank_part *part, __u64 *number)
{
	return rank_want(rank, part, &rank->channel[part->peer]->in, number);
}

/* Each step has its time; what is late is charged for that. */
static int await_due(struct rank *rank, __u64 step)
{
	double rate = rank->config->rate;

	if (rate > 0) {
		rank->due_ns = rank->group->start_ns + (__u64)((double)step / rate * 1e9);
		return rank_await_time(rank, rank->due_ns);
	}
	rank->due_ns = monotonic_ns();
	return 0;
}

static int rank_steps(struct rank *rank)
{
	__u32 team = rank->pattern->streams ? rank->index / 2 : 0;
	int err = 0;

	for (__u64 step = 0; !err && ranks_group_step(rank->group, team, step); step++) {
		err = await_due(rank, step);
		if (!err)
			err = rank->pattern->step(rank, step,
						  ranks_group_size(rank->group, team, step));
		if (err || rank->pattern->streams)
			continue;
		rank->result.operations++;
		histogram_add(&rank->result.latency, monotonic_ns() - rank->due_ns);
	}
	return err ? err : rank_finish(rank);
}

void *rank_run(void *argument)
{
	struct rank *rank = argument;
	int err = 0;

	if (ranks_group_arrive(rank->group)) {
		rank->result.start_ns = monotonic_ns();
		err = rank_steps(rank);
		rank->result.end_ns = monotonic_ns();
	}
	/* Of what is stopped, whoever goes first takes the others' queue pairs away. */
	if (err && !ranks_group_stopping(rank->group)) {
		rank->result.errors++;
		ranks_group_fail(rank->group, failure_text());
	}
	__atomic_store_n(&rank->done, true, __ATOMIC_RELEASE);
	return NULL;
}
