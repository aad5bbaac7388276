/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What bpf/event_kinds.def says of each kind of event, and sets of kinds as options and recordings
 * write them: single kinds and the groups that they come in.
 */
#ifndef FAULTLINE_KINDS_H
#define FAULTLINE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "bpf/kind_set.h"

enum event_counting { EVENT_SINGLE, EVENT_COUNTED };

struct event_kind_info {
	const char *name;  /* "fault_detect", as options take it */
	const char *group; /* "fault"; "" if it is in none */
	const char *title; /* "fault detected", for people */
};

/* NULL for a number that is no kind. */
const struct event_kind_info *event_kind(unsigned int kind);
/* "page request", "CPU page fault", ...: the title; "unknown event" for a number that is no kind. */
const char *event_kind_name(unsigned int kind);

/*
 * Adds the kinds that `text` names to the set: "fault_detect", "cpu_fault", ..., or a group:
 * "fault", "dma"; several with commas. -EINVAL with a sentence that lists what is accepted.
 */
int kinds_parse(const char *text, struct kind_set *set);
/* The other way: "cpu_fault, dma", groups where all of one are asked for; "" for the empty set. */
void kinds_format(const struct kind_set *set, char *text, size_t size);

/* Whether a text of kinds_format() has this kind: "" has all. Words of later versions are skipped. */
bool kinds_name(const char *text, unsigned int kind);

#endif
