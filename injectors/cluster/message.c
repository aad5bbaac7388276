// SPDX-License-Identifier: GPL-2.0
/*
 * Two slots for each agent and host, for what is asked and what is told: the agent writes a question, whose number the host answers.
 * A host works on a copy, so that who gave up and asks anew disturbs no handler, and the answer to the old question is not taken
 * for its own. The number is half of `version`, which is odd while a question is written: who is killed then has asked nothing, and
 * no number is ever that of another question.
 */
#include "injectors/cluster/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/futex.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* How often who waits looks whether the host, and the way to it, are still there. */
#define MESSAGE_LOOK_NS (10 * NSEC_PER_MSEC)
#define MESSAGE_SENDERS (CLUSTER_AGENTS_MAX + 1) /* the last: who has begun them all */
#define MESSAGE_SLOTS	(2 * MESSAGE_SENDERS)

struct message_slot {
	__u32 version;
	__u32 answered; /* number of a question */
	__u32 heard;	/* counts answers, for who waits */
	struct message question, answer;
};
struct mailbox {
	__u32 bell; /* counts questions, for the host */
	struct message_slot slots[MESSAGE_SLOTS];
};
struct mailboxes {
	__u32 hosts;
	struct mailbox boxes[];
};

/* By agent, as tests have several in a process. */
static pthread_mutex_t message_turns[MESSAGE_SLOTS] = {[0 ... MESSAGE_SLOTS - 1] =
							       PTHREAD_MUTEX_INITIALIZER};
/* Host whose questions this thread answers: one to it has nobody else to answer it. */
static __thread __u32 message_serving = CLUSTER_NONE;

int mailboxes_create(struct cluster *cluster)
{
	__u32 hosts = cluster->config->host_count;

	cluster->mailboxes =
		shared_alloc(cluster, sizeof(*cluster->mailboxes) + hosts * sizeof(struct mailbox));
	if (!cluster->mailboxes)
		return -ENOMEM;
	cluster->mailboxes->hosts = hosts;
	return 0;
}

static int message_handle(struct cluster *cluster, struct message *message)
{
	static int (*const handlers[])(struct cluster * cluster, struct message * message) = {
#define MESSAGE(NAME, handler) [MESSAGE_##NAME] = (handler),
#include "injectors/cluster/messages.def"
#undef MESSAGE
	};

	if (message->type >= MESSAGE_TYPES)
		return failed(-ENOSYS, "message %u has no handler", message->type);
	return handlers[message->type](cluster, message);
}

static __u32 message_sender(const struct cluster *cluster)
{
	return cluster->self < CLUSTER_AGENTS_MAX ? cluster->self : CLUSTER_AGENTS_MAX;
}

static const char *message_host(const struct cluster *cluster, __u32 host)
{
	return cluster->config->hosts[host].name;
}

/* Can a question get to it and its answer back? Who has begun all is no host: nothing is in its way. */
static int message_way(struct cluster *cluster, __u32 host, __u32 life)
{
	if (agent_state(cluster, host) > AGENT_RUNS || agent_life(cluster, host) != life)
		return failed(-EHOSTDOWN, "%s is dead", message_host(cluster, host));
	if (cluster->host == host || cluster->host >= cluster->config->host_count)
		return 0;
	if (!ntb_reaches(cluster, cluster->host, host, CLUSTER_NONE))
		return failed(-ENETUNREACH, "%s has no link to %s that is up",
			      message_host(cluster, cluster->host), message_host(cluster, host));
	return 0;
}

static __u32 message_number(__u32 version)
{
	return version / 2;
}

static bool message_written(__u32 version)
{
	return version % 2 == 0;
}

/* Returns the number of the question. */
static __u32 message_post(struct mailbox *box, struct message_slot *slot,
			  const struct message *message)
{
	__u32 version = slot->version | 1;

	__atomic_store_n(&slot->version, version, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	slot->question = *message;
	__atomic_store_n(&slot->version, version + 1, __ATOMIC_RELEASE);
	shared_counter_add(&box->bell);
	return message_number(version + 1);
}

static int message_await(struct cluster *cluster, __u32 host, const struct message_slot *slot,
			 __u32 number, __u64 timeout_ns)
{
	const __u64 begin = monotonic_ns();
	const __u32 life = agent_life(cluster, host);

	for (;;) {
		__u32 heard = shared_counter(&slot->heard);
		__u64 passed = monotonic_ns() - begin;
		int err;

		if (__atomic_load_n(&slot->answered, __ATOMIC_ACQUIRE) == number)
			return 0;
		err = message_way(cluster, host, life);
		if (err)
			return err;
		if (passed >= timeout_ns)
			return failed(-ETIMEDOUT, "%s has not answered for %.3f s",
				      message_host(cluster, host), (double)timeout_ns / 1e9);
		shared_counter_wait(&slot->heard, heard,
				    timeout_ns - passed < MESSAGE_LOOK_NS ? timeout_ns - passed
									  : MESSAGE_LOOK_NS);
	}
}

static int message_ask(struct cluster *cluster, __u32 host, struct message *message,
		       __u64 timeout_ns)
{
	struct mailbox *box = &cluster->mailboxes->boxes[host];
	struct message_slot *slot = &box->slots[message_sender(cluster)];
	int err = message_way(cluster, host, agent_life(cluster, host));

	if (err)
		return err;
	err = message_await(cluster, host, slot, message_post(box, slot, message), timeout_ns);
	if (err)
		return err;
	*message = slot->answer;
	return message->error ? failed(message->error, "%s: %s", message_host(cluster, host),
				       *message->text ? message->text : strerror(-message->error))
			      : 0;
}

/* On behalf of this process; false: there is no such host. */
static bool message_begin(struct cluster *cluster, __u32 host, struct message *message)
{
	if (host >= cluster->mailboxes->hosts)
		return false;
	message->from = cluster->self;
	message->error = 0;
	*message->text = '\0';
	return true;
}

int message_call(struct cluster *cluster, __u32 host, struct message *message, __u64 timeout_ns)
{
	pthread_mutex_t *turn = &message_turns[message_sender(cluster)];
	int err;

	if (!message_begin(cluster, host, message))
		return failed(-EINVAL, "no host %u; accepted: below %u", host,
			      cluster->mailboxes->hosts);
	if (host == message_serving)
		return message->error = message_handle(cluster, message);
	pthread_mutex_lock(turn);
	err = message_ask(cluster, host, message,
			  timeout_ns ? timeout_ns : cluster->config->dead_ns);
	pthread_mutex_unlock(turn);
	return err;
}

void message_tell(struct cluster *cluster, __u32 host, const struct message *message)
{
	__u32 sender = MESSAGE_SENDERS + message_sender(cluster);
	struct message told = *message;
	struct message_slot *slot;

	if (!message_begin(cluster, host, &told) ||
	    message_way(cluster, host, agent_life(cluster, host)))
		return;
	slot = &cluster->mailboxes->boxes[host].slots[sender];
	pthread_mutex_lock(&message_turns[sender]);
	/* Nobody answers what a former life of this process had half written. */
	if (!message_written(slot->version) ||
	    !message_await(cluster, host, slot, message_number(slot->version),
			   cluster->config->dead_ns))
		message_post(&cluster->mailboxes->boxes[host], slot, &told);
	pthread_mutex_unlock(&message_turns[sender]);
}

/* False: it is being written, or was by a process that has been killed. */
static bool message_read(const struct message_slot *slot, struct message *question, __u32 *number)
{
	__u32 version = __atomic_load_n(&slot->version, __ATOMIC_ACQUIRE);

	*number = message_number(version);
	*question = slot->question;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return message_written(version) &&
	       __atomic_load_n(&slot->version, __ATOMIC_RELAXED) == version;
}

static bool message_serve(struct cluster *cluster, struct message_slot *slot)
{
	struct message message;
	const struct agent_info *asker;
	__u32 number;

	if (!message_read(slot, &message, &number))
		return false;
	message.error = message_handle(cluster, &message);
	if (message.error)
		snprintf(message.text, sizeof(message.text), "%s", failure_text());
	asker = agent_info(cluster, message.from);
	if (asker && asker->host != cluster->host &&
	    !ntb_reaches(cluster, cluster->host, asker->host, CLUSTER_NONE))
		message.error = -ENETUNREACH; /* the answer is lost on its way */
	slot->answer = message;
	__atomic_store_n(&slot->answered, number, __ATOMIC_RELEASE);
	shared_counter_add(&slot->heard);
	return true;
}

static bool messages_look(struct cluster *cluster, struct mailbox *box)
{
	bool any = false;

	for (__u32 i = 0; i < MESSAGE_SLOTS; i++) {
		struct message_slot *slot = &box->slots[i];

		if (message_number(__atomic_load_n(&slot->version, __ATOMIC_ACQUIRE)) !=
		    slot->answered)
			any |= message_serve(cluster, slot);
	}
	return any;
}

void messages_serve(struct cluster *cluster, __u64 timeout_ns)
{
	struct mailbox *box = &cluster->mailboxes->boxes[cluster->host];
	__u32 bell = shared_counter(&box->bell);

	message_serving = cluster->host;
	if (!messages_look(cluster, box)) {
		shared_counter_wait(&box->bell, bell, timeout_ns);
		messages_look(cluster, box);
	}
	message_serving = CLUSTER_NONE;
}

void messages_forget(struct cluster *cluster)
{
	struct mailbox *box = &cluster->mailboxes->boxes[cluster->host];

	for (__u32 i = 0; i < MESSAGE_SLOTS; i++) {
		struct message_slot *slot = &box->slots[i];
		__u32 number = message_number(__atomic_load_n(&slot->version, __ATOMIC_ACQUIRE));

		if (number == slot->answered)
			continue;
		slot->answer = (struct message){.error = -EHOSTDOWN};
		__atomic_store_n(&slot->answered, number, __ATOMIC_RELEASE);
		shared_counter_add(&slot->heard);
	}
}
