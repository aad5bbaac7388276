// SPDX-License-Identifier: GPL-2.0
/* Posting and polling: no system call, no allocation, a spin lock for each queue, which libibverbs' users may share. */
#include <errno.h>
#include <string.h>

#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/library.h"

#define POLL_MOST 16

/* The pieces' bytes lie in the entry's place from now on. Its turn comes again once the device is done with it. */
static int inline_copy(struct library_qp *qp, struct verbs_send *send,
		       const struct ibv_send_wr *request)
{
	struct library_inline *data = &qp->inline_data;
	unsigned char *place;
	__u64 bytes = 0;

	for (int i = 0; i < request->num_sge; i++)
		bytes += request->sg_list[i].length;
	if (bytes > data->place)
		return -EINVAL;
	if (!bytes)
		return 0;
	place = data->memory + (qp->sent & (qp->send_depth - 1)) * data->place;
	send->piece[0] = (struct verbs_sge){
		.address = (__u64)place, .length = (__u32)bytes, .key = data->mr.key};
	for (int i = 0; i < request->num_sge; i++) {
		memcpy(place, (void *)(uintptr_t)request->sg_list[i].addr,
		       request->sg_list[i].length);
		place += request->sg_list[i].length;
	}
	return 1;
}

static int post_one(struct library_qp *qp, const struct ibv_send_wr *request)
{
	struct verbs_send send;
	int pieces, error = send_of_request(&send, request, qp->signal_all);

	if (error)
		return error;
	if (request->send_flags & IBV_SEND_INLINE) {
		/* A full queue's next place is still in use. */
		if (!verbs_send_room(qp->pair))
			return -ENOMEM;
		pieces = inline_copy(qp, &send, request);
	} else {
		pieces = sges_of_list(send.piece, request->sg_list, request->num_sge);
	}
	if (pieces < 0)
		return pieces;
	send.pieces = (__u8)pieces;
	error = verbs_post_send(qp->pair, &send);
	if (!error)
		qp->sent++;
	return error;
}

static int library_post_send(struct ibv_qp *qp, struct ibv_send_wr *request,
			     struct ibv_send_wr **bad)
{
	struct library_qp *own = (struct library_qp *)qp;
	int error = 0;

	pthread_spin_lock(&own->send);
	if (qp->state < IBV_QPS_RTS)
		error = -EINVAL;
	for (; request && !error; request = error ? request : request->next)
		error = post_one(own, request);
	pthread_spin_unlock(&own->send);
	if (error)
		*bad = request;
	return -error;
}

static int receive_of_request(struct verbs_receive *receive, const struct ibv_recv_wr *request)
{
	int pieces;

	*receive = (struct verbs_receive){.id = request->wr_id};
	pieces = sges_of_list(receive->piece, request->sg_list, request->num_sge);
	if (pieces < 0)
		return pieces;
	receive->pieces = (__u8)pieces;
	return 0;
}

static int library_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request,
			     struct ibv_recv_wr **bad)
{
	struct library_qp *own = (struct library_qp *)qp;
	int error = qp->srq || qp->state == IBV_QPS_RESET ? -EINVAL : 0;
	struct verbs_receive receive;

	pthread_spin_lock(&own->receive);
	for (; request && !error; request = error ? request : request->next) {
		error = receive_of_request(&receive, request);
		if (!error)
			error = verbs_post_recv(own->pair, &receive);
	}
	pthread_spin_unlock(&own->receive);
	if (error)
		*bad = request;
	return -error;
}

static int library_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *request,
				 struct ibv_recv_wr **bad)
{
	struct library_srq *own = (struct library_srq *)srq;
	struct verbs_receive receive;
	int error = 0;

	pthread_spin_lock(&own->post);
	for (; request && !error; request = error ? request : request->next) {
		error = receive_of_request(&receive, request);
		if (!error)
			error = verbs_post_srq_recv(own->verbs, &receive);
	}
	pthread_spin_unlock(&own->post);
	if (error)
		*bad = request;
	return -error;
}

static int library_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	struct library_cq *own = (struct library_cq *)cq;
	struct verbs_completion completions[POLL_MOST];
	int taken = 0, got;

	pthread_spin_lock(&own->poll);
	do {
		int most = count - taken < POLL_MOST ? count - taken : POLL_MOST;

		got = verbs_poll_cq(own->queue, most, completions);
		for (int i = 0; i < got; i++)
			wc_of_completion(&wc[taken++], &completions[i]);
	} while (got == POLL_MOST && taken < count);
	pthread_spin_unlock(&own->poll);
	return taken;
}

void library_data_ops(struct ibv_context_ops *ops)
{
	ops->post_send = library_post_send;
	ops->post_recv = library_post_recv;
	ops->post_srq_recv = library_post_srq_recv;
	ops->poll_cq = library_poll_cq;
	ops->req_notify_cq = library_notify;
}
