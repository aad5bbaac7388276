/* SPDX-License-Identifier: GPL-2.0 */
/* A machine of two guests with an RDMA device each, peers of each other, that no driver of ours runs: the bench does what a driver would. */
#ifndef FAULTLINE_BENCH_RDMA_ENDS_H
#define FAULTLINE_BENCH_RDMA_ENDS_H

#include "injectors/emu/device_driver.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/rdma/rdma.h"

#define RDMA_ENDS 2

struct rdma_ends {
	struct tenant_config tenants[RDMA_ENDS];
	struct device_config devices[RDMA_ENDS];
	struct device_class class;
	struct machine_config machine;
	struct driver_setup given[RDMA_ENDS]; /* once the machine has been started */
};

/* There is one. Each tenant has `memory` bytes; what else an end differs in is its caller's to set, in *rdma_ends_settings(). */
struct rdma_ends *rdma_ends_describe(__u64 memory);
struct rdma_settings *rdma_ends_settings(struct rdma_ends *ends, int end);

#endif
