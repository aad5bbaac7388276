// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/nvme_command.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"

enum {
	ADMIN_CREATE_SQ = 0x01,
	ADMIN_CREATE_CQ = 0x05,
	ADMIN_IDENTIFY = 0x06,
	NVM_WRITE = 0x01,
	NVM_READ = 0x02,
};

#define IO_QUEUE	 1u
#define CONTIGUOUS	 1u
#define INTERRUPTS	 2u
#define QUEUE_SIZE_FIELD ((NVME_ENTRIES - 1) << 16)

void nvme_identify(struct vfio_nvme_command *command, enum nvme_identify what, __u32 namespace_id,
		   __u64 iova)
{
	*command = (struct vfio_nvme_command){
		.opcode = ADMIN_IDENTIFY,
		.namespace_id = namespace_id,
		.prp1 = iova,
		.cdw10 = what,
	};
}

void nvme_create_completion_queue(struct vfio_nvme_command *command, __u64 iova, int vector)
{
	*command = (struct vfio_nvme_command){
		.opcode = ADMIN_CREATE_CQ,
		.prp1 = iova,
		.cdw10 = QUEUE_SIZE_FIELD | IO_QUEUE,
		.cdw11 = CONTIGUOUS,
	};
	if (vector >= 0)
		command->cdw11 |= (__u32)vector << 16 | INTERRUPTS;
}

void nvme_create_submission_queue(struct vfio_nvme_command *command, __u64 iova)
{
	*command = (struct vfio_nvme_command){
		.opcode = ADMIN_CREATE_SQ,
		.prp1 = iova,
		.cdw10 = QUEUE_SIZE_FIELD | IO_QUEUE,
		.cdw11 = IO_QUEUE << 16 | CONTIGUOUS,
	};
}

void nvme_transfer(struct vfio_nvme_command *command, int store, __u64 block, __u32 blocks)
{
	*command = (struct vfio_nvme_command){
		.opcode = store ? NVM_WRITE : NVM_READ,
		.namespace_id = 1,
		.cdw10 = (__u32)block,
		.cdw11 = (__u32)(block >> 32),
		.cdw12 = blocks - 1,
	};
}

int nvme_prps(struct vfio_nvme_command *command, __u64 iova, __u64 bytes, __u64 *list,
	      __u64 list_iova)
{
	__u64 first = NVME_PAGE - iova % NVME_PAGE, page = iova + first;
	unsigned int count = 0;

	if (!bytes)
		return failed(-EINVAL, "an NVMe transfer of 0 bytes: accepted: 1 to %lu",
			      NVME_BYTES_MAX);
	command->prp1 = iova;
	command->prp2 = 0;
	if (bytes <= first)
		return 0;
	bytes -= first;
	if (bytes <= NVME_PAGE) {
		command->prp2 = page;
		return 0;
	}
	for (; bytes; page += NVME_PAGE) {
		if (count == NVME_LIST_PAGES)
			return failed(-EINVAL,
				      "an NVMe transfer longer than its PRP list: accepted: at "
				      "most %lu pages after the first",
				      NVME_LIST_PAGES);
		list[count++] = page;
		bytes -= bytes < NVME_PAGE ? bytes : NVME_PAGE;
	}
	command->prp2 = list_iova;
	return (int)count;
}
