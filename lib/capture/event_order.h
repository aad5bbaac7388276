/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Puts events that come from a few sources, each nearly sorted, in order of their time.
 *
 * A natural merge sort: what is in order already is found in one pass and never moved; R ascending runs
 * of N events cost at most N * (1 + log2 R) comparisons and moves each, whatever their lengths. Events
 * of one time keep their order.
 */
#ifndef FAULTLINE_EVENT_ORDER_H
#define FAULTLINE_EVENT_ORDER_H

#include <stddef.h>

#include "bpf/event.h"

/*
 * Orders events[0, count), of which the first `sorted` are in order. `scratch` has room for count / 2
 * events. Returns how many comparisons and moves of events it took.
 */
__u64 event_order(struct event *events, size_t sorted, size_t count, struct event *scratch);

#endif
