/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User space's side of the table of mappings (bpf/mappings.h): what lives in it, told once a second
 * into the aggregate window and every ten seconds as events; and the names of what events of
 * mappings refer to: kernel stacks and processes.
 */
#ifndef FAULTLINE_OWNERS_H
#define FAULTLINE_OWNERS_H

#include "lib/base/stream.h"
#include "lib/capture/devices.h"
#include "lib/capture/windows.h"

struct mapping_set;
struct owners;

struct owners_config {
	const struct mapping_set *table; /* MAPPING_SETS of them, mapped or of a test */
	int stacks;			 /* descriptor of the map of stacks */
	int names;			 /* of the map of process names */
	__u64 old_ns;			 /* a mapping older than this is worth a look */
	struct device_table *devices;	 /* NULL: device numbers are handles (tests) */
};

int owners_create(struct owners **owners, const struct owners_config *config);
void owners_destroy(struct owners *owners);

/* Counts what lives now and puts it into the window of now_ns: the gauges of enum live_code. */
int owners_measure(struct owners *owners, struct windows *windows, __u64 now_ns);

typedef int (*owners_event_fn)(void *self, const struct event *event);
/* What owners_measure() found, as EVENT_DMA_LIVE per device, process and stack, greatest first. */
int owners_snapshot(struct owners *owners, __u64 now_ns, owners_event_fn give, void *self);
/* True once ten seconds have passed since the last snapshot. */
bool owners_snapshot_due(const struct owners *owners, __u64 now_ns);

/* Remembers the name of the processes that an event of the kernel side means, by its own numbers. */
void owners_notice(struct owners *owners, const struct event *event);
/* Tells the stacks and processes that these events name and that were not told before. */
int owners_report(struct owners *owners, const struct event *events, size_t count,
		  struct stream sink);

#endif
