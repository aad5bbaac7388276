/* SPDX-License-Identifier: GPL-2.0 */
/* Undoing what a journal's file holds; journal.h is the interface. */
#ifndef FAULTLINE_REAL_JOURNAL_REPLAY_H
#define FAULTLINE_REAL_JOURNAL_REPLAY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#define JOURNAL_SUFFIX ".journal"
#define JOURNAL_NAME   48

/* "PID-START.journal". */
void journal_name(char name[JOURNAL_NAME], __u32 pid, __u64 start);

/* This boot's id, as text. */
int journal_boot(char boot[48]);

/*
 * Undoes from the last record to the first, cutting each off the file; stops at the first that
 * fails. A file that cannot be cut hinders nothing. `dry_run`: prints only. Adds to *undone and *left.
 */
int journal_replay(int file, bool dry_run, FILE *log, unsigned int *undone, unsigned int *left);

/*
 * -EBUSY with a sentence if another journal than `own`, of a living owner or one that could not be undone,
 * has set this attribute: given back in any order but one it would keep a value that nobody wanted.
 */
int journal_refuse_set(int directory, const char *own, const char *path);

/* Once all of it is undone. */
int journal_remove(int directory, const char *name);

/* The current value of an attribute without its newline; -errno with a sentence. */
int attribute_read(const char *path, char *value, size_t size);
int attribute_write(const char *path, const char *value);

#endif
