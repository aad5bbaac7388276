/* SPDX-License-Identifier: GPL-2.0 */
/* Names of event kinds as options take them: single kinds and the groups they come in. */
#ifndef FAULTLINE_KINDS_H
#define FAULTLINE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/*
 * Adds the kinds that `text` names to the set: "fault_detect", "cpu_fault", ..., or a group:
 * "fault", "invalidate", "io", "iommu", "dma", "sched", "inject"; several with commas. -EINVAL with
 * a sentence that lists what is accepted.
 */
int kinds_parse(const char *text, __u64 set[2]);
/* The other way: "cpu_fault, dma", groups where all of one are asked for; "" for the empty set. */
void kinds_format(const __u64 set[2], char *text, size_t size);

/* Whether a text of kinds_format() has this kind: "" stands for all. Words it does not know it passes over. */
bool kinds_name(const char *text, unsigned int kind);

/* "fault_detect"; NULL for a number that is no kind. */
const char *kind_option_name(unsigned int kind);

#endif
