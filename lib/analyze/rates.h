/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often devices fault: totals, the newest rate, the peak, and bursts.
 *
 * A burst is more than N faults within one second (VPRI section 2.2: 5), wherever it begins (bursts.h).
 * Peaks and the newest rate slide in steps of RATE_STEP_NS. All go by when faults began, whenever they
 * were told, up to some 58 s later.
 */
#ifndef FAULTLINE_RATES_H
#define FAULTLINE_RATES_H

#include "lib/analyze/bursts.h"
#include "lib/analyze/session.h"

#define BURST_FAULTS_MAX 1000
#define BURSTS_KEPT	 10000 /* rows; further ones are counted only */
#define RATE_STEP_NS	 10000000ull

struct faults;
struct rates;

struct device_rate {
	__u64 faults;
	__u64 peak; /* most faults within any one second */
	__u64 bursts;
	__u64 first_ns; /* of its first and newest fault */
	__u64 last_ns;
};

/* Zeros for a device without faults. A burst that still goes on is counted. */
struct device_rate rates_device(const struct rates *rates, __u32 device);
/* Of the devices whose faults were all watched. */
__u64 rates_bursts(const struct rates *rates, const struct session *session);
/* Faults told too late to count in peaks and bursts. */
__u64 rates_dropped(const struct rates *rates);
/* Of the same, the burst with most faults within a second; false if there was none. */
bool rates_worst_burst(const struct rates *rates, const struct session *session,
		       struct burst *burst);
/* Table "bursts" of the same, by begin, at most `limit` rows (0: all kept). */
analyzer_write rates_write_bursts;

#endif
