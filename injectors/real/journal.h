/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes to state of the kernel that outlives the process which makes them: attributes in sysfs
 * and configfs, devices made there or by the device mapper, swap. They go through here, and only
 * through here, so that each is undone: when the program ends or is told to stop (journal_close),
 * and after kill -9 by `faultline-inject recover` or the next program that opens a journal.
 *
 * The contract:
 * - What undoes a change is on file, complete and synced, before the change is made: a file
 *   PID-START.journal in the run directory (root, 0700; it does not outlive a reboot, nor do the
 *   changes). If it cannot be written, the change is not made.
 * - Undoing goes from the last change to the first and stops at the first that fails, as those
 *   before may carry it (a swap, its device, the attributes of that): what is left stays on file.
 * - Undoing needs no room: what is undone is cut off the file. Where the file cannot be changed at
 *   all, undoing goes on, and that it stays is an error once all is undone.
 * - Undoing twice is harmless. A change that was recorded but never made, because of a crash
 *   between the two, is found to be undone already.
 * - An attribute that another journal has set is refused, as both could not give it back.
 * - An attribute gets back the value it had before; if somebody else has changed it meanwhile, the
 *   log says so, and it is still given back. A device, directory or swap is removed only if its
 *   change was recorded, and a name that exists already is refused before anything is recorded.
 * - Only journals whose owner (pid and start time) does not run any more are recovered; a journal
 *   of an earlier boot is thrown away, as its changes went with that boot.
 * - A record that was cut off by a crash is ignored: its change was not made. One that is damaged
 *   in the middle of the file is skipped and said, all others still count.
 *
 * Errors are negative errnos with a sentence. Not thread-safe.
 */
#ifndef FAULTLINE_REAL_JOURNAL_H
#define FAULTLINE_REAL_JOURNAL_H

#include <stdbool.h>
#include <stdio.h>

struct journal;

struct journal_options {
	bool dry_run; /* print every change, make none; no file is made either */
	FILE *log;    /* where changes are printed in a dry run, and what was recovered; or NULL */
};

/* Recovers what dead owners left, then starts a journal of this process; one at a time. */
int journal_open(struct journal **journal, const struct journal_options *options);

/*
 * Undoes everything, removes the file and frees. Even after an error, which leaves on file what
 * could not be undone, the journal is gone. NULL is fine.
 */
int journal_close(struct journal *journal);

/* Undoes everything so far; the journal goes on. */
int journal_undo(struct journal *journal);

/*
 * Writes a value to an attribute that can be read back, and its old value when undone ("(null)", as
 * driver_override shows no value, is given back as an empty line). -EBUSY if the journal of another
 * process has set it.
 */
int journal_set(struct journal *journal, const char *path, const char *value);

/*
 * Writes a value to an attribute that only acts, such as bind, unbind and drivers_probe. When
 * undone, `undo_value` is written to `undo_path`; NULL: there is nothing to undo. With path NULL
 * nothing is written now. Undone with ENODEV or ENOENT counts as undone, and with EBUSY that of
 * .../bind. To give a PCI device to vfio-pci and back to the driver it had:
 *
 *	journal_act(j, NULL, NULL, "/sys/bus/pci/drivers/nvme/bind", bdf);	last to be undone
 *	journal_set(j, ".../driver_override", "vfio-pci");
 *	journal_act(j, ".../driver/unbind", bdf, NULL, NULL);
 *	journal_act(j, "/sys/bus/pci/drivers_probe", bdf, "/sys/bus/pci/drivers/vfio-pci/unbind", bdf);
 */
int journal_act(struct journal *journal, const char *path, const char *value, const char *undo_path,
		const char *undo_value);

/* Makes a directory (configfs: the object that it stands for). -EEXIST if the name is taken. */
int journal_make_directory(struct journal *journal, const char *path);

/* swapon(2); the area must have its header. `flags` as of swapon(2). */
int journal_swap_on(struct journal *journal, const char *path, int flags);

/*
 * Makes a device of the device mapper with one target over all of `sectors`, readable back as
 * /dev/dm-N in `node`. `parameters` are the target's ("7:0 0 20"). -EEXIST if the name is taken.
 */
int journal_make_mapper(struct journal *journal, const char *name, const char *target,
			unsigned long long sectors, const char *parameters, char *node,
			size_t size);

struct journal_recovery {
	unsigned int journals; /* of dead owners that were found */
	unsigned int undone;   /* changes */
	unsigned int left;     /* changes that could not be undone and are still on file */
};

/*
 * Replays the journals of dead owners. Returns the first error of an undo, after having tried all
 * journals. With dry_run it prints what it would undo.
 */
int journal_recover(const struct journal_options *options, struct journal_recovery *recovery);

#endif
