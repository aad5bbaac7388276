/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the device `rdma`: its state, and what its files do for each other. In the engine's thread, unless it says else. */
#ifndef FAULTLINE_RDMA_PRIVATE_H
#define FAULTLINE_RDMA_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/access_log.h"
#include "injectors/emu/device_class.h"
#include "injectors/emu/rdma/fault_policy.h"
#include "injectors/emu/rdma/rdma_link.h"
#include "injectors/emu/rdma/observe.h"
#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/rdma/rdma.h"

#define PACKET_PAGES                     \
	(RDMA_MTU_MAX / PAGE_BYTES + 1 + \
	 VERBS_SGE_MAX) /* that a packet can lie in: LOOKUP_DMA_MAX is more */
#define PAIR_FETCH   16 /* entries of a queue that are fetched by one DMA */
#define QUEUE_STAGED 64 /* completions that are written by one DMA */
#define FAULT_PAGES \
	(1024 + VERBS_SGE_MAX) /* of one report: 4 MiB in as many pieces as there can be */
#define FAULTS_OPEN_MAX	 256
#define PAIR_INDEX_BITS	 10
#define PAIR_GENERATIONS 63 /* numbers have 16 bits, as observers have them, and are not 65535 */
#define ENGINE_PACKETS	 64 /* taken, or sent, in one round */
#define PAIR_PACKETS	 8  /* ... of one queue pair, before it is the next one's turn */
#define ACCESS_RANGES	 32 /* that are reported at once, of one queue of the port */

/* Pinned guest memory as the device sees it: it stays where it is until it is unpinned. */
struct pinned {
	unsigned char *host;
	__u64 iova, bytes;
};

struct rdma_queue {
	__u32 number, depth;
	struct pinned memory;
	int eventfd;
	void (*notify)(void *argument, __u32 number);
	void *argument;
	verbs_failed *failed;
	void *failed_of;
	__u32 users;  /* queue pairs, twice if for both */
	bool broken;  /* its guest has written nonsense into its words, or it has overrun */
	bool overrun; /* a completion found no room, which its guest was told: none comes any more */
	bool dirty;   /* in the device's list of those to be flushed */
	__u32 staged_count;
	__u64 written; /* published */
	__u64 taken;   /* as last read */
	__u64 told;    /* the value of `armed` that was told; VERBS' ~0: none */
	struct rdma_queue *next_dirty;
	/* Of a device with a mode: what is told of the work request of each entry, once the guest has taken it. */
	struct work_request_told *told_of;
	__u64 reaped; /* entries that have been told of */
	struct verbs_completion staged[QUEUE_STAGED];
};

/* Reports of one queue pair, by kind: the four bits of the paper, or more. */
struct pair_faults {
	__u8 open[RDMA_SIDES], all;
	bool waiting[RDMA_SIDES]; /* suppressed: tries again once a bit is cleared */
	/* What the side's last absent page was reported by, or not reported for; NULL: that is over. */
	const struct rdma_fault *met[RDMA_SIDES];
};

/* One queue of a pair as the device follows it. */
struct pair_ring {
	__u64 posted;  /* the doorbell word, as last read */
	__u64 fetched; /* from guest memory */
	__u64 given;   /* to the transport */
};

/* Bytes behind each other that a queue pair has read, or written, and that are not reported yet. */
struct open_access {
	struct io_range range; /* length 0: none */
	bool faulted;
};

/* Ranges of one queue of the port that are reported with the next ones. */
struct access_batch {
	__u32 count;
	struct io_range range[ACCESS_RANGES];
};

/* A shared receive queue: its pairs take what is posted in order, each for itself. */
struct rdma_shared {
	__u32 number, depth, domain, users;
	struct pinned memory;
	bool broken; /* its guest has written nonsense into its word */
	struct pair_ring ring;
	__u64 first; /* index of the first of these */
	struct verbs_receive receive[PAIR_FETCH];
};

struct rdma_pair {
	struct rdma *device;
	struct queue_pair *transport;
	struct verbs_pair_setup setup;
	struct pinned memory;
	struct verbs_pair_words *words; /* behind doorbells, or in its memory */
	struct rdma_shared *shared;	/* NULL: it has its own receive queue */
	__u64 shared_entry;		/* of what it took last from there */
	struct send_times *times;	/* NULL: nobody asks */
	struct rdma_queue *send_queue, *receive_queue;
	__u32 number, peer, at; /* at: among the live ones */
	bool loopback, connected;
	const char *fail; /* why it goes into error, once the transport may be told */
	struct pair_ring sends, receives;
	__u64 send_first, receive_first; /* indices of the first entries of these two */
	struct verbs_send send[PAIR_FETCH];
	struct verbs_receive receive[PAIR_FETCH];
	struct pair_faults faults;
	/* Since when the next bytes are tried in vain; 0: they are not. */
	__u64 absent_ns[RDMA_SIDES];
	struct open_access accesses[2]; /* read, written */
};

enum report_state {
	FAULT_FREE,
	FAULT_HELD, /* until due_ns, then it is raised: no index was left */
	FAULT_CLAIMED, /* its groups are taken, their requests are sent at due_ns: the profile's time */
	FAULT_FAILED,	/* could not be raised, the transport is told at due_ns */
	FAULT_RAISED,	/* the port's */
	FAULT_ANSWERED, /* resumes at due_ns */
	FAULT_CLEARING, /* its bit is cleared at due_ns */
};

struct rdma_fault {
	struct port_request request; /* first */
	struct port_request_own own;
	struct rdma *device;
	struct rdma_pair *pair; /* NULL: destroyed meanwhile */
	enum rdma_side side;
	enum report_state state;
	int error;
	__u32 refusals;
	__u64 due_ns;
	struct rdma_fault *next_answered;
	__u64 pages[FAULT_PAGES];
	__u16 groups[GROUP_INDEX_MAX];
};

struct fault_unit {
	struct rdma_fault *faults; /* all there are */
	__u32 room;
	__u32 open_count;
	__u32 *open;			       /* indices of those that are not free */
	__u32 *free;			       /* stack, room - open_count of them */
	__u32 limit;			       /* of one kind */
	__u64 detect_ns, resume_ns;	       /* the profile's */
	_Atomic(struct rdma_fault *) answered; /* by the port's threads */
	struct dma probe;		       /* for what is asked for ahead */
};

/* A change by another thread, carried out between two rounds. */
struct engine_call {
	int (*run)(struct rdma *device, void *argument);
	void *argument;
	int result;
	bool done; /* atomic */
};

struct rdma {
	struct rdma_place place;
	const struct rdma_settings *settings;
	struct transport_settings transport;
	struct port *port;
	__u32 pasid;
	__u16 queues; /* of the port */
	struct region_table *regions;
	struct rdma_link_end *link;
	struct observe *observe;
	struct verbs_backend *backend;
	struct hyv_host *host; /* of which the backend is; NULL: it has no mode */
	struct rdma_totals *result;
	struct inject_table *injections;
	__u32 tenant; /* index in the machine */

	pthread_mutex_t callers; /* one call at a time */
	_Atomic(struct engine_call *) call;
	pthread_t thread;
	bool running;
	atomic_bool stopping;
	struct doorbell *bell;
	_Atomic __u64 epoch; /* odd: within a round */

	struct rdma_pair *pairs[VERBS_QUEUE_PAIRS_MAX];
	__u8 generations[VERBS_QUEUE_PAIRS_MAX];
	struct rdma_queue *completion_queues[VERBS_QUEUES_MAX];
	struct rdma_shared *shared[VERBS_SRQS_MAX];
	struct rdma_pair *live[VERBS_QUEUE_PAIRS_MAX]; /* those that can do something */
	__u32 live_count, turn;
	struct rdma_queue *dirty;
	struct fault_unit faults;
	struct dma pieces[PACKET_PAGES];
	struct access_batch *accesses; /* one a queue of the port */
	__u64 accessed;		       /* a bit for each that has something */
	__u64 swept_ns;		       /* when open ranges were looked through */
	__u64 round_ns;		       /* when this round has begun */
	__u64 state_ns;		       /* when the pairs' state is told next */

	_Atomic __u64 least_ns[RDMA_STEPS]; /* rdma_least() */

	struct rdma_totals totals; /* what is counted here; of destroyed pairs the sums */
	pthread_mutex_t counting;  /* of what the backend's thread counts */
};

static inline struct rdma_pair *pair_find(const struct rdma *device, __u32 number)
{
	struct rdma_pair *pair = device->pairs[number & (VERBS_QUEUE_PAIRS_MAX - 1)];

	return pair && pair->number == number ? pair : NULL;
}

/* The port's queue that its DMA and its faults are of. */
static inline __u16 pair_queue(const struct rdma_pair *pair)
{
	return (__u16)(pair->number % pair->device->queues);
}

static inline bool side_writes(enum rdma_side side)
{
	return side == RDMA_INITIATOR_WRITES || side == RDMA_RESPONDER_WRITES;
}

static inline bool side_initiates(enum rdma_side side)
{
	return side == RDMA_INITIATOR_READS || side == RDMA_INITIATOR_WRITES;
}

/* Posts are heard of by command alone, which is a way through the host: where there is none they are stores. */
static inline bool device_forwards_posts(const struct rdma *device)
{
	const struct rdma_settings *settings = device->settings;

	return settings->forward_posts &&
	       (settings->mode == RDMA_MODE_HYBRID || settings->mode == RDMA_MODE_ODP);
}

static inline bool device_has_mode(const struct rdma *device)
{
	return device->settings->mode;
}

static inline bool depth_valid(__u32 depth)
{
	return depth && depth <= VERBS_DEPTH_MAX && !(depth & (depth - 1));
}

static inline struct verbs_completion *queue_entry(const struct rdma_queue *queue, __u64 index)
{
	return (struct verbs_completion *)(queue->memory.host +
					   sizeof(struct verbs_completion_words)) +
	       (index & (queue->depth - 1));
}

static inline unsigned int transfer_rights(const struct rdma_transfer *transfer)
{
	bool write = side_writes(transfer->side);

	if (transfer->remote)
		return write ? VERBS_REMOTE_WRITE : VERBS_REMOTE_READ;
	return write ? VERBS_LOCAL_WRITE : 0;
}

/* Through a transfer's pieces: begins with {transfer, skip = transfer->offset, left}. */
struct transfer_walk {
	const struct rdma_transfer *transfer;
	__u64 skip, left; /* bytes; what is left at the end there is no piece for */
	__u32 piece;
};

/* The part of the next piece, at most `left` bytes. False: there is none. */
static inline bool transfer_next(struct transfer_walk *walk, struct verbs_sge *part)
{
	while (walk->piece < walk->transfer->pieces && walk->left) {
		const struct verbs_sge *piece = &walk->transfer->piece[walk->piece++];
		__u64 bytes = piece->length - walk->skip;

		if (walk->skip >= piece->length) {
			walk->skip -= piece->length;
			continue;
		}
		if (bytes > walk->left)
			bytes = walk->left;
		*part = (struct verbs_sge){piece->address + walk->skip, (__u32)bytes, piece->key};
		walk->left -= bytes;
		walk->skip = 0;
		return true;
	}
	return false;
}

/* A piece, or a part of one, against what its key stands for. What a shared receive queue gave is of that queue's domain. */
static inline int transfer_check(const struct rdma_pair *pair, const struct rdma_transfer *transfer,
				 const struct verbs_sge *part, const struct region **region)
{
	bool receive = transfer->side == RDMA_RESPONDER_WRITES && !transfer->remote;
	const struct region_range range = {
		.address = part->address,
		.bytes = part->length,
		.key = part->key,
		.domain = receive && pair->shared ? pair->shared->domain : pair->setup.domain,
		.rights = transfer_rights(transfer),
	};

	return region_check(pair->device->regions, &range, region);
}

extern const struct device_class rdma_class;

/* rdma.c */
int rdma_start(void **device, struct port *port, const struct device_setup *setup);
void rdma_stop(void *device);
/* Any thread but the engine's: -ESHUTDOWN once it has ended. */
int engine_do(struct rdma *device, int (*run)(struct rdma *device, void *argument), void *argument);

/* engine_loop.c: the thread */
void *rdma_engine(void *device);

/* pairs.c */
/* Where it is: `host` if it is the host's, else pinned guest memory; -EFAULT: that is not pinned. */
int pinned_find(struct rdma *device, struct pinned *memory, unsigned char *host, __u64 iova,
		__u64 bytes);
void pair_release(struct rdma *device, struct rdma_pair *pair);
/* Looks at its doorbell words. True: there was something new. */
bool pair_poll(struct rdma_pair *pair);
/* It goes into error, if something said so. */
void pair_fail(struct rdma_pair *pair, __u64 now_ns);
bool pair_next_send(void *device, struct queue_pair *transport, struct verbs_send *send);
bool pair_next_receive(void *device, struct queue_pair *transport, struct verbs_receive *receive);
extern const struct transport_ops rdma_transport_ops;

/* A doorbell word of a ring: 0, 1: it has moved on, -EINVAL: it makes no sense. */
int pair_ring_read(struct pair_ring *ring, const __u64 *word, __u32 depth);
/* Some of what is posted, at most PAIR_FETCH, up to the ring's end. 0: nothing; -EFAULT. */
int pair_ring_fetch(struct pair_ring *ring, const unsigned char *entries, __u32 depth, void *into);
/* Its guest has written nonsense. */
void pair_blame(struct rdma_pair *pair, const char *why);

/* shared.c */
/* The next receive for this pair; false: there is none. */
bool shared_next(struct rdma_pair *pair, struct verbs_receive *receive);
struct rdma_shared *shared_of(const struct rdma *device, __u32 number);

/* times.c: when what happened to the work requests of a device with a mode */
struct send_times;
int times_create(struct rdma_pair *pair);
int times_queue_create(struct rdma *device, struct rdma_queue *queue);
void times_posted(struct rdma_pair *pair, __u64 from, __u64 to);
void times_given(struct rdma_pair *pair, __u64 index, const struct verbs_send *send);
void times_moved(struct rdma_pair *pair, const struct rdma_transfer *transfer, __u32 bytes);
/* A completion of the pair will be the queue's next one. */
void times_completed(struct rdma_pair *pair, struct rdma_queue *queue,
		     const struct verbs_completion *completion);
/* A send has succeeded without one. */
void times_retired(struct rdma_pair *pair, const struct verbs_completion *completion);
/* What is staged is about to be the guest's to see. */
void times_writing(struct rdma_queue *queue);
/* Tells of what the guest has taken, as queue->taken says. */
void times_reap(struct rdma *device, struct rdma_queue *queue);
/* ... and of the rest, which the guest will not take any more. */
void times_forsaken(struct rdma_queue *queue);
void times_free(struct rdma_pair *pair);

/* completions.c */
/* Looks at what the guests have taken. */
void queues_reap(struct rdma *device);
void queue_free(struct rdma_queue *queue);
void pair_complete(void *device, struct queue_pair *transport,
		   const struct verbs_completion *completion);
void pair_retire(void *device, struct queue_pair *transport,
		 const struct verbs_completion *completion);
void queue_flush(struct rdma *device, struct rdma_queue *queue);
void queues_flush(struct rdma *device);

/* data.c */
int data_gather(void *device, struct queue_pair *transport, const struct rdma_transfer *from,
		void *to, __u32 bytes);
int data_scatter(void *device, struct queue_pair *transport, const struct rdma_transfer *to,
		 const void *from, __u32 bytes);
int data_check(void *device, struct queue_pair *transport, const struct rdma_transfer *range);

/* accesses.c */
int accesses_create(struct rdma *device);
/* The bytes of one packet were moved: the first `count` of device->pieces. */
void accesses_add(struct rdma_pair *pair, enum rdma_side side, __u32 count);
/* What has come to an end, to counters, access log and truth. */
void accesses_report(struct rdma *device);
/* What is open of the pair comes to an end. */
void accesses_end(struct rdma_pair *pair);

/* faults.c */
int fault_unit_create(struct rdma *device);
void fault_unit_destroy(struct rdma *device);
/* These pages of the transfer's next bytes are absent: reports them, or not. What the transport is told later is from here. */
void faults_absent(struct rdma_pair *pair, const struct rdma_transfer *transfer, const __u64 *pages,
		   __u32 count, __u32 bytes);
bool faults_run(struct rdma *device, __u64 now_ns);
/* 0: nothing is due by itself. */
__u64 faults_next_ns(const struct rdma *device);
void faults_forget(struct rdma_pair *pair);
/* What the side's last absent page is because of; unknown: it is over, or no index was left for it. */
struct observe_fault fault_unit_open(const struct rdma_pair *pair, enum rdma_side side);
/* The device ends: what was answered resumes, what was claimed is abandoned, what was held is forgotten. */
void faults_end(struct rdma *device);

/* account.c */
void account_event(void *device, struct queue_pair *transport, const struct transport_event *event);
void account_lost_packet(struct rdma *device, const struct rdma_pair *pair,
			 const struct rdma_packet *packet, __u64 now_ns);
void account_pair_gone(struct rdma *device, const struct rdma_pair *pair);
void account_state(struct rdma *device, __u64 now_ns);
__u64 account_token(void *device);
/* With what regions, IOPT and link have. */
void account_totals(struct rdma *device, struct rdma_totals *totals);

#endif
