// SPDX-License-Identifier: GPL-2.0
/*
 * struct ibv_qp_ex: work requests that are built by calls, from wr_start() to wr_complete(), which posts all of them or none.
 * They are kept as struct ibv_send_wr until then, and go the way of ibv_post_send().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/library.h"

#define OPERATIONS \
	((__u64)(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ))

/* Requests under way: as many as the send queue holds, allocated with the queue pair. */
struct library_wr {
	__u32 count, most;
	int error;
	struct {
		struct ibv_send_wr request;
		struct ibv_sge piece[VERBS_SGE_MAX];
		unsigned char bytes[INLINE_BYTES_MAX];
	} one[];
};

static struct library_qp *qp_of(struct ibv_qp_ex *qp)
{
	return (struct library_qp *)qp;
}

static void wr_start(struct ibv_qp_ex *qp)
{
	struct library_qp *own = qp_of(qp);

	pthread_mutex_lock(&qp->qp_base.mutex);
	own->building->count = 0;
	own->building->error = 0;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	pthread_mutex_unlock(&qp->qp_base.mutex);
}

static void wr_begin(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t key,
		     uint64_t address)
{
	struct library_wr *building = qp_of(qp)->building;
	struct ibv_send_wr *request;

	if (building->count == building->most) {
		building->error = ENOMEM;
		return;
	}
	request = &building->one[building->count++].request;
	*request = (struct ibv_send_wr){
		.wr_id = qp->wr_id, .opcode = opcode, .send_flags = qp->wr_flags};
	request->wr.rdma.rkey = key;
	request->wr.rdma.remote_addr = address;
}

static void wr_send(struct ibv_qp_ex *qp)
{
	wr_begin(qp, IBV_WR_SEND, 0, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t key, uint64_t address)
{
	wr_begin(qp, IBV_WR_RDMA_WRITE, key, address);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t key, uint64_t address)
{
	wr_begin(qp, IBV_WR_RDMA_READ, key, address);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
	struct library_wr *building = qp_of(qp)->building;
	__u32 last = building->count - 1;

	if (building->error)
		return;
	if (!building->count || count > VERBS_SGE_MAX) {
		building->error = EINVAL;
		return;
	}
	memcpy(building->one[last].piece, list, count * sizeof(*list));
	building->one[last].request.sg_list = building->one[last].piece;
	building->one[last].request.num_sge = (int)count;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t key, uint64_t address, uint32_t length)
{
	const struct ibv_sge one = {.addr = address, .length = length, .lkey = key};

	wr_set_sge_list(qp, 1, &one);
}

/* The program may use its memory again at once, and posts later: the bytes are kept. */
static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t count,
				    const struct ibv_data_buf *list)
{
	struct library_wr *building = qp_of(qp)->building;
	__u32 last = building->count - 1;
	struct ibv_sge all;
	size_t bytes = 0;

	if (building->error)
		return;
	for (size_t i = 0; i < count && building->count; i++) {
		if (list[i].length > INLINE_BYTES_MAX - bytes) {
			building->error = EINVAL;
			return;
		}
		memcpy(building->one[last].bytes + bytes, list[i].addr, list[i].length);
		bytes += list[i].length;
	}
	if (building->count) {
		all = (struct ibv_sge){.addr = (uintptr_t)building->one[last].bytes,
				       .length = (uint32_t)bytes};
		building->one[last].request.send_flags |= IBV_SEND_INLINE;
	}
	wr_set_sge_list(qp, 1, &all);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *address, size_t length)
{
	const struct ibv_data_buf one = {.addr = address, .length = length};

	wr_set_inline_data_list(qp, 1, &one);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct library_wr *building = qp_of(qp)->building;
	struct ibv_send_wr *bad;
	int error = building->error;

	for (__u32 i = 0; i + 1 < building->count; i++)
		building->one[i].request.next = &building->one[i + 1].request;
	/* All or none: what there is no room for is not begun. */
	if (!error && building->count > verbs_send_room(qp_of(qp)->pair))
		error = ENOMEM;
	if (!error && building->count)
		error = ibv_post_send(&qp->qp_base, &building->one[0].request, &bad);
	pthread_mutex_unlock(&qp->qp_base.mutex);
	return error;
}

int library_extended_ops(struct library_qp *qp, __u64 operations)
{
	if (operations & ~OPERATIONS)
		return -EOPNOTSUPP;
	qp->building =
		calloc(1, sizeof(*qp->building) + qp->send_depth * sizeof(qp->building->one[0]));
	if (!qp->building)
		return -ENOMEM;
	qp->building->most = qp->send_depth;
	qp->ex.wr_start = wr_start;
	qp->ex.wr_abort = wr_abort;
	qp->ex.wr_complete = wr_complete;
	qp->ex.wr_set_sge = wr_set_sge;
	qp->ex.wr_set_sge_list = wr_set_sge_list;
	qp->ex.wr_set_inline_data = wr_set_inline_data;
	qp->ex.wr_set_inline_data_list = wr_set_inline_data_list;
	if (operations & IBV_QP_EX_WITH_SEND)
		qp->ex.wr_send = wr_send;
	if (operations & IBV_QP_EX_WITH_RDMA_WRITE)
		qp->ex.wr_rdma_write = wr_rdma_write;
	if (operations & IBV_QP_EX_WITH_RDMA_READ)
		qp->ex.wr_rdma_read = wr_rdma_read;
	return 0;
}

void library_extended_free(struct library_qp *qp)
{
	free(qp->building);
}
