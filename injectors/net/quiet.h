/* SPDX-License-Identifier: GPL-2.0 */
/* Whether TCP has anything left to send in a network: until then its counters are not the last word. */
#ifndef FAULTLINE_NET_QUIET_H
#define FAULTLINE_NET_QUIET_H

#include <linux/types.h>

#include "injectors/net/network.h"

/*
 * Connections of the calling thread's namespace, those whose program has ended included, that have something
 * unacknowledged or a timer to send it again. As /proc/net/tcp has them: `path`. -errno with a sentence.
 */
int quiet_count(const char *path);

/*
 * Waits for so long until both sides have none. Returns how many there are in the end, or a negative errno with
 * a sentence.
 */
int network_await_quiet(const struct network *network, __u64 timeout_ns);

#endif
