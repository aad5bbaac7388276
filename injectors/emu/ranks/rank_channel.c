// SPDX-License-Identifier: GPL-2.0
/* Messages of a rank: what completions allow next. */
#include <errno.h>
#include <stdio.h>

#include "injectors/emu/ranks/rank_pattern.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define POLL_AT_ONCE 16

/* What a work request was, in its id: channel, kind, number. */
enum rank_request {
	RANK_CONTROL_SENT,
	RANK_CONTROL_CAME,
	RANK_MESSAGE_SENT,
	RANK_MESSAGE_WRITTEN, /* the empty send behind it tells */
	RANK_MESSAGE_CAME,
};

#define REQUEST_NUMBER_BITS 48
#define REQUEST_KIND_BITS   8
#define REQUEST_NUMBER(id)  ((id) & ((1ull << REQUEST_NUMBER_BITS) - 1))
#define REQUEST_KIND(id)    ((enum rank_request)((id) >> REQUEST_NUMBER_BITS & 0xff))
#define REQUEST_CHANNEL(id) ((__u32)((id) >> (REQUEST_NUMBER_BITS + REQUEST_KIND_BITS)))

static __u64 request_id(const struct rank_channel *channel, enum rank_request kind, __u64 number)
{
	return (__u64)channel->peer << (REQUEST_NUMBER_BITS + REQUEST_KIND_BITS) |
	       (__u64)kind << REQUEST_NUMBER_BITS | number;
}

static struct rank_message *message_at(const struct rank *rank,
				       const struct rank_direction *direction, __u64 number)
{
	return &direction->message[number & (rank->layout.window - 1)];
}

static __u64 control_slot(const struct rank_channel *channel, __u64 slot)
{
	return channel->control_address + slot * sizeof(struct rank_control);
}

static struct verbs_sge control_piece(const struct rank *rank, __u64 address)
{
	return memory_piece(&rank->small, rank->small_address, address,
			    sizeof(struct rank_control));
}

static int post_control_receive(struct rank *rank, struct rank_channel *channel, __u64 slot)
{
	struct verbs_receive receive = {
		.id = request_id(channel, RANK_CONTROL_CAME, slot),
		.pieces = 1,
		.piece[0] = control_piece(rank, control_slot(channel, channel->controls + slot)),
	};

	return verbs_post_recv(channel->pair[RANK_CONTROL], &receive);
}

int rank_post_control_receives(struct rank *rank, struct rank_channel *channel)
{
	int err = 0;

	for (__u32 slot = 0; !err && slot < channel->controls; slot++)
		err = post_control_receive(rank, channel, slot);
	return err;
}

/* A place whose last message has certainly arrived. */
static bool control_ready(const struct rank_channel *channel)
{
	return channel->control_sent - channel->control_done < channel->controls;
}

static int send_control(struct rank *rank, struct rank_channel *channel, __u32 kind,
			const struct rank_control *control)
{
	__u64 number = channel->control_sent;
	__u64 address = control_slot(channel, number & (channel->controls - 1));
	struct rank_control *to = rank_cpu(rank, address);
	struct verbs_send send = {
		.id = request_id(channel, RANK_CONTROL_SENT, number),
		.opcode = VERBS_SEND,
		.flags = VERBS_SEND_SIGNALED,
		.pieces = 1,
		.piece[0] = control_piece(rank, address),
	};

	*to = *control;
	to->kind = kind;
	channel->control_sent++;
	return verbs_post_send(channel->pair[RANK_CONTROL], &send);
}

/* `bytes` of the program's buffer become usable by the device. */
static int take_lease(struct rank *rank, struct rank_message *message, __u64 bytes, bool write)
{
	message->lease =
		(struct memory_lease){.address = message->address, .bytes = bytes, .write = write};
	if (message->work) {
		message->lease.sge =
			memory_piece(&rank->work, rank->work_address, message->address, bytes);
		return 0;
	}
	__atomic_store_n(&message->posted, true, __ATOMIC_RELAXED);
	return rank->memory->mode->get(rank->memory, &message->lease);
}

static int give_lease(struct rank *rank, struct rank_message *message)
{
	if (message->work)
		return 0;
	__atomic_store_n(&message->posted, false, __ATOMIC_RELAXED);
	return rank->memory->mode->put(rank->memory, &message->lease, message->bytes);
}

static struct rank_control control_of(const struct rank_message *message, __u64 number)
{
	return (struct rank_control){.number = number,
				     .address = message->lease.sge.address,
				     .key = message->lease.sge.key,
				     .bytes = message->bytes};
}

/* op=send and op=write: there is a place for the next message, and its sender hears of it. */
static int grant(struct rank *rank, struct rank_channel *channel)
{
	__u64 number = channel->in.posted;
	struct rank_message *message = message_at(rank, &channel->in, number);
	bool whole = rank->config->op == RANKS_SEND && rank->config->receive_bytes > message->bytes;
	struct verbs_receive receive = {.id = request_id(channel, RANK_MESSAGE_CAME, number)};
	struct rank_control control;
	int err = take_lease(rank, message, whole ? rank->config->receive_bytes : message->bytes,
			     true);

	if (err)
		return err;
	if (rank->config->op == RANKS_SEND) {
		receive.pieces = 1;
		receive.piece[0] = message->lease.sge;
	}
	channel->in.posted++;
	err = verbs_post_recv(channel->pair[RANK_DATA], &receive);
	control = control_of(message, number);
	return err ? err : send_control(rank, channel, RANK_GRANT, &control);
}

/* op=read: what is to be fetched. */
static int offer(struct rank *rank, struct rank_channel *channel)
{
	__u64 number = channel->out.posted;
	struct rank_message *message = message_at(rank, &channel->out, number);
	struct rank_control control;
	int err = take_lease(rank, message, message->bytes, false);

	if (err)
		return err;
	channel->out.posted++;
	control = control_of(message, number);
	return send_control(rank, channel, RANK_OFFER, &control);
}

static struct verbs_send message_request(const struct rank *rank,
					 const struct rank_channel *channel, __u64 number,
					 const struct rank_message *message)
{
	const struct rank_control *told = &channel->told[number & (rank->layout.window - 1)];

	return (struct verbs_send){.remote_address = told->address,
				   .remote_key = told->key,
				   .flags = VERBS_SEND_SIGNALED,
				   .pieces = 1,
				   .piece[0] = message->lease.sge};
}

static int post_message(struct rank *rank, struct rank_channel *channel)
{
	__u64 number = channel->out.posted;
	struct rank_message *message = message_at(rank, &channel->out, number);
	struct verbs_send send;
	int err = take_lease(rank, message, message->bytes, false);

	if (err)
		return err;
	channel->out.posted++;
	send = message_request(rank, channel, number, message);
	if (rank->config->op == RANKS_WRITE) {
		send.opcode = VERBS_WRITE;
		send.id = request_id(channel, RANK_MESSAGE_WRITTEN, number);
		err = verbs_post_send(channel->pair[RANK_DATA], &send);
		send = (struct verbs_send){.flags = VERBS_SEND_SIGNALED};
	}
	send.opcode = VERBS_SEND;
	send.id = request_id(channel, RANK_MESSAGE_SENT, number);
	return err ? err : verbs_post_send(channel->pair[RANK_DATA], &send);
}

static int fetch_message(struct rank *rank, struct rank_channel *channel)
{
	__u64 number = channel->in.posted;
	struct rank_message *message = message_at(rank, &channel->in, number);
	struct verbs_send read;
	int err = take_lease(rank, message, message->bytes, true);

	if (err)
		return err;
	channel->in.posted++;
	read = message_request(rank, channel, number, message);
	read.opcode = VERBS_READ;
	read.id = request_id(channel, RANK_MESSAGE_CAME, number);
	return verbs_post_send(channel->pair[RANK_DATA], &read);
}

static int tell_finished(struct rank *rank, struct rank_channel *channel)
{
	struct rank_control control = {.number = channel->finished++};

	return send_control(rank, channel, RANK_FINISHED, &control);
}

static int advance_read(struct rank *rank, struct rank_channel *channel)
{
	int err = 0;

	while (!err && channel->finished < channel->in.done && control_ready(channel))
		err = tell_finished(rank, channel);
	while (!err && channel->out.posted < channel->out.wanted && control_ready(channel))
		err = offer(rank, channel);
	while (!err && channel->in.posted < channel->in.wanted &&
	       channel->in.posted < channel->told_count)
		err = fetch_message(rank, channel);
	return err;
}

int rank_advance(struct rank *rank, struct rank_channel *channel)
{
	int err = 0;

	if (rank->config->op == RANKS_READ)
		return advance_read(rank, channel);
	while (!err && channel->in.posted < channel->in.wanted && control_ready(channel))
		err = grant(rank, channel);
	while (!err && channel->out.posted < channel->out.wanted &&
	       channel->out.posted < channel->told_count)
		err = post_message(rank, channel);
	return err;
}

static int message_left(struct rank *rank, struct rank_channel *channel)
{
	struct rank_message *message = message_at(rank, &channel->out, channel->out.done);
	int err = give_lease(rank, message);

	channel->out.done++;
	if (rank->pattern->streams) {
		rank->result.operations++;
		histogram_add(&rank->result.latency, monotonic_ns() - message->begun_ns);
	}
	return err;
}

static int message_came(struct rank *rank, struct rank_channel *channel)
{
	struct rank_message *message = message_at(rank, &channel->in, channel->in.done);
	int err = give_lease(rank, message);

	if (!err && message->seed && rank->config->verify &&
	    !content_is(rank_cpu(rank, message->address), message->bytes, message->seed))
		rank->result.mismatches++;
	rank->result.bytes += message->bytes;
	channel->in.done++;
	return err;
}

static int control_came(struct rank *rank, struct rank_channel *channel, __u64 slot)
{
	const struct rank_control *control =
		rank_cpu(rank, control_slot(channel, channel->controls + slot));
	int err;

	if (control->kind == RANK_FINISHED) {
		err = message_left(rank, channel);
		return err ? err : post_control_receive(rank, channel, slot);
	}
	channel->told[channel->told_count & (rank->layout.window - 1)] = *control;
	channel->told_count++;
	return post_control_receive(rank, channel, slot);
}

static int completion_failed(struct rank *rank, const struct verbs_completion *completion)
{
	char sentence[128];

	/* The other side has gone already. */
	if (ranks_group_stopping(rank->group))
		return -ECANCELED;
	if (completion->status != VERBS_WR_FLUSH_ERR)
		rank->result.errors++;
	snprintf(sentence, sizeof(sentence), "rank %u, queue pair %u: completion with status %u",
		 rank->index, completion->queue_pair, completion->status);
	ranks_group_fail(rank->group, sentence);
	return failed(-EIO, "%s", sentence);
}

static int take_completion(struct rank *rank, const struct verbs_completion *completion)
{
	struct rank_channel *channel;
	__u64 number = REQUEST_NUMBER(completion->id);
	int err = 0;

	if (completion->status != VERBS_SUCCESS)
		return completion_failed(rank, completion);
	channel = rank->channel[REQUEST_CHANNEL(completion->id)];
	switch (REQUEST_KIND(completion->id)) {
	case RANK_CONTROL_SENT:
		channel->control_done++;
		break;
	case RANK_CONTROL_CAME:
		err = control_came(rank, channel, number);
		break;
	case RANK_MESSAGE_SENT:
		err = message_left(rank, channel);
		break;
	case RANK_MESSAGE_WRITTEN:
		break;
	case RANK_MESSAGE_CAME:
		err = message_came(rank, channel);
		break;
	}
	return err ? err : rank_advance(rank, channel);
}

int rank_progress(struct rank *rank)
{
	struct verbs_completion completions[POLL_AT_ONCE];
	int count = verbs_poll_cq(rank->queue, POLL_AT_ONCE, completions), err = 0;

	for (int i = 0; !err && i < count; i++)
		err = take_completion(rank, &completions[i]);
	return err ? err : count;
}
