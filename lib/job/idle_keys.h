/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys that somebody wrote and that change nothing, as the keys that they need (option_row.needs) have
 * other values. In a sweep a key may be idle at some points; it is wrong if it is at all of them.
 */
#ifndef FAULTLINE_JOB_IDLE_KEYS_H
#define FAULTLINE_JOB_IDLE_KEYS_H

#include "lib/job/options.h"

struct idle_key;

struct idle_keys {
	struct idle_key *keys;
	size_t count, room;
};

/* Looks through the text of one point, whose values are right. -ENOMEM. */
int idle_keys_add(struct idle_keys *idle, const struct option_table *table,
		  const struct job_text *point);
/* After all points: job_wrong() with the place of the first idle key and what it needs. */
int idle_keys_refuse(const struct idle_keys *idle);
void idle_keys_free(struct idle_keys *idle);

#endif
