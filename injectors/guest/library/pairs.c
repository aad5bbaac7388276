// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: reliable connections to a queue pair of the device's peer, or of the device itself. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/library.h"

static struct library_qp *pairs; /* of all devices, under `pairs_lock` */
static pthread_mutex_t pairs_lock = PTHREAD_MUTEX_INITIALIZER;

struct library_qp *library_qp_failed(const struct verbs_pair *pair)
{
	struct library_qp *qp;

	pthread_mutex_lock(&pairs_lock);
	for (qp = pairs; qp && qp->pair != pair; qp = qp->next)
		;
	if (qp)
		qp->async_got++;
	pthread_mutex_unlock(&pairs_lock);
	return qp;
}

static void qp_list(struct library_qp *qp)
{
	pthread_mutex_lock(&pairs_lock);
	qp->next = pairs;
	pairs = qp;
	pthread_mutex_unlock(&pairs_lock);
}

/* No event of it is got any more; until those that were are acknowledged. */
static void qp_drain(struct library_qp *qp)
{
	struct ibv_qp *base = &qp->ex.qp_base;
	struct library_qp **at;

	pthread_mutex_lock(&pairs_lock);
	for (at = &pairs; *at != qp; at = &(*at)->next)
		;
	*at = qp->next;
	pthread_mutex_unlock(&pairs_lock);
	pthread_mutex_lock(&base->mutex);
	while (base->events_completed != qp->async_got)
		pthread_cond_wait(&base->cond, &base->mutex);
	pthread_mutex_unlock(&base->mutex);
}

static int inline_open(struct library_qp *qp, struct ibv_pd *pd, __u32 wanted)
{
	struct library_device *device = device_of_context(pd->context);
	struct library_inline *data = &qp->inline_data;
	struct verbs_range range;
	__u64 address, *pages;
	int error;

	if (!wanted)
		return 0;
	data->place = (wanted + 63) & ~63u;
	data->bytes = (__u64)data->place * qp->send_depth;
	data->memory = library_memory(device, &data->bytes, &address);
	pages = data->memory ? malloc(data->bytes / 4096 * sizeof(*pages)) : NULL;
	if (!pages)
		return -ENOMEM;
	range = (struct verbs_range){.address = (__u64)data->memory,
				     .bytes = data->bytes,
				     .pages = pages,
				     .page_count = (__u32)(data->bytes / 4096),
				     .here = data->memory};
	for (__u32 i = 0; i < range.page_count; i++)
		pages[i] = address + i * 4096ull;
	error = verbs_reg_range(device->verbs, &data->mr, pd->handle, &range, VERBS_PINNED, 0);
	free(pages);
	return error;
}

static void inline_close(struct library_qp *qp, struct library_device *device)
{
	struct library_inline *data = &qp->inline_data;

	if (data->mr.key)
		(void)verbs_dereg_mr(device->verbs, &data->mr);
	if (data->memory)
		guest_free(device->verbs, data->memory, data->bytes);
}

/* Takes what the program wants of a queue pair, and what it gets: depths are powers of two. */
static int capacity_set(struct library_qp *qp, const struct library_device *device,
			struct ibv_qp_cap *cap, bool shared, __u32 *receive_depth)
{
	qp->send_depth = depth_of(cap->max_send_wr, device->limits.depth);
	*receive_depth = depth_of(shared ? 0 : cap->max_recv_wr, device->limits.depth);
	if (!qp->send_depth || !*receive_depth || cap->max_send_sge > VERBS_SGE_MAX ||
	    (!shared && cap->max_recv_sge > VERBS_SGE_MAX) ||
	    cap->max_inline_data > INLINE_BYTES_MAX)
		return -EINVAL;
	cap->max_send_wr = qp->send_depth;
	cap->max_recv_wr = shared ? 0 : *receive_depth;
	cap->max_send_sge = VERBS_SGE_MAX;
	cap->max_recv_sge = shared ? 0 : VERBS_SGE_MAX;
	cap->max_inline_data = (cap->max_inline_data + 63) & ~63u;
	qp->cap = *cap;
	return 0;
}

static int pair_open(struct library_qp *qp, struct ibv_pd *pd, struct ibv_qp_init_attr *wanted)
{
	struct library_device *device = device_of_context(pd->context);
	struct library_srq *srq = (struct library_srq *)wanted->srq;
	struct verbs_pair_attributes attributes;
	__u32 receive_depth;
	int error;

	if (wanted->qp_type != IBV_QPT_RC)
		return -EOPNOTSUPP;
	if (!wanted->send_cq || !wanted->recv_cq)
		return -EINVAL;
	error = capacity_set(qp, device, &wanted->cap, srq, &receive_depth);
	if (error)
		return error;
	attributes = (struct verbs_pair_attributes){
		.send_queue = ((struct library_cq *)wanted->send_cq)->queue,
		.receive_queue = ((struct library_cq *)wanted->recv_cq)->queue,
		.send_depth = qp->send_depth,
		.receive_depth = receive_depth,
	};
	qp->bytes = verbs_pair_bytes(qp->send_depth, receive_depth);
	qp->memory = library_memory(device, &qp->bytes, &attributes.guest_address);
	if (!qp->memory)
		return -ENOMEM;
	error = inline_open(qp, pd, qp->cap.max_inline_data);
	if (error)
		return error;
	return verbs_create_qp_of(device->verbs, &qp->pair, &attributes, pd->handle,
				  srq ? srq->verbs : NULL);
}

static void qp_free(struct library_qp *qp, struct library_device *device)
{
	inline_close(qp, device);
	if (qp->memory)
		guest_free(device->verbs, qp->memory, qp->bytes);
	library_extended_free(qp);
	free(qp);
}

static void qp_describe(struct library_qp *qp, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *wanted)
{
	qp->signal_all = wanted->sq_sig_all;
	qp->ex.qp_base = (struct ibv_qp){
		.context = pd->context,
		.qp_context = wanted->qp_context,
		.pd = pd,
		.send_cq = wanted->send_cq,
		.recv_cq = wanted->recv_cq,
		.srq = wanted->srq,
		.handle = verbs_pair_number(qp->pair),
		.qp_num = verbs_pair_number(qp->pair),
		.state = IBV_QPS_RESET,
		.qp_type = IBV_QPT_RC,
	};
	pthread_mutex_init(&qp->ex.qp_base.mutex, NULL);
	pthread_cond_init(&qp->ex.qp_base.cond, NULL);
	pthread_spin_init(&qp->send, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp->receive, PTHREAD_PROCESS_PRIVATE);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *wanted)
{
	struct library_device *device = device_of_context(pd->context);
	struct library_qp *qp = calloc(1, sizeof(*qp));
	int error = qp ? pair_open(qp, pd, wanted) : -ENOMEM;

	if (error) {
		if (qp)
			qp_free(qp, device);
		return library_refused(device, "a queue pair", error);
	}
	qp_describe(qp, pd, wanted);
	qp_list(qp);
	return &qp->ex.qp_base;
}

struct ibv_qp *library_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *wanted)
{
	const uint32_t taken = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;

	(void)context;
	if (!(wanted->comp_mask & IBV_QP_INIT_ATTR_PD) || wanted->comp_mask & ~taken) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	/* The first part of one is the other. */
	qp = ibv_create_qp(wanted->pd, (struct ibv_qp_init_attr *)wanted);
	if (qp && wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		int error = library_extended_ops((struct library_qp *)qp, wanted->send_ops_flags);

		if (error) {
			(void)ibv_destroy_qp(qp);
			errno = -error;
			return NULL;
		}
	}
	return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct library_qp *own = (struct library_qp *)qp;

	return own->building ? &own->ex : NULL;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct library_qp *own = (struct library_qp *)qp;
	struct library_device *device = device_of_context(qp->context);
	int error = verbs_destroy_qp(own->pair);

	if (error && error != -EPIPE)
		return -error;
	qp_drain(own);
	qp_free(own, device);
	return 0;
}

/* The device's own LID, or GID: the other queue pair is one of this very device. */
static bool to_itself(const struct library_device *device, const struct ibv_ah_attr *address)
{
	if (address->is_global)
		return address->grh.dgid.global.interface_id == htobe64(device->hello->guid);
	return address->dlid == device->hello->device + 1;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	struct library_qp *own = (struct library_qp *)qp;
	const struct library_device *device = device_of_context(qp->context);
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attributes->qp_state : qp->state;
	enum verbs_pair_state state;
	int error;

	if (mask & IBV_QP_CUR_STATE && attributes->cur_qp_state != qp->state)
		return EINVAL;
	error = pair_state_of(to, &state);
	if (!error)
		error = modify_check(qp->state, to, mask);
	if (!error && mask & IBV_QP_PORT && attributes->port_num != 1)
		error = -EINVAL;
	/* What is not a change of state is remembered alone; the device has no such values. */
	if (!error && mask & IBV_QP_STATE && to != qp->state) {
		bool loopback = mask & IBV_QP_AV && to_itself(device, &attributes->ah_attr);
		__u32 peer = mask & IBV_QP_DEST_QPN ? attributes->dest_qp_num : 0;

		error = verbs_modify_qp(own->pair, state, peer, loopback);
	}
	if (error)
		return -error;
	modify_remember(&own->attributes, attributes, mask);
	qp->state = to;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
		 struct ibv_qp_init_attr *created)
{
	struct library_qp *own = (struct library_qp *)qp;
	enum verbs_pair_state state;
	int error = verbs_query_qp(own->pair, &state);

	(void)mask; /* all is at hand */
	if (error)
		return -error;
	/* It may have gone into error by itself. */
	qp->state = state_of_pair(state);
	*attributes = own->attributes;
	attributes->qp_state = attributes->cur_qp_state = qp->state;
	attributes->cap = own->cap;
	*created = (struct ibv_qp_init_attr){
		.qp_context = qp->qp_context,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.cap = own->cap,
		.qp_type = qp->qp_type,
		.sq_sig_all = own->signal_all,
	};
	return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t flags)
{
	(void)qp, (void)opcode, (void)flags;
	return 0;
}
