/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An accelerator: a function whose BAR 2 is its memory, with a copy engine that reads and writes any address of its bus.
 *
 * BAR 0 has the engine's registers and its queue: 64 B commands in the BAR itself, a tail that the driver writes, a head that the
 * engine does, which interrupts by vector 0 after each. Peers reach its memory by its BAR, as they would reach RAM.
 */
#ifndef FAULTLINE_CLUSTER_ACCEL_H
#define FAULTLINE_CLUSTER_ACCEL_H

#include "injectors/cluster/nvme.h"

#define ACCEL_MEMORY_BAR 2u
#define ACCEL_ENTRIES	 32u
#define ACCEL_COPY_BYTES (1u << 20) /* of a command at most */
enum accel_register {
	ACCEL_ID = 0x00, /* ACCEL_MAGIC once it is there */
	ACCEL_TAIL = 0x08,
	ACCEL_HEAD = 0x0c,
	ACCEL_QUEUE = 0x200,
};
#define ACCEL_MAGIC 0x6c656363u

enum accel_opcode { ACCEL_TO_BUS = 1, ACCEL_FROM_BUS = 2 };
enum accel_status { ACCEL_RUNS, ACCEL_OK, ACCEL_INVALID, ACCEL_OUT_OF_RANGE, ACCEL_TRANSFER_ERROR };
struct accel_command {
	__u32 opcode;
	__u32 peer;   /* not 0: the address is a peer's, for counting */
	__u64 bus;    /* address */
	__u64 local;  /* offset in its memory */
	__u64 bytes;  /* a multiple of 4 */
	__u32 status; /* enum accel_status, by the engine */
	__u32 reserved;
	__u64 model_ns, pieces; /* by the engine */
	__u64 unused;
};
_Static_assert(sizeof(struct accel_command) == 64, "a slot of its queue");

/* As nvme_driver_run(): copies blocks between its memory and RAM of its driver's machine, or, where the borrow names a peer, to that
 * one's memory: straight, or through the borrower's RAM. */
int accel_driver_run(struct bus *bus, const struct borrow_config *borrow, struct io_user *user,
		     const int *stop);
/* The stock driver of whatever the bus has. */
int stock_driver_run(struct bus *bus, const struct borrow_config *borrow, struct io_user *user,
		     const int *stop);

#endif
