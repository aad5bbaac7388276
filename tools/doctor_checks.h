/* SPDX-License-Identifier: GPL-2.0 */
/* Inside `faultline doctor`: what its checks share. */
#ifndef FAULTLINE_DOCTOR_CHECKS_H
#define FAULTLINE_DOCTOR_CHECKS_H

#include <bpf/btf.h>

#include "tools/doctor_host.h"

void check_good(struct host_check *check, const char *finding);
void check_bad(struct host_check *check, const char *finding, const char *remedy);
/* It cannot be looked for: this directory is not mounted. */
void check_unmounted(struct host_check *check, const char *directory);
/* Entries of a directory that are not hidden and end in `suffix`; 0 if there is no directory. */
size_t check_entries(const char *path, const char *suffix);

void check_lockdown(struct host_check *check);

#define KERNEL_CHECKS 9

/* The kernel's paths; `kernel` is its type information, NULL without any. Returns KERNEL_CHECKS. */
size_t kernel_checks(struct host_check checks[KERNEL_CHECKS], const struct btf *kernel);

#endif
