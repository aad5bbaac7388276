/* SPDX-License-Identifier: GPL-2.0 */
/* A controller's engine without a thread, and queues of a test that is its host: every command by hand. */
#ifndef FAULTLINE_TEST_NVME_RIG_H
#define FAULTLINE_TEST_NVME_RIG_H

#include "injectors/cluster/nvme_engine.h"
#include "tests/unit/cluster_fixture.h"

#define RIG_BLOCKS (8u << 20 >> 9) /* of its disk */

struct nvme_rig_queue {
	__u32 number, entries, tail, head, phase;
	__u64 commands, completions; /* addresses in RAM of the controller's host */
};
struct nvme_rig {
	struct cluster_fixture fixture;
	struct cluster *cluster;
	struct nvme_device *engine;
	__u32 device, function, host;
	struct nvme_rig_queue admin, io;
	__u64 data; /* a megabyte and a page, for whatever */
};

void nvme_rig_open(struct nvme_rig *rig, void (*change)(struct cluster_config *config));
void nvme_rig_close(struct nvme_rig *rig);
void nvme_rig_register(struct nvme_rig *rig, __u64 offset, __u32 value);
__u32 nvme_rig_read(struct nvme_rig *rig, __u64 offset);
/* Until the engine has nothing to do. */
void nvme_rig_run(struct nvme_rig *rig);
void *nvme_rig_memory(struct nvme_rig *rig, __u64 address, __u64 bytes);
__u64 nvme_rig_alloc(struct nvme_rig *rig, __u64 bytes);
/* Bus Master, the admin pair, enabling. */
void nvme_rig_enable(struct nvme_rig *rig, struct nvme_rig_queue *admin, __u32 function);
void nvme_rig_put(struct nvme_rig *rig, struct nvme_rig_queue *queue,
		  const struct nvme_command *command);
void nvme_rig_ring(struct nvme_rig *rig, struct nvme_rig_queue *queue);
bool nvme_rig_reap(struct nvme_rig *rig, struct nvme_rig_queue *queue,
		   struct nvme_completion *completion);
/* One command from doorbell to completion: its status. */
__u32 nvme_rig_do(struct nvme_rig *rig, struct nvme_rig_queue *queue, struct nvme_command command,
		  __u32 *result);
/* Makes an I/O pair by admin commands; its status. */
__u32 nvme_rig_pair(struct nvme_rig *rig, struct nvme_rig_queue *queue, __u32 number,
		    __u32 entries);
struct nvme_command nvme_rig_io(enum nvme_opcode opcode, __u64 block, __u32 blocks, __u64 prp1,
				__u64 prp2);
/* Status of one I/O of rig.io. */
#define IO(...) nvme_rig_do(&rig, &rig.io, nvme_rig_io(__VA_ARGS__), NULL)
__u32 nvme_rig_admin(struct nvme_rig *rig, enum nvme_opcode opcode, __u32 cdw10, __u32 cdw11,
		     __u64 prp1, __u32 *result);

#endif
