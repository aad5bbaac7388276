// SPDX-License-Identifier: GPL-2.0
/* The names of what events of mappings refer to: kernel stacks and processes. */
#include <bpf/bpf.h>
#include <string.h>

#include "bpf/state.h"
#include "lib/base/clock.h"
#include "lib/capture/owners_private.h"
#include "lib/capture/process.h"

void owners_name(struct owners *owners, __u32 pid, const char comm[16])
{
	struct name *name;

	HASH_FIND(hh, owners->names, &pid, sizeof(pid), name);
	if (!name) {
		if (HASH_COUNT(owners->names) >= NAMES_MAX)
			return;
		name = calloc(1, sizeof(*name));
		if (!name)
			return;
		name->pid = pid;
		HASH_ADD(hh, owners->names, pid, sizeof(pid), name);
		if (!name->hh.tbl) {
			free(name);
			return;
		}
	}
	memcpy(name->comm, comm, sizeof(name->comm) - 1);
}

static bool names_stack(const struct event *event)
{
	return event->group && (event->kind == EVENT_DMA_LIVE || event->kind == EVENT_FAULT_OWNER);
}

/* The kernel side has kept the name of the process that registered a region. */
static void notice_process(struct owners *owners, __u32 pid)
{
	struct process_name name;

	if (!bpf_map_lookup_elem(owners->config.names, &pid, &name))
		owners_name(owners, pid, name.comm);
}

/* The table of mappings has kept the names of who mapped a faulted address and who unmapped it. */
static void notice_mapping(struct owners *owners, const struct event *event)
{
	struct mapping best = {.length = 0};

	for (__u32 step = 0; step < MAPPING_PROBES; step++) {
		struct mapping_step at;

		mapping_step(&at, event->address, step);
		mapping_probe(&owners->config.table[mapping_set_of(event->device, at.size_class,
								   at.block, at.choice)],
			      event->device, event->address, 1, &best);
	}
	/* It may have been mapped again meanwhile; then the processes themselves tell, if they live. */
	if (best.length && best.pid == event->pid)
		owners_name(owners, best.pid, best.comm);
	if (best.length && best.unmapped_ns && best.unmapper == event->tid)
		owners_name(owners, best.unmapper, best.unmapper_comm);
}

void owners_notice(struct owners *owners, const struct event *event)
{
	if (event->kind == EVENT_FAULT_OWNER)
		notice_mapping(owners, event);
	else if (event->kind == EVENT_ODP_REGION)
		notice_process(owners, event->pid);
}

static int report_stack(struct owners *owners, __u32 id, struct stream sink)
{
	struct stack_info stack = {.id = id};
	__u64 addresses[STACK_FRAMES] = {0};
	__u32 key = id - 1;
	size_t used = 0;

	if (id > STACKS_MAX || owners->stacks_told[id])
		return 0;
	owners->stacks_told[id] = 1;
	if (!sink.ops->stack || bpf_map_lookup_elem(owners->config.stacks, &key, addresses))
		return 0;
	for (int i = 0; i < STACK_FRAMES && addresses[i]; i++) {
		char name[160];

		symbols_name(owners->symbols, addresses[i], name, sizeof(name));
		/* Ours, and how the kernel came to call us: no part of the mapper's way. */
		if (!stack.depth && (!strncmp(name, "bpf_", 4) || !strncmp(name, "__bpf_", 6) ||
				     !strncmp(name, "__traceiter_", 12) || !strncmp(name, "0x", 2)))
			continue;
		stack.depth++;
		if (used + strlen(name) + 2 < sizeof(stack.text))
			used += snprintf(stack.text + used, sizeof(stack.text) - used, "%s%s",
					 used ? "\n" : "", name);
	}
	return sink.ops->stack(sink.self, &stack);
}

static int report_process(struct owners *owners, __u32 pid, struct stream sink)
{
	struct process_info process = {.pid = pid, .first_ns = monotonic_ns()};
	struct name *name;
	__u64 cgroup;

	if (!pid)
		return 0;
	HASH_FIND(hh, owners->names, &pid, sizeof(pid), name);
	if (!name) {
		char comm[16] = "";

		process_describe(pid, comm, &cgroup);
		if (!comm[0])
			return 0;
		owners_name(owners, pid, comm);
		HASH_FIND(hh, owners->names, &pid, sizeof(pid), name);
	}
	if (!name || !memcmp(name->told, name->comm, sizeof(name->told)))
		return 0;
	memcpy(name->told, name->comm, sizeof(name->told));
	memcpy(process.comm, name->comm, sizeof(process.comm));
	return sink.ops->process ? sink.ops->process(sink.self, &process) : 0;
}

int owners_report(struct owners *owners, const struct event *events, size_t count,
		  struct stream sink)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const struct event *event = &events[i];

		if (names_stack(event))
			error = report_stack(owners, event->group, sink);
		if (event->kind != EVENT_DMA_LIVE && event->kind != EVENT_FAULT_OWNER &&
		    event->kind != EVENT_ODP_REGION)
			continue;
		error = error ? error : report_process(owners, event->pid, sink);
		if (event->kind == EVENT_FAULT_OWNER)
			error = error ? error : report_process(owners, event->tid, sink);
	}
	return error;
}
