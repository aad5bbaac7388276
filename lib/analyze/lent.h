/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What analyzers of lent devices have in common: how devices of an emulated host's machine are called (docs/smartio.md).
 *
 * Names are "HOST/DEVICE", "HOST/DEVICE@LENDER" of one that is borrowed from there, "HOST/ADAPTER", "HOST/USER"; models "nvme" and
 * "accel", with "/lent" behind them of a borrowed one, "ntb", and "client/DEVICE", "guest/DEVICE" and the like of users.
 */
#ifndef FAULTLINE_LENT_H
#define FAULTLINE_LENT_H

#include "lib/analyze/session.h"

#define LENT_NONE 0xffffffffu /* no borrow */

enum lent_kind { LENT_OTHER, LENT_OWN, LENT_SHADOW, LENT_ADAPTER, LENT_USER };

enum lent_kind lent_kind(const struct session *session, __u32 device);
/* Parts of names, in `text`; "-" where the dictionary does not have it. The host that has it: */
const char *lent_host(const struct session *session, __u32 device, char text[NAME_TEXT]);
/* ... its own name, of a user that of the device that he uses: */
const char *lent_device(const struct session *session, __u32 device, char text[NAME_TEXT]);
/* ... and whose it is: of a shadow its lender, "-" of others. */
const char *lent_lender(const struct session *session, __u32 device, char text[NAME_TEXT]);

/* A bit per kind from EVENT_LEND_STEP on: each of them was recorded, as far as its probes go. */
__u32 lent_known(const struct session *session);
/* CELL_NONE: without that kind nobody knows. */
__u64 lent_told(__u32 known, __u16 kind, __u64 number);

/*
 * Counters of a machine, told every so often as they are so far. Of a machine that began while it was recorded all of them count, of
 * one that was met later what came after they were first told; within a period what lies between two tellings that have a part
 * in it.
 */
#define LENT_COUNTERS 6
struct lent_counters {
	__u64 last_ns;		   /* 0: nothing told so far */
	__u64 last[LENT_COUNTERS]; /* as told */
	__u64 grown[LENT_COUNTERS];
	__u64 watched_ns; /* in which they did */
};
/* False: an older telling, or none of the period. Counters of `wraps` (bits) are modulo 2^32. */
bool lent_counters_take(struct lent_counters *counters, const struct session *session,
			const struct event *event, const __u64 now[LENT_COUNTERS], __u32 wraps);

#endif
