// SPDX-License-Identifier: GPL-2.0
/* Which way each row of the probe table takes on this kernel, with this configuration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/functions.h"
#include "lib/capture/probe_set.h"

#define STACKS_PER_SECOND 10000 /* per CPU; a microsecond each: a hundredth of its time at most */

void probe_turn_off(struct probe *probe, const char *reason)
{
	probe->info.state = PROBE_OFF;
	probe->way = NULL;
	snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
}

void probe_turn_on(struct probe *probe)
{
	probe->info.state = PROBE_ON;
	snprintf(probe->info.reason, sizeof(probe->info.reason), "%s",
		 probe->row->note ? probe->row->note : "");
}

static bool named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

bool capture_kind_asked(const struct capture_config *config, __u16 kind)
{
	if (!config->kinds[0] && !config->kinds[1])
		return true;
	return config->kinds[kind / 64] >> (kind % 64) & 1;
}

/* Fault stages stay attached whatever is recorded: they keep the account of open groups. */
static bool feeds_others(const struct probe_row *row)
{
	return row->kind >= EVENT_FAULT_DETECT && row->kind <= EVENT_FAULT_VOID;
}

/* Whoever knows devices by what the next one may get must hear when one goes. */
static bool names_devices(const struct probe *probe)
{
	switch (probe->row->object) {
	case OBJECT_BLOCK:
	case OBJECT_DMA:
	case OBJECT_IOMMU:
	case OBJECT_IOPF:
	case OBJECT_IOPF_END:
	case OBJECT_PASID:
	case OBJECT_VFIO_PCI:
		return probe->wanted;
	default:
		return false;
	}
}

static bool is_needed(const struct probe_set *set, const struct probe_row *row)
{
	bool needed = feeds_others(row);

	/* The last row: all others have been chosen. */
	for (int i = 0; row->id == PROBE_DEVICE_RELEASE && i < PROBE_DEVICE_RELEASE; i++)
		needed |= names_devices(&set->probes[i]);
	return needed;
}

static void choose(struct probe_set *set, struct probe *probe, const struct capture_config *config)
{
	const struct probe_row *row = probe->row;

	snprintf(probe->info.name, sizeof(probe->info.name), "%s", row->name);
	probe_take_next_way(set, probe, NULL);
	probe->wanted = false;
	if (named(config->disabled, config->disabled_count, row->name))
		probe_turn_off(probe, "left out by --disable-probe");
	else if (!is_needed(set, row) && !capture_kind_asked(config, row->kind))
		probe_turn_off(probe, "its kind of event was not asked for");
	else
		probe->wanted = true;
	if (!probe->wanted)
		probe->info.state = PROBE_DISABLED;
}

static void make_filter(struct capture_filter *filter, const struct capture_config *config)
{
	bool all = !config->kinds[0] && !config->kinds[1];

	for (size_t i = 0; i < 2; i++) {
		filter->kinds[i] = all ? ~0ull : config->kinds[i];
		filter->singles[i] = config->kinds[i];
	}
	/* CPU faults are chosen by process: one by one for a whole host is never meant. */
	filter->singles[EVENT_CPU_FAULT / 64] &= ~(1ull << (EVENT_CPU_FAULT % 64));
	filter->slow_block_ns = config->slow_io_ns;
	filter->iommu_registers = config->iommu_registers;
	filter->stacks_per_second = STACKS_PER_SECOND;
}

bool probe_required(const char *name)
{
	const struct probe_row *row = probe_row_named(name);

	return row && row->required;
}

/* Types list functions also where no program is let onto any. Who may not try believes them. */
static int functions_possible(const struct btf *kernel)
{
	__s32 any = btf__find_by_name_kind(kernel, "handle_mm_fault", BTF_KIND_FUNC);

	return geteuid() || any < 0 ? 0 : function_try(any, 0, false);
}

int probe_set_create(struct probe_set **set, const struct capture_config *config)
{
	struct probe_set *s = calloc(1, sizeof(*s));

	if (!s)
		return failed(-ENOMEM, "no memory for the probe table");
	for (size_t i = 0; i < config->disabled_count; i++)
		if (!probe_row_named(config->disabled[i])) {
			free(s);
			return failed(-EINVAL,
				      "there is no probe '%s'; `faultline doctor` lists them",
				      config->disabled[i]);
		}
	objects_quiet();
	if (!kernel_names_create(&s->names)) {
		s->multi = usdt_multi_supported(kernel_names_types(s->names));
		s->many_arguments = UNTRIED;
		s->functions = functions_possible(kernel_names_types(s->names));
	}
	make_filter(&s->filter, config);
	s->processes = config->pid_count;
	probe_set_choose_again(s); /* none has chosen yet: only looks where we are */
	for (int i = 0; i < PROBE_COUNT; i++) {
		s->probes[i].row = probe_row(i);
		choose(s, &s->probes[i], config);
	}
	*set = s;
	return 0;
}
