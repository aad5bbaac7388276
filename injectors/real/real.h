/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Injectors for what is not emulated: one verb of faultline-inject a file.
 *
 * Each takes its own arguments (argv[0] is "faultline-inject VERB"), has printed its errors and
 * returns an enum exit_code. What all of them share is in verb.h: output, consent, --dry-run and
 * signals; state of the kernel that outlives a process is changed through journal.h only.
 */
#ifndef FAULTLINE_REAL_H
#define FAULTLINE_REAL_H

int real_iopf(int argc, char **argv);
int real_odp(int argc, char **argv);
int real_pageout(int argc, char **argv);
int real_slow(int argc, char **argv);
int real_vfio(int argc, char **argv);

#endif
