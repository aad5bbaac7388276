// SPDX-License-Identifier: GPL-2.0
/* Who asks a target for I/Os: a capsule into its memory, a notice, and a reply into one's own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "injectors/cluster/futex.h"
#include "injectors/cluster/io_user.h"
#include "injectors/cluster/seen.h"
#include "injectors/cluster/target_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define INITIATOR_WAIT_NS (20 * NSEC_PER_MSEC)

struct initiator_slot {
	struct io_next io;
	__u64 begin_ns, turn, capsule_ns;
	bool used;
};
struct target_initiator {
	struct cluster *cluster;
	const struct target_config *config;
	struct mediator *target;
	__u32 number;
	struct io_user user;
	struct target_window capsules;
	__u64 replies_at, data_at; /* in this host's RAM */
	struct target_reply *replies;
	__u8 *data;
	struct initiator_slot *slots;
	__u32 outstanding;
};

static __u64 initiator_replies_bytes(const struct target_initiator *initiator)
{
	return initiator->config->io.depth * sizeof(struct target_reply);
}

static __u64 initiator_data_bytes(const struct target_initiator *initiator)
{
	return initiator->config->io.depth * initiator->config->io.block;
}

static int initiator_send(struct target_initiator *initiator, struct initiator_slot *slot)
{
	struct cluster *cluster = initiator->cluster;
	struct initiator cpu = cpu_of(cluster, cluster->host);
	__u64 index = (__u64)(slot - initiator->slots);
	struct target_capsule capsule = {
		.offset = slot->io.offset,
		.bytes = slot->io.bytes,
		.write = slot->io.write,
		.turn = ++slot->turn,
	};
	struct access_result result = {0};

	if (slot->io.write)
		io_user_fill(&initiator->user, &slot->io,
			     initiator->data + index * initiator->config->io.block);
	slot->begin_ns = monotonic_ns();
	slot->used = true;
	initiator->outstanding++;
	access_write(cluster, &cpu, PURPOSE_FETCH,
		     initiator->capsules.address + index * sizeof(capsule), &capsule,
		     sizeof(capsule), &result);
	/* Once for the capsule; its notice goes the same way. */
	slot->capsule_ns = 2 * result.model_ns;
	return target_tell(cluster, initiator->number, TARGET_CAPSULE);
}

static void initiator_done(struct target_initiator *initiator, struct initiator_slot *slot,
			   int status, const struct target_reply *reply)
{
	__u64 index = (__u64)(slot - initiator->slots);
	struct seen_io seen = {
		.agent = initiator->cluster->self,
		.device = initiator->config->device,
		.number = (__u32)slot->io.number,
		.offset = slot->io.offset,
		.bytes = slot->io.bytes,
		.begin_ns = slot->begin_ns,
		.write = slot->io.write,
		.error = -status,
	};

	slot->used = false;
	initiator->outstanding--;
	if (reply) {
		initiator->user.counts->software_stages += reply->stages;
		initiator->user.counts->copies += reply->copies;
		/* Of 64 bytes as the capsule, and its notice. */
		seen.model_ns[IO_STAGE_COMMAND] = slot->capsule_ns;
		seen.model_ns[IO_STAGE_DATA] = reply->model_ns;
		seen.model_ns[IO_STAGE_COMPLETION] = slot->capsule_ns;
	}
	io_user_done(&initiator->user, &slot->io,
		     initiator->data + index * initiator->config->io.block, status, slot->begin_ns,
		     reply ? 2 * slot->capsule_ns + reply->model_ns : 0);
	seen.end_ns = monotonic_ns();
	seen_io(initiator->cluster, &seen);
}

static bool initiator_reap(struct target_initiator *initiator)
{
	bool any = false;

	for (__u32 i = 0; i < initiator->config->io.depth; i++) {
		struct initiator_slot *slot = &initiator->slots[i];
		struct target_reply reply;

		if (!slot->used ||
		    __atomic_load_n(&initiator->replies[i].turn, __ATOMIC_ACQUIRE) != slot->turn)
			continue;
		reply = initiator->replies[i];
		initiator_done(initiator, slot, reply.status, &reply);
		any = true;
	}
	return any;
}

/* Until nothing more goes; *finished: none is left. */
static int initiator_fill(struct target_initiator *initiator, __u64 *wait_ns, bool *finished)
{
	for (__u32 i = 0; i < initiator->config->io.depth; i++) {
		int err;

		if (initiator->slots[i].used)
			continue;
		if (!io_user_next(&initiator->user, &initiator->slots[i].io, wait_ns)) {
			*finished = !*wait_ns;
			return 0;
		}
		err = initiator_send(initiator, &initiator->slots[i]);
		if (err)
			return err;
	}
	return 0;
}

/* A target that says nothing for as long as nobody may is dead, as is one whose process is. */
static int initiator_late(const struct target_initiator *initiator)
{
	const struct cluster *cluster = initiator->cluster;
	__u64 now = monotonic_ns();

	if (agent_state(cluster, target_agent(cluster, initiator->number, false)) > AGENT_RUNS)
		return failed(-ENODEV, "target %s has ended", initiator->config->name);
	for (__u32 i = 0; i < initiator->config->io.depth; i++)
		if (initiator->slots[i].used &&
		    now - initiator->slots[i].begin_ns > cluster->config->dead_ns)
			return failed(-ENODEV, "target %s has not replied for %.3f s",
				      initiator->config->name,
				      (double)cluster->config->dead_ns / 1e9);
	return 0;
}

static int initiator_loop(struct target_initiator *initiator)
{
	int err = 0;

	while (!err) {
		__u32 replied = shared_counter(&initiator->target->replied);
		bool finished = cluster_stopping(initiator->cluster);
		__u64 wait_ns = 0;

		if (!finished)
			err = initiator_fill(initiator, &wait_ns, &finished);
		if (err || (finished && !initiator->outstanding))
			break;
		if (initiator_reap(initiator))
			continue;
		shared_counter_wait(&initiator->target->replied, replied,
				    wait_ns && wait_ns < INITIATOR_WAIT_NS ? wait_ns
									   : INITIATOR_WAIT_NS);
		err = initiator_late(initiator);
	}
	for (__u32 i = 0; i < initiator->config->io.depth; i++)
		if (initiator->slots[i].used)
			initiator_done(initiator, &initiator->slots[i], err ? err : -EIO, NULL);
	return err;
}

/* Until its target is there, as long as anybody may be silent. */
static int initiator_connect(struct target_initiator *initiator)
{
	struct cluster *cluster = initiator->cluster;
	__u64 begin = monotonic_ns();
	struct message message;
	int err;

	for (;;) {
		__u32 events = agent_events(cluster);

		message = (struct message){
			.type = MESSAGE_TARGET_IO,
			.words = {initiator->number, TARGET_CONNECT, initiator->replies_at,
				  initiator->data_at},
		};
		err = message_call(cluster, initiator->config->host, &message, 0);
		if (err != -EAGAIN || cluster_stopping(cluster) ||
		    monotonic_ns() - begin > cluster->config->dead_ns)
			break;
		agent_wait(cluster, events, INITIATOR_WAIT_NS);
	}
	if (err)
		return err;
	return target_window_map(cluster, initiator->config->host, message.words[2],
				 initiator->config->io.depth * sizeof(struct target_capsule),
				 &initiator->capsules);
}

static int initiator_open(struct target_initiator *initiator)
{
	struct cluster *cluster = initiator->cluster;
	const struct io_config *io = &initiator->config->io;
	int err = io_user_open(&initiator->user, cluster, io, initiator->config->device,
			       CLUSTER_NONE, CLUSTER_NONE);

	if (err)
		return err;
	initiator->slots = calloc(io->depth, sizeof(*initiator->slots));
	if (!initiator->slots)
		return failed(-ENOMEM, "no memory for %u I/Os", io->depth);
	err = host_memory_alloc(cluster, cluster->host, initiator_replies_bytes(initiator),
				&initiator->replies_at);
	if (err)
		return err;
	initiator->replies = host_memory(cluster, cluster->host, initiator->replies_at,
					 initiator_replies_bytes(initiator));
	err = host_memory_alloc(cluster, cluster->host, initiator_data_bytes(initiator),
				&initiator->data_at);
	if (err)
		return err;
	initiator->data = host_memory(cluster, cluster->host, initiator->data_at,
				      initiator_data_bytes(initiator));
	return initiator_connect(initiator);
}

/* Its memory goes once its target writes there no more, or is dead. */
static void initiator_leave(struct target_initiator *initiator)
{
	struct cluster *cluster = initiator->cluster;
	__u64 begin = monotonic_ns();

	while (target_tell(cluster, initiator->number, TARGET_LEAVE) == -EAGAIN &&
	       monotonic_ns() - begin < cluster->config->dead_ns)
		agent_wait(cluster, agent_events(cluster), NSEC_PER_MSEC);
}

static void initiator_close(struct target_initiator *initiator)
{
	struct cluster *cluster = initiator->cluster;

	initiator_leave(initiator);
	target_window_unmap(cluster, &initiator->capsules);
	if (initiator->replies)
		host_memory_free(cluster, cluster->host, initiator->replies_at,
				 initiator_replies_bytes(initiator));
	if (initiator->data)
		host_memory_free(cluster, cluster->host, initiator->data_at,
				 initiator_data_bytes(initiator));
	free(initiator->slots);
	io_user_close(&initiator->user);
}

int initiator_run(struct cluster *cluster)
{
	struct target_initiator initiator = {
		.cluster = cluster,
		.number = agent_info(cluster, cluster->self)->config,
	};
	int err;

	while (!cluster_run_ns(cluster) && !cluster_stopping(cluster))
		agent_wait(cluster, agent_events(cluster), INITIATOR_WAIT_NS);
	initiator.config = &cluster->config->targets[initiator.number];
	initiator.target = target_of(cluster, initiator.number);
	err = initiator_open(&initiator);
	if (!err)
		err = initiator_loop(&initiator);
	initiator_close(&initiator);
	return err;
}
