/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policies written to be obviously right: one array of pages, linear searches, every scan made. What docs/protect.md says
 * is done here once more, from that text and with none of the code of lib/protect.
 */
#ifndef FAULTLINE_SLOW_PROTECT_H
#define FAULTLINE_SLOW_PROTECT_H

#include "lib/protect/protect.h"

struct slow_protect;

struct slow_protect *slow_protect_new(const char *policy, const struct protect_keys *keys,
				      __u64 memory_pages);
void slow_protect_free(struct slow_protect *slow);
void slow_protect_access(struct slow_protect *slow, __u64 time_ns, __u64 page);
void slow_protect_advance(struct slow_protect *slow, __u64 time_ns);
void slow_protect_release(struct slow_protect *slow);
/* What it has said since it was made. */
const struct protect_action *slow_protect_actions(const struct slow_protect *slow, size_t *count);
void slow_protect_state(const struct slow_protect *slow, struct protect_state *state);

#endif
