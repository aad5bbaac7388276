/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QEMU's monitor: commands of QMP over a descriptor that QEMU has inherited, so that nobody else can open it
 * (docs/interop/qmp-spec.txt of QEMU). QEMU is taken for a stranger: what is no QMP, too long or late ends the connection.
 */
#ifndef FAULTLINE_JOB_VM_MONITOR_H
#define FAULTLINE_JOB_VM_MONITOR_H

#include <jansson.h>
#include <linux/types.h>

/* Bytes of the longest message that is read; none that is asked for here has a hundredth of it. */
#define VM_MONITOR_LINE (64u << 10)

struct vm_monitor;

/*
 * `descriptor`: our end of a socket pair, the monitor's from now on, also if this fails. `name`: the virtual machine's, for sentences;
 * outlives it. `answer_ns`: QEMU has so long for an answer; before the first of them for its start, too. -ENOMEM with a sentence.
 */
int vm_monitor_create(struct vm_monitor **monitor, int descriptor, const char *name,
		      __u64 answer_ns);
/* NULL: nothing. No thread is in vm_monitor_execute(). */
void vm_monitor_destroy(struct vm_monitor *monitor);

/*
 * One command, and its answer; any thread, one command at a time. `arguments` is taken over, NULL: none. `*answer` is what it
 * returns, the caller's reference; NULL: not wanted. 0, or with a sentence
 *
 *	-EPIPE		QEMU has gone, or says that it ends
 *	-EIO		QEMU refuses the command: in its own words
 *	-EPROTO		what QEMU says is no QMP
 *	-ETIMEDOUT	QEMU says nothing
 *
 * All but -EIO are final: every later command ends so.
 */
int vm_monitor_execute(struct vm_monitor *monitor, const char *command, json_t *arguments,
		       json_t **answer);

/* When QEMU was heard to say that it ends (SHUTDOWN), which is -EPIPE to whoever waits; 0: not yet. Any thread. */
__u64 vm_monitor_ends_ns(struct vm_monitor *monitor);

#endif
