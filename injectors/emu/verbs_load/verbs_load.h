/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A load of verbs: one program on an RDMA device, the active end, and what it needs at the device's peer. It knows
 * the guest's verbs alone (verbs_control.h, verbs_data.h), so that it is the same where it runs: a thread of the machine, or
 * a guest in a process of its own.
 */
#ifndef FAULTLINE_VERBS_LOAD_H
#define FAULTLINE_VERBS_LOAD_H

#include <linux/types.h>
#include <sched.h>
#include <stdbool.h>

#include "lib/analyze/histogram.h"

#define VERBS_LOAD_SIZE_MAX  (4u << 20) /* of a transfer, bytes */
#define LOAD_CLIENTS_MAX     2
#define LOAD_PIECES_MAX	     1024
#define LOAD_OUTSTANDING_MAX 256
#define LOAD_KEY_BYTES	     32 /* of 30 that RAMCloud's experiments have, in words */
/* Of the control path, for each device: command ring and the like, before its program's memory. */
#define LOAD_RESERVED (64u << 10)

enum verbs_load_test {
#define LOAD_TEST(name, moves) LOAD_##name,
#include "injectors/emu/verbs_load/verbs_load_tests.def"
#undef LOAD_TEST
	LOAD_TESTS,
};

/* How memory that data comes from and goes to is registered. mode: on demand with mode=odp, else pinned. */
enum verbs_load_memory { LOAD_MEMORY_MODE, LOAD_MEMORY_PIN, LOAD_MEMORY_DEMAND };

struct verbs_load_config {
	char name[64];
	__u32 device, peer; /* machine indices */
	enum verbs_load_test test;
	enum verbs_load_memory memory;
	__u64 size;	   /* of a transfer, a value or a region, bytes */
	__u32 entries;	   /* create_qp: of either queue of a pair, a power of two */
	__u32 outstanding; /* write_bandwidth, pressure */
	bool events;	   /* waits for the event of a completion, else polls */
	bool no_syscalls;  /* a system call while it polls ends it */
	cpu_set_t cpus;	   /* of its clients, empty: all */
	__u64 keys;	   /* kv */
	__u32 clients;	   /* kv */
	__u64 working_set; /* pressure: bytes at each end ... */
	__u64 piece;	   /* ... in regions of so many */
	__u64 slo_ns;	   /* operations that take longer are counted */
	__u64 operations;  /* of a client, 0: until `duration_ns` */
	__u64 duration_ns; /* 0: until `operations`; both: until either */
	bool verify;	   /* what arrives is checked */
	__u64 seed;
};

/* Of one client, or of an end that serves. What ended too early leaves what it had counted. */
struct verbs_load_counts {
	__u64 operations, bytes;
	__u64 errors, mismatches;
	__u64 over_slo;
	__u64 start_ns, end_ns, cpu_ns;
	bool finished; /* it came to the end by itself */
	struct histogram
		latency; /* ns, of operations; of create_qp and register the first half of one ... */
	struct histogram undo; /* ... and the other: destroyed, deregistered */
};

/* What /proc says of a process, bytes. */
struct verbs_load_footprint {
	__u64 pinned, resident;
};

/* What the hosts of its devices have counted, from the machine's start to the load's end; 0 without a mode. */
struct verbs_load_hosts {
	__u64 registered_most; /* bytes, of both devices together, whose peaks may be at different times */
	__u64 pinned_most[3]; /* by enum pin_role, likewise */
	__u64 refused;	      /* verbs: a quota, rights, pins, mappings or injected */
	__u64 remaps, remaps_skipped;
	__u64 unequal;	 /* times that pinned was not registered */
	__u64 engine_ns; /* CPU time of the devices' engines */
	/* ns: of work requests what was least from written to seen, to completed, to taken (rdma_least()); 0: none */
	__u64 least_ns[3];
};

struct verbs_load_result {
	struct verbs_load_hosts hosts;
	__u64 operations, bytes, errors, mismatches, over_slo;
	__u64 start_ns, end_ns, cpu_ns;
	__u64 refused;		 /* regions that its host did not allow */
	__u64 stopped_calls;	 /* clients that a system call ended (no_syscalls) */
	__u64 kicks, injections; /* exits while it measured, of the active end (hyv_layout.h) */
	/* All is registered that the test has at once. */
	struct verbs_load_footprint guest, machine;
	struct histogram latency, undo;
};

/* Bytes of its device's share that an end takes; of the active end, or of its peer. */
__u64 verbs_load_bytes(const struct verbs_load_config *config, bool on_peer);
/* Of them, what data comes from or goes to. */
__u64 verbs_load_memory_bytes(const struct verbs_load_config *config, bool on_peer);
/* Entries of the largest queue; queue pairs that each end has. */
__u32 verbs_load_depth(const struct verbs_load_config *config);
__u32 verbs_load_pairs(const struct verbs_load_config *config);
const char *verbs_load_test_name(enum verbs_load_test test);
/* Both ends take part in it: it moves data. */
bool verbs_load_moves(enum verbs_load_test test);

#endif
