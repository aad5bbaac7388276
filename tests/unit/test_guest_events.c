// SPDX-License-Identifier: GPL-2.0
/* Completion events of a guest in a process of its own, from a host of the test's. */
#include "tests/unit/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "injectors/guest/guest_open.h"
#include "injectors/emu/verbs/verbs_handles.h"
#include "lib/base/clock.h"
#include "tests/unit/guest_host.h"

static struct guest_host host;
static struct verbs_device *device;

static void begin(enum rdma_mode mode)
{
	guest_host_init(&host, mode);
	guest_host_start(&host);
	assert_int_equal(guest_open(&device, host.guest_socket), 0);
}

static void end(void)
{
	guest_close(device);
	guest_host_destroy(&host);
}

struct waiter {
	struct verbs_channel *channel;
	struct verbs_queue *queue;
	int error;
};

static void *await_event(void *argument)
{
	struct waiter *waiter = argument;

	waiter->error =
		verbs_get_cq_event(waiter->channel, &waiter->queue, monotonic_ns() + 10 * SECOND);
	return NULL;
}

static void events_come_by_their_channels(void **state)
{
	struct verbs_queue *queues[2];
	struct waiter waiters[2];
	pthread_t threads[2];
	__u64 address;

	begin(RDMA_MODE_HYBRID);
	for (int i = 0; i < 2; i++) {
		assert_non_null(guest_allocate(device, 4096, &address));
		assert_int_equal(verbs_create_cq(device, &queues[i], address, 16), 0);
		assert_int_equal(verbs_create_channel(device, &waiters[i].channel), 0);
		verbs_set_channel(queues[i], waiters[i].channel);
		assert_int_equal(verbs_get_cq_event(waiters[i].channel, &waiters[i].queue, 1),
				 -ETIMEDOUT);
	}
	/* One sleeps for both, and each gets its own. */
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, await_event, &waiters[i]);
		for (int i = 0; i < 2; i++)
			guest_host_event(&host, queues[(i + round) % 2]->number);
		for (int i = 0; i < 2; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(waiters[i].error, 0);
			assert_ptr_equal(waiters[i].queue, queues[i]);
		}
	}
	assert_int_equal(verbs_destroy_channel(waiters[0].channel), -EBUSY);
	for (int i = 0; i < 2; i++) {
		/* An event that nobody has taken goes with its queue. */
		guest_host_event(&host, queues[i]->number);
		assert_int_equal(verbs_destroy_cq(queues[i]), 0);
		assert_int_equal(verbs_get_cq_event(waiters[i].channel, &queues[i], 1), -ETIMEDOUT);
		assert_int_equal(verbs_destroy_channel(waiters[i].channel), 0);
	}
	end();
}

static bool readable(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return poll(&polled, 1, 0) > 0;
}

static void a_channels_descriptor_is_readable_while_there_are_events(void **state)
{
	struct verbs_channel *channels[2];
	struct verbs_queue *queues[2], *queue;
	__u64 address;
	int fds[2];

	begin(RDMA_MODE_HYBRID);
	for (int i = 0; i < 2; i++) {
		assert_non_null(guest_allocate(device, 4096, &address));
		assert_int_equal(verbs_create_cq(device, &queues[i], address, 16), 0);
		assert_int_equal(verbs_create_channel(device, &channels[i]), 0);
		verbs_set_channel(queues[i], channels[i]);
		fds[i] = verbs_channel_descriptor(channels[i]);
		assert_false(readable(fds[i]));
	}
	guest_host_event(&host, queues[1]->number);
	assert_true(readable(fds[1]));
	/* Who asks for the other's takes it out of the ring, and leaves it to who wants it. */
	assert_int_equal(verbs_get_cq_event(channels[0], &queue, 1), -ETIMEDOUT);
	assert_false(readable(fds[0]));
	assert_true(readable(fds[1]));
	assert_int_equal(verbs_get_cq_event(channels[1], &queue, 1), 0);
	assert_ptr_equal(queue, queues[1]);
	assert_false(readable(fds[1]));
	guest_host_die(&host);
	assert_true(readable(fds[0]) && readable(guest_end_descriptor(device)));
	assert_int_equal(verbs_get_cq_event(channels[0], &queue, 0), -EPIPE);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_destroy_cq(queues[i]), -EPIPE);
	for (int i = 0; i < 2; i++)
		(void)verbs_destroy_channel(channels[i]);
	end();
}

static void arming_is_for_what_comes_next(void **state)
{
	struct verbs_completion completion = {.opcode = VERBS_WRITE};
	struct verbs_queue *queue;
	__u64 address;

	begin(RDMA_MODE_HYBRID);
	assert_non_null(guest_allocate(device, 4096, &address));
	assert_int_equal(verbs_create_cq(device, &queue, address, 4), 0);
	for (__u64 round = 0; round < 10; round++) {
		/* One that has not been polled is passed over: its event was told before. */
		guest_host_complete(&host, address, 4, round, &completion);
		verbs_arm_cq(queue);
		assert_int_equal(queue->words->armed, round + 1);
		assert_int_equal(verbs_poll_cq(queue, 4, &completion), 1);
		verbs_arm_cq(queue);
		assert_int_equal(queue->words->armed, round + 1);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_by_their_channels),
		cmocka_unit_test(a_channels_descriptor_is_readable_while_there_are_events),
		cmocka_unit_test(arming_is_for_what_comes_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
