/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine with one NIC whose frames are made up, described, shaken while it runs, and asked what came of it.
 */
#ifndef FAULTLINE_TESTS_NIC_MACHINE_H
#define FAULTLINE_TESTS_NIC_MACHINE_H

#include "tests/unit/test.h"

#include "injectors/emu/inject.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/nic/nic_settings.h"

/* What is run next. One that a test does not change is of two queues of 64 buffers of 2 KiB, and a wire that gives
 * 10,000 frames a second. */
struct nic_plan {
	struct tenant_config tenant;
	struct device_config device;
	struct traffic_config traffic;
	struct machine_config machine;
	struct nic_settings *nic; /* in the device */
	/* How it is shaken: random pages, and what the rings of these sides have posted in turn. */
	bool evict;
	__u32 pages; /* random ones at once */
	unsigned int sides;
	__u64 pause_ns; /* between evictions */
	__u32 rounds;	/* of evictions, 0: as long as it runs */
	struct injection injections[4];
	__u32 injection_count;
	__u64 stop_after_ns; /* the machine is stopped then, whatever it is at; 0: once all have arrived */
	const char *truth; /* the log is written there, NULL: nowhere */
};
extern struct nic_plan nic_plan;

struct nic_outcome {
	struct frame_totals frames;
	struct machine_totals machine;
	__u64 lost; /* for any reason */
	__u64 evicted, skipped;
};

void nic_plan_begin(enum rx_policy_index policy, __u64 frames);
void nic_plan_inject(enum inject_point point, __u32 probability, __u64 delay_ns);
/* in = delivered + lost + held, nothing damaged, late or twice, no ring halted, no invariant broken: checked. */
void nic_plan_run(struct nic_outcome *outcome);

#endif
