/* SPDX-License-Identifier: GPL-2.0 */
/* What a job says of a tenant that is a stock virtual machine (backend = vm). */
#ifndef FAULTLINE_QEMU_CONFIG_H
#define FAULTLINE_QEMU_CONFIG_H

#include <linux/types.h>
#include <stdbool.h>

/* Paths of sockets, as long as a unix address may be. */
#define VM_SOCKET_PATH 108
#define QEMU_TEXT      2048

struct qemu_config {
	char socket
		[VM_SOCKET_PATH]; /* where its memory is handed over; "": one of the machine's own */
	char arguments[QEMU_TEXT]; /* arguments, words as of a shell; "": somebody else starts it */
	__u64 duration_ns;	   /* it is ended after this; 0: when it ends by itself */
	__u64 plug_bytes; /* of its memory the last ones, which are plugged in as it runs */
	__u64 plug_at_ns; /* from its start */
	bool iommu;	  /* its devices sit behind QEMU's intel-iommu, with ATS */
};

#endif
