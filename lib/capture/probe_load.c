// SPDX-License-Identifier: GPL-2.0
/*
 * Loads the programs of the probe table. libbpf loads an object whole or not at all: when a program
 * is refused, its rows take their next method or go off, and the object is loaded again with the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/capture/probes_private.h"

/*
 * The verifier ends with EAGAIN when a signal comes, also one of a debugger or a freezer; libbpf then tries five times,
 * which are over in a moment. So often more the whole object is loaded again, before its rows go off.
 */
#define INTERRUPTED_LOADS 20

static bool lacks_programs(const struct probe *probe)
{
	return probe->wanted && probe->method && probe->method->kind != ATTACH_FILES &&
	       !probe->program && !probe->returns;
}

/* Finds the programs of the chosen method and has them loaded; false if one was not built in. */
static bool probe_enable(const struct probe_set *set, struct probe *probe,
			 const struct bpf_object *object)
{
	const struct attach_method *method = probe->method;

	if (method->program)
		probe->program = bpf_object__find_program_by_name(object, method->program);
	if (method->returns)
		probe->returns = bpf_object__find_program_by_name(object, method->returns);
	if (!probe->program != !method->program || !probe->returns != !method->returns)
		return false;
	if (probe->program)
		bpf_program__set_autoload(probe->program, true);
	if (probe->returns)
		bpf_program__set_autoload(probe->returns, true);
	if (method->kind == ATTACH_USDT && set->multi)
		usdt_use_multi(probe->program);
	return true;
}

/* program_target_fn of a probe set: what the method of the program's row leads to. */
static bool find_target(void *self, const struct bpf_program *program,
			struct program_target *target)
{
	struct probe_set *set = self;

	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		const struct kernel_function *found;
		const char *symbol = probe->symbol;

		if (!probe->method || (probe->program != program && probe->returns != program))
			continue;
		if (probe->method->end && probe->returns == program)
			symbol = probe->method->end;
		found = kernel_names_find(set->names, symbol, probe->row->module);
		if (!found)
			return false;
		target->type = probe->method->kind == ATTACH_TP_BTF ? found->tracepoint_id
								    : found->function_id;
		target->types = found->types;
		return target->type;
	}
	return false;
}

/* How many mappings a VFIO container gets when it is opened, 0 without the module. */
static __u64 vfio_entries(void)
{
	FILE *file = fopen("/sys/module/vfio_iommu_type1/parameters/dma_entry_limit", "re");
	char text[32] = "";

	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strtoull(text, NULL, 10);
}

/* Writes the types that this object looks into to the file that it will be fitted to. */
static int write_types(struct probe_set *set, const struct bpf_object *object, int fd)
{
	struct btf *types = kernel_names_extract(set->names, bpf_object__btf(object));
	const void *bytes = NULL;
	__u32 size = 0;
	int error = 0;

	if (types)
		bytes = btf__raw_data(types, &size);
	if (!bytes)
		error = failed(-ENOMEM, "no memory for the kernel's types");
	else
		error = files_write(fd, "a file for the kernel's types", bytes, size, NULL);
	btf__free(types);
	return error;
}

/* The object, to be fitted to a file of types that is written right away. */
static int open_object(struct probe_set *set, struct bpf_object **object,
		       const struct object_source *source, int *types)
{
	char path[32];
	int error;

	*object = NULL;
	*types = memfd_create("faultline-types", MFD_CLOEXEC);
	if (*types < 0)
		return failed(-errno, "a file for the kernel's types: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *types);
	error = object_open(object, source, path);
	return error ? error : write_types(set, *object, *types);
}

/* Opens the object for the rows in question; NULL when none is left. */
static struct bpf_object *open_for(struct probe_set *set, const bool rows[PROBE_COUNT],
				   const struct object_source *source, int *types)
{
	struct bpf_object *object;
	size_t wanted = 0;
	int error = open_object(set, &object, source, types);

	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (!rows[i])
			continue;
		probe->program = probe->returns = NULL;
		while (probe->method && !error && !probe_enable(set, probe, object))
			probe_take_next_method(set, probe, "its BPF program was not built in");
		if (probe->method && error)
			probe_turn_off(probe, failure_text());
		wanted += probe->method != NULL;
	}
	if (wanted)
		return object;
	bpf_object__close(object);
	if (*types >= 0)
		close(*types);
	return NULL;
}

static bool uses(const struct probe *probe, const char *program)
{
	const struct attach_method *method = probe->method;

	return (method->program && !strcmp(method->program, program)) ||
	       (method->returns && !strcmp(method->returns, program));
}

/* Takes the refused program out of the game; false if it cannot be told which it was. */
static bool blame(struct probe_set *set, const bool rows[PROBE_COUNT], const char *reason)
{
	const char *culprit = object_culprit();
	bool found = false;

	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (!rows[i] || !probe->method || !uses(probe, culprit))
			continue;
		probe_take_next_method(set, probe, reason);
		found = true;
	}
	return found;
}

struct bpf_object *probe_set_object(const struct probe_set *set, const struct object_source *source)
{
	struct bpf_object *first = NULL;

	for (const struct loaded_object *one = set->loaded; one; one = one->before)
		if (one->source == source)
			first = one->object;
	return first;
}

static int keep_object(struct probe_set *set, const struct object_source *source,
		       struct bpf_object *object)
{
	struct loaded_object *last = malloc(sizeof(*last));

	if (!last)
		return failed(-ENOMEM, "no memory for a BPF object");
	*last = (struct loaded_object){set->loaded, source, object};
	set->loaded = last;
	return 0;
}

/* Afterwards none of its rows lacks programs: they have them, or are off. */
static void load_rows_of(struct probe_set *set, const struct object_source *source)
{
	bool rows[PROBE_COUNT];
	struct bpf_object *object;
	char reason[REASON_TEXT];
	int types, interrupted = 0;

	/* The module may have come a moment ago. */
	set->filter.vfio_entries = vfio_entries();
	for (int i = 0; i < PROBE_COUNT; i++)
		rows[i] = set->probes[i].row->object == source && lacks_programs(&set->probes[i]);
	while ((object = open_for(set, rows, source, &types))) {
		int error = object_load(object, set->maps, &set->filter,
					probe_set_object(set, source), find_target, set);

		close(types);
		if (!error)
			error = keep_object(set, source, object);
		if (!error)
			return;
		snprintf(reason, sizeof(reason), "%s", failure_text());
		bpf_object__close(object);
		if ((error == -EAGAIN && interrupted++ < INTERRUPTED_LOADS) ||
		    blame(set, rows, reason))
			continue;
		for (int i = 0; i < PROBE_COUNT; i++)
			if (rows[i] && set->probes[i].method)
				probe_turn_off(&set->probes[i], reason);
		return;
	}
}

void probe_set_load_rows(struct probe_set *set)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		if (lacks_programs(&set->probes[i]))
			load_rows_of(set, set->probes[i].row->object);
}
