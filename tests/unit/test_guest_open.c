// SPDX-License-Identifier: GPL-2.0
/* A guest's handle over a host of the test's: hello, control by virtqueue and mailbox, the host's pages, events, the host's end. */
#include "tests/unit/test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/guest/guest_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "tests/unit/guest_host.h"

#define RIGHTS (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

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

static void a_guest_says_hello(void **state)
{
	begin(RDMA_MODE_HYBRID);
	assert_string_equal(guest_hello(device)->name, "tenant/device");
	assert_int_equal(host.answer.pid, getpid());
	assert_int_equal(host.answer.base, (__u64)device->base);
	assert_true(host.faults >= 0);
	/* Its view shows the host's memory; doorbells are the host's pages, at the share's end. */
	host.base[3u << 20] = 17;
	assert_int_equal(device->base[3u << 20], 17);
	((struct verbs_pair_words *)((char *)host.shared + HYV_DOORBELL_START))[7].sent = 4711;
	assert_int_equal(device->doorbells[7].sent, 4711);
	assert_ptr_equal((unsigned char *)device->doorbells,
			 device->base + GUEST_HOST_MEMORY - HYV_DOORBELL_BYTES);
	assert_int_equal(guest_host_last(&host, VERBS_MAP_RESOURCE)->command.argument[0],
			 GUEST_HOST_MEMORY - HYV_DOORBELL_BYTES);
	end();
}

static void a_hello_that_makes_no_sense_is_refused(void **state)
{
	for (int i = 0; i < 4; i++) {
		guest_host_init(&host, RDMA_MODE_HYBRID);
		if (i == 0)
			host.hello.version = 99;
		if (i == 1)
			host.hello.share_bytes = ~0ull & ~4095ull;
		if (i == 2)
			host.hello.control_address = GUEST_HOST_SHARE + 1;
		if (i == 3)
			host.hello.mode = RDMA_MODES;
		guest_host_start(&host);
		assert_int_equal(guest_open(&device, host.guest_socket), -EPROTO);
		assert_true(strlen(failure_text()) > 20);
		guest_host_destroy(&host);
	}
}

static void a_host_that_ends_before_its_hello_is_told(void **state)
{
	guest_host_init(&host, RDMA_MODE_HYBRID);
	close(host.socket);
	assert_int_equal(guest_open(&device, host.guest_socket), -EPIPE);
	host.socket = dup(0);
	atomic_store(&host.stop, true);
	guest_host_destroy(&host);
}

static void control_is_timed_and_kicked_once(void **state)
{
	struct verbs_limits limits;
	struct guest_exit_counts before, after;
	const struct verbs_request *request;
	__u64 token;

	begin(RDMA_MODE_HYBRID);
	guest_exits_counted(device, &before);
	for (int i = 0; i < 100; i++)
		assert_int_equal(verbs_query_device(device, &limits), 0);
	guest_exits_counted(device, &after);
	assert_int_equal(after.kicks - before.kicks, 100);
	assert_int_equal(after.injections - before.injections, 100);
	assert_int_equal(limits.depth, 4096);
	request = guest_host_last(&host, VERBS_QUERY_DEVICE);
	token = request->token;
	assert_true(request->called_ns && request->called_ns <= request->queued_ns);
	assert_true(request->queued_ns <= request->kicked_ns);
	/* The wake of the one before goes with it. */
	assert_int_equal(request->last_token, token - 1);
	assert_int_equal(request->last_kind, VERBS_QUERY_DEVICE);
	assert_true(request->last_woken_ns && request->last_woken_ns <= request->called_ns);
	end();
}

static void a_lost_kick_is_sent_again(void **state)
{
	struct verbs_limits limits;
	__u64 start_ns;

	begin(RDMA_MODE_HYBRID);
	atomic_store(&host.deaf, 2);
	start_ns = monotonic_ns();
	assert_int_equal(verbs_query_device(device, &limits), 0);
	assert_true(monotonic_ns() - start_ns >= 2 * VIRTQUEUE_KICK_NS);
	assert_int_equal(atomic_load(&host.deaf), 0);
	end();
}

static void *query_many(void *argument)
{
	struct verbs_limits limits;

	for (int i = 0; i < 300; i++)
		assert_int_equal(verbs_query_device(device, &limits), 0);
	return NULL;
}

static void many_threads_have_their_own_answers(void **state)
{
	pthread_t threads[24];

	begin(RDMA_MODE_HYBRID);
	for (size_t i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, query_many, NULL), 0);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	/* Those of the opening are two. */
	assert_int_equal(atomic_load(&host.requests), 2 + 300 * COUNT(threads));
	end();
}

static void pins_of_the_guest_are_what_it_registers(void **state)
{
	__s64 before = pinned_by_kernel(0);
	struct verbs_mr mr, other;
	__u64 address;
	void *memory;

	begin(RDMA_MODE_HYBRID);
	memory = guest_allocate(device, 13 * 4096, &address);
	assert_non_null(memory);
	assert_int_equal(verbs_reg_mr(device, &mr, address + 1, 4096, VERBS_PINNED, RIGHTS), 0);
	assert_int_equal(pinned_by_kernel(0) - before, 2 * 4096);
	assert_int_equal(mr.address, address + 1 + GUEST_HOST_IOVA);
	assert_int_equal(verbs_reg_mr(device, &other, address, 13 * 4096, VERBS_PINNED, RIGHTS), 0);
	assert_int_equal(pinned_by_kernel(0) - before, 15 * 4096);
	/* What the host refuses is not pinned, what it demands neither. */
	atomic_store(&host.refuse_error, -ENOMEM);
	atomic_store(&host.refuse_kind, VERBS_REGISTER);
	assert_int_equal(verbs_reg_mr(device, &mr, address, 4096, VERBS_PINNED, RIGHTS), -ENOMEM);
	assert_int_equal(pinned_by_kernel(0) - before, 15 * 4096);
	atomic_store(&host.refuse_kind, 0);
	assert_int_equal(verbs_dereg_mr(device, &other), 0);
	assert_int_equal(pinned_by_kernel(0) - before, 2 * 4096);
	end();
	assert_int_equal(pinned_by_kernel(0), before);
}

static void modes_without_pins_have_none(void **state)
{
	__s64 before = pinned_by_kernel(0);
	struct verbs_queue *queue;
	struct verbs_mr mr;
	__u64 address;

	begin(RDMA_MODE_PASSTHROUGH);
	assert_non_null(guest_allocate(device, 4096, &address));
	assert_int_equal(verbs_reg_mr(device, &mr, address, 4096, VERBS_PINNED, RIGHTS), 0);
	assert_int_equal(pinned_by_kernel(0), before);
	assert_true(host.faults < 0);
	assert_int_equal(verbs_dereg_mr(device, &mr), 0);
	end();

	begin(RDMA_MODE_ODP);
	assert_non_null(guest_allocate(device, 2 * 4096, &address));
	assert_int_equal(verbs_reg_mr(device, &mr, address, 4096, VERBS_DEMAND, RIGHTS), 0);
	assert_int_equal(pinned_by_kernel(0), before);
	assert_int_equal(verbs_create_cq(device, &queue, address + 4096, 16), 0);
	assert_int_equal(pinned_by_kernel(0) - before, 4096);
	assert_int_equal(verbs_destroy_cq(queue), 0);
	assert_int_equal(pinned_by_kernel(0), before);
	end();
}

static void a_list_of_pages_arrives(enum rdma_mode mode)
{
	__u64 pages[5], address;
	struct verbs_range range = {.address = 0x7000123,
				    .bytes = sizeof(pages) / 8 * 4096 - 0x123,
				    .pages = pages,
				    .page_count = COUNT(pages)};
	const struct verbs_request *request;
	struct verbs_mr mr;

	begin(mode);
	range.here = guest_allocate(device, 2 * sizeof(pages) / 8 * 4096, &address);
	for (size_t i = 0; i < COUNT(pages); i++)
		pages[i] = address + 2 * i * 4096;
	assert_int_equal(verbs_reg_range(device, &mr, 3, &range, VERBS_PINNED, RIGHTS), 0);
	request = guest_host_last(&host, VERBS_REGISTER_PAGES);
	assert_int_equal(request->command.argument[0], 0x7000123);
	assert_int_equal(request->command.argument[2], VERBS_PINNED | RIGHTS << 8);
	assert_int_equal(request->command.argument[3], 3);
	assert_memory_equal(host.list, pages, (COUNT(pages) - 1) * 8);
	assert_int_equal(mr.address, 0x7000123);
	range.page_count--;
	assert_int_equal(verbs_reg_range(device, &mr, 3, &range, VERBS_PINNED, RIGHTS), -EINVAL);
	end();
}

static void lists_of_pages_go_by_queue_and_mailbox(void **state)
{
	a_list_of_pages_arrives(RDMA_MODE_HYBRID);
	a_list_of_pages_arrives(RDMA_MODE_PASSTHROUGH);
}

static struct verbs_pair *some_pair(struct verbs_queue **queue, __u64 *queue_address)
{
	struct verbs_pair_attributes attributes = {.send_depth = 4, .receive_depth = 4};
	struct verbs_pair *pair;

	assert_non_null(guest_allocate(device, verbs_completion_bytes(16), queue_address));
	assert_int_equal(verbs_create_cq(device, queue, *queue_address, 16), 0);
	assert_non_null(guest_allocate(device, verbs_pair_bytes(4, 4), &attributes.guest_address));
	attributes.send_queue = attributes.receive_queue = *queue;
	assert_int_equal(verbs_create_qp(device, &pair, &attributes), 0);
	return pair;
}

static void posts_ring_the_hosts_doorbells(void **state)
{
	const struct verbs_send send = {.id = 5, .opcode = VERBS_WRITE};
	struct verbs_completion completion = {};
	struct guest_exit_counts before, after;
	struct verbs_queue *queue;
	struct verbs_pair *pair;
	__u64 address;

	begin(RDMA_MODE_HYBRID);
	pair = some_pair(&queue, &address);
	guest_exits_counted(device, &before);
	for (int i = 0; i < 4; i++)
		assert_int_equal(verbs_post_send(pair, &send), 0);
	assert_int_equal(verbs_send_room(pair), 0);
	assert_int_equal(verbs_post_send(pair, &send), -ENOMEM);
	assert_int_equal(((struct verbs_pair_words *)((char *)host.shared +
						      HYV_DOORBELL_START))[verbs_pair_number(pair)]
				 .sent,
			 4);
	completion = (struct verbs_completion){
		.id = 5, .queue_pair = verbs_pair_number(pair), .entry = 3, .opcode = VERBS_WRITE};
	guest_host_complete(&host, address, 16, 0, &completion);
	assert_int_equal(verbs_poll_cq(queue, 1, &completion), 1);
	assert_int_equal(verbs_send_room(pair), 4);
	guest_exits_counted(device, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	end();
}

static void forwarded_posts_are_commands(void **state)
{
	const struct verbs_send send = {.id = 5, .opcode = VERBS_SEND};
	struct guest_exit_counts before, after;
	struct verbs_queue *queue;
	struct verbs_pair *pair;
	__u64 address;

	guest_host_init(&host, RDMA_MODE_HYBRID);
	host.hello.forward_posts = 1;
	guest_host_start(&host);
	assert_int_equal(guest_open(&device, host.guest_socket), 0);
	pair = some_pair(&queue, &address);
	guest_exits_counted(device, &before);
	assert_int_equal(verbs_post_send(pair, &send), 0);
	assert_int_equal(verbs_post_recv(pair, &(struct verbs_receive){.id = 1}), 0);
	guest_exits_counted(device, &after);
	assert_int_equal(after.kicks - before.kicks, 2);
	assert_int_equal(after.forwarded_posts - before.forwarded_posts, 2);
	assert_int_equal(guest_host_last(&host, VERBS_POST)->command.argument[0],
			 verbs_pair_number(pair));
	assert_int_equal(guest_host_last(&host, VERBS_POST)->command.argument[1], 1);
	end();
}

static void queues_of_the_hosts_lie_in_its_pages(void **state)
{
	__s64 before = pinned_by_kernel(0);
	struct verbs_queue *queue;
	unsigned char *memory;
	__u64 address;

	guest_host_init(&host, RDMA_MODE_HYBRID);
	host.hello.host_queues = 1;
	guest_host_start(&host);
	assert_int_equal(guest_open(&device, host.guest_socket), 0);
	memory = guest_allocate(device, verbs_completion_bytes(128), &address);
	memset(memory, 0x5a, 2 * 4096);
	assert_int_equal(verbs_create_cq(device, &queue, address, 128), 0);
	assert_int_equal(guest_host_last(&host, VERBS_MAP_RESOURCE)->command.argument[0], address);
	assert_int_equal(guest_host_last(&host, VERBS_MAP_RESOURCE)->command.argument[1], 2 * 4096);
	assert_int_equal(pinned_by_kernel(0), before);
	/* The guest sees the resource file there, the host's memory has what it had. */
	assert_int_equal(queue->words->armed, VERBS_UNARMED);
	assert_memory_equal(memory, (char *)host.shared + HYV_OWNED_START, 8192);
	assert_int_equal(host.base[address], 0x5a);
	assert_int_equal(verbs_destroy_cq(queue), 0);
	assert_int_equal(guest_host_last(&host, VERBS_UNMAP_RESOURCE)->command.argument[0],
			 address);
	assert_int_equal(memory[0], 0x5a);
	assert_int_equal(memory[8191], 0x5a);
	/* One that is refused leaves nothing mapped and no page taken. */
	atomic_store(&host.refuse_error, -EBUSY);
	atomic_store(&host.refuse_kind, VERBS_MAP_RESOURCE);
	assert_int_equal(verbs_create_cq(device, &queue, address, 128), -EBUSY);
	assert_int_equal(memory[0], 0x5a);
	assert_int_equal(guest_device_of(device)->owned.free, HYV_OWNED_BYTES / 4096);
	atomic_store(&host.refuse_kind, 0);
	end();
}

struct waiter {
	struct verbs_queue *queue;
	int error;
};

static void *await_completion(void *argument)
{
	struct waiter *waiter = argument;

	waiter->error = verbs_wait_cq(waiter->queue, 0);
	return NULL;
}

static void a_dead_host_is_an_error_within_a_second(void **state)
{
	const enum rdma_mode modes[] = {RDMA_MODE_HYBRID, RDMA_MODE_PASSTHROUGH, RDMA_MODE_ODP};

	for (size_t i = 0; i < COUNT(modes); i++) {
		struct verbs_limits limits;
		struct waiter waiter;
		pthread_t thread;
		__u64 address, start_ns;

		begin(modes[i]);
		assert_non_null(guest_allocate(device, 4096, &address));
		assert_int_equal(verbs_create_cq(device, &waiter.queue, address, 4), 0);
		pthread_create(&thread, NULL, await_completion, &waiter);
		usleep(20000);
		start_ns = monotonic_ns();
		guest_host_die(&host);
		assert_int_equal(verbs_query_device(device, &limits), -EPIPE);
		pthread_join(thread, NULL);
		assert_true(monotonic_ns() - start_ns < SECOND);
		assert_int_equal(waiter.error, -EPIPE);
		end();
	}
}

static void a_shared_receive_queue_is_freed_by_count(void **state)
{
	struct verbs_pair_attributes attributes = {.send_depth = 4};
	struct verbs_completion completion;
	struct verbs_queue *queue;
	struct verbs_pair *pairs[2];
	struct verbs_srq *srq;
	__u64 address, cq_address;

	begin(RDMA_MODE_HYBRID);
	assert_non_null(guest_allocate(device, 4096, &cq_address));
	assert_int_equal(verbs_create_cq(device, &queue, cq_address, 16), 0);
	assert_non_null(guest_allocate(device, verbs_shared_bytes(4), &address));
	assert_int_equal(verbs_create_srq(device, &srq, address, 4, 1), 0);
	attributes.send_queue = attributes.receive_queue = queue;
	for (int i = 0; i < 2; i++) {
		assert_non_null(
			guest_allocate(device, verbs_pair_bytes(4, 0), &attributes.guest_address));
		assert_int_equal(verbs_create_qp_of(device, &pairs[i], &attributes, 1, srq), 0);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(verbs_post_srq_recv(srq, &(struct verbs_receive){.id = 1}), 0);
	assert_int_equal(verbs_post_srq_recv(srq, &(struct verbs_receive){.id = 1}), -ENOMEM);
	assert_int_equal(*(__u64 *)(host.base + address), 4);
	/* The second pair's is done first. */
	completion = (struct verbs_completion){
		.queue_pair = verbs_pair_number(pairs[1]), .entry = 1, .opcode = VERBS_RECEIVE};
	guest_host_complete(&host, cq_address, 16, 0, &completion);
	assert_int_equal(verbs_poll_cq(queue, 1, &completion), 1);
	assert_int_equal(verbs_post_srq_recv(srq, &(struct verbs_receive){.id = 1}), 0);
	assert_int_equal(verbs_post_srq_recv(srq, &(struct verbs_receive){.id = 1}), -ENOMEM);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_says_hello),
		cmocka_unit_test(a_hello_that_makes_no_sense_is_refused),
		cmocka_unit_test(a_host_that_ends_before_its_hello_is_told),
		cmocka_unit_test(control_is_timed_and_kicked_once),
		cmocka_unit_test(a_lost_kick_is_sent_again),
		cmocka_unit_test(many_threads_have_their_own_answers),
		cmocka_unit_test(pins_of_the_guest_are_what_it_registers),
		cmocka_unit_test(modes_without_pins_have_none),
		cmocka_unit_test(lists_of_pages_go_by_queue_and_mailbox),
		cmocka_unit_test(posts_ring_the_hosts_doorbells),
		cmocka_unit_test(forwarded_posts_are_commands),
		cmocka_unit_test(queues_of_the_hosts_lie_in_its_pages),
		cmocka_unit_test(a_dead_host_is_an_error_within_a_second),
		cmocka_unit_test(a_shared_receive_queue_is_freed_by_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
