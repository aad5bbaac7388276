/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access records in the order of their times, equals in the order in which they came. The queues of a device race from
 * their clocks to the access log, and those of two devices are merged within a pass of its owner only: so each waits until
 * one that is RECORD_SETTLE_NS younger has come, as it does on its way into a recording. What is later than that comes out
 * of order.
 */
#ifndef FAULTLINE_RECORD_ORDER_H
#define FAULTLINE_RECORD_ORDER_H

#include <stdbool.h>

#include "lib/base/clock.h"
#include "lib/capture/access_log.h"

#define RECORD_SETTLE_NS (50 * NSEC_PER_MSEC)

struct record_order;

/* Room for `most` that wait; with more the oldest do not wait so long. */
int record_order_create(struct record_order **order, __u32 most);
void record_order_destroy(struct record_order *order);

/* Puts one in. False: there is no room, take one out before. */
bool record_order_add(struct record_order *order, const struct access_record *record);
/* Takes the oldest if it has waited long enough, with `all` in any case. False: there is none. */
bool record_order_take(struct record_order *order, bool all, struct access_record *record);
/* The newest time that was put in, 0 before. */
__u64 record_order_newest(const struct record_order *order);

#endif
