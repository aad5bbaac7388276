/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What hosts ask each other: one call at a time of each agent, answered by the other host's control thread.
 *
 * It needs a way that is up between the hosts, as the adapters carry it (ntb_reaches()); of one's own host none. A process that is
 * killed in the middle loses its call: an answer to nobody is dropped.
 */
#ifndef FAULTLINE_CLUSTER_MESSAGE_H
#define FAULTLINE_CLUSTER_MESSAGE_H

#include "injectors/cluster/cluster.h"

#define MESSAGE_WORDS 24

enum message_type {
#define MESSAGE(NAME, handler) MESSAGE_##NAME,
#include "injectors/cluster/messages.def"
#undef MESSAGE
	MESSAGE_TYPES,
};

struct message {
	__u32 type;
	__u32 from;  /* agent */
	__s32 error; /* of the answer: negative errno */
	__u64 words[MESSAGE_WORDS];
	char text[160]; /* of an error: its sentence, which message_call() tells on */
};

/* Sends, waits for the answer, which is in `message` then; returns its error. -EHOSTDOWN: that host's process is dead;
 * -ENETUNREACH: no link; -ETIMEDOUT (config.dead_ns, if timeout_ns is 0). Any thread; calls of one agent take turns. */
int message_call(struct cluster *cluster, __u32 host, struct message *message, __u64 timeout_ns);
/* To a host that does not have to answer, and if it lives. Waits only for what the same agent told that host before. */
void message_tell(struct cluster *cluster, __u32 host, const struct message *message);

/* Of a host's control thread: serves what comes for up to `timeout_ns`, each by its handler of messages.def. */
void messages_serve(struct cluster *cluster, __u64 timeout_ns);
/* Of a host that is begun anew: what its former life was asked is answered with -EHOSTDOWN. */
void messages_forget(struct cluster *cluster);

/* Handlers fill words of the answer; what they return is its error. They must not call the host that asks. */
#define MESSAGE(NAME, handler) int handler(struct cluster *cluster, struct message *message);
#include "injectors/cluster/messages.def"
#undef MESSAGE

#endif
