/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks that the device moved the right bytes.
 *
 * What is written is derived from its place and a generation that counts the writes of that place,
 * so that a lost, stale, torn or misplaced block shows. I/Os that would touch the same place at the
 * same time are kept apart. The grain is a page of 4 KiB, on disk and in memory.
 */
#ifndef FAULTLINE_WORKLOAD_VERIFY_H
#define FAULTLINE_WORKLOAD_VERIFY_H

#include "injectors/emu/workload.h"

/* One I/O of the driver. Addresses are the guest's. */
struct workload_io {
	__u64 due_ns; /* latency runs from here */
	__u64 memory; /* data; copy: source */
	__u64 target; /* block: byte offset on disk; copy: destination */
	__u32 length;
	__u32 generation; /* copy: of the source's content */
	__u16 opcode;
	bool busy;
};

struct verify;

/* Data lies in [data_address, +data_bytes) of memory. */
int verify_create(struct verify **verify, struct guest_memory *memory,
		  const struct channel *channel, __u64 data_bytes, __u64 seed);
void verify_destroy(struct verify *verify);

/* Takes the I/O's places and writes what the device will read. false: one of them is taken. */
bool verify_begin(struct verify *verify, struct workload_io *io);
/* Gives them back; returns the pages whose content is wrong. `ok`: the device reported success. */
__u64 verify_end(struct verify *verify, const struct workload_io *io, bool ok);

#endif
