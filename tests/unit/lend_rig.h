/* SPDX-License-Identifier: GPL-2.0 */
/* Two hosts in one process: a borrows from b, which a thread of its own is. */
#ifndef FAULTLINE_TEST_LEND_RIG_H
#define FAULTLINE_TEST_LEND_RIG_H

#include "tests/unit/test.h"

#include "injectors/cluster/lend.h"
#include "injectors/cluster/nvme.h"
#include "tests/unit/cluster_fixture.h"

#define RIG_A 0u
#define RIG_B 1u

struct lend_rig {
	struct cluster_fixture fixture;
	struct cluster *a;	/* this thread */
	struct cluster b, c;	/* views of it, as other agents */
	__u32 function, device; /* disk */
	__u32 na, nb;
	struct cluster_injection injection;
	int lender_runs;
	unsigned long lender;
};
extern struct lend_rig rig;

/* All that must be as before once a borrow is over. */
struct rig_sight {
	__u64 windows, requesters, mapped, pinned;
};

/* `change`: as fixture_open()'s. Registers disk, starts b. */
void rig_open(bool iommu, void (*change)(struct cluster_config *config));
void rig_close(void);
/* b's control thread; engines are b's as well. */
void rig_lender_start(void);
void rig_lender_stop(void);

void rig_look(struct rig_sight *sight);
void rig_assert_same(const struct rig_sight *before);
struct lend_wish rig_wish(void);
void rig_borrow(struct lend_borrow *borrow);
/* Until b offers it again; fails after a while. */
void rig_await(enum lend_state state);
/* Runs the stock driver for so many I/Os of 4 KiB; returns its error. */
int rig_drive(struct bus *bus, __u64 ios, struct io_counts *counts);
/* What its reaper does for a killed process. */
void rig_bury(__u32 agent);

#endif
