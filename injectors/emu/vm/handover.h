/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's side of a virtual machine's memory: waits at a socket for the QEMU that has libfaultline-vm.so preloaded, gives it the
 * memory file of a tenant (backend vm) in place of its own, and has its missing pages and its writes to pages under eviction
 * served by the tenant's pager (memory_views.h). The messages are in injectors/vm/handover.h.
 *
 * One QEMU in a handover's life: memory that a guest has written is nobody else's to boot from. A guest that reboots stays in its QEMU.
 */
#ifndef FAULTLINE_EMU_VM_HANDOVER_H
#define FAULTLINE_EMU_VM_HANDOVER_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

struct guest_memory;
struct vm_handover;

struct vm_handover_config {
	struct guest_memory *memory; /* of backend MEMORY_VM; outlives the handover */
	const char *
		socket; /* path: made, mode 0600, and removed again; a socket where nobody listens is replaced */
	const char *tenant; /* for sentences; outlives the handover */
	/* Of the memory's bytes the last ones that are for memory plugged in later; the first mapping is of exactly the others. */
	__u64 plug_bytes;
};

enum vm_state {
	VM_AWAITED, /* nobody has asked for the memory yet */
	VM_RUNS,    /* the guest's memory is mapped and served */
	VM_ENDED,   /* its QEMU is gone, however that came */
	VM_REFUSED, /* a QEMU has been refused, and none came since: the sentence says why */
};

#define VM_QEMU_NAME 64

struct vm_status {
	enum vm_state state;
	pid_t pid;		 /* of QEMU in this process's namespace, 0: not known */
	char name[VM_QEMU_NAME]; /* as of QEMU's -name, else of its process; printable */
	__u32 regions;		 /* mapped, 1 without memory plugged in */
	bool kvm;		 /* its guest runs under KVM, which is not proven (docs/vm.md) */
	char sentence[512];	 /* of VM_REFUSED and VM_ENDED, else "" */
};

/* Listens, and serves in a thread of its own. Negative errno with a sentence: -ENAMETOOLONG, -EADDRINUSE, -EACCES, ... */
int vm_handover_create(struct vm_handover **handover, const struct vm_handover_config *config);
/* After it nobody serves the guest's memory: a QEMU that still runs is killed by its own library. NULL: nothing. */
void vm_handover_destroy(struct vm_handover *handover);

/* A snapshot; any thread. */
void vm_handover_status(struct vm_handover *handover, struct vm_status *status);
/* Readable (poll) after each change of the state, until vm_handover_status() is called. */
int vm_handover_descriptor(const struct vm_handover *handover);
/*
 * Waits until the state is another than VM_AWAITED, as a guest with a NIC has its devices before its memory. 0: it runs;
 * -ETIMEDOUT; -ECONNREFUSED and -EPIPE with a sentence: refused, ended.
 */
int vm_handover_wait(struct vm_handover *handover, __u64 timeout_ns);

#endif
