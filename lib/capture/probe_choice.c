// SPDX-License-Identifier: GPL-2.0
/* Which method each row of the probe table takes on this kernel, with this configuration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/limits.h"
#include "lib/base/mount.h"
#include "lib/capture/permission.h"
#include "lib/capture/probes_private.h"

#define STACKS_PER_SECOND 10000 /* per CPU; a microsecond each: a hundredth of its time at most */

/* Descriptors at most: a program and its link; all else. */
#define PROGRAM_DESCRIPTORS 2
#define OTHER_DESCRIPTORS   64 /* and a ring for each CPU */

void probe_turn_off(struct probe *probe, const char *reason)
{
	probe->info.state = PROBE_OFF;
	probe->method = NULL;
	probe->program = probe->returns = NULL; /* their object may be gone */
	snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
}

static bool takes_stacks(const struct probe_row *row)
{
	return row->kind == EVENT_DMA_MAP || row->kind == EVENT_DMA_ALLOC ||
	       row->kind == EVENT_VFIO_MAP;
}

const char *probe_lacks(const struct probe *probe)
{
	if (probe->method->kind == ATTACH_USDT && permission_lacks_machines())
		return PERMISSION_MACHINES;
	return takes_stacks(probe->row) && permission_lacks_symbols() ? PERMISSION_SYMBOLS : NULL;
}

void probe_turn_on(struct probe *probe)
{
	const char *note = probe_lacks(probe) ?: probe->row->note;

	probe->info.state = PROBE_ON;
	snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", note ? note : "");
}

static bool named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

bool capture_all_kinds(const struct capture_config *config)
{
	return kind_set_empty(&config->kinds);
}

bool capture_kind_asked(const struct capture_config *config, __u16 kind)
{
	return capture_all_kinds(config) || kind_set_has(&config->kinds, kind);
}

/* Fault stages stay attached whatever is recorded: they keep the account of open groups. */
static bool feeds_others(const struct probe_row *row)
{
	return row->kind >= EVENT_FAULT_DETECT && row->kind <= EVENT_FAULT_ABANDON;
}

/* Whether some other is wanted that must hear when a device goes. */
static bool any_knows_devices(const struct probe_set *set)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		if (set->probes[i].wanted && set->probes[i].row->object->knows_devices)
			return true;
	return false;
}

static bool is_needed(const struct probe_set *set, const struct probe_row *row)
{
	return row->always || feeds_others(row) || (row->for_devices && any_knows_devices(set));
}

/* Types list functions also where no program is let onto any. Who may not try believes them. */
static int functions_possible(const struct btf *kernel)
{
	__s32 any = btf__find_by_name_kind(kernel, "handle_mm_fault", BTF_KIND_FUNC);

	return permission_lacking() || any < 0 ? 0 : function_try(any, 0, false);
}

/* The last method of a row that is one function: others are for kernels of two. */
static const struct attach_method *single_function(const struct probe_row *row)
{
	const struct attach_method *found = NULL;

	for (size_t i = 0; i < ATTACH_METHODS && row->methods[i].kind; i++)
		if (row->methods[i].kind == ATTACH_FUNCTION && !row->methods[i].end)
			found = &row->methods[i];
	return found;
}

/* "PROBE=FUNCTION": the row's programs on that function. */
static int move_probe(struct probe_set *set, const char *text)
{
	const char *function = strchr(text, '=');

	for (int i = 0; function && function[1] && i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		const char *name = probe->row->name;
		size_t length = function - text;
		const struct attach_method *method = single_function(probe->row);

		if (strlen(name) != length || memcmp(name, text, length) != 0)
			continue;
		if (!method)
			return failed(-EINVAL,
				      "probe %s is not on a function that could have another "
				      "name",
				      name);
		probe->moved[0] = *method;
		probe->moved[0].symbol = function + 1;
		probe->methods = probe->moved;
		return 0;
	}
	return failed(-EINVAL,
		      "there is no such probe: '%s' should be PROBE=FUNCTION; `faultline "
		      "doctor -v` lists the probes",
		      text);
}

/* The names that probes are moved to, beside those of the table. A kernel without any is no error. */
static int read_names(struct probe_set *set, const struct capture_config *config)
{
	const char *names[CAPTURE_FILTERS];
	int error;

	/* Types are found in /sys, and handed to libbpf by a name in /proc. */
	if (mount_lacking())
		return 0;
	for (size_t i = 0; i < config->moved_count; i++)
		names[i] = strchr(config->moved[i], '=') + 1;
	error = kernel_names_create(&set->names, names, config->moved_count);
	if (error)
		return error == -EPERM ? 0 : error;
	set->multi = usdt_multi_supported(kernel_names_types(set->names));
	set->many_arguments = UNTRIED;
	set->functions = functions_possible(kernel_names_types(set->names));
	return 0;
}

/* Gives the probes their rows, and looks at the names that the configuration has for them. */
static int probe_check_names(struct probe_set *set, const struct capture_config *config)
{
	int error = 0;

	for (int i = 0; i < PROBE_COUNT; i++) {
		set->probes[i].row = probe_row(i);
		set->probes[i].methods = set->probes[i].row->methods;
	}
	for (size_t i = 0; i < config->disabled_count; i++)
		if (!probe_row_named(config->disabled[i]))
			return failed(-EINVAL,
				      "there is no probe '%s'; `faultline doctor -v` lists them",
				      config->disabled[i]);
	for (size_t i = 0; !error && i < config->moved_count; i++)
		error = move_probe(set, config->moved[i]);
	return error;
}

static void probe_choose(struct probe_set *set, struct probe *probe,
			 const struct capture_config *config)
{
	const struct probe_row *row = probe->row;

	snprintf(probe->info.name, sizeof(probe->info.name), "%s", row->name);
	probe_take_next_method(set, probe, NULL);
	probe->wanted = false;
	if (named(config->disabled, config->disabled_count, row->name))
		probe_turn_off(probe, PROBE_LEFT_OUT);
	else if (!is_needed(set, row) && !capture_kind_asked(config, row->kind))
		probe_turn_off(probe, "its kind of event was not asked for");
	else
		probe->wanted = true;
	if (!probe->wanted)
		probe->info.state = PROBE_DISABLED;
}

static void make_filter(struct capture_filter *filter, const struct capture_config *config)
{
	struct timespec tick;

	filter->kinds = filter->singles = config->kinds;
	if (capture_all_kinds(config))
		memset(&filter->kinds, 0xff, sizeof(filter->kinds));
	/* CPU faults are chosen by process: one by one for a whole host is never meant. */
	kind_set_remove(&filter->singles, EVENT_CPU_FAULT);
	filter->slow_block_ns = config->slow_io_ns;
	filter->iommu_registers = config->iommu_registers;
	filter->stacks_per_second = STACKS_PER_SECOND;
	filter->machine_user = geteuid();
	filter->all_networks = config->tcp;
	/* The clock that ticks once a jiffy. */
	if (!clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		filter->jiffy_ns = (__u64)tick.tv_nsec;
}

bool probe_required(const char *name)
{
	const struct probe_row *row = probe_row_named(name);

	return row && row->required;
}

/* How a row is put on now, or may be while this recording runs; NULL: it stays off. */
static const struct attach_method *expected_method(const struct probe *probe)
{
	if (!probe->wanted)
		return NULL;
	return probe->method ?: probe->waits ? &probe->row->methods[0] : NULL;
}

static bool is_first_of_object(const struct probe_set *set, int index)
{
	for (int i = 0; i < index; i++)
		if (expected_method(&set->probes[i]) &&
		    set->probes[i].row->object == set->probes[index].row->object)
			return false;
	return true;
}

/* Ahead of all loading: with too few of them now this, now that could not be watched. */
static int need_descriptors(const struct probe_set *set)
{
	int cpus = libbpf_num_possible_cpus();
	unsigned long count = OTHER_DESCRIPTORS + (cpus > 0 ? cpus : 0);
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct attach_method *method = expected_method(&set->probes[i]);

		if (!method)
			continue;
		count += method->program ? PROGRAM_DESCRIPTORS : 0;
		count += method->returns ? PROGRAM_DESCRIPTORS : 0;
		count += is_first_of_object(set, i) ? OBJECT_DESCRIPTORS : 0;
	}
	return limits_need_files("watching the kernel", count);
}

int probe_set_create(struct probe_set **set, const struct capture_config *config)
{
	struct probe_set *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return failed(-ENOMEM, "no memory for the probe table");
	objects_quiet();
	error = probe_check_names(s, config);
	if (!error)
		error = need_descriptors(s);
	if (!error)
		error = read_names(s, config);
	if (error) {
		free(s);
		return error;
	}
	make_filter(&s->filter, config);
	s->processes = config->pid_count;
	s->networks = config->tcp;
	probe_set_choose_again(s); /* none has chosen yet: only looks where we are */
	/* Who listens to others is chosen when these are. */
	for (int listens = 0; listens < 2; listens++)
		for (int i = 0; i < PROBE_COUNT; i++)
			if (s->probes[i].row->for_devices == listens)
				probe_choose(s, &s->probes[i], config);
	error = need_descriptors(s);
	if (error)
		probe_set_destroy(s);
	else
		*set = s;
	return error;
}
