/* SPDX-License-Identifier: GPL-2.0 */
/* The controller's engine, between its files: what it keeps for itself, and what of a device outlives its host's process. */
#ifndef FAULTLINE_CLUSTER_NVME_ENGINE_H
#define FAULTLINE_CLUSTER_NVME_ENGINE_H

#include "injectors/cluster/function.h"
#include "injectors/cluster/nvme.h"

#define NVME_EVENTS_HELD 4u /* asynchronous event requests at a time */
#define NVME_ABORTS_HELD 4u
#define NVME_HELD	 0xffffu /* no status: there is no completion yet */
#define NVME_NO_VECTOR	 0xffffu

/* --- in shared memory, by device; written by its engine alone */

/* `word` has times in its lower 16 bits and above them the number of the write that counted, so that a write that a kill has cut short
 * can be carried out again and still counts once. */
struct nvme_block_record {
	__u64 word, sequence;
	__u32 writer, reserved;
};

/* A write on its way to the storage: what a drive's capacitors keep. Carried out again when the host is begun anew. */
struct nvme_journal {
	__u32 valid, blocks;
	__u64 number; /* of writes of this device */
	__u64 first_block;
	__u32 function;
	__u16 queue, slot, id, reserved;
};

struct nvme_function_shared {
	struct nvme_stats stats;
	struct nvme_queue_fate *fates; /* by queue */
	struct io_price *prices;       /* by queue and entry */
};

#define NVME_STRETCH 4096 /* blocks */

struct nvme_disk {
	__u64 blocks;
	__u8 *storage, *buffer; /* buffer: NVME_TRANSFER_BYTES of data on their way */
	struct nvme_block_record *records;
	__u8 *written; /* 1: of the NVME_STRETCH blocks from n times as many on, one has been */
	struct nvme_journal *journal;
	__u32 functions, queues; /* queues: with the admin pair */
	struct nvme_function_shared *shared;
};

struct io_users;
struct nvmes {
	struct io_users *users;	 /* io_user.c */
	struct nvme_disk *disks; /* by device; blocks 0: no NVMe device */
};
struct nvme_disk *nvme_disk(const struct cluster *cluster, __u32 device);

/* io_user.c, by nvmes_create() */
int io_users_create(struct cluster *cluster);

/* --- the engine's own */

struct nvme_submission {
	__u64 address;
	__u32 entries, head, tail, cq; /* entries 0: there is none */
	__u32 refused_tail;	       /* the last doorbell that was out of range */
	__u64 retry_ns;		       /* a fetch has failed: not again before this */
};
struct nvme_completions {
	__u64 address;
	__u32 entries, head, tail, users;
	__u32 refused_head;
	__u16 vector; /* NVME_NO_VECTOR: polled */
	bool phase;
};
struct nvme_abort { /* commands up to this far ahead in a queue may be meant */
	__u32 queue, left;
	__u16 id;
};
enum nvme_state { NVME_STATE_OFF, NVME_STATE_READY, NVME_STATE_FAILED };

struct nvme_controller {
	struct nvme_device *device;
	__u32 function;
	struct initiator initiator;
	__u8 *bar;
	__u32 msix, msix_table_bar; /* offset of the capability, 0: none */
	__u64 msix_table;
	__u32 vectors;
	__u64 vectors_pending;
	enum nvme_state state;
	bool admin_stopped; /* its fetch has failed: CSTS.CFS */
	bool master;	    /* Bus Master is set */
	__u32 resets, next_queue, burst;
	__u32 passed; /* turns of other functions since it was asked last */
	__u32 writes_seen; /* BAR writes by which doorbells of queues that do not exist were looked for */
	struct nvme_submission *sqs;
	struct nvme_completions *cqs;
	struct nvme_abort aborts[NVME_ABORTS_HELD];
	__u16 events[NVME_EVENTS_HELD];
	__u32 events_held, events_pending; /* pending: bits by nvme_event_info */
	struct nvme_function_shared *shared;
};

struct nvme_segment {
	__u64 address, bytes;
};
struct nvme_device {
	struct cluster *cluster;
	__u32 device, function_count;
	struct nvme_disk *disk;
	struct nvme_controller *controllers;
	struct nvme_segment *segments; /* of a command's memory; room for its most */
	__u32 stopped;
};

/* nvme_engine.c */
int nvme_device_open(struct nvme_device **device, struct cluster *cluster, __u32 index);
void nvme_device_close(struct nvme_device *device);
/* Everything that there is to do for each function once: true: something was done. `wait_ns`: when it has to look again. */
bool nvme_device_turn(struct nvme_device *device, __u64 *wait_ns);

/* nvme_queue.c */
void nvme_complete(struct nvme_controller *controller, __u32 queue, __u16 id, __u32 status,
		   __u32 result, struct io_price *price);
bool nvme_completions_room(struct nvme_controller *controller, struct nvme_completions *cq,
			   __u32 number);
void nvme_tail_look(struct nvme_controller *controller, struct nvme_submission *sq, __u32 number);
void nvme_unused_doorbells(struct nvme_controller *controller);
void nvme_interrupts_pending(struct nvme_controller *controller);
void nvme_interrupt_find(struct nvme_controller *controller);
__u32 nvme_bar_read(const struct nvme_controller *controller, __u64 offset);
void nvme_bar_write(struct nvme_controller *controller, __u64 offset, __u32 value);

enum nvme_event_info { NVME_EVENT_DOORBELL, NVME_EVENT_DOORBELL_VALUE, NVME_EVENT_INTERNAL = 3 };
void nvme_event(struct nvme_controller *controller, enum nvme_event_info info);
void nvme_events_deliver(struct nvme_controller *controller);

/* nvme_admin.c */
__u32 nvme_admin(struct nvme_controller *controller, const struct nvme_command *command,
		 __u32 *result);
bool nvme_abort_wanted(struct nvme_controller *controller, __u32 queue, __u16 id);

/* nvme_io.c. `slot` of its queue; *data_ns: what its data took. */
__u32 nvme_io(struct nvme_controller *controller, __u32 queue, __u32 slot,
	      const struct nvme_command *command, __u64 *data_ns);
__u32 nvme_send(struct nvme_controller *controller, const struct nvme_command *command,
		const void *data, __u64 bytes, __u64 *data_ns);
void nvme_journal_finish(struct nvme_disk *disk, struct cluster *cluster, __u32 device);

#endif
