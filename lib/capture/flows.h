/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User space's side of the dictionary of flows (bpf/flow.bpf.h): tells each before the first event that
 * names it, and takes back the entries of those that have been quiet.
 */
#ifndef FAULTLINE_FLOWS_H
#define FAULTLINE_FLOWS_H

#include "bpf/state.h"
#include "lib/base/stream.h"
#include "lib/capture/devices.h"

struct flows;

struct flows_config {
	int flows, names;	      /* descriptors of the maps */
	struct capture_state *state;  /* for what could not be found out */
	struct device_table *devices; /* NULL: device numbers are handles (tests) */
};

int flows_create(struct flows **flows, const struct flows_config *config);
void flows_destroy(struct flows *flows);

/* Tells the flows that these events name and that were not told before. One nobody knows becomes 0 in its event. */
int flows_report(struct flows *flows, struct event *events, size_t count, struct stream sink);

/*
 * Takes back what has had no event for a minute, should it have been told, and what has had none for ten. If
 * there is one more, it gets another number.
 */
#define FLOWS_QUIET_NS (60 * 1000000000ull)
void flows_sweep(struct flows *flows, __u64 now_ns);

#endif
