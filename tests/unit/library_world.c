// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/library_world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct side sides[2];
int library_ends[2];

struct ibv_device **library_devices(void)
{
	static struct ibv_device **list;
	char text[32];
	int count = 0;

	if (list)
		return list;
	assert_int_equal(verbs_wire_pair(library_ends, 6, RDMA_MODE_HYBRID), 0);
	snprintf(text, sizeof(text), "%d,%d", library_ends[0], library_ends[1]);
	setenv("FAULTLINE_VERBS", text, 1);
	list = ibv_get_device_list(&count);
	assert_int_equal(count, 2);
	assert_null(list[2]);
	return list;
}

void side_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = SIDE_RIGHTS};

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
}

void side_connect(struct ibv_qp *qp, __u32 peer, __u16 lid)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer,
				   .rq_psn = 17,
				   .max_dest_rd_atomic = 1,
				   .min_rnr_timer = 12,
				   .ah_attr = {.dlid = lid, .port_num = 1}};

	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .sq_psn = 18,
				    .max_rd_atomic = 1};
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

struct ibv_qp_init_attr side_wanted(const struct side *side)
{
	return (struct ibv_qp_init_attr){
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.srq = side->srq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 5,
			.max_recv_wr = 5,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = 100},
	};
}

void side_open(struct side *side, int number, bool shared)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 5, .max_sge = 1}};
	struct ibv_qp_init_attr attr;

	*side = (struct side){.context = ibv_open_device(library_devices()[number])};
	assert_non_null(side->context);
	side->pd = ibv_alloc_pd(side->context);
	assert_non_null(side->pd);
	side->channel = ibv_create_comp_channel(side->context);
	assert_non_null(side->channel);
	side->cq = ibv_create_cq(side->context, 30, side, side->channel, 0);
	assert_non_null(side->cq);
	assert_true(side->cq->cqe >= 30);
	if (shared)
		assert_non_null(side->srq = ibv_create_srq(side->pd, &srq));
	attr = side_wanted(side);
	side->qp = ibv_create_qp(side->pd, &attr);
	assert_non_null(side->qp);
	assert_true(attr.cap.max_send_wr >= 5 && attr.cap.max_inline_data >= 100);
	side->buffer = malloc(SIDE_BYTES);
	memset(side->buffer, 'a' + number, SIDE_BYTES);
	side->mr = ibv_reg_mr(side->pd, side->buffer, SIDE_BYTES, SIDE_RIGHTS);
	assert_non_null(side->mr);
	assert_ptr_equal(side->mr->addr, side->buffer);
}

static int open_with(bool shared)
{
	for (int i = 0; i < 2; i++)
		side_open(&sides[i], i, shared);
	for (int i = 0; i < 2; i++) {
		side_init(sides[i].qp);
		side_connect(sides[i].qp, sides[1 - i].qp->qp_num, (__u16)(7 + 1 - i));
	}
	return 0;
}

int sides_open(void **state)
{
	return open_with(false);
}

int sides_open_shared(void **state)
{
	return open_with(true);
}

int sides_close(void **state)
{
	struct verbs_wire_counts counts;

	for (int i = 0; i < 2; i++) {
		struct side *side = &sides[i];

		assert_int_equal(ibv_destroy_cq(side->cq), EBUSY);
		assert_int_equal(ibv_dealloc_pd(side->pd), EBUSY);
		assert_int_equal(ibv_destroy_comp_channel(side->channel), EBUSY);
		assert_int_equal(ibv_destroy_qp(side->qp), 0);
		if (side->srq)
			assert_int_equal(ibv_destroy_srq(side->srq), 0);
		assert_int_equal(ibv_destroy_cq(side->cq), 0);
		assert_int_equal(ibv_destroy_comp_channel(side->channel), 0);
		assert_int_equal(ibv_dereg_mr(side->mr), 0);
		assert_int_equal(ibv_dealloc_pd(side->pd), 0);
		assert_int_equal(ibv_close_device(side->context), 0);
		free(side->buffer);
	}
	verbs_wire_counts(&counts);
	assert_int_equal(counts.regions + counts.pairs + counts.queues + counts.domains +
				 counts.shared + counts.channels + counts.allocated,
			 0);
	return 0;
}

struct ibv_sge side_piece(const struct side *side, __u32 at, __u32 bytes)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)side->buffer + at, .length = bytes, .lkey = side->mr->lkey};
}

int side_receive(struct side *side, __u64 id, __u32 at, __u32 bytes)
{
	struct ibv_sge one = side_piece(side, at, bytes);
	struct ibv_recv_wr request = {.wr_id = id, .sg_list = &one, .num_sge = 1}, *bad;

	return side->srq ? ibv_post_srq_recv(side->srq, &request, &bad)
			 : ibv_post_recv(side->qp, &request, &bad);
}

struct ibv_send_wr request_of(enum ibv_wr_opcode opcode, __u64 id, struct ibv_sge *pieces,
			      int count)
{
	return (struct ibv_send_wr){.wr_id = id,
				    .opcode = opcode,
				    .sg_list = pieces,
				    .num_sge = count,
				    .send_flags = IBV_SEND_SIGNALED};
}

struct ibv_wc side_completion(struct side *side)
{
	time_t until = time(NULL) + 10;
	struct ibv_wc wc;

	while (ibv_poll_cq(side->cq, 1, &wc) == 0)
		assert_true(time(NULL) < until);
	return wc;
}

bool readable(int descriptor)
{
	struct pollfd one = {.fd = descriptor, .events = POLLIN};

	return poll(&one, 1, 0) == 1;
}

void wait_readable(int descriptor)
{
	struct pollfd one = {.fd = descriptor, .events = POLLIN};

	assert_int_equal(poll(&one, 1, 10000), 1);
}

void side_send(struct side *from, struct side *to)
{
	struct ibv_sge one = side_piece(from, 0, 8);
	struct ibv_send_wr request = request_of(IBV_WR_SEND, 1, &one, 1), *bad;

	assert_int_equal(side_receive(to, 1, 0, 8), 0);
	assert_int_equal(ibv_post_send(from->qp, &request, &bad), 0);
	assert_int_equal(side_completion(from).status, IBV_WC_SUCCESS);
}

/* What a child says on its standard error. */
void child_says(void (*run)(void *argument), void *argument, char *text, size_t size)
{
	int pipes[2], status;
	ssize_t got, all = 0;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		dup2(pipes[1], STDERR_FILENO);
		run(argument);
		_exit(0);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], text + all, size - 1 - (size_t)all)) > 0)
		all += got;
	text[all] = '\0';
	close(pipes[0]);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}
