/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An emulated machine for benchmarks of verbs: two RDMA devices, of mode native and of mode hybrid, and an end at each that does the same.
 * The native one is the calling thread, as an application in the host; the other one a guest in a process of its own, which waits,
 * asleep, until it is asked. So they can take turns within one run.
 */
#ifndef FAULTLINE_BENCH_HYV_SIDES_H
#define FAULTLINE_BENCH_HYV_SIDES_H

#include "injectors/emu/device_driver.h"
#include "injectors/emu/verbs/verbs_data.h"

enum hyv_side { SIDE_NATIVE, SIDE_HYBRID, SIDES };

/* What is to be done, and how often. */
struct hyv_task {
	__u32 what, count;
	__u64 size;
};

/* Where an end runs. */
struct hyv_place {
	enum hyv_side side;
	struct verbs_device *device;
	/* Memory of the guest's, page aligned, for all that tasks do. */
	unsigned char *memory;
	__u64 address, bytes;
	const int *descriptors; /* of hyv_sides_config */
};

/* Does a task, at either end. `results` is shared by both. 0 or a negative errno with a sentence. */
typedef int hyv_task_run(struct hyv_place *place, const struct hyv_task *task, void *results);

#define HYV_SIDES_DESCRIPTORS 2

struct hyv_sides_config {
	__u64 memory; /* bytes that an end has to do things in */
	hyv_task_run *run;
	size_t results_bytes;
	int descriptors
		[HYV_SIDES_DESCRIPTORS]; /* that the guest's process gets, too; `count` of them */
	__u32 count;
};

/* There is one. -EPERM and others with a sentence. */
int hyv_sides_open(const struct hyv_sides_config *config);
void hyv_sides_close(void);
void *hyv_sides_results(void);
struct hyv_place *hyv_sides_native(void);
/* What the driver of the side's device would be given. */
const struct driver_setup *hyv_sides_setup(enum hyv_side side);
/* One end does it, and this returns when that is done; in two steps: */
int hyv_sides_do(enum hyv_side side, const struct hyv_task *task);
/* Of the hybrid end: asked for, and waited for. */
int hyv_sides_ask(const struct hyv_task *task);
int hyv_sides_await(void);

/* Medians; they sort what they are given. *least: the smallest. */
double hyv_median_ns(__u64 *ns, __u32 count, double *least);
double hyv_median(double *values, int count);

#endif
