// SPDX-License-Identifier: GPL-2.0
#include "injectors/guest/library/attributes.h"

#include <errno.h>

_Static_assert((int)VERBS_LOCAL_WRITE == IBV_ACCESS_LOCAL_WRITE &&
		       (int)VERBS_REMOTE_WRITE == IBV_ACCESS_REMOTE_WRITE &&
		       (int)VERBS_REMOTE_READ == IBV_ACCESS_REMOTE_READ,
	       "rights have libibverbs' values");
_Static_assert((int)VERBS_RTS == IBV_QPS_RTS && (int)VERBS_RESET == IBV_QPS_RESET,
	       "states have libibverbs' values up to RTS");
_Static_assert((int)VERBS_RNR_RETRY_EXC_ERR == IBV_WC_RNR_RETRY_EXC_ERR &&
		       (int)VERBS_WR_FLUSH_ERR == IBV_WC_WR_FLUSH_ERR &&
		       (int)VERBS_GENERAL_ERR == IBV_WC_GENERAL_ERR,
	       "statuses have libibverbs' values");

int rights_of_access(unsigned int access, unsigned int *rights, bool *on_demand)
{
	const unsigned int plain =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	/* What a device need not do. */
	const unsigned int hints = IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;

	if (access & ~(plain | hints | IBV_ACCESS_ON_DEMAND))
		return -EOPNOTSUPP;
	if ((access & IBV_ACCESS_REMOTE_WRITE) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	*rights = access & plain;
	*on_demand = access & IBV_ACCESS_ON_DEMAND;
	return 0;
}

struct transition {
	enum ibv_qp_state from, to;
	int needed, allowed;
};

#define ALTERNATIVE (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
static const struct transition transitions[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_INIT, IBV_QPS_RTR,
	 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		 IBV_QP_MIN_RNR_TIMER,
	 IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | ALTERNATIVE},
	{IBV_QPS_RTR, IBV_QPS_RTS,
	 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		 IBV_QP_MAX_QP_RD_ATOMIC,
	 IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | ALTERNATIVE},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0,
	 IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | ALTERNATIVE},
};

int modify_check(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	mask &= ~IBV_QP_STATE;
	if (to == IBV_QPS_ERR || to == IBV_QPS_RESET)
		return mask & ~IBV_QP_CUR_STATE ? -EINVAL : 0;
	for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
		const struct transition *one = &transitions[i];

		if (one->from == from && one->to == to)
			return (mask & one->needed) == one->needed &&
					       !(mask & ~(one->needed | one->allowed))
				       ? 0
				       : -EINVAL;
	}
	return -EINVAL;
}

void modify_remember(struct ibv_qp_attr *remembered, const struct ibv_qp_attr *attributes, int mask)
{
#define TAKE(bit, field)  \
	if (mask & (bit)) \
	remembered->field = attributes->field
	TAKE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE(IBV_QP_PKEY_INDEX, pkey_index);
	TAKE(IBV_QP_PORT, port_num);
	TAKE(IBV_QP_AV, ah_attr);
	TAKE(IBV_QP_PATH_MTU, path_mtu);
	TAKE(IBV_QP_TIMEOUT, timeout);
	TAKE(IBV_QP_RETRY_CNT, retry_cnt);
	TAKE(IBV_QP_RNR_RETRY, rnr_retry);
	TAKE(IBV_QP_RQ_PSN, rq_psn);
	TAKE(IBV_QP_SQ_PSN, sq_psn);
	TAKE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(IBV_QP_DEST_QPN, dest_qp_num);
	TAKE(IBV_QP_PATH_MIG_STATE, path_mig_state);
	TAKE(IBV_QP_ALT_PATH, alt_ah_attr);
#undef TAKE
}

int pair_state_of(enum ibv_qp_state state, enum verbs_pair_state *out)
{
	switch (state) {
	case IBV_QPS_RESET:
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
	case IBV_QPS_RTS:
		*out = (enum verbs_pair_state)state;
		return 0;
	case IBV_QPS_ERR:
		*out = VERBS_ERROR;
		return 0;
	default: /* the send queue alone is never stopped */
		return -EOPNOTSUPP;
	}
}

enum ibv_qp_state state_of_pair(enum verbs_pair_state state)
{
	return state >= VERBS_ERROR ? IBV_QPS_ERR : (enum ibv_qp_state)state;
}

enum ibv_mtu mtu_of_bytes(__u32 bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 256u << mtu <= bytes)
		mtu++;
	return mtu;
}

__u32 depth_of(__u32 wanted, __u32 most)
{
	__u32 depth = 1;

	if (wanted > most)
		return 0;
	while (depth < wanted)
		depth <<= 1;
	return depth <= most ? depth : 0;
}

int send_of_request(struct verbs_send *send, const struct ibv_send_wr *request, bool signal_all)
{
	*send = (struct verbs_send){.id = request->wr_id};
	switch (request->opcode) {
	case IBV_WR_SEND:
		send->opcode = VERBS_SEND;
		break;
	case IBV_WR_RDMA_WRITE:
		send->opcode = VERBS_WRITE;
		break;
	case IBV_WR_RDMA_READ:
		send->opcode = VERBS_READ;
		break;
	default:
		return -EOPNOTSUPP;
	}
	/* Solicited is what every event is. */
	if (request->send_flags & ~(unsigned int)(IBV_SEND_FENCE | IBV_SEND_SIGNALED |
						  IBV_SEND_SOLICITED | IBV_SEND_INLINE))
		return -EINVAL;
	if ((request->send_flags & IBV_SEND_INLINE) && send->opcode == VERBS_READ)
		return -EINVAL;
	if (send->opcode != VERBS_SEND) {
		send->remote_address = request->wr.rdma.remote_addr;
		send->remote_key = request->wr.rdma.rkey;
	}
	if (request->send_flags & IBV_SEND_FENCE)
		send->flags |= VERBS_SEND_FENCE;
	if (signal_all || request->send_flags & IBV_SEND_SIGNALED)
		send->flags |= VERBS_SEND_SIGNALED;
	return 0;
}

int sges_of_list(struct verbs_sge *pieces, const struct ibv_sge *list, int count)
{
	if (count < 0 || count > VERBS_SGE_MAX)
		return -EINVAL;
	for (int i = 0; i < count; i++)
		pieces[i] = (struct verbs_sge){
			.address = list[i].addr, .length = list[i].length, .key = list[i].lkey};
	return count;
}

static enum ibv_wc_opcode opcode_of(__u8 opcode)
{
	switch (opcode) {
	case VERBS_WRITE:
		return IBV_WC_RDMA_WRITE;
	case VERBS_READ:
		return IBV_WC_RDMA_READ;
	case VERBS_RECEIVE:
		return IBV_WC_RECV;
	default:
		return IBV_WC_SEND;
	}
}

void wc_of_completion(struct ibv_wc *wc, const struct verbs_completion *completion)
{
	*wc = (struct ibv_wc){
		.wr_id = completion->id,
		.status = (enum ibv_wc_status)completion->status,
		.opcode = opcode_of(completion->opcode),
		.byte_len = completion->bytes,
		.qp_num = completion->queue_pair,
	};
}
