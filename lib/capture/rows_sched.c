// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/sched.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row sched_rows[] = {
	{PROBE_SCHED_WAKEUP, "sched_wakeup", OBJECT_SCHED, EVENT_SCHED_WAKEUP, false, NULL,
	 TP_BTF(sched_wakeup), .without = "when threads were woken is not known"},
	{PROBE_SCHED_SWITCH, "sched_switch", OBJECT_SCHED, EVENT_SCHED_RUN, false, NULL,
	 TP_BTF(sched_switch), .without = "when threads ran is not known"},
};

const size_t sched_row_count = sizeof(sched_rows) / sizeof(sched_rows[0]);
