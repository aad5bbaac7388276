/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How QEMU's process hands its guest's memory over, on the wire: between libfaultline-vm.so, which is preloaded into QEMU, and the
 * host of the memory (injectors/emu/vm/handover.h).
 *
 * A socket of type SOCK_SEQPACKET at the path in $FAULTLINE_VM, one connection for QEMU's life; each message is one struct below, with
 * at most one descriptor beside it (SCM_RIGHTS). Both are on one host: native byte order and sizes. For each mapping of a
 * memory-backend-memfd, before anything has touched it:
 *
 *	QEMU -> host	VM_ASK		that much memory is about to be mapped
 *	host -> QEMU	VM_OFFER	the host's memory file, and where in it this memory begins; or a refusal
 *	QEMU -> host	VM_REGION	a userfaultfd of QEMU's process, in which the mapping is registered for missing pages and
 *					write-protect
 *	host -> QEMU	VM_SERVED	faults are served from now on; or a refusal
 *
 * A refusal has a negative errno and a sentence, and ends neither side: the mapping fails, which ends QEMU where it was to be the
 * guest's memory, and is an error of a command where memory was to be plugged in. Either side's end is the connection's. QEMU is then
 * killed by its library: a guest whose missing pages nobody brings must not go on.
 */
#ifndef FAULTLINE_VM_HANDOVER_WIRE_H
#define FAULTLINE_VM_HANDOVER_WIRE_H

#include <linux/types.h>

#define VM_SOCKET_VARIABLE "FAULTLINE_VM"
#define VM_LIBRARY_NAME	   "libfaultline-vm.so"
#define VM_MAGIC	   0x464c564du /* "FLVM" */
#define VM_VERSION	   1u
#define VM_SENTENCE	   480
/* How QEMU's memory backend names its file, as /proc/self/fd shows it. */
#define VM_BACKEND_FILE "/memfd:memory-backend-memfd"

enum vm_message_kind { VM_ASK = 1, VM_OFFER, VM_REGION, VM_SERVED };

struct vm_message_header {
	__u32 magic, version;
	__u32 kind;  /* enum vm_message_kind */
	__u32 bytes; /* of the whole message */
};

struct vm_ask {
	struct vm_message_header header;
	__u64 bytes; /* of the mapping, whole pages */
};

struct vm_answer { /* VM_OFFER, with the memory file beside it; VM_SERVED, with nothing */
	struct vm_message_header header;
	__s32 error; /* 0, or a negative errno with a sentence, and no descriptor */
	__u32 reserved;
	__u64 offset;		    /* of an offer: in the memory file, whole pages */
	char sentence[VM_SENTENCE]; /* ended by a zero byte */
};

struct vm_region { /* with the userfaultfd beside it */
	struct vm_message_header header;
	__u64 base;	     /* in QEMU's process, page aligned */
	__u64 bytes, offset; /* as asked and offered */
};

#endif
