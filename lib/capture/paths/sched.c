// SPDX-License-Identifier: GPL-2.0
/* When threads are woken and run. */
#include "lib/capture/paths/rows.h"
#include "bpf/sched.skel.h"

static DEFINE_OBJECT(sched);

static const struct probe_row rows[] = {
	{PROBE_SCHED_WAKEUP, "sched_wakeup", &sched_object, EVENT_SCHED_WAKEUP,
	 METHODS(TRACEPOINT(sched_wakeup)), .without = "when threads were woken is not known",
	 .unaccused = "no machine need run"},
	{PROBE_SCHED_SWITCH, "sched_switch", &sched_object, EVENT_SCHED_RUN,
	 METHODS(TRACEPOINT(sched_switch)), .without = "when threads ran is not known",
	 .unaccused = "no machine need run"},
};

const struct path sched_path = {
	.name = "scheduling",
	.needs = "a kernel with the tracepoints sched:*",
	ROWS(rows),
};
