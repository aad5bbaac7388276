/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The BPF objects of capture: each path has its own, so that one that cannot load never stops the
 * others, and the maps they share.
 */
#ifndef FAULTLINE_OBJECTS_H
#define FAULTLINE_OBJECTS_H

#include <bpf/libbpf.h>

#include "bpf/state.h"

/* The BPF programs of some rows of the probe table, built from bpf/NAME.bpf.c. */
struct object_source {
	const char *name;
	const void *(*elf)(size_t *bytes);
	/* They know devices by what the next one may get, and must hear when one goes. */
	bool knows_devices;
};

/* File descriptors that an object holds at most once loaded: its maps, those it shares too, and types. */
#define OBJECT_DESCRIPTORS 36

struct shared_maps {
	struct bpf_object *object;
	int cpus;
	int *ring_fds; /* one per possible CPU */
	size_t ring_bytes;
	int counters, devices, devices_gone, owners, process_names, domains, groups, pids,
		aggregates, aggregate_bins, stacks, networks, flows, flow_names;
	const struct mapping_set *mappings; /* mapped, read only */
	struct capture_state *state;	    /* mapped; both sides update it atomically */
	size_t state_bytes;
};

/* Creates rings and maps. ring_bytes: power of two, at least a page; 0: 64 MiB / CPUs. */
int shared_maps_create(struct shared_maps *maps, size_t ring_bytes);
void shared_maps_destroy(struct shared_maps *maps);

/* What a program is put onto: a type's number in the kernel's own type information or a module's. */
struct program_target {
	__u32 type;
	int types; /* as in struct kernel_function */
};

/* Tells the target of a program that is about to be loaded; false: it has none. */
typedef bool (*program_target_fn)(void *self, const struct bpf_program *program,
				  struct program_target *target);

/* For tests: another ELF image takes the place of this one object's, until NULL is given. */
void object_replace(const struct object_source *source, const void *(*elf)(size_t *bytes));

/*
 * Opens an object with no program enabled; enable with bpf_program__set_autoload(), then load. It is
 * fitted to the types that `types` has when it is loaded: a path of type information, NULL: the
 * kernel's own, read as a whole.
 */
int object_open(struct bpf_object **object, const struct object_source *source, const char *types);
/*
 * Loads what is enabled, functions and tracepoints onto what `target` says, whatever their sections
 * are called: libbpf would search the whole of the kernel's types for each. `first`: the same object
 * loaded before, whose maps it uses; may be NULL. On failure the object can only be closed, and
 * object_culprit() names the program at fault.
 */
int object_load(struct bpf_object *object, const struct shared_maps *maps,
		const struct capture_filter *filter, const struct bpf_object *first,
		program_target_fn target, void *self);
/* The program that kept the last object from loading, "" if it was none of them. */
const char *object_culprit(void);

/* Keeps libbpf from printing: what it says goes into sentences of ours. */
void objects_quiet(void);
/* Whether the whole of what libbpf and the verifier complain about goes to stderr, too. */
void objects_verbose(bool verbose);

#endif
