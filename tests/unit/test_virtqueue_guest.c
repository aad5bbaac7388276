// SPDX-License-Identifier: GPL-2.0
/* The guest's half of the virtqueue against a ring that the test answers by hand, in any order and with anything. */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/verbs/verbs_handles.h"
#include "injectors/guest/virtqueue_guest.h"
#include "lib/base/clock.h"

#define CONTROL_ADDRESS 0x100000ull

static unsigned char *control;
static _Atomic __u64 kicks;
static int ends[2];
static struct virtqueue_guest queue;
static struct vring ring;

static int begin(void **state)
{
	struct virtqueue_guest_config config = {.control_address = CONTROL_ADDRESS,
						.kick = eventfd(0, EFD_NONBLOCK),
						.inject = eventfd(0, EFD_NONBLOCK),
						.kicks = &kicks};

	control = mmap(NULL, HYV_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	config.control = control;
	config.socket = ends[0];
	atomic_store(&kicks, 0);
	virtqueue_guest_init(&queue, &config);
	ring = virtqueue_at(control);
	return 0;
}

static int end(void **state)
{
	virtqueue_guest_destroy(&queue);
	close(queue.config.kick);
	close(queue.config.inject);
	close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
	munmap(control, HYV_CONTROL_BYTES);
	return 0;
}

struct caller {
	pthread_t thread;
	struct verbs_call call;
	int error;
	_Atomic bool over;
};

static void *call_main(void *argument)
{
	struct caller *caller = argument;

	caller->error = virtqueue_guest_call(&queue, &caller->call);
	atomic_store(&caller->over, true);
	return NULL;
}

static void call_begin(struct caller *caller, __u64 argument, const __u64 *pages, __u32 count)
{
	*caller = (struct caller){
		.call = {.command = {.kind = VERBS_REGISTER_PAGES, .argument = {argument}},
			 .pages = pages,
			 .page_count = count}};
	assert_int_equal(pthread_create(&caller->thread, NULL, call_main, caller), 0);
}

static int call_end(struct caller *caller)
{
	pthread_join(caller->thread, NULL);
	return caller->error;
}

static void await_published(__u16 count)
{
	__u64 deadline_ns = monotonic_ns() + 10 * SECOND;

	while (__atomic_load_n(&ring.avail->idx, __ATOMIC_ACQUIRE) != count)
		assert_true(monotonic_ns() < deadline_ns);
}

static void *host_at(__u64 address)
{
	assert_true(address >= CONTROL_ADDRESS && address < CONTROL_ADDRESS + HYV_CONTROL_BYTES);
	return control + (address - CONTROL_ADDRESS);
}

static const struct verbs_request *request_of(__u16 index)
{
	return host_at(ring.desc[ring.avail->ring[index % HYV_QUEUE_ENTRIES]].addr);
}

/* Answers what was published as `index`: the result is twice the first argument. */
static void answer(__u16 index, int error)
{
	__u16 head = ring.avail->ring[index % HYV_QUEUE_ENTRIES], used = ring.used->idx;
	const struct vring_desc *last = &ring.desc[head];
	struct verbs_answer *answer;

	while (last->flags & VRING_DESC_F_NEXT)
		last = &ring.desc[last->next];
	answer = host_at(last->addr);
	*answer = (struct verbs_answer){.error = error,
					.result = {2 * request_of(index)->command.argument[0]}};
	ring.used->ring[used % HYV_QUEUE_ENTRIES].id = head;
	__atomic_store_n(&ring.used->idx, (__u16)(used + 1), __ATOMIC_RELEASE);
	(void)eventfd_write(queue.config.inject, 1);
}

static void answers_may_come_in_any_order(void **state)
{
	struct caller callers[8];

	for (__u16 i = 0; i < COUNT(callers); i++) {
		call_begin(&callers[i], 100 + i, NULL, 0);
		await_published((__u16)(i + 1));
		assert_int_equal(request_of(i)->command.argument[0], 100 + i);
		assert_int_equal(request_of(i)->token, i + 1);
	}
	for (__u16 i = COUNT(callers); i--;)
		answer(i, i == 3 ? -EPERM : 0);
	for (__u16 i = 0; i < COUNT(callers); i++) {
		assert_int_equal(call_end(&callers[i]), i == 3 ? -EPERM : 0);
		assert_int_equal(callers[i].call.command.result[0], 2 * (100 + i));
	}
}

static void who_finds_no_place_waits(void **state)
{
	struct caller callers[VIRTQUEUE_SLOTS + 4];

	for (size_t i = 0; i < COUNT(callers); i++)
		call_begin(&callers[i], i, NULL, 0);
	await_published(VIRTQUEUE_SLOTS);
	usleep(20000);
	await_published(VIRTQUEUE_SLOTS);
	for (__u16 i = 0; i < COUNT(callers); i++) {
		await_published(i + VIRTQUEUE_SLOTS < (int)COUNT(callers)
					? (__u16)(i + VIRTQUEUE_SLOTS)
					: (__u16)COUNT(callers));
		answer(i, 0);
	}
	for (size_t i = 0; i < COUNT(callers); i++) {
		assert_int_equal(call_end(&callers[i]), 0);
		assert_int_equal(callers[i].call.command.result[0], 2 * i);
	}
}

static void one_list_goes_at_a_time(void **state)
{
	static const __u64 lists[2][3] = {{1, 2, 3}, {4, 5, 6}};
	struct caller callers[3];
	const struct vring_desc *desc;

	call_begin(&callers[0], 0, lists[0], 3);
	await_published(1);
	call_begin(&callers[1], 1, lists[1], 3);
	usleep(20000);
	await_published(1);
	/* Who has none goes past. */
	call_begin(&callers[2], 2, NULL, 0);
	await_published(2);
	assert_int_equal(request_of(1)->pages, 0);
	assert_int_equal(request_of(0)->pages, 3);
	desc = &ring.desc[ring.desc[ring.avail->ring[0]].next];
	assert_int_equal(desc->len, sizeof(lists[0]));
	assert_memory_equal(host_at(desc->addr), lists[0], sizeof(lists[0]));
	answer(0, 0);
	await_published(3);
	assert_memory_equal(host_at(desc->addr), lists[1], sizeof(lists[1]));
	answer(1, 0);
	answer(2, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(call_end(&callers[i]), 0);
}

static void a_list_beyond_the_room_is_refused(void **state)
{
	struct verbs_call call = {.pages = (const __u64 *)control, .page_count = HYV_LIST_MAX};

	assert_int_equal(virtqueue_guest_call(&queue, &call), -E2BIG);
	assert_int_equal(ring.avail->idx, 0);
}

static void a_host_that_looks_by_itself_is_not_kicked(void **state)
{
	struct caller caller;

	__atomic_store_n(&ring.used->flags, VRING_USED_F_NO_NOTIFY, __ATOMIC_RELEASE);
	call_begin(&caller, 1, NULL, 0);
	await_published(1);
	answer(0, 0);
	assert_int_equal(call_end(&caller), 0);
	assert_int_equal(atomic_load(&kicks), 0);
	__atomic_store_n(&ring.used->flags, 0, __ATOMIC_RELEASE);
	call_begin(&caller, 1, NULL, 0);
	await_published(2);
	answer(1, 0);
	assert_int_equal(call_end(&caller), 0);
	assert_true(atomic_load(&kicks) >= 1);
}

static void answers_to_nothing_are_passed_over(void **state)
{
	const __u32 ids[] = {1, 3 * VIRTQUEUE_SLOTS, ~0u, 3};
	struct caller caller;

	call_begin(&caller, 21, NULL, 0);
	await_published(1);
	for (size_t i = 0; i < COUNT(ids); i++) {
		ring.used->ring[ring.used->idx % HYV_QUEUE_ENTRIES].id = ids[i];
		__atomic_store_n(&ring.used->idx, (__u16)(ring.used->idx + 1), __ATOMIC_RELEASE);
	}
	(void)eventfd_write(queue.config.inject, 1);
	usleep(20000);
	assert_false(atomic_load(&caller.over));
	answer(0, 0);
	assert_int_equal(call_end(&caller), 0);
	assert_int_equal(caller.call.command.result[0], 42);
}

static void indices_may_wrap(void **state)
{
	struct caller caller;

	for (__u32 i = 0; i < (1u << 16) + 10; i += 1) {
		/* Most of them without the thread that another call takes. */
		if (i % 8192) {
			queue.published++;
			queue.reaped++;
			ring.avail->idx++;
			ring.used->idx++;
			continue;
		}
		call_begin(&caller, i, NULL, 0);
		await_published((__u16)(i + 1));
		answer((__u16)i, 0);
		assert_int_equal(call_end(&caller), 0);
		assert_int_equal(caller.call.command.result[0], 2 * i);
	}
}

static void the_hosts_end_ends_every_wait(void **state)
{
	struct caller callers[VIRTQUEUE_SLOTS + 2];
	__u64 start_ns;

	for (size_t i = 0; i < COUNT(callers); i++)
		call_begin(&callers[i], i, NULL, 0);
	await_published(VIRTQUEUE_SLOTS);
	/* What it had answered before counts. */
	answer(0, 0);
	await_published(VIRTQUEUE_SLOTS + 1);
	start_ns = monotonic_ns();
	close(ends[1]);
	ends[1] = -1;
	for (size_t i = 0, answered = 0; i < COUNT(callers); i++) {
		int error = call_end(&callers[i]);

		answered += !error;
		assert_true(error == -EPIPE || (!error && answered == 1));
	}
	assert_true(monotonic_ns() - start_ns < SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_may_come_in_any_order, begin, end),
		cmocka_unit_test_setup_teardown(who_finds_no_place_waits, begin, end),
		cmocka_unit_test_setup_teardown(one_list_goes_at_a_time, begin, end),
		cmocka_unit_test_setup_teardown(a_list_beyond_the_room_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_host_that_looks_by_itself_is_not_kicked, begin,
						end),
		cmocka_unit_test_setup_teardown(answers_to_nothing_are_passed_over, begin, end),
		cmocka_unit_test_setup_teardown(indices_may_wrap, begin, end),
		cmocka_unit_test_setup_teardown(the_hosts_end_ends_every_wait, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
