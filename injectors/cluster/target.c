// SPDX-License-Identifier: GPL-2.0
/* What a target and its initiator tell each other, by their hosts' control threads. */
#include <errno.h>

#include "injectors/cluster/futex.h"
#include "injectors/cluster/guest_private.h"
#include "injectors/cluster/target_private.h"
#include "lib/base/fail.h"

int targets_create(struct cluster *cluster)
{
	__u32 count = cluster->config->target_count;

	cluster->guests->targets =
		shared_alloc(cluster, (count ? count : 1) * sizeof(*cluster->guests->targets));
	return cluster->guests->targets ? 0 : -ENOMEM;
}

struct mediator *target_of(const struct cluster *cluster, __u32 target)
{
	return target < cluster->config->target_count ? &cluster->guests->targets[target] : NULL;
}

void target_forget(struct cluster *cluster, __u32 agent)
{
	const struct agent_info *info = agent_info(cluster, agent);
	struct mediator *target;

	if (info->kind != AGENT_TARGET)
		return;
	target = target_of(cluster, info->config);
	__atomic_store_n(&target->capsules, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&target->connected, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&target->left, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&target->closed, 0, __ATOMIC_RELEASE);
}

__u32 target_agent(const struct cluster *cluster, __u32 target, bool initiator)
{
	enum agent_kind kind = initiator ? AGENT_INITIATOR : AGENT_TARGET;

	for (__u32 i = 0; i < agent_count(cluster); i++)
		if (agent_info(cluster, i)->kind == kind &&
		    agent_info(cluster, i)->config == target)
			return i;
	return CLUSTER_NONE;
}

int target_window_map(struct cluster *cluster, __u32 far_host, __u64 far, __u64 bytes,
		      struct target_window *window)
{
	struct ntb_window wanted = {
		.kind = WINDOW_SEGMENT,
		.far_host = far_host,
		.far = far,
		.bytes = bytes,
		.owner = cluster->self,
		.borrow = CLUSTER_NONE,
	};
	int err;

	*window = (struct target_window){.address = far};
	if (far_host == cluster->host)
		return 0;
	err = lend_adapter(cluster, cluster->host, cluster->config->hosts[cluster->host].root,
			   far_host, CLUSTER_NONE, &wanted.adapter);
	if (!err)
		err = ntb_map(cluster, &wanted, ~0ull, &window->window);
	window->mapped = !err;
	window->address = window->window.address;
	return err;
}

void target_window_unmap(struct cluster *cluster, struct target_window *window)
{
	if (window->mapped)
		ntb_unmap(cluster, &window->window);
	window->mapped = false;
}

int target_tell(struct cluster *cluster, __u32 target, enum target_message operation)
{
	const struct target_config *config = &cluster->config->targets[target];
	struct message message = {.type = MESSAGE_TARGET_IO, .words = {target, operation}};

	return message_call(cluster,
			    operation == TARGET_REPLY ? config->initiator_host : config->host,
			    &message, 0);
}

/* words: target, enum target_message; to connect: replies, data; answer: capsules in words[2]. -EAGAIN: not yet. */
static int target_serve_host(struct cluster *cluster, struct mediator *target,
			     struct message *message)
{
	int err = 0;

	switch (message->words[1]) {
	case TARGET_CONNECT:
		if (!__atomic_load_n(&target->capsules, __ATOMIC_ACQUIRE))
			return failed(-EAGAIN, "%s is not ready",
				      cluster->config->targets[message->words[0]].name);
		target->replies = message->words[2];
		target->data = message->words[3];
		__atomic_store_n(&target->connected, 1, __ATOMIC_RELEASE);
		message->words[2] = target->capsules;
		break;
	case TARGET_LEAVE:
		__atomic_store_n(&target->left, 1, __ATOMIC_RELEASE);
		if (target->connected && !__atomic_load_n(&target->closed, __ATOMIC_ACQUIRE) &&
		    agent_state(cluster, target_agent(cluster, (__u32)message->words[0], false)) <=
			    AGENT_RUNS)
			err = -EAGAIN;
		break;
	default:
		break;
	}
	shared_counter_add(&target->told);
	return err;
}

int target_serve_io(struct cluster *cluster, struct message *message)
{
	struct mediator *target = target_of(cluster, (__u32)message->words[0]);
	const struct target_config *config;
	bool reply = message->words[1] == TARGET_REPLY;

	if (!target || message->words[0] >= cluster->config->target_count ||
	    message->words[1] > TARGET_LEAVE)
		return failed(-EINVAL, "target %llu: accepted: below %u", message->words[0],
			      cluster->config->target_count);
	config = &cluster->config->targets[message->words[0]];
	if (message->from != target_agent(cluster, (__u32)message->words[0], !reply) ||
	    cluster->host != (reply ? config->initiator_host : config->host))
		return failed(-EPERM, "%s has another initiator", config->name);
	if (!reply)
		return target_serve_host(cluster, target, message);
	shared_counter_add(&target->replied);
	return 0;
}
