/* SPDX-License-Identifier: GPL-2.0 */
/* The machine's side of the account that observers keep of machines (lib/capture/observer.h). */
#ifndef FAULTLINE_EMU_REGISTRY_OBSERVERS_H
#define FAULTLINE_EMU_REGISTRY_OBSERVERS_H

#include <linux/types.h>
#include <stdbool.h>

#include "lib/capture/observer.h"

struct registry_observers {
	__u64 id;
	unsigned int count;
	int fds[OBSERVERS_MAX];
};

/* Draws an id and tells it to all observers that there are. 0 or a negative errno. */
int registry_observers_tell_begin(struct registry_observers *observers, int directory);
/* The machine works from now on, though not all of them have looked at it. */
void registry_observers_tell_late(const struct registry_observers *observers);
/* How many of them live. */
unsigned int registry_observers_alive(const struct registry_observers *observers);
/* Tells the total and forgets them. */
void registry_observers_tell_end(struct registry_observers *observers, __u64 produced);

/* Whether the file of this name belongs to an observer that is no more. */
bool registry_observer_is_dead(int directory, const char *name);

#endif
