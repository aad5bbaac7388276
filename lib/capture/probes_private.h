/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the probe table: the state of its rows. The interface is probes.h. */
#ifndef FAULTLINE_PROBES_PRIVATE_H
#define FAULTLINE_PROBES_PRIVATE_H

#include <pthread.h>

#include "lib/capture/kernel_names.h"
#include "lib/capture/probes.h"
#include "lib/capture/usdt.h"

#define UNTRIED 1
#define EMULATOR_SITES \
	(USDT_SITES_MAX / EMULATORS_MAX) /* of one binary: those of each have their place */

struct probe {
	const struct probe_row *row;
	const struct attach_method *methods; /* the row's, or `moved` */
	const struct attach_method *method;
	struct attach_method moved[2]; /* a method that the configuration asks for, and the end */
	struct bpf_program *program, *returns; /* of the method; either may be NULL */
	struct bpf_link *link, *return_link;   /* USDT rows share those of the emulators */
	char symbol[NAME_TEXT];		       /* of the method: a clone's whole name */
	bool wanted;			       /* the configuration asks for it */
	bool waits;			       /* for a module to be loaded, or a place to come */
	size_t modules;			       /* of its own that were when last looked at */
	struct probe_info info;
};

/*
 * A BPF object is loaded once with all that its rows want. Rows whose method turned out not to work,
 * or whose module came later, get the object another time, on the maps of the first.
 */
struct loaded_object {
	struct loaded_object *before;
	const struct object_source *source;
	struct bpf_object *object;
};

struct probe_set {
	struct capture_filter filter;
	struct loaded_object *loaded; /* the last one */
	struct kernel_names *names;   /* NULL: the kernel has no type information */
	const struct shared_maps *maps;
	struct places places; /* when last looked */
	bool processes;	      /* CPU faults of some are wanted */
	bool networks;	      /* TCP of some is */
	int functions;	      /* 0: the kernel lets programs onto its functions, else why not */
	int many_arguments;   /* likewise those of more than six arguments, or UNTRIED */
	struct probe probes[PROBE_COUNT];
	struct probe_emulator {
		struct usdt_links links;
		pthread_t detaching;
		bool is_detaching;
	} emulators[EMULATORS_MAX];
	bool multi;			/* uprobe_multi links are used */
	struct probe_counter *counters; /* one per CPU, to read one row */
	int cpus;
	int counters_fd;
};

/* Waits until all that were detached are. */
void probe_emulators_await(struct probe_set *set);

/* What its events lack for want of a right although it is on; NULL: nothing. */
const char *probe_lacks(const struct probe *probe);
void probe_turn_on(struct probe *probe);
void probe_turn_off(struct probe *probe, const char *reason);
/*
 * Takes the first method after the present one (from the beginning if there is none) that exists here.
 * Without any the row is off: `reason` says why the present method failed, NULL: none was tried.
 */
bool probe_take_next_method(struct probe_set *set, struct probe *probe, const char *reason);
/*
 * Looks where we are, and lets the rows that wait choose again if there is news for them. Returns how
 * many of them have a method now.
 */
size_t probe_set_choose_again(struct probe_set *set);
/* Loads what the rows with a method lack; rows that cannot be loaded are off. */
void probe_set_load_rows(struct probe_set *set);
/* As it was loaded first: it has the maps of all. NULL: it was not. */
struct bpf_object *probe_set_object(const struct probe_set *set,
				    const struct object_source *source);

#endif
