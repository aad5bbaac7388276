/* SPDX-License-Identifier: GPL-2.0 */
/* Two programs of libibverbs' interface, of devices that are each other's peers with a wire between (rig/verbs_wire.h). */
#ifndef FAULTLINE_LIBRARY_WORLD_H
#define FAULTLINE_LIBRARY_WORLD_H

#include "tests/unit/test.h"

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "tests/unit/rig/verbs_wire.h"

#define SIDE_BYTES  20000
#define SIDE_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* One side: a program with one of everything. */
struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *buffer;
};

extern struct side sides[2];
extern int library_ends[2]; /* of the wire */

/* Two, of LIDs 7 and 8; made by the first call. */
struct ibv_device **library_devices(void);
void side_open(struct side *side, int number, bool shared);
/* What a side's queue pair is made with: depths of 5, which become 8. */
struct ibv_qp_init_attr side_wanted(const struct side *side);
void side_init(struct ibv_qp *qp);
/* From INIT on. */
void side_connect(struct ibv_qp *qp, __u32 peer, __u16 lid);
/* Set-up and tear-down: both sides, connected; without and with shared receive queues. All is gone in the end. */
int sides_open(void **state);
int sides_open_shared(void **state);
int sides_close(void **state);
struct ibv_sge side_piece(const struct side *side, __u32 at, __u32 bytes);
int side_receive(struct side *side, __u64 id, __u32 at, __u32 bytes);
struct ibv_send_wr request_of(enum ibv_wr_opcode opcode, __u64 id, struct ibv_sge *pieces,
			      int count);
struct ibv_wc side_completion(struct side *side);
/* Eight bytes, up to the sender's completion. */
void side_send(struct side *from, struct side *to);
bool readable(int descriptor);
void wait_readable(int descriptor);
/* What a child says on its standard error. */
void child_says(void (*run)(void *argument), void *argument, char *text, size_t size);

#endif
