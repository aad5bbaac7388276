/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The account of emulated machines that ran while an observer watched, met or not.
 *
 * An observer leaves the file "NUMBER.observer" in the run directory, locked (flock) while it lives.
 * A machine appends a record to each such file when it begins, before it can be found, and one with
 * the total of its I/Os when it ends, after its last connection was served. So what a machine
 * produced is known even if it was too short to be met:
 *
 *	produced by all machines = received + lost + missed
 *
 * Between the two it waits until all who live have looked at it: their probes are attached by then. If one
 * does not come in time a third record says since when the machine works nevertheless.
 *
 * From before the first record on it holds a lock (F_OFD_SETLK) of the byte of the file whose offset is its id,
 * far behind the records: who is killed tells no end, and the kernel takes the lock from him, also if
 * he is of another pid namespace, where his number says nothing.
 */
#ifndef FAULTLINE_OBSERVER_H
#define FAULTLINE_OBSERVER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define OBSERVERS_MAX 64 /* alive at once: a machine tells no more of them */

enum { MACHINE_BEGAN = 1, MACHINE_ENDED, MACHINE_WORKS };

/*
 * Appended whole with one write; a reader takes whole ones only. A page holds a whole number of them: where there is
 * no room for another page, or a file may be no longer, none is written in part and all behind it stay where
 * they are looked for.
 */
struct machine_record {
	__u64 id; /* random, nonzero, below 2^63; also in the machine's hello */
	__u64 produced;
	__u32 what;	/* MACHINE_BEGAN, MACHINE_ENDED, MACHINE_WORKS */
	__u32 held;	/* of the first: its lock is (above) */
	__u64 works_ns; /* of the last: CLOCK_MONOTONIC */
};

_Static_assert(4096 % sizeof(struct machine_record) == 0, "no record crosses a page");

/* Of machines that began after observer_open(). */
struct observer_counts {
	__u64 machines_missed; /* ended, never met */
	__u64 missed;	       /* I/Os that were neither received nor lost */
	__u64 unknown;	       /* killed, or not met to the last, without telling a total */
};

struct observer;

/* Whether a file of the run directory has the name of an observer's. */
bool observer_is_file(const char *name);
/* Whether the file's owner lives. */
bool observer_is_alive(int fd);

/*
 * Leaves the file. Without a run directory that is ours alone there is no machine to count. -EUSERS: OBSERVERS_MAX
 * live, whom one more would keep from being told.
 */
int observer_open(struct observer **observer);
void observer_close(struct observer *observer);

/* Takes what machines have told since the last call. */
int observer_read(struct observer *observer);
/* Whether a machine began that was neither met nor ended: look for it now, not at leisure. Tires of
 * one that is not to be found. */
bool observer_awaits(struct observer *observer);
bool observer_knows(const struct observer *observer, __u64 id);
/* Since when it works though it was in vain that it waited for its observers, 0: it did not have to. */
__u64 observer_works_since(const struct observer *observer, __u64 id);
/* The machine is connected to and trusted. */
void observer_met(struct observer *observer, __u64 id);
/* It has ended; `seen` of its I/Os were received or counted as lost. */
void observer_gone(struct observer *observer, __u64 id, __u64 seen);
/* Closes the accounts that are complete, or never will be: call after each pass over all that was connected. */
void observer_settle(struct observer *observer);
/* Whether every machine that is gone has told its total, and every one that is not was met. */
bool observer_is_settled(const struct observer *observer);
/* Nothing more will come: what is still open is unknown. */
void observer_finish(struct observer *observer);
void observer_counts(const struct observer *observer, struct observer_counts *counts);

/*
 * Machines in the run directory that no account of ours covers and that were not met yet: they began
 * before us, and there was no room for them, or they had none for us. One that is met leaves; one that
 * ends before has told nobody what it produced.
 */
struct unmet {
	struct unmet_machine *machines;
	__u64 ended; /* unmet */
	unsigned int look;
};

/* One look through the directory: begin, a call for each name that waits, end. */
void unmet_look_begin(struct unmet *unmet);
/* It waits, being one of those of old or `anew`. */
void unmet_wait(struct unmet *unmet, const char *file, bool anew);
void unmet_look_end(struct unmet *unmet);
/* It waits no longer; whether it had. */
bool unmet_take(struct unmet *unmet, const char *file);
/* How many wait, and how many ended so. */
__u64 unmet_count(const struct unmet *unmet);
void unmet_clear(struct unmet *unmet);

#endif
