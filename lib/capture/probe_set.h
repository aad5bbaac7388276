/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the probe table: the state of its rows. The interface is probes.h. */
#ifndef FAULTLINE_PROBE_SET_H
#define FAULTLINE_PROBE_SET_H

#include "lib/capture/probes.h"
#include "lib/capture/usdt.h"

#define EMULATORS_MAX 8 /* different binaries at once */

struct probe {
	const struct probe_row *row;
	const struct probe_way *way;
	struct bpf_program *program, *returns; /* of the way; either may be NULL */
	struct bpf_link *link, *return_link;   /* USDT rows share those of the emulators */
	struct probe_info info;
};

struct probe_set {
	struct capture_filter filter;
	struct bpf_object *objects[OBJECT_COUNT];
	struct probe probes[PROBE_COUNT];
	struct usdt_links emulators[EMULATORS_MAX];
	size_t emulator_count;
	bool multi;			/* uprobe_multi links are used */
	__u32 sites;			/* of all emulators, numbers given out */
	struct probe_counter *counters; /* one per CPU, to read one row */
	bool kernel_types;		/* the kernel has BTF */
	int cpus;
	int counters_fd;
};

void probe_turn_on(struct probe *probe);
void probe_turn_off(struct probe *probe, const char *reason);

#endif
