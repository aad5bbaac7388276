/* SPDX-License-Identifier: GPL-2.0 */
/* For programs whose tests have one cluster open at a time. */
#ifndef FAULTLINE_TEST_CLUSTER_ONE_H
#define FAULTLINE_TEST_CLUSTER_ONE_H

#include "injectors/cluster/ntb.h"
#include "tests/unit/cluster_fixture.h"

extern struct cluster_fixture fixture;
extern struct cluster *cluster;

/* fixture_open(), and a teardown that closes what is open. */
void open_one(const char *text, void (*change)(struct cluster_config *config));
int close_one(void **state);
/* A window of `adapter`, owned by cluster->self, of no borrow; the test fails without it. */
struct ntb_window map_one(const char *adapter, __u32 far_host, __u64 far, __u64 bytes);

#endif
