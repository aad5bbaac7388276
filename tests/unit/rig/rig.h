/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine for tests: tenants, memory, IOPT, lookup, ports and service as they are, but no device
 * models and no drivers; the test is the device. The truth log is the test's own recorder.
 */
#ifndef FAULTLINE_TEST_RIG_H
#define FAULTLINE_TEST_RIG_H

#include "injectors/emu/machine_private.h"
#include "injectors/emu/truth.h"

struct rig_config {
	__u32 tenants;			  /* 0: 1 */
	__u32 devices;			  /* per tenant, 0: 1 */
	__u64 memory;			  /* per tenant, 0: 2 MiB */
	__u64 memlock;			  /* per tenant, 0: no limit */
	__u16 queues;			  /* 0: 4 */
	__u32 group_pages, queue_entries; /* 0: 512, 256 */
	__u32 page_requests;		  /* 0: no limit */
	__u64 response_timeout_ns;	  /* 0: 10 s */
	__u64 reenable_ns;
	enum lookup_kind lookup;
	enum scheduler_kind scheduler;
	__u64 memory_limit;    /* 0: none; its reclaimer is not started */
	const cpu_set_t *cpus; /* of every tenant */
};

void rig_stop(struct machine *rig);
void rig_destroy(struct machine *rig);

/* The machine of the test that runs, and cmocka's teardown of that. */
extern struct machine *rig;
void rig_build(struct rig_config config);
int rig_teardown(void **state);

/* Arms an injection without limits on all devices under id 1. */
void rig_arm(struct machine *rig, enum inject_point point, __u64 delay_ns, __s64 times);

/* No fault of the first device is given up any more, on however slow a machine. None may be being raised. */
void rig_be_patient(void);

/* DMA that a port refused and translations out of order, of all devices. */
__u64 rig_violations(const struct machine *rig);

/* What truth_log() was given since the last clear, in the order of its time. */
const struct truth_record *rig_truth(size_t *count);
size_t rig_truth_count(__u8 what);
/* First record of this kind, fault and (if not 0) address; NULL. */
const struct truth_record *rig_truth_find(__u8 what, __u64 fault, __u64 address);
void rig_truth_clear(void);

#endif
