/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a virtual machine prints: the guest on its console, QEMU on its standard error. The guest is a stranger: of its lines only
 * what is a key and a number counts (guest_keys.def), and what is shown of the others is printable.
 */
#ifndef FAULTLINE_JOB_VM_CONSOLE_H
#define FAULTLINE_JOB_VM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum guest_key {
#define GUEST_KEY(id, key, name, unit, type, how, factor, meaning) GUEST_##id,
#include "injectors/job/guest_keys.def"
#undef GUEST_KEY
	GUEST_KEYS,
};

enum vm_stream { VM_STREAM_CONSOLE, VM_STREAM_ERRORS, VM_STREAMS };

struct vm_console;

/* `log`: gets all lines, each with `name` and ": " before it; NULL: none. Several consoles may share it. NULL without memory. */
struct vm_console *vm_console_create(const char *name, FILE *log);
void vm_console_destroy(struct vm_console *console);

/* Bytes as they come, of one thread at a time; a line that is longer than 1023 bytes is cut. 0 bytes: the stream has ended. */
void vm_console_take(struct vm_console *console, enum vm_stream stream, const char *bytes,
		     size_t count);

/* The rest: once the streams have ended, or under the caller's lock. */

/* Adds what the guest has told of a key to `*value`, which is NAN before the first that tells of it. */
void vm_console_value(const struct vm_console *console, enum guest_key key, double *value);
/* Its kernel has printed that it panics. */
bool vm_console_panicked(const struct vm_console *console);
/* The guest has told that no byte was wrong and nothing failed, and has not panicked. */
bool vm_console_sound(const struct vm_console *console);
/* It has said that its load begins, by a line "faultline-guest-begins". */
bool vm_console_begun(const struct vm_console *console);
/* The last line of QEMU's own, printable, "": none. */
const char *vm_console_error(const struct vm_console *console);
/* The last line of the guest, likewise. */
const char *vm_console_last(const struct vm_console *console);
/* Lines "faultline-guest: ..." that are no key of ours with a number, each with its end; the first 2 KiB of them. */
const char *vm_console_told(const struct vm_console *console);

#endif
