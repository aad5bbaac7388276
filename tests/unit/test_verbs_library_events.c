// SPDX-License-Identifier: GPL-2.0
/* libibverbs' interface: completion channels, events, and the host's end. */
#include "tests/unit/library_world.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static void a_channels_descriptor_tells_of_its_events(void **state)
{
	struct ibv_comp_channel *channel = sides[1].channel;
	struct ibv_cq *cq;
	void *argument;

	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(ibv_get_cq_event(channel, &cq, &argument), -1);
	assert_int_equal(errno, EAGAIN);
	/* Not armed: nothing is told. */
	side_send(&sides[0], &sides[1]);
	assert_false(readable(channel->fd));
	assert_int_equal(ibv_req_notify_cq(sides[1].cq, 0), 0);
	assert_false(readable(channel->fd));
	side_send(&sides[0], &sides[1]);
	side_send(&sides[0], &sides[1]);
	wait_readable(channel->fd);
	assert_int_equal(ibv_get_cq_event(channel, &cq, &argument), 0);
	assert_ptr_equal(cq, sides[1].cq);
	assert_ptr_equal(argument, &sides[1]);
	assert_int_equal(ibv_get_cq_event(channel, &cq, &argument), -1);
	assert_int_equal(errno, EAGAIN);
	assert_false(readable(channel->fd));
	ibv_ack_cq_events(cq, 1);
	for (int i = 0; i < 3; i++)
		side_completion(&sides[1]);
}

/* Two channels of one device: whoever looks, each has its own. */
static void events_come_by_the_channel_of_their_queue(void **state)
{
	struct ibv_comp_channel *second = ibv_create_comp_channel(sides[1].context);
	struct ibv_cq *sends = ibv_create_cq(sides[1].context, 4, &second, second, 0), *cq;
	struct ibv_qp_init_attr attr = side_wanted(&sides[1]);
	struct ibv_sge one = side_piece(&sides[1], 0, 8);
	struct ibv_send_wr request = request_of(IBV_WR_SEND, 1, &one, 1), *bad;
	void *argument;

	assert_int_equal(ibv_destroy_qp(sides[1].qp), 0);
	attr.send_cq = sends;
	sides[1].qp = ibv_create_qp(sides[1].pd, &attr);
	side_init(sides[1].qp);
	side_connect(sides[1].qp, sides[0].qp->qp_num, 7);
	fcntl(sides[1].channel->fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_req_notify_cq(sends, 0), 0);
	assert_int_equal(side_receive(&sides[0], 1, 0, 8), 0);
	assert_int_equal(ibv_post_send(sides[1].qp, &request, &bad), 0);
	wait_readable(second->fd);
	/* The first looks before the second does: it has none, and takes none away. */
	assert_int_equal(ibv_get_cq_event(sides[1].channel, &cq, &argument), -1);
	assert_true(readable(second->fd));
	assert_false(readable(sides[1].channel->fd));
	assert_int_equal(ibv_get_cq_event(second, &cq, &argument), 0);
	assert_ptr_equal(cq, sends);
	assert_false(readable(second->fd));
	ibv_ack_cq_events(sends, 1);
	assert_int_equal(ibv_destroy_qp(sides[1].qp), 0);
	attr = side_wanted(&sides[1]);
	sides[1].qp = ibv_create_qp(sides[1].pd, &attr);
	assert_int_equal(ibv_destroy_cq(sends), 0);
	assert_int_equal(ibv_destroy_comp_channel(second), 0);
	side_completion(&sides[0]);
}

static void *wait_event(void *argument)
{
	struct side *side = argument;
	struct ibv_cq *cq;
	void *context;

	return ibv_get_cq_event(side->channel, &cq, &context) ? NULL : cq;
}

static void *destroy_queue(void *argument)
{
	return (void *)(intptr_t)ibv_destroy_cq(argument);
}

static void who_waits_is_woken_and_who_destroys_waits(void **state)
{
	struct timespec soon;
	pthread_t thread;
	void *result;

	assert_int_equal(ibv_req_notify_cq(sides[1].cq, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_event, &sides[1]), 0);
	side_send(&sides[0], &sides[1]);
	pthread_join(thread, &result);
	assert_ptr_equal(result, sides[1].cq);
	side_completion(&sides[1]);

	/* The event is not acknowledged yet. */
	assert_int_equal(ibv_destroy_qp(sides[1].qp), 0);
	assert_int_equal(pthread_create(&thread, NULL, destroy_queue, sides[1].cq), 0);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	assert_int_equal(pthread_timedjoin_np(thread, &result, &soon), ETIMEDOUT);
	ibv_ack_cq_events(sides[1].cq, 1);
	pthread_join(thread, &result);
	assert_null(result);
	sides[1].cq = ibv_create_cq(sides[1].context, 8, NULL, sides[1].channel, 0);
	sides[1].qp =
		ibv_create_qp(sides[1].pd, &(struct ibv_qp_init_attr){.send_cq = sides[1].cq,
								      .recv_cq = sides[1].cq,
								      .qp_type = IBV_QPT_RC,
								      .cap = {.max_send_wr = 1}});
	assert_non_null(sides[1].qp);
}

static void *wait_async(void *argument)
{
	struct ibv_async_event *event = argument;

	return (void *)(intptr_t)ibv_get_async_event(sides[0].context, event);
}

static void *destroy_pair(void *argument)
{
	return (void *)(intptr_t)ibv_destroy_qp(argument);
}

/* A completion that is lost is told of as the queue's failure and its pair's, each once. */
static void what_fails_by_itself_is_told(void **state)
{
	struct ibv_sge one = side_piece(&sides[0], 0, 8);
	struct ibv_send_wr request = request_of(IBV_WR_RDMA_WRITE, 1, &one, 1), *bad;
	int descriptor = sides[0].context->async_fd;
	struct ibv_async_event event, of_pair;
	struct timespec soon;
	pthread_t thread;
	struct ibv_wc done;
	void *result;

	request.wr.rdma.remote_addr = (uint64_t)sides[1].buffer;
	request.wr.rdma.rkey = sides[1].mr->rkey;
	assert_false(readable(descriptor));
	assert_int_equal(pthread_create(&thread, NULL, wait_async, &event), 0);
	verbs_wire_overrun();
	assert_int_equal(ibv_post_send(sides[0].qp, &request, &bad), 0);
	pthread_join(thread, &result);
	assert_null(result);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, sides[0].cq);
	assert_int_equal(ibv_poll_cq(sides[0].cq, 1, &done), 0);
	wait_readable(descriptor);
	assert_int_equal(ibv_get_async_event(sides[0].context, &of_pair), 0);
	assert_int_equal(of_pair.event_type, IBV_EVENT_QP_FATAL);
	assert_ptr_equal(of_pair.element.qp, sides[0].qp);
	fcntl(descriptor, F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_get_async_event(sides[0].context, &of_pair), -1);
	assert_int_equal(errno, EAGAIN);
	assert_false(readable(descriptor));

	/* Who destroys what it was of waits until it is acknowledged. */
	assert_int_equal(pthread_create(&thread, NULL, destroy_pair, sides[0].qp), 0);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	assert_int_equal(pthread_timedjoin_np(thread, &result, &soon), ETIMEDOUT);
	of_pair = (struct ibv_async_event){.event_type = IBV_EVENT_QP_FATAL,
					   .element.qp = sides[0].qp};
	ibv_ack_async_event(&of_pair);
	pthread_join(thread, &result);
	assert_null(result);
	ibv_ack_async_event(&event);
	sides[0].qp =
		ibv_create_qp(sides[0].pd, &(struct ibv_qp_init_attr){.send_cq = sides[0].cq,
								      .recv_cq = sides[0].cq,
								      .qp_type = IBV_QPT_RC,
								      .cap = {.max_send_wr = 1}});
	assert_non_null(sides[0].qp);
}

static void *wait_gone(void *argument)
{
	struct side *side = argument;
	struct ibv_cq *cq;
	void *context;

	return (void *)(intptr_t)(ibv_get_cq_event(side->channel, &cq, &context) ? errno : 0);
}

/* The last test: the devices are of no use afterwards. */
static void a_hosts_end_is_told(void **state)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;
	pthread_t thread;
	void *result;

	side_open(&sides[0], 0, false);
	fcntl(sides[0].context->async_fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_get_async_event(sides[0].context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_false(readable(sides[0].context->async_fd));
	assert_int_equal(pthread_create(&thread, NULL, wait_gone, &sides[0]), 0);
	shutdown(library_ends[1], SHUT_RDWR);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, EIO);
	wait_readable(sides[0].context->async_fd);
	assert_int_equal(ibv_get_async_event(sides[0].context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_query_port(sides[0].context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_int_equal(ibv_destroy_qp(sides[0].qp), 0);
	assert_int_equal(ibv_destroy_cq(sides[0].cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(sides[0].channel), 0);
	assert_int_equal(ibv_dereg_mr(sides[0].mr), 0);
	assert_int_equal(ibv_dealloc_pd(sides[0].pd), 0);
	assert_int_equal(ibv_close_device(sides[0].context), 0);
	free(sides[0].buffer);
}

#define both(test) cmocka_unit_test_setup_teardown(test, sides_open, sides_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		both(a_channels_descriptor_tells_of_its_events),
		both(events_come_by_the_channel_of_their_queue),
		both(who_waits_is_woken_and_who_destroys_waits),
		both(what_fails_by_itself_is_told),
		cmocka_unit_test(a_hosts_end_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
