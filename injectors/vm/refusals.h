/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What of QEMU's arguments cannot work where its guest's memory is taken away: asked of a job before anything starts, and
 * by the library in QEMU's own process. Needs libc alone.
 */
#ifndef FAULTLINE_VM_REFUSALS_H
#define FAULTLINE_VM_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `argv`: words behind the program's name, `count` of them. False: nothing is wrong with them. True: `sentence` names the word, why it
 * cannot work, and what is accepted. `given`: the memory backend is the caller's to add, and must not be there yet.
 */
bool vm_arguments_refused(const char *const *argv, size_t count, bool given, char *sentence,
			  size_t size);

/* The value behind the last of this option ("-name", also as "--name"), or NULL. */
const char *vm_arguments_value(const char *const *argv, size_t count, const char *option);
/* Whether the option is there at all. */
bool vm_arguments_have(const char *const *argv, size_t count, const char *option);
/* Whether the guest is to run under KVM. */
bool vm_arguments_kvm(const char *const *argv, size_t count);

#endif
