// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/probes_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/capture/permission.h"

#define ENOTSUPP 524 /* of the kernel, not meant for user space: BPF trampolines return it */

int probe_set_load(struct probe_set *set, const struct shared_maps *maps)
{
	if (!set->names)
		return failed(-EPERM,
			      "/sys/kernel/btf/vmlinux has no type information (BTF): a kernel "
			      "built with CONFIG_DEBUG_INFO_BTF is needed");
	set->counters = calloc(maps->cpus, sizeof(set->counters[0]));
	if (!set->counters)
		return failed(-ENOMEM, "no memory for the counters of %d CPUs", maps->cpus);
	set->cpus = maps->cpus;
	set->counters_fd = maps->counters;
	set->maps = maps;
	probe_set_choose_again(set);
	probe_set_load_rows(set);
	return 0;
}

static void probe_detach(struct probe *probe)
{
	bpf_link__destroy(probe->link);
	bpf_link__destroy(probe->return_link);
	probe->link = NULL;
	probe->return_link = NULL;
}

static struct bpf_link *attach_program(const struct probe *probe, const struct bpf_program *program,
				       bool returns)
{
	if (probe->method->kind == ATTACH_KPROBE)
		return bpf_program__attach_kprobe(program, returns, probe->symbol);
	return bpf_program__attach_trace(program);
}

/* Both programs of a function or none: half a pair would leave entries that nobody takes back. */
static bool attach(struct probe *probe)
{
	if (probe->returns) {
		probe->return_link = attach_program(probe, probe->returns, true);
		if (!probe->return_link)
			return false;
	}
	if (probe->program) {
		probe->link = attach_program(probe, probe->program, false);
		if (!probe->link)
			return false;
	}
	return true;
}

static bool probe_is_loaded(const struct probe *probe)
{
	if (!probe->method || probe->method->kind == ATTACH_USDT)
		return false;
	return probe->wanted &&
	       (probe->method->kind == ATTACH_FILES || probe->program || probe->returns);
}

/* Returns how many rows could not be attached and have taken another method, not yet loaded. */
static size_t attach_rows(struct probe_set *set)
{
	size_t again = 0;

	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		char reason[REASON_TEXT];
		int error;

		if (!probe_is_loaded(probe) || probe->link || probe->return_link)
			continue;
		if (attach(probe)) {
			probe_turn_on(probe);
			continue;
		}
		error = errno;
		snprintf(reason, sizeof(reason), "attaching to %s failed: %s%s", probe->symbol,
			 error == ENOTSUPP ? "not supported by this kernel" : strerror(error),
			 probe->method->kind == ATTACH_KPROBE ? permission_of_perf_events(error)
							      : "");
		probe_detach(probe);
		again += probe_take_next_method(set, probe, reason);
	}
	return again;
}

void probe_set_attach(struct probe_set *set)
{
	while (attach_rows(set))
		probe_set_load_rows(set);
}

void probe_set_look_again(struct probe_set *set)
{
	if (!probe_set_choose_again(set))
		return;
	probe_set_load_rows(set);
	probe_set_attach(set);
}

void probe_set_expect_processes(struct probe_set *set)
{
	set->processes = true;
}

void probe_set_expect_networks(struct probe_set *set)
{
	if (set->networks)
		return;
	set->networks = true;
	/* Before that, they are loaded with all others. */
	if (set->maps)
		probe_set_look_again(set);
}

/*
 * The kernel takes uprobes away under another lock than programs on functions, and waits for grace
 * periods under both: at the same time it is over sooner.
 */
static void probe_set_detach(struct probe_set *set)
{
	for (int place = 0; place < EMULATORS_MAX; place++)
		probe_set_detach_emulator(set, place);
	for (int i = 0; i < PROBE_COUNT; i++)
		probe_detach(&set->probes[i]);
	probe_emulators_await(set);
}

void probe_set_destroy(struct probe_set *set)
{
	if (!set)
		return;
	probe_set_detach(set);
	while (set->loaded) {
		struct loaded_object *last = set->loaded;

		set->loaded = last->before;
		bpf_object__close(last->object);
		free(last);
	}
	kernel_names_destroy(set->names);
	free(set->counters);
	free(set);
}

void probe_set_refuse(struct probe_set *set, const char *reason)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		/* Of what is not there its absence is the reason. */
		if (!probe->method || probe->info.state == PROBE_DISABLED || probe->info.reason[0])
			continue;
		probe->info.state = PROBE_OFF;
		snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
	}
}

void probe_set_pretend(struct probe_set *set)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (!probe->method || probe->method->kind == ATTACH_USDT)
			continue;
		if (probe->method->kind == ATTACH_KPROBE && permission_lacks_perf_events()) {
			probe_turn_off(probe, "kprobes are perf events; " PERMISSION_PERF_EVENTS);
			continue;
		}
		probe_turn_on(probe);
		if (!probe_lacks(probe))
			probe->info.reason[0] = '\0';
	}
}

static __u64 missed_runs(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes))
		return 0;
	return info.recursion_misses;
}

/* Also once detached. Programs on uprobes are shared by rows and never skipped. */
static __u64 missed_of(const struct probe *probe)
{
	__u64 missed = 0;

	if (!probe->method || probe->method->kind == ATTACH_USDT)
		return 0;
	if (probe->program)
		missed += missed_runs(probe->program);
	if (probe->returns)
		missed += missed_runs(probe->returns);
	return missed;
}

int probe_set_count(struct probe_set *set, struct probe_totals *totals)
{
	struct probe_totals sum = {};

	for (__u32 i = 0; i < PROBE_COUNT; i++) {
		struct probe_info *info = &set->probes[i].info;

		if (!set->probes[i].program && !set->probes[i].returns)
			continue;
		if (bpf_map_lookup_elem(set->counters_fd, &i, set->counters))
			return failed(failed_system(-errno), "reading the counters of probe %s: %s",
				      info->name, strerror(errno));
		info->hits = info->emitted = info->lost = 0;
		for (int cpu = 0; cpu < set->cpus; cpu++) {
			info->hits += set->counters[cpu].hits;
			info->emitted += set->counters[cpu].emitted;
			info->lost += set->counters[cpu].lost;
			sum.turned_away += set->counters[cpu].turned_away;
		}
		info->missed = missed_of(&set->probes[i]);
		sum.emitted += info->emitted;
		sum.lost += info->lost;
		if (!set->probes[i].row->sieve)
			sum.missed += info->missed;
	}
	if (totals)
		*totals = sum;
	return 0;
}

void probe_set_read(struct probe_set *set, enum probe_id id, __u64 reads, __u64 events)
{
	set->probes[id].info.hits = reads;
	set->probes[id].info.emitted = events;
}

int probe_set_map(const struct probe_set *set, enum probe_id id, const char *name)
{
	const struct bpf_object *object = probe_set_object(set, probe_row(id)->object);

	return object ? bpf_object__find_map_fd_by_name(object, name) : -1;
}

const struct probe_info *probe_set_info(const struct probe_set *set, enum probe_id id)
{
	return &set->probes[id].info;
}
