// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/probe_set.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

/* Finds the programs of the chosen way and has them loaded; false if one was not built in. */
static bool enable(const struct probe_set *set, struct probe *probe,
		   const struct bpf_object *object)
{
	const struct probe_way *way = probe->way;

	if (way->program)
		probe->program = bpf_object__find_program_by_name(object, way->program);
	if (way->returns)
		probe->returns = bpf_object__find_program_by_name(object, way->returns);
	if (!probe->program != !way->program || !probe->returns != !way->returns)
		return false;
	if (probe->program)
		bpf_program__set_autoload(probe->program, true);
	if (probe->returns)
		bpf_program__set_autoload(probe->returns, true);
	if (way->kind == ATTACH_USDT && set->multi)
		usdt_use_multi(probe->program);
	return true;
}

static void forget(struct probe *probe, const char *reason)
{
	probe_turn_off(probe, reason);
	probe->program = NULL;
	probe->returns = NULL;
}

/* Loads one object with the programs of the rows that want it; on failure those are off. */
static void load_object(struct probe_set *set, enum object_id id, const struct shared_maps *maps,
			const struct capture_filter *filter)
{
	struct bpf_object *object;
	size_t wanted = 0;
	int error = object_open(&object, id);

	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (set->probes[i].row->object != id || !probe->way)
			continue;
		wanted++;
		if (!error && !enable(set, probe, object))
			forget(probe, "no BPF program of that name was built in");
	}
	if (!error && wanted)
		error = object_load(object, maps, filter);
	if (!error && wanted) {
		set->objects[id] = object;
		return;
	}
	for (int i = 0; i < PROBE_COUNT; i++)
		if (set->probes[i].row->object == id && set->probes[i].way) {
			forget(&set->probes[i], failure_text());
		}
	bpf_object__close(object);
}

int probe_set_load(struct probe_set *set, const struct shared_maps *maps)
{
	if (!set->kernel_types)
		return failed(-EPERM,
			      "/sys/kernel/btf/vmlinux has no type information (BTF): a kernel "
			      "built with CONFIG_DEBUG_INFO_BTF is needed");
	set->counters = calloc(maps->cpus, sizeof(set->counters[0]));
	if (!set->counters)
		return failed(-ENOMEM, "no memory for the counters of %d CPUs", maps->cpus);
	set->cpus = maps->cpus;
	set->counters_fd = maps->counters;
	for (int id = 0; id < OBJECT_COUNT; id++)
		load_object(set, id, maps, &set->filter);
	return 0;
}

static void detach(struct probe *probe)
{
	bpf_link__destroy(probe->link);
	bpf_link__destroy(probe->return_link);
	probe->link = NULL;
	probe->return_link = NULL;
}

/* Both programs of a function or none: half a pair would leave entries that nobody takes back. */
static bool attach(struct probe *probe)
{
	if (probe->returns) {
		probe->return_link = bpf_program__attach(probe->returns);
		if (!probe->return_link)
			return false;
	}
	if (probe->program) {
		probe->link = bpf_program__attach(probe->program);
		if (!probe->link)
			return false;
	}
	return true;
}

void probe_set_attach(struct probe_set *set)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		char reason[REASON_TEXT];

		if (!probe->way || probe->way->kind == ATTACH_USDT ||
		    (!probe->program && !probe->returns))
			continue;
		if (attach(probe)) {
			probe_turn_on(probe);
			continue;
		}
		snprintf(reason, sizeof(reason), "attaching failed: %s", strerror(errno));
		detach(probe);
		probe_turn_off(probe, reason);
	}
}

void probe_set_detach(struct probe_set *set)
{
	while (set->emulator_count)
		usdt_detach(&set->emulators[--set->emulator_count]);
	for (int i = 0; i < PROBE_COUNT; i++)
		detach(&set->probes[i]);
}

void probe_set_destroy(struct probe_set *set)
{
	if (!set)
		return;
	probe_set_detach(set);
	for (int id = 0; id < OBJECT_COUNT; id++)
		bpf_object__close(set->objects[id]);
	free(set->counters);
	free(set);
}

void probe_set_pretend(struct probe_set *set, const char *note)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (!probe->way || probe->way->kind == ATTACH_USDT)
			continue;
		probe_turn_on(probe);
		snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", note);
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

int probe_set_count(struct probe_set *set, struct probe_totals *totals)
{
	struct probe_totals sum = {};

	for (__u32 i = 0; i < PROBE_COUNT; i++) {
		struct probe_info *info = &set->probes[i].info;

		if (!set->probes[i].program && !set->probes[i].returns)
			continue;
		if (bpf_map_lookup_elem(set->counters_fd, &i, set->counters))
			return failed(-errno, "reading the counters of probe %s: %s", info->name,
				      strerror(errno));
		info->hits = info->emitted = info->lost = 0;
		for (int cpu = 0; cpu < set->cpus; cpu++) {
			info->hits += set->counters[cpu].hits;
			info->emitted += set->counters[cpu].emitted;
			info->lost += set->counters[cpu].lost;
		}
		/* Programs on uprobes are shared by rows and never skipped. */
		info->missed = 0;
		if (set->probes[i].link)
			info->missed += missed_runs(set->probes[i].program);
		if (set->probes[i].return_link)
			info->missed += missed_runs(set->probes[i].returns);
		sum.emitted += info->emitted;
		sum.lost += info->lost;
		sum.missed += info->missed;
	}
	if (totals)
		*totals = sum;
	return 0;
}

const struct probe_info *probe_set_info(const struct probe_set *set, enum probe_id id)
{
	return &set->probes[id].info;
}
