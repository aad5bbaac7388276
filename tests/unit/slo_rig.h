/* SPDX-License-Identifier: GPL-2.0 */
/* One objective of a device, judged over faults and I/Os that a test tells. */
#ifndef FAULTLINE_TESTS_SLO_RIG_H
#define FAULTLINE_TESTS_SLO_RIG_H

#include "tests/unit/test.h"

#include "lib/analyze/faults.h"
#include "lib/analyze/slo.h"

struct slo_rig {
	struct slo_set set;
	struct session *session;
	struct faults *faults;
	struct slo *slo;
};

/* What the objective leaves out: of every device, windows of a second, percentile 100. */
void slo_rig_begin(struct slo_rig *rig, struct slo_objective objective);
void slo_rig_push(struct slo_rig *rig, const struct event *event);
/* A fault on queue 2 of the device that takes 1 us a stage but 8 ms to resolve. */
void slo_rig_fault(struct slo_rig *rig, __u32 instance, __u64 at);
void slo_rig_slow_io(struct slo_rig *rig, __u64 done, __u64 latency, __u16 queue);
/* `count` I/Os of 4 KiB in a window: `slow` of them with 10 ms, the others with 100 us. */
void slo_rig_window(struct slo_rig *rig, __u64 number, __u32 count, __u32 slow);
void slo_rig_finish(struct slo_rig *rig);
void slo_rig_end(struct slo_rig *rig);

#endif
