/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who asks for I/Os: what comes next, and what has become of it. The same for a stock driver, a guest, a client and a target.
 *
 * Data that is written names its writer, block and sequence in each block of 512 bytes, so that whoever reads it knows whose it is and
 * whether it was applied once: `verify`. Results are in shared memory and outlive their process.
 */
#ifndef FAULTLINE_CLUSTER_IO_USER_H
#define FAULTLINE_CLUSTER_IO_USER_H

#include "injectors/cluster/cluster.h"

#define IO_MARK_MAGIC 0x6b72616d6f692121ull
struct io_mark { /* at the beginning of each block of 512 bytes; the rest of it follows from this */
	__u64 magic;
	__u32 writer, reserved; /* struct io_user */
	__u64 block, sequence;
};

struct io_next {
	__u64 number;	     /* counts up, also when a user begins anew */
	__u64 offset, bytes; /* of the disk */
	bool write;
};
struct io_counts {			 /* in shared memory; one writer */
	__u64 ios, bytes, errors, wrong; /* wrong: data that is not what it must be */
	__u64 writes_acknowledged;
	__u64 longest_ns, total_ns;	  /* real time, from its begin to its end */
	__u64 model_ns, model_longest_ns; /* by lib/fabric, of those that succeeded */
	__u64 outstanding;
	__u64 software_stages,
		copies; /* that a mediator's software took part in (target.h); 0: direct */
};
struct io_user {
	struct cluster *cluster;
	const struct io_config *config;
	struct io_counts *counts;
	__u32 seen_as; /* device index of its host's registry: what tells observers (seen.h) */
	__u64 next, done;
	__u64 region_start, region_bytes;
	__u64 random;
	__u64 opened_ns;
	__u32 writer; /* its number among all [borrow], [vm], [client] and [target] sections */
	__u32 device;
	bool alone; /* nobody else writes where it does */
	/* private: of verification */
	struct io_expected *expected;
	__u8 *in_flight;
};
/* `number` is the user's among all of a device, and `of` how many there are: a share of the disk each. CLUSTER_NONE: as the
 * configuration has them, of which `config` is a part. */
int io_user_open(struct io_user *user, struct cluster *cluster, const struct io_config *config,
		 __u32 device, __u32 number, __u32 of);
void io_user_close(struct io_user *user);
/* False: there is none any more (or none for now: `wait_ns` says how long). */
bool io_user_next(struct io_user *user, struct io_next *next, __u64 *wait_ns);
void io_user_fill(struct io_user *user, const struct io_next *io, void *data);
/* status: 0 or a negative errno. Reads are verified. */
void io_user_done(struct io_user *user, const struct io_next *io, const void *data, int status,
		  __u64 begin_ns, __u64 model_ns);
/* Of a [borrow], [vm], [client] or [target], whose part `config` is, for results. */
const struct io_counts *io_counts_of(const struct cluster *cluster, const struct io_config *config);

#endif
