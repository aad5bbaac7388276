/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranks: processes of guests that exchange messages over RDMA devices, as those of an MPI program do. Each is a thread of
 * the machine that knows the verbs and the CPU's view of guest memory, nothing else of device or host.
 *
 * A [ranks NAME] section makes a group: ranks 0, 2, ... on a device, ranks 1, 3, ... on its peer.
 */
#ifndef FAULTLINE_RANKS_H
#define FAULTLINE_RANKS_H

#include <linux/types.h>
#include <stdbool.h>

#include "lib/analyze/histogram.h"

#define RANKS_MAX	64
#define RANKS_SIZES	8
#define RANKS_SIZE_MAX	(4u << 20) /* of a message, bytes */
#define RANKS_DEPTH_MAX 256
/* Of the control path, for each device: command ring and the like, before the first rank's memory. */
#define RANKS_RESERVED (64u << 10)

enum ranks_pattern {
#define RANK_PATTERN(name) RANKS_##name,
#include "injectors/emu/ranks/patterns.def"
#undef RANK_PATTERN
	RANKS_PATTERNS,
};

enum ranks_memory {
#define RANK_MEMORY(name) RANKS_MEMORY_##name,
#include "injectors/emu/ranks/memories.def"
#undef RANK_MEMORY
	RANKS_MEMORIES,
};

enum ranks_op { RANKS_SEND, RANKS_WRITE, RANKS_READ };

/* On which of the two devices buffers are brought in before it begins. */
enum ranks_advise { RANKS_ADVISE_NONE, RANKS_ADVISE_DEVICE, RANKS_ADVISE_PEER, RANKS_ADVISE_BOTH };

struct ranks_config {
	char name[64];
	__u32 device, peer; /* machine indices */
	__u32 count;	    /* of ranks on both together, 2 to RANKS_MAX */
	enum ranks_pattern pattern;
	enum ranks_op op;
	__u64 sizes[RANKS_SIZES]; /* of messages, bytes, 1 to RANKS_SIZE_MAX */
	__u32 size_weights[RANKS_SIZES];
	__u32 size_count;
	__u32 depth;	/* messages in flight of a stream */
	bool off_cache; /* each message has another buffer, over all of working_set */
	__u64 buffer_bytes; /* memory of a rank for these, registered or pinned; 0: as much as there is */
	__u64 working_set;   /* of it, what is used; 0: all */
	__u64 receive_bytes; /* op=send: what is posted for a message; 0: its size */
	enum ranks_memory memory;
	__u64 cache_bytes; /* memory=cache: registered at most, by the ranks of a device together */
	enum ranks_advise advise; /* memory=demand */
	double rate;		  /* operations per second and rank, 0: as fast as possible */
	__u64 operations;	  /* of a rank, 0: until `duration_ns` */
	__u64 duration_ns;	  /* 0: until `operations` */
	bool verify;		  /* every byte that arrives is checked */
	__u64 seed;
};

struct ranks_result {
	bool refused;	  /* they did not start, as their memory may not be pinned */
	__u64 operations; /* steps of the pattern at a rank; of a stream: messages, at the sender */
	__u64 bytes;	  /* that arrived, in messages that were complete */
	__u64 errors;	  /* completions with an error, and commands that were refused */
	__u64 mismatches; /* messages with a byte that was not sent */
	__u64 start_ns, end_ns;
	__u64 hits, misses, overflows; /* of the pin-down cache */
	__u64 copied;		       /* bytes, by memory=copy */
	struct histogram latency;      /* ns, of operations; with a rate from when they were due */
};

/* What a group needs of a device's share of memory. */
struct ranks_layout {
	__u64 largest; /* what one message takes in memory, whole pages */
	__u32 slots;   /* buffers that a rank needs at once */
	__u32 window;  /* messages under way between two ranks and one direction, a power of two */
	__u32 local;   /* ranks of the device */
	__u32 pairs;   /* queue pairs of the device */
	__u64 buffers; /* bytes of buffers of one rank */
	__u64 queues;  /* bytes of queues and small messages of all of its ranks */
	__u64 bounce;  /* bytes that memory=copy has beside */
	__u64 total;   /* of the share */
};

/*
 * `on_peer`: of the peer. `bytes`: the share; what a buffer_bytes of 0 leaves open is made of it. If the share is too
 * small total is what would be needed at least.
 */
void ranks_plan(const struct ranks_config *config, bool on_peer, __u64 bytes,
		struct ranks_layout *layout);
/* Bytes that are pinned, or registered and pinned, at once at most by ranks of the device. */
__u64 ranks_pinned(const struct ranks_config *config, const struct ranks_layout *layout);

__u64 ranks_largest(const struct ranks_config *config);

#endif
