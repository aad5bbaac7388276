/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine (rig.h) with one device of verbs that is a fake (verbs_fake.h) and has a mode, and a guest's half that is the test's own: it
 * writes its virtqueue itself, and may write anything.
 */
#ifndef FAULTLINE_TEST_HYV_WORLD_H
#define FAULTLINE_TEST_HYV_WORLD_H

#include "injectors/emu/hyv/hyv_host_private.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "tests/unit/rig/rig.h"
#include "tests/unit/verbs_fake.h"

#define HYV_WORLD_MEMORY (8 * HUGE_BYTES)
#define HYV_WORLD_SHARE	 HUGE_BYTES	  /* where the device's share begins */
#define HYV_WORLD_BYTES	 (4 * HUGE_BYTES) /* of it */

struct hyv_half {
	int socket, faults;
	struct hyv_hello hello;
	int descriptors[HYV_DESCRIPTORS];
	unsigned char *memory; /* the guest's view of guest address 0 */
	struct hyv_shared *shared;
	unsigned char *control;
	struct vring ring;
	__u16 published, answered;
	__u64 token;
};

struct hyv_world {
	struct verbs_fake fake;
	struct rdma_settings settings;
	struct channel *channel;
	struct hyv_host *host;
	struct hyv_half guest;
	__u64 start; /* guest address of the first page that is its to register */
};
extern struct hyv_world hyv;

/* The host; the tenant's quota and memlock are those given. */
void hyv_world_build(enum rdma_mode mode, const struct tenant_quota *quota, __u64 memlock);
/* ... and a guest in this process. */
void hyv_world_guest(void);
/* The guest says goodbye, and has gone. */
void hyv_world_leave(void);
/* Host and machine end; cmocka's. */
int hyv_world_teardown(void **state);

/* Says hello at a socket; 0 or a negative errno. Also in a child, which allocates nothing. */
int half_open(struct hyv_half *half, int socket);
void half_close(struct hyv_half *half);
/* A request with its list, kicked and awaited: its error. -ETIMEDOUT after a minute, -EPIPE: the host has hung up. */
int half_command(struct hyv_half *half, struct verbs_command *command, const __u64 *list,
		 __u32 pages);
/* Likewise, of a kind and arguments; result[0] in *result if that is not NULL. */
int half_do(struct hyv_half *half, __u16 kind, const __u64 argument[5], __u64 *result);

struct hyv_stats hyv_world_stats(void);
/* All of these agree that so many bytes are registered, in every role that the mode has. */
void assert_registered(__u64 bytes);
/* Until nobody is there. */
void hyv_world_await_end(void);

/* Setups of cmocka's. */
int hyv_hybrid(void **state);
int hyv_no_guest(void **state);
/* Verbs of the guest's; pages are those behind control. */
#define HYV_RIGHTS		(VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define HYV_KINDS(kind, rights) ((__u64)(kind) | (__u64)(rights) << 8)
__u64 hyv_page(__u64 page);
int hyv_register(__u64 address, __u64 bytes, __u64 *key);
int hyv_register_list(const __u64 *list, __u32 pages, __u64 address, __u64 bytes, __u64 *key);
int hyv_deregister(__u64 key);
__u64 hyv_create_queue(__u64 page, __u32 depth);
int hyv_create_pair(__u64 page, __u64 queue, __u64 *number);
int hyv_map(__u64 page, __u64 bytes, __u64 resource, __u64 offset);
int hyv_unmap(__u64 page, __u64 bytes);
void hyv_arm(enum inject_point point, __u64 delay_ns, __u32 interval, __s64 times);
/* Of what was refused or has gone: no pin, account, quota, mapping or object. */
void assert_nothing_left(void);

#endif
