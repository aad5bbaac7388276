/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device that does DMA on demand, whatever it is: QEMU's edu, or an NVMe controller driven from
 * here with an admin and one I/O queue.
 *
 * A DMA moves up to a page and does not need to succeed: it may be aimed at an address that is
 * not mapped. What the device keeps of its own in memory (queues) lies in `control`.
 */
#ifndef FAULTLINE_REAL_MASTER_H
#define FAULTLINE_REAL_MASTER_H

#include "injectors/real/nvme_command.h"
#include "injectors/real/vfio_device.h"
#include "injectors/real/vfio_space.h"

#define MASTER_CONTROL_BYTES (16u * NVME_PAGE)
#define MASTER_DEPTH_MAX     32u /* DMAs that one device may have begun */

enum master_kind { MASTER_EDU, MASTER_NVME };

/* As the memory sees it. */
enum master_direction { MASTER_WRITES_MEMORY, MASTER_READS_MEMORY };

struct master_dma {
	enum master_direction direction;
	__u64 iova; /* of a page */
};

struct nvme_queue {
	struct vfio_nvme_command *submission;
	volatile struct vfio_nvme_completion *completion;
	__u64 submission_iova, completion_iova;
	unsigned int number, tail, head;
	__u16 phase;
};

struct master {
	enum master_kind kind;
	unsigned int depth; /* DMAs that may be under way at once */
	__u32 bytes;	    /* of each */
	bool interrupts;    /* DMAs end with one */
	bool may_overwrite; /* what the device stores may be written */
	struct vfio_device device;
	void *control;
	__u64 control_iova;
	__u64 dmas, refused; /* begun; ended with an error of the device */
	/* NVMe */
	struct nvme_queue admin, io;
	unsigned int doorbell_stride;
	__u64 blocks;
	__u32 block_bytes;
	__u16 next_id;
};

/* What the device at this address is, from sysfs; -EOPNOTSUPP: nothing that we can drive. */
int master_identify(const char *address, enum master_kind *kind);
const char *master_kind_name(enum master_kind kind);
/* Makes the device ready; `control` is mapped at control_iova already. Also after a reset. */
int master_start(struct master *master);
void master_stop(struct master *master);
int master_begin(struct master *master, const struct master_dma *dma);
/* Waits for the DMA begun first. `refused`: the device says that it failed. */
int master_wait(struct master *master, bool *refused);
/* One of them alone: begins and waits. */
int master_dma(struct master *master, const struct master_dma *dma, bool *refused);

int edu_start(struct master *master);
int edu_begin(struct master *master, const struct master_dma *dma);
int edu_wait(struct master *master, bool *refused);
int nvme_start(struct master *master);
void nvme_stop(struct master *master);
int nvme_begin(struct master *master, const struct master_dma *dma);
int nvme_wait(struct master *master, bool *refused);
/* Reads or stores blocks of namespace 1 through the I/O queue; `list` describes the pages. */
int nvme_move(struct master *master, bool store, __u64 block, __u64 iova, __u64 bytes,
	      bool *refused);

/* Sleeps or spins between two looks at a device; false once `since_ns` is too long ago. */
bool master_patience(__u64 since_ns, __u64 limit_ns);

#endif
