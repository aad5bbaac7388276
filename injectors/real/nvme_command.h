/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVMe commands as a driver builds them (NVM Express base specification 1.4, section 4.2), for one
 * queue pair of 64 entries and pages of 4 KiB. Pure: nothing here touches a device.
 */
#ifndef FAULTLINE_REAL_NVME_COMMAND_H
#define FAULTLINE_REAL_NVME_COMMAND_H

#include <linux/types.h>

#define NVME_PAGE	4096ul
#define NVME_ENTRIES	64u /* of each queue: a submission queue is just one page */
#define NVME_LIST_PAGES (NVME_PAGE / sizeof(__u64))
#define NVME_BYTES_MAX	((NVME_LIST_PAGES + 1) * NVME_PAGE)

/* A submission queue entry. */
struct vfio_nvme_command {
	__u8 opcode;
	__u8 flags; /* 0: PRPs, not fused */
	__u16 id;
	__u32 namespace_id;
	__u64 reserved;
	__u64 metadata;
	__u64 prp1, prp2;
	__u32 cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};

/* A completion queue entry; the lowest bit of status is the phase. */
struct vfio_nvme_completion {
	__u32 result;
	__u32 reserved;
	__u16 queue_head;
	__u16 queue;
	__u16 id;
	__u16 status;
};

_Static_assert(sizeof(struct vfio_nvme_command) == 64, "the device reads it");
_Static_assert(sizeof(struct vfio_nvme_completion) == 16, "the device writes it");

enum nvme_identify { NVME_IDENTIFY_NAMESPACE = 0, NVME_IDENTIFY_CONTROLLER = 1 };

void nvme_identify(struct vfio_nvme_command *command, enum nvme_identify what, __u32 namespace_id,
		   __u64 iova);
/* Queue 1 with its interrupt vector; vector < 0: polled. */
void nvme_create_completion_queue(struct vfio_nvme_command *command, __u64 iova, int vector);
void nvme_create_submission_queue(struct vfio_nvme_command *command, __u64 iova);
/* Blocks as of the namespace; `store`: from memory to the medium. PRPs come from nvme_prps(). */
void nvme_transfer(struct vfio_nvme_command *command, int store, __u64 block, __u32 blocks);

/*
 * Where the data lies: `bytes` from `iova` on, contiguous in the device's addresses. What does not
 * fit into the command goes into `list`, a page that the device sees at list_iova. Returns the
 * entries written to the list, or -EINVAL: the data is empty or longer than one list describes.
 */
int nvme_prps(struct vfio_nvme_command *command, __u64 iova, __u64 bytes, __u64 *list,
	      __u64 list_iova);

/* Status type and code of a completion, 0: success (base specification, figure 126). */
static inline unsigned int nvme_status(const struct vfio_nvme_completion *completion)
{
	return (completion->status >> 1) & 0x7ff;
}

#endif
