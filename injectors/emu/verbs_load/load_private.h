/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of one end share. */
#ifndef FAULTLINE_LOAD_PRIVATE_H
#define FAULTLINE_LOAD_PRIVATE_H

#include "bpf/page.h"
#include "injectors/emu/doorbell.h"
#include "injectors/emu/verbs/verbs_data.h"
#include "injectors/emu/verbs_load/load_share.h"
#include "lib/base/random.h"

/* Where an end runs. */
struct load_place {
	struct verbs_device *device;
	/* Page aligned memory of the guest's. NULL: there is none left. */
	void *(*allocate)(struct load_place *place, __u64 bytes, __u64 *guest_address);
	/* Exits so far, to the host and from it. NULL: there are none where it runs. */
	void (*exits)(const struct load_place *place, __u64 *kicks, __u64 *injections);
	bool demand; /* the device is one of mode=odp */
	void *argument;
};

struct load_end;

/* A client and its queues. */
struct load_lane {
	struct load_end *end;
	__u32 index;
	struct verbs_queue *queue;
	struct verbs_channel *channel; /* of its events; NULL: it only polls */
	struct verbs_pair *pair;
	struct verbs_load_counts *counts;
	pthread_t thread;
	bool running;
	/* Of what is under way, by its id modulo LOAD_OUTSTANDING_MAX. */
	__u64 sent, done;
	__u64 posted_ns[LOAD_OUTSTANDING_MAX];
	__u64 offset[LOAD_OUTSTANDING_MAX]; /* at the other end ... */
	__u64 local[LOAD_OUTSTANDING_MAX];  /* ... and at this one */
	struct random random;
};

struct load_end {
	struct load_place *place;
	struct load_share *share;
	const struct verbs_load_config *config;
	int index;	       /* 0: the active end */
	unsigned char *memory; /* what data comes from and goes to */
	__u64 memory_address, memory_bytes;
	__u64 room_address; /* create_qp: of the queue pair */
	struct verbs_mr region[LOAD_PIECES_MAX];
	__u32 regions;
	struct load_lane lane[LOAD_CLIENTS_MAX];
	/* load_watch.c */
	pthread_t watcher;
	struct doorbell watched; /* rung once it is to end */
	bool watches;
};

/* Runs an end from its begin to its end; what goes wrong stands in the share. */
void load_end_run(struct load_place *place, struct load_share *share, int end);

/* A verb that the load cannot do without: 0, or the error with a sentence that names it. */
int load_needs(const struct load_end *end, const char *verb, int error);
/* What a host says to a region that it does not allow. */
bool load_is_refusal(int error);
/* A region that is refused is a result of this test, and it goes on without. */
bool load_counts_refusals(const struct load_end *end);

/* load_memory.c: what of an end's memory is in one region. */
__u64 load_piece_bytes(const struct verbs_load_config *config, bool on_peer);
__u64 load_slot_bytes(const struct verbs_load_config *config); /* kv: of a key and its value */
int load_memory_open(struct load_end *end);
void load_memory_close(struct load_end *end);
/* Every byte tells its offset. */
void load_fill(const struct load_end *end);
/* That of `offset` on lies at `here` of this end's. */
bool load_right(const struct load_end *end, __u64 offset, __u64 bytes, __u64 here);
enum verbs_region load_region_kind(const struct load_end *end);
/* enum verbs_right, no more than is used: a tenant's quota_rights may allow no others. */
unsigned int load_rights(const struct load_end *end);

const char *load_end_name(const struct load_end *end);

/* load_queues.c */
int load_queues_open(struct load_end *end);
int load_queues_connect(struct load_end *end);
void load_queues_close(struct load_end *end);
/* Polls or waits for completions; 0: none yet, and it is to be tried again or to stop. */
int load_completions(struct load_lane *lane, int count, struct verbs_completion *completions);

/* A test, in its client's thread, with the counts' times still to be set. */
void load_create_qp(struct load_lane *lane);
void load_register(struct load_lane *lane);
void load_transfers(struct load_lane *lane);
void load_ping(struct load_lane *lane);
/* The peer's part of a test of sends. */
void load_pong_begin(struct load_lane *lane);
void load_pong(struct load_lane *lane);

/* load_quiet.c: measures all clients, each in a thread of its own. */
void load_measure(struct load_end *end);
/* Whether this client has more to do. */
bool load_goes_on(const struct load_lane *lane, __u64 begun, __u64 now_ns);
void load_count(struct load_lane *lane, __u64 took_ns, __u64 bytes);
/* An error of a verb or of a completion, with the failure's sentence. */
void load_lane_failed(struct load_lane *lane, int error);

/* load_watch.c: from when there are queues until they go. */
int load_watch_begin(struct load_end *end);
void load_watch_end(struct load_end *end);

/* load_footprint.c: -errno with a sentence. 0: this process. */
int load_footprint(pid_t process, struct verbs_load_footprint *footprint);
/* Of both processes, into the share. */
int load_look(struct load_end *end);

#endif
