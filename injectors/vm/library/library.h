/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is preloaded into QEMU: its guest's memory becomes the host's (../handover.h). It needs libc and nothing else, acts only if
 * $FAULTLINE_VM is set, and only once memory of a memory-backend-memfd is mapped; in what QEMU starts itself it does nothing.
 *
 *	mapping.c	mmap() of the guest's memory, and what else QEMU does to it later
 *	host.c		the host at the other end of the socket, and its end
 *	faults.c	the userfaultfd
 *	refuse.c	what would reach the guest's memory past the pager
 *	send.c		who is given the memory file
 */
#ifndef FAULTLINE_VM_LIBRARY_H
#define FAULTLINE_VM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "injectors/vm/handover.h"

#define PUBLIC __attribute__((visibility("default")))

/* One sentence on stderr; returns a negative errno. Never allocates. */
int vm_say(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * host.c. All return 0 or a negative errno, with a sentence said; one thread at a time.
 */

/* At the first call connects to $FAULTLINE_VM. */
int vm_host_connect(void);
/* Where in the file, which is the caller's to close, memory of so many bytes is to be mapped. */
int vm_host_ask(size_t bytes, __u64 *offset, int *memory_file);
int vm_host_hand_over(int faults, const void *base, size_t bytes, __u64 offset);
/* Whether the other end of a socket is of the host's process, as its devices' are. */
bool vm_host_is_at(int socket);
/* From now on the host's end is this process's. */
int vm_host_watch(void);

/* A userfaultfd of this process with all of the mapping registered; stays open: without it those who wait would go on with zeroes. */
int vm_faults_register(void *base, size_t bytes, int *faults);

/* refuse.c */

/* Of a backend's file; a sentence if its memory cannot be handed over. */
int vm_refuse_mapping(int file, int flags, off_t offset);
/* Of what this process has open already. */
int vm_refuse_open_files(void);

/* mapping.c: whether memory has been handed over. */
bool vm_handed_over(void);
/* Whether a file of this process is the memory that the host has given, by whatever descriptor. */
bool vm_is_memory_file(int file);

#endif
