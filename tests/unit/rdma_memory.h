/* SPDX-License-Identifier: GPL-2.0 */
/* What a world's queue pairs have of a device. */
#ifndef FAULTLINE_RDMA_MEMORY_H
#define FAULTLINE_RDMA_MEMORY_H

#include "tests/unit/rdma_world.h"

extern const struct transport_ops rdma_world_ops;

struct rdma_operation *rdma_operation_at(struct rdma_end *end, __u64 index);

#endif
