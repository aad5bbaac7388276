// SPDX-License-Identifier: GPL-2.0
/* libibverbs' interface: devices, ports, the states of queue pairs, and what is said on standard error. */
#include "tests/unit/library_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void attributes_are_remembered(void **state)
{
	struct ibv_qp_init_attr created;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(sides[0].qp, &attr, IBV_QP_STATE, &created), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, sides[1].qp->qp_num);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.rq_psn, 17);
	assert_int_equal(attr.sq_psn, 18);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.ah_attr.dlid, 8);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.cap.max_send_wr, 8);
	assert_ptr_equal(created.send_cq, sides[0].cq);
	assert_int_equal(created.qp_type, IBV_QPT_RC);
}

static void states_go_in_order_and_with_all_that_they_need(void **state)
{
	struct ibv_qp_init_attr attr = side_wanted(&sides[0]);
	struct ibv_qp *qp = ibv_create_qp(sides[0].pd, &attr);
	struct ibv_qp_attr to = {.qp_state = IBV_QPS_RTR, .port_num = 2};
	struct ibv_sge one = side_piece(&sides[0], 0, 1);
	struct ibv_send_wr request = request_of(IBV_WR_SEND, 1, &one, 1), *bad;
	struct verbs_wire_counts before, after;

	assert_int_equal(qp->state, IBV_QPS_RESET);
	assert_int_equal(ibv_post_send(qp, &request, &bad), EINVAL);
	assert_int_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE), EINVAL);
	to.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
	assert_int_equal(
		ibv_modify_qp(qp, &to,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		EINVAL); /* there is no second port */
	side_init(qp);
	to.qp_state = IBV_QPS_SQD;
	assert_int_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE), EOPNOTSUPP);
	verbs_wire_counts(&before);
	side_connect(qp, qp->qp_num, 7); /* its own LID */
	verbs_wire_counts(&after);
	assert_int_equal(after.loopbacks, before.loopbacks + 1);
	to.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(qp, &to, IBV_QP_STATE), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void a_device_has_one_port(void **state)
{
	struct ibv_context *context = sides[0].context;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	__be16 pkey;

	assert_string_equal(ibv_get_device_name(library_devices()[0]), "faultline0");
	assert_string_equal(ibv_get_device_name(library_devices()[1]), "faultline1");
	assert_true(be64toh(ibv_get_device_guid(library_devices()[1])) == 0x0002c90300a00007ull);
	assert_int_equal(ibv_query_device(context, &device), 0);
	assert_int_equal(device.phys_port_cnt, 1);
	assert_int_equal(device.max_sge, VERBS_SGE_MAX);
	assert_int_equal(ibv_query_port(context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.lid, 7);
	assert_int_equal(port.active_mtu, IBV_MTU_4096);
	assert_int_equal(ibv_query_port(context, 2, &port), EINVAL);
	assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
	assert_true(gid.global.interface_id == ibv_get_device_guid(library_devices()[0]));
	assert_int_equal(ibv_query_gid(context, 1, 1, &gid), -1);
	assert_int_equal(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
	assert_memory_equal(&entry.gid, &gid, sizeof(gid));
	assert_int_equal(ibv_query_pkey(context, 1, 0, &pkey), 0);
	assert_int_equal(ntohs(pkey), 0xffff);
	assert_int_equal(ibv_get_pkey_index(context, 1, pkey), 0);
	assert_int_equal(ibv_fork_init(), 0);
}

static void list_none(void *variable)
{
	int count = 77;
	struct ibv_device **list;

	if (variable)
		setenv("FAULTLINE_VERBS", variable, 1);
	else
		unsetenv("FAULTLINE_VERBS");
	list = ibv_get_device_list(&count);
	if (count || !list || list[0])
		_exit(1);
	ibv_free_device_list(list);
}

/* The first test: no list has been asked for in this process yet. */
static void a_wrong_variable_has_a_sentence_and_no_device(void **state)
{
	static const char *const wrong[][2] = {
		{NULL, "is not set"},
		{"", "wanted: numbers"},
		{"seven", "wanted: numbers"},
		{"3;4", "wanted: numbers"},
		{"-3", "wanted: numbers"},
		{"3,", "wanted: numbers"},
		{"99999999999999999999", "wanted: numbers"},
		{"5,5", "named twice"},
		{"1,2,3,4,5,6,7,8,9", "8 devices at most"},
		{"987", "descriptor 987 is no socket of a device: Bad file descriptor"},
		{"0", "is no socket of a device"},
	};
	char text[512], stream[16];
	int sockets[2];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		child_says(list_none, (void *)wrong[i][0], text, sizeof(text));
		assert_non_null(strstr(text, wrong[i][1]));
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	snprintf(stream, sizeof(stream), "%d", sockets[0]);
	child_says(list_none, stream, text, sizeof(text));
	assert_non_null(strstr(text, "of another type"));
	close(sockets[0]);
	close(sockets[1]);
}

static void register_twice(void *argument)
{
	verbs_wire_refuse(-EDQUOT);
	for (int i = 0; i < 2; i++)
		if (ibv_reg_mr(sides[0].pd, sides[0].buffer, 10, SIDE_RIGHTS) || errno != EDQUOT)
			_exit(1);
}

static void a_refusal_is_said_once(void **state)
{
	char text[512];

	child_says(register_twice, NULL, text, sizeof(text));
	assert_non_null(strstr(text, "faultline0: a region was refused: Disk quota exceeded"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

#define both(test) cmocka_unit_test_setup_teardown(test, sides_open, sides_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_variable_has_a_sentence_and_no_device),
		both(a_device_has_one_port),
		both(attributes_are_remembered),
		both(states_go_in_order_and_with_all_that_they_need),
		both(a_refusal_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
