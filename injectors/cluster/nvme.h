/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVMe: the controller's engine, in its lender's process, and the stock driver, on any bus.
 *
 * Registers, commands of 64 bytes, completions of 16 and phases are NVM Express 1.4's (base specification, chapters 3 to 5). The
 * engine arbitrates round robin, fetches commands, moves data and posts completions by access.h alone, as its function, and only
 * while Bus Master is set in its config space (command, bit 2); MSI-X is a write to the address in its table. An accelerator
 * (accel.h) is likewise a function with a BAR of memory.
 */
#ifndef FAULTLINE_CLUSTER_NVME_H
#define FAULTLINE_CLUSTER_NVME_H

#include "injectors/cluster/access.h"
#include "injectors/cluster/bus.h"
#include "injectors/cluster/io_user.h"

#define NVME_BLOCK	    512u
#define NVME_PAGE	    4096u      /* CC.MPS is 0 */
#define NVME_NAMESPACE	    1u	       /* there is one */
#define NVME_QUEUE_ENTRIES  256u       /* CAP.MQES + 1: of a queue at most */
#define NVME_TRANSFER_BYTES (1u << 20) /* MDTS: of a command at most */

/* Registers in BAR 0. The doorbell of queue q: NVME_DOORBELLS + 8 q for its tail, + 4 for its completion queue's head. */
enum nvme_register {
	NVME_CAP = 0x00,
	NVME_VS = 0x08,
	NVME_CC = 0x14,
	NVME_CSTS = 0x1c,
	NVME_AQA = 0x24,
	NVME_ASQ = 0x28,
	NVME_ACQ = 0x30,
	NVME_DOORBELLS = 0x1000,
};
#define NVME_CC_ENABLE		1u
#define NVME_CC_SHUTDOWN(cc)	((cc) >> 14 & 3)
#define NVME_CC_QUEUES		(6u << 16 | 4u << 20) /* entries of 64 and of 16 bytes */
#define NVME_CSTS_READY		1u
#define NVME_CSTS_FATAL		2u
#define NVME_CSTS_SHUTDOWN	(2u << 2) /* complete */
#define NVME_DOORBELL_SQ(queue) (NVME_DOORBELLS + 8u * (queue))
#define NVME_DOORBELL_CQ(queue) (NVME_DOORBELL_SQ(queue) + 4u)

enum nvme_opcode {
	NVME_FLUSH = 0,
	NVME_WRITE = 1,
	NVME_READ = 2,
	NVME_DELETE_SQ = 0x00,
	NVME_CREATE_SQ = 0x01,
	NVME_LOG_PAGE = 0x02,
	NVME_DELETE_CQ = 0x04,
	NVME_CREATE_CQ = 0x05,
	NVME_IDENTIFY = 0x06,
	NVME_ABORT = 0x08,
	NVME_SET_FEATURES = 0x09,
	NVME_GET_FEATURES = 0x0a,
	NVME_ASYNC_EVENT = 0x0c,
	NVME_QUEUE_FATE = 0xc0, /* vendor's: struct nvme_queue_fate of queue cdw[0] to prp1 */
};

enum nvme_feature { NVME_FEATURE_ARBITRATION = 1, NVME_FEATURE_QUEUES = 7 };

/* Status code type (8 bits further up) and status code, as in bits 11 to 1 of a completion's status. */
enum nvme_status {
	NVME_OK = 0,
	NVME_INVALID_OPCODE = 0x01,
	NVME_INVALID_FIELD = 0x02,
	NVME_TRANSFER_ERROR = 0x04,
	NVME_ABORTED = 0x07,
	NVME_INVALID_NAMESPACE = 0x0b,
	NVME_INVALID_PRP_OFFSET = 0x13,
	NVME_OUT_OF_RANGE = 0x80,
	NVME_INVALID_CQ = 0x100,
	NVME_INVALID_QUEUE = 0x101,
	NVME_INVALID_QUEUE_SIZE = 0x102,
	NVME_EVENT_LIMIT = 0x105,
	NVME_INVALID_VECTOR = 0x108,
	NVME_INVALID_LOG_PAGE = 0x109,
	NVME_INVALID_DELETION = 0x10c,
};
#define NVME_STATUS(completion) ((completion)->status >> 1 & 0x7ff)

struct nvme_command {
	__u8 opcode, flags;
	__u16 id;
	__u32 namespace_id;
	__u64 reserved, metadata;
	__u64 prp1, prp2;
	__u32 cdw[6]; /* 10 to 15; of an I/O: first block in 0, 1; blocks - 1 in 2 */
} __attribute__((packed));
struct nvme_completion {
	__u32 result, reserved;
	__u16 sq_head, sq_id, id, status; /* status: phase in bit 0 */
} __attribute__((packed));
_Static_assert(sizeof(struct nvme_command) == 64 && sizeof(struct nvme_completion) == 16,
	       "the specification's");

/*
 * What became of the commands of a submission queue: kept until a queue of this number is created again. A command whose slot
 * has its id and status 0 was carried out, with any other status it was not and never will be; one of another id, or whose slot
 * says NVME_FATE_NONE, was not fetched. Ask when the queue is deleted: before, it may still be.
 */
#define NVME_FATE_NONE 0xffffu
struct nvme_queue_fate {
	__u64 fetched; /* commands, in the queue's life */
	__u32 entries; /* slots of the queue */
	__u32 exists;  /* 0: it is deleted, or never was */
	struct nvme_fate_slot {
		__u16 id, status;
	} slots[NVME_QUEUE_ENTRIES];
};
_Static_assert(sizeof(struct nvme_queue_fate) <= NVME_PAGE, "prp1 alone has room");

/*
 * What an I/O takes, in model ns by stages, beside each entry of a submission queue, in shared memory: no part of the device, but what
 * prices it. Its user begins it before the doorbell and adds what its CPU does (command, doorbell, notice by polling); the engine adds
 * the rest, the last of it just after the completion is visible: nvme_price_take() waits for that, briefly.
 */
struct io_price {
	__u64 model_ns[IO_STAGES];
	__u64 begin_ns; /* CLOCK_MONOTONIC: its user began it */
	__u32 user;	/* agent */
	__u32 priced;	/* the engine has done its part */
};
/* NULL: no such entry. */
struct io_price *nvme_price(const struct cluster *cluster, __u32 function, __u32 queue,
			    __u32 entry);
void nvme_price_begin(struct io_price *price, __u32 user);
/* Copies it, returns the sum. */
__u64 nvme_price_take(struct io_price *price, struct io_price *taken);

/* What became of a device's storage: who wrote a block last, and how often this write was applied (io_user.h names both). */
struct nvme_applied {
	__u64 sequence; /* 0: nobody has */
	__u32 writer, times;
};
struct nvme_applied nvme_applied(const struct cluster *cluster, __u32 device, __u64 block);
/* Blocks of which that was more than once; 0 of a device that has no storage. */
__u64 nvme_applied_twice(const struct cluster *cluster, __u32 device);

/* Of a function since the cluster was made. */
struct nvme_stats {
	__u64 commands; /* of I/O queues, carried out or refused */
	__u64 failed;	/* with a status other than 0, any queue */
	__u64 interrupts, interrupts_masked;
	__u64 failed_fetches; /* of commands: the way to their queue was closed */
	__u64 asynchronous;   /* errors that no command is to blame for: doorbells out of range */
	__u64 resets;
	__u64 most_passed; /* turns of other functions of its device, while its commands waited for one */
};
void nvme_stats(const struct cluster *cluster, __u32 function, struct nvme_stats *stats);

/* Engine threads of the devices in this host, accelerators as well; they end with cluster_stopping(). */
int nvmes_start(struct cluster *cluster);
void nvmes_stop(struct cluster *cluster);

/* The stock driver: probes, makes its admin pair and an I/O pair, runs what `io` asks for, and leaves. Maps and unmaps each
 * I/O's buffer by the DMA API. Ends early with -ENODEV when its device is gone or `*stop` is set; `user` is told of every I/O. */
int nvme_driver_run(struct bus *bus, const struct io_config *io, struct io_user *user,
		    const int *stop);

#endif
