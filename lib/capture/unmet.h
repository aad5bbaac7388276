/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Machines in the run directory that no account of ours covers and that were not met yet: they began
 * before us, and there was no room for them, or they had none for us. One that is met leaves; one that
 * ends before has told nobody what it produced.
 */
#ifndef FAULTLINE_UNMET_H
#define FAULTLINE_UNMET_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct unmet {
	struct unmet_machine *machines;
	__u64 ended; /* unmet */
	unsigned int look;
};

/* One look through the directory: begin, a call for each name that waits, end. */
void unmet_look_begin(struct unmet *unmet);
/* It waits, being one of those of old or `anew`. */
void unmet_wait(struct unmet *unmet, const char *file, bool anew);
void unmet_look_end(struct unmet *unmet);
/* It waits no longer; whether it had. */
bool unmet_take(struct unmet *unmet, const char *file);
/* How many wait, and how many ended so. */
__u64 unmet_count(const struct unmet *unmet);
void unmet_clear(struct unmet *unmet);

#endif
