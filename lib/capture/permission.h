/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this process may attach to the kernel: what doctor says of it, and a probe that is off. It is asked for
 * rights, not for root: CAP_BPF and CAP_PERFMON are enough for the kernel itself.
 */
#ifndef FAULTLINE_PERMISSION_H
#define FAULTLINE_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define PERMISSION_MODULES "functions of modules need CAP_SYS_ADMIN"
#define PERMISSION_MACHINES \
	"devices have no names and I/Os are not counted: root's machines tell them to root alone"
#define PERMISSION_SYMBOLS \
	"functions that mapped have no names: addresses of symbols are kept from all without CAP_SYSLOG"

#define PERMISSION_PERF_EVENTS \
	"where kernel.perf_event_paranoid is above 2 (Debian's) this needs CAP_SYS_ADMIN"

/* NULL if it may; else why nothing of what is in the kernel can be attached to, as a probe's reason. */
const char *permission_lacking(void);
/* What would give it. */
const char *permission_remedy(void);
/* Whether it may, but not to what modules have: their types are found by number. */
bool permission_lacks_modules(void);
/* Whether it may, but root's emulated machines cannot be asked for names and I/Os. */
bool permission_lacks_machines(void);
/* Whether it may, but opens no perf event, which kprobes are, and uprobes of older kernels. */
bool permission_lacks_perf_events(void);
/* Whether it may, but addresses of symbols are kept from it. */
bool permission_lacks_symbols(void);
/*
 * The rights that a sentence says are needed, as what would change that: "CAP_SYS_ADMIN (sudo faultline)".
 * False: it names none.
 */
bool permission_needed(const char *sentence, char *text, size_t bytes);
/* What to say behind an errno of a uprobe or kprobe that is a perf event: "" or the right that is lacking. */
const char *permission_of_perf_events(int error);
/* Which rights beside those are lacking, and what each would give; true: none is. */
bool permission_describe(char *text, size_t bytes);

/*
 * Loads a program that does nothing onto the function of this type number (`types`: descriptor of
 * the module's type information, 0: the kernel's); `attach`: also puts it there for a moment.
 * Returns 0 or why not, a negative errno.
 */
int function_try(__u32 type, int types, bool attach);

#endif
