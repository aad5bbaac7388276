/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probe table: what Faultline can look at, how it tries to, and what came of it here.
 *
 * Presence is asked of the kernel's BTF and of the emulator's ELF notes, never of a version. A row
 * lists its methods in the order of preference; the first that exists is taken. A row that cannot
 * attach is off and says why; the others go on.
 */
#ifndef FAULTLINE_PROBES_H
#define FAULTLINE_PROBES_H

#include "lib/base/stream.h"
#include "lib/capture/capture.h"
#include "lib/capture/objects.h"
#include "lib/capture/paths.h"
#include "lib/capture/places.h"

enum attach_kind {
	ATTACH_NONE,
	ATTACH_USDT,
	ATTACH_TP_BTF,
	ATTACH_FUNCTION, /* fentry and fexit */
	ATTACH_KPROBE,	 /* kprobe and kretprobe: clones that have no type information */
	ATTACH_FILES,	 /* no program: user space reads files; the symbol is their directory */
};

/*
 * One method to see what a row wants. A function has up to two programs: at its entry, at its return
 * (fexit; kretprobe). They go on and off together and share the row's counters.
 */
struct attach_method {
	enum attach_kind kind;
	/*
	 * Tracepoint, function or USDT name. For a kprobe "function.*" means the function or its
	 * one clone (function.constprop.0 and the like), whose arguments may differ.
	 */
	const char *symbol;
	const char *program; /* BPF program of the row's object; NULL: only the return is wanted */
	const char *returns; /* BPF program at the function's return; NULL: none */
	/* Exact number of arguments that the programs expect, where releases differ; 0: any. */
	__u8 arguments;
	/*
	 * What `returns` is put on where that is another one, NULL: the symbol. Of a tracepoint its
	 * counterpart; of a function another that the kernel may call in its place: both programs
	 * are at the return then, and which of the two is called need not be known.
	 */
	const char *end;
	enum place place; /* of this method alone, beside that of its row */
};

#define ATTACH_METHODS 4

#define PROBE_LEFT_OUT	      "left out by --disable-probe" /* a reason to be off */
#define PROBE_NOT_IN_EMULATOR "has no such probe"	    /* likewise, behind its path */

struct probe_row {
	enum probe_id id;
	const char *name;
	const struct object_source *object;
	__u16 kind; /* enum event_kind it gives */
	struct attach_method methods[ATTACH_METHODS];
	bool required; /* without it fault timelines have no start or no end */
	/* Wanted whatever kinds are asked for; or as soon as a row is whose object knows devices. */
	bool always, for_devices;
	/*
	 * Kernel module that carries the symbol, NULL: the kernel itself. Modules move functions
	 * between releases: names separated by spaces are tried in turn.
	 */
	const char *module;
	const char *note; /* said of the row even while it is on; NULL: nothing */
	/* A function of another row without which this one has nothing to say; NULL: none. */
	const char *needs;
	/*
	 * Called far more often than it gives events, and can be preempted: a run that the kernel
	 * skipped would hardly ever have given one. Told with the probe, not counted as loss.
	 */
	bool sieve;
	/*
	 * Faults of which every one that completed must have passed here: bit per enum fault_origin.
	 * A probe that is on and was not hit by any of them looks at the wrong place.
	 */
	__u8 every;
	/*
	 * Likewise: probes of the same path, separated by spaces, none of whose hits comes without one
	 * of this.
	 */
	const char *with;
	/*
	 * Or `with` begins what this one ends, which need not come, and this is a probe that both this
	 * and others of the same `shares` lead to: its hits that none of those explains had to pass
	 * here. `many`: one hit of this may lead to several there.
	 */
	const char *shares;
	bool many;
	/*
	 * In the place of `every` and `with`: why neither faults nor another probe's hits show that
	 * this one looks at the wrong place. A row that is not `optional` has one of the three.
	 */
	const char *unaccused;
	/*
	 * Says nothing of whether its path is shown: without it there is nothing that it would have
	 * shown, or it has nothing to say without others. A kernel that has none of it lacks nothing.
	 */
	bool optional;
	enum place place; /* where it can fire at all; elsewhere it is not even loaded */
	/* What is not known while it is off and others of its path are on; NULL: nothing is said. */
	const char *without;
};

/* Where complete faults come from; one may be of several. */
enum fault_origin {
	FROM_EMULATED = 1 << 0, /* an emulated device's, served by its host */
	FROM_CORE = 1 << 1,	/* through the kernel's I/O page fault core */
	FROM_WORKER = 1 << 2,	/* of these: a worker has handled it */
	FROM_SVA = 1 << 3,	/* of these: in a process's own address space */
	FROM_ODP = 1 << 4,	/* RDMA on-demand paging */
	FROM_MLX5 = 1 << 5,	/* of these: answered, which only mlx5 does */
	FROM_SVA_WORKER =
		1 << 6, /* FROM_SVA, and the worker was seen: what resolves is watched in it only */
};
#define FAULT_ORIGINS 7

/* Whether the configuration asks for this kind of event. */
bool capture_kind_asked(const struct capture_config *config, __u16 kind);
bool capture_all_kinds(const struct capture_config *config);

/* The row of this id, never NULL. Rows stand in paths/, a file for each kernel path. */
const struct probe_row *probe_row(enum probe_id id);
/* NULL: there is no such row, as in recordings of another version. */
const struct probe_row *probe_row_named(const char *name);
/* Whether the row of this name is one that fault timelines cannot do without. */
bool probe_required(const char *name);

#define EMULATORS_MAX 8 /* different binaries at once */

struct probe_set;
struct usdt_binary;

/* Chooses each row's method; loads nothing. -EINVAL: the configuration names an unknown probe. */
int probe_set_create(struct probe_set **set, const struct capture_config *config);
/* Loads the BPF objects. Rows whose object does not load are off. -EPERM: the kernel has no BTF. */
int probe_set_load(struct probe_set *set, const struct shared_maps *maps);
/* Attaches what needs no binary (all but USDT). */
void probe_set_attach(struct probe_set *set);
/*
 * Attaches the USDT rows to an emulator's binary, for processes that run it now or later. It gets a
 * place of its own below EMULATORS_MAX, given back by the second, which does not wait for the kernel. `fd` is
 * the open file, `path` a name for it in sentences. Returns probes attached or a negative errno.
 */
int probe_set_attach_emulator(struct probe_set *set, int place, int fd, const char *path);
void probe_set_detach_emulator(struct probe_set *set, int place);
/* Why there is no emulator, for rows that are off because of it. */
void probe_set_no_emulator(struct probe_set *set, const char *reason);
/*
 * Some functions have types and yet no place for a probe. Attaching tells; this asks the kernel's
 * list instead (tracefs), which takes it a while to print. Believes the types without that.
 */
void probe_set_check_traceable(struct probe_set *set);
/* For a report that attaches nothing: rows that could be attached are on; or, for that reason, none. */
void probe_set_pretend(struct probe_set *set);
void probe_set_refuse(struct probe_set *set, const char *reason);
void probe_set_look_at(struct probe_set *set, const struct usdt_binary *binary, const char *path);
/*
 * Loads and attaches the rows whose module has been loaded since, or whose place is there now. Cheap
 * when there are none.
 */
void probe_set_look_again(struct probe_set *set);
/* From now on CPU faults of some process are wanted; rows of use for that are loaded next time. */
void probe_set_expect_processes(struct probe_set *set);
/* Likewise TCP of some network: rows of use for that are attached at once, if others are. */
void probe_set_expect_networks(struct probe_set *set);
void probe_set_destroy(struct probe_set *set);

/* Reads the kernel-side counters into the rows; `totals` (may be NULL) gets the sums. */
struct probe_totals {
	__u64 emitted, lost, missed, turned_away;
};
int probe_set_count(struct probe_set *set, struct probe_totals *totals);
/* What a row without a program has to tell of its reading. */
void probe_set_read(struct probe_set *set, enum probe_id id, __u64 reads, __u64 events);
/* A map of this row's object's own, -1: that is not loaded. */
int probe_set_map(const struct probe_set *set, enum probe_id id, const char *name);
const struct probe_info *probe_set_info(const struct probe_set *set, enum probe_id id);

#endif
