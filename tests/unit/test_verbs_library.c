// SPDX-License-Identifier: GPL-2.0
/* libibverbs' interface: regions, work requests, completions, and what is refused. */
#include "tests/unit/library_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void sends_and_receives_carry_bytes(void **state)
{
	struct ibv_sge two[] = {side_piece(&sides[0], 10, 5000), side_piece(&sides[0], 9000, 1)};
	struct ibv_send_wr request = request_of(IBV_WR_SEND, 77, two, 2), *bad;
	struct ibv_wc wc;

	assert_int_equal(side_receive(&sides[1], 5, 100, 6000), 0);
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	wc = side_completion(&sides[0]);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(wc.qp_num, sides[0].qp->qp_num);
	wc = side_completion(&sides[1]);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 5001);
	assert_int_equal(sides[1].buffer[99], 'b');
	assert_int_equal(sides[1].buffer[100], 'a');
	assert_int_equal(sides[1].buffer[5100], 'a');
	assert_int_equal(sides[1].buffer[5101], 'b');
}

static void writes_and_reads_name_the_peers_memory(void **state)
{
	struct ibv_sge one = side_piece(&sides[0], 0, 4000);
	struct ibv_send_wr request = request_of(IBV_WR_RDMA_WRITE, 1, &one, 1), *bad;

	request.wr.rdma.remote_addr = (uintptr_t)sides[1].buffer + 500;
	request.wr.rdma.rkey = sides[1].mr->rkey;
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	assert_int_equal(side_completion(&sides[0]).opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(sides[1].buffer[500], 'a');
	assert_int_equal(sides[1].buffer[4500], 'b');
	request.opcode = IBV_WR_RDMA_READ;
	request.wr.rdma.remote_addr = (uintptr_t)sides[1].buffer + 6000;
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	assert_int_equal(side_completion(&sides[0]).opcode, IBV_WC_RDMA_READ);
	assert_int_equal(sides[0].buffer[3999], 'b');
	assert_int_equal(sides[0].buffer[4000], 'a');
}

static void a_wrong_key_ends_the_pair(void **state)
{
	struct ibv_sge one = side_piece(&sides[0], 0, 64);
	struct ibv_send_wr request = request_of(IBV_WR_RDMA_WRITE, 3, &one, 1), *bad;
	struct ibv_qp_init_attr created;
	struct ibv_qp_attr attr;

	request.wr.rdma.remote_addr = (uintptr_t)sides[1].buffer;
	request.wr.rdma.rkey = sides[1].mr->rkey + 1;
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	assert_int_equal(side_completion(&sides[0]).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(sides[1].buffer[0], 'b');
	assert_int_equal(ibv_query_qp(sides[0].qp, &attr, IBV_QP_STATE, &created), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	/* From the beginning again. */
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(ibv_modify_qp(sides[0].qp, &attr, IBV_QP_STATE), 0);
	side_init(sides[0].qp);
	side_connect(sides[0].qp, sides[1].qp->qp_num, 8);
}

static void inline_data_is_the_programs_again_at_once(void **state)
{
	unsigned char mine[100];
	struct ibv_sge two[] = {{.addr = (uintptr_t)mine, .length = 60},
				{.addr = (uintptr_t)mine + 60, .length = 40}};
	struct ibv_send_wr request = request_of(IBV_WR_SEND, 0, two, 2), *bad;

	request.send_flags |= IBV_SEND_INLINE;
	/* More often than there are places; nothing is received until all of one round are posted. */
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 5; i++) {
			memset(mine, 'A' + round * 5 + i, sizeof(mine));
			assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
			memset(mine, '?', sizeof(mine));
		}
		for (__u32 i = 0; i < 5; i++)
			assert_int_equal(side_receive(&sides[1], i, i * 100, 100), 0);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(side_completion(&sides[1]).byte_len, 100);
			assert_int_equal(side_completion(&sides[0]).status, IBV_WC_SUCCESS);
			for (int byte = 0; byte < 100; byte++)
				assert_int_equal(sides[1].buffer[i * 100 + byte],
						 'A' + round * 5 + i);
		}
	}
	two[1].length = 5000;
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), EINVAL);
	request.opcode = IBV_WR_RDMA_READ;
	two[1].length = 1;
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), EINVAL);
}

static void what_cannot_be_posted_is_pointed_at(void **state)
{
	struct ibv_sge seven[7] = {[0] = side_piece(&sides[0], 0, 1)};
	struct ibv_send_wr good = request_of(IBV_WR_SEND, 1, seven, 1);
	struct ibv_send_wr wrong = request_of(IBV_WR_SEND, 2, seven, 7), *bad = NULL;
	struct ibv_recv_wr receive_wrong = {.sg_list = seven, .num_sge = 7}, *bad_receive = NULL;

	assert_int_equal(side_receive(&sides[1], 1, 0, 8), 0);
	good.next = &wrong;
	assert_int_equal(ibv_post_send(sides[0].qp, &good, &bad), EINVAL);
	assert_ptr_equal(bad, &wrong);
	assert_int_equal(side_completion(&sides[0]).wr_id, 1);
	assert_int_equal(side_completion(&sides[1]).wr_id, 1);
	wrong.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wrong.num_sge = 1;
	assert_int_equal(ibv_post_send(sides[0].qp, &wrong, &bad), EOPNOTSUPP);
	wrong.opcode = IBV_WR_SEND_WITH_IMM;
	assert_int_equal(ibv_post_send(sides[0].qp, &wrong, &bad), EOPNOTSUPP);
	assert_int_equal(ibv_post_recv(sides[0].qp, &receive_wrong, &bad_receive), EINVAL);
	assert_ptr_equal(bad_receive, &receive_wrong);
	/* Depth 8, of 5 wanted; the peer has no receive. */
	good.next = NULL;
	for (int i = 0; i < 8; i++)
		assert_int_equal(ibv_post_send(sides[0].qp, &good, &bad), 0);
	bad = NULL;
	assert_int_equal(ibv_post_send(sides[0].qp, &good, &bad), ENOMEM);
	assert_ptr_equal(bad, &good);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(side_receive(&sides[1], 0, 0, 8), 0);
		assert_int_equal(side_completion(&sides[0]).status, IBV_WC_SUCCESS);
		assert_int_equal(side_completion(&sides[1]).status, IBV_WC_SUCCESS);
	}
}

static void unsignaled_requests_tell_nothing_unless_the_queue_signals_all(void **state)
{
	struct ibv_sge one = side_piece(&sides[0], 0, 1);
	struct ibv_send_wr request = request_of(IBV_WR_SEND, 9, &one, 1), *bad;
	struct ibv_qp_init_attr attr = side_wanted(&sides[0]);
	struct ibv_wc wc;

	request.send_flags = 0;
	assert_int_equal(side_receive(&sides[1], 1, 0, 8), 0);
	assert_int_equal(side_receive(&sides[1], 2, 0, 8), 0);
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	side_completion(&sides[1]);
	request.wr_id = 10;
	request.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	assert_int_equal(side_completion(&sides[0]).wr_id, 10);
	assert_int_equal(side_completion(&sides[1]).wr_id, 2);
	assert_int_equal(ibv_poll_cq(sides[0].cq, 1, &wc), 0);

	assert_int_equal(ibv_destroy_qp(sides[0].qp), 0);
	attr.sq_sig_all = 1;
	sides[0].qp = ibv_create_qp(sides[0].pd, &attr);
	side_init(sides[0].qp);
	side_connect(sides[0].qp, sides[1].qp->qp_num, 8);
	request.send_flags = 0;
	request.wr_id = 11;
	assert_int_equal(side_receive(&sides[1], 3, 0, 8), 0);
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	assert_int_equal(side_completion(&sides[0]).wr_id, 11);
	side_completion(&sides[1]);
}

static void other_objects_than_the_devices_are_refused(void **state)
{
	struct ibv_qp_init_attr attr = side_wanted(&sides[0]);
	unsigned char odd[] = "odd";

	attr.qp_type = IBV_QPT_UD;
	assert_null(ibv_create_qp(sides[0].pd, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr = side_wanted(&sides[0]);
	attr.cap.max_send_wr = 1u << 20;
	assert_null(ibv_create_qp(sides[0].pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr = side_wanted(&sides[0]);
	attr.cap.max_inline_data = 1u << 20;
	assert_null(ibv_create_qp(sides[0].pd, &attr));
	assert_null(ibv_create_cq(sides[0].context, 0, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(sides[0].context, 4, NULL, NULL, 1));
	assert_null(ibv_reg_mr(sides[0].pd, odd, 0, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(sides[0].pd, odd, 4, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(sides[0].pd, odd, 4, IBV_ACCESS_REMOTE_ATOMIC));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_reg_mr(sides[0].pd, odd, 4, IBV_ACCESS_ON_DEMAND)); /* of mode odp */
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_reg_mr(sides[0].pd, odd, ~0ull - 4096, 0));
	assert_null(ibv_create_ah(sides[0].pd, NULL));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_resize_cq(sides[0].cq, 100), EOPNOTSUPP);
	assert_null(ibv_alloc_mw(sides[0].pd, IBV_MW_TYPE_1));
}

static void regions_may_have_addresses_of_their_own(void **state)
{
	__u64 elsewhere = 0x7000000000000ull + (uintptr_t)sides[1].buffer % 4096;
	struct ibv_mr *mr =
		ibv_reg_mr_iova(sides[1].pd, sides[1].buffer, SIDE_BYTES, elsewhere, SIDE_RIGHTS);
	struct verbs_wire_counts before, after;

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_reg_mr_iova(sides[1].pd, sides[1].buffer, SIDE_BYTES, elsewhere + 1,
				    SIDE_RIGHTS));
	assert_int_equal(errno, EOPNOTSUPP);
	/* Whole pages, of whatever it starts and ends in. */
	verbs_wire_counts(&before);
	mr = ibv_reg_mr(sides[1].pd, (void *)(((uintptr_t)sides[1].buffer | 4095) - 1), 4,
			SIDE_RIGHTS);
	verbs_wire_counts(&after);
	assert_int_equal(after.adopted_pages - before.adopted_pages, 2);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_shared_queue_serves_its_pairs(void **state)
{
	struct ibv_srq_attr attr;

	assert_int_equal(ibv_query_srq(sides[1].srq, &attr), 0);
	assert_int_equal(attr.max_wr, 8);
	assert_int_equal(ibv_modify_srq(sides[1].srq, &attr, IBV_SRQ_LIMIT), EOPNOTSUPP);
	for (int i = 0; i < 20; i++) {
		side_send(&sides[0], &sides[1]);
		assert_int_equal(side_completion(&sides[1]).qp_num, sides[1].qp->qp_num);
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(side_receive(&sides[1], 0, 0, 8), 0);
	assert_int_equal(side_receive(&sides[1], 0, 0, 8), ENOMEM);
}

static void a_pair_of_a_shared_queue_takes_no_receives(void **state)
{
	struct ibv_sge one = side_piece(&sides[0], 0, 8);
	struct ibv_recv_wr request = {.sg_list = &one, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(sides[0].qp, &request, &bad), EINVAL);
	assert_ptr_equal(bad, &request);
}

static struct ibv_qp_ex *extended(struct side *side, __u64 operations)
{
	struct ibv_qp_init_attr plain = side_wanted(side);
	struct ibv_qp_init_attr_ex attr = {.send_cq = plain.send_cq,
					   .recv_cq = plain.recv_cq,
					   .cap = plain.cap,
					   .qp_type = IBV_QPT_RC,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .pd = side->pd,
					   .send_ops_flags = operations};
	struct ibv_qp *qp = ibv_create_qp_ex(side->context, &attr);

	return qp ? ibv_qp_to_qp_ex(qp) : NULL;
}

static void requests_may_be_built_by_calls(void **state)
{
	struct ibv_qp_ex *qp = extended(&sides[0], IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
	unsigned char mine[10] = "123456789";

	assert_null(extended(&sides[0], IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_qp_to_qp_ex(sides[0].qp));
	assert_int_equal(ibv_destroy_qp(sides[0].qp), 0);
	sides[0].qp = &qp->qp_base;
	side_init(sides[0].qp);
	side_connect(sides[0].qp, sides[1].qp->qp_num, 8);
	ibv_wr_start(qp);
	qp->wr_id = 21;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, sides[1].mr->rkey, (uintptr_t)sides[1].buffer);
	ibv_wr_set_sge(qp, sides[0].mr->lkey, (uintptr_t)sides[0].buffer, 10);
	qp->wr_id = 22;
	ibv_wr_rdma_write(qp, sides[1].mr->rkey, (uintptr_t)sides[1].buffer + 100);
	ibv_wr_set_inline_data(qp, mine, sizeof(mine));
	memset(mine, '?', sizeof(mine));
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(side_completion(&sides[0]).wr_id, 21);
	assert_int_equal(side_completion(&sides[0]).wr_id, 22);
	assert_int_equal(sides[1].buffer[9], 'a');
	assert_memory_equal(sides[1].buffer + 100, "123456789", 10);
	/* None of them. */
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, sides[0].mr->lkey, (uintptr_t)sides[0].buffer, 10);
	ibv_wr_abort(qp);
	ibv_wr_start(qp);
	for (int i = 0; i < 9; i++)
		ibv_wr_send(qp);
	assert_int_equal(ibv_wr_complete(qp), ENOMEM);
}

static void a_region_goes_once(void **state)
{
	static unsigned char bytes[100];
	struct ibv_mr *mr = ibv_reg_mr(sides[0].pd, bytes, sizeof(bytes), SIDE_RIGHTS);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	/* The pointer alone: what it points to is anybody's by now. */
	assert_int_equal(ibv_dereg_mr(mr), EINVAL);
	assert_int_equal(ibv_dereg_mr((struct ibv_mr *)bytes), EINVAL);
}

#define both(test)   cmocka_unit_test_setup_teardown(test, sides_open, sides_close)
#define shared(test) cmocka_unit_test_setup_teardown(test, sides_open_shared, sides_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		both(sends_and_receives_carry_bytes),
		both(writes_and_reads_name_the_peers_memory),
		both(a_wrong_key_ends_the_pair),
		both(inline_data_is_the_programs_again_at_once),
		both(what_cannot_be_posted_is_pointed_at),
		both(unsignaled_requests_tell_nothing_unless_the_queue_signals_all),
		both(other_objects_than_the_devices_are_refused),
		both(regions_may_have_addresses_of_their_own),
		both(requests_may_be_built_by_calls),
		both(a_region_goes_once),
		shared(a_shared_queue_serves_its_pairs),
		shared(a_pair_of_a_shared_queue_takes_no_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
