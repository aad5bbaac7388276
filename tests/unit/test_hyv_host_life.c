// SPDX-License-Identifier: GPL-2.0
/* The host's side of a guest: guests come and go, however that comes, and the other modes. */
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_control.h"
#include "lib/base/random.h"
#include "tests/unit/hyv_world.h"

#define HYV_TEST(test, setup) cmocka_unit_test_setup_teardown(test, setup, hyv_world_teardown)

static __u64 interrupts(void)
{
	__u64 count = 0;

	return read(hyv.guest.descriptors[HYV_EVENT], &count, sizeof(count)) == sizeof(count)
		       ? count
		       : 0;
}

static void nonsense_cuts_the_guest_off_and_nobody_else(void **state)
{
	struct hyv_event *event = &hyv.guest.shared->events.event[0];
	__u64 key;
	char end;

	assert_int_equal(hyv_register(hyv_page(1), 5 * PAGE_BYTES, &key), 0);
	(void)hyv_create_queue(10, 64);
	__atomic_store_n(&hyv.guest.ring.avail->idx, hyv.guest.published + 65, __ATOMIC_SEQ_CST);
	assert_int_equal(write(hyv.guest.descriptors[HYV_KICK], &(__u64){1}, 8), 8);
	hyv_world_await_end();
	assert_int_equal(recv(hyv.guest.socket, &end, 1, 0), 0);
	assert_int_equal(event->kind, HYV_EVENT_DEVICE_GONE);
	assert_true(atomic_load(&hyv.guest.shared->registers.stopping));
	assert_int_equal(hyv_world_stats().cut_off, 1);
	assert_nothing_left();
	half_close(&hyv.guest);
	hyv_world_guest();
	assert_int_equal(hyv_register(hyv_page(1), 5 * PAGE_BYTES, &key), 0);
	assert_registered(5 * PAGE_BYTES);
}

/* In a process of its own: registers and creates until it is killed. */
static void child(int socket)
{
	struct random random = {(__u64)getpid()};

	if (half_open(&hyv.guest, socket))
		_exit(1);
	for (__u64 i = 0;; i++) {
		const __u64 list[4] = {hyv_page(i % 7), hyv_page(9), hyv_page(30 - i % 7),
				       hyv_page(9)};
		__u64 key, queue, pair;

		(void)hyv_map(40, HYV_DOORBELL_BYTES, VERBS_DOORBELLS, 0);
		(void)hyv_register_list(list, 4, i, 3 * PAGE_BYTES, &key);
		if (random_next(&random) % 4)
			(void)hyv_deregister(key);
		if (half_do(&hyv.guest, VERBS_CREATE_CQ, (__u64[5]){hyv_page(60 + i % 8), 64},
			    &queue))
			continue;
		(void)hyv_create_pair(70 + i % 8, queue, &pair);
		(void)half_do(&hyv.guest, VERBS_MODIFY_QP, (__u64[5]){pair, VERBS_INIT}, NULL);
	}
}

#define ROUNDS 60

static void a_killed_guest_leaves_nothing(void **state)
{
	struct random random = {5};
	__u64 served = 0;

	/* On a busy machine a guest may not have begun by then: until enough has been served, and later each time. */
	for (int i = 0; i < ROUNDS || (served <= ROUNDS && i < 20 * ROUNDS); i++) {
		__u64 most_ns = (1 + (__u64)i / ROUNDS) * 20 * NSEC_PER_MSEC;
		int socket, status;
		pid_t pid;

		hyv_world_await_end();
		assert_int_equal(hyv_host_invite(hyv.host, &socket), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			child(socket);
		close(socket);
		sleep_until(monotonic_ns() + random_below(&random, most_ns));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		if (i % 2)
			hyv_host_evict_guest(hyv.host);
		else
			hyv_world_await_end();
		assert_nothing_left();
		served = hyv_world_stats().verbs[VERBS_REGISTER_PAGES];
	}
	assert_true(served > ROUNDS);
	assert_true(hyv_world_stats().guests > 10);
	print_message("%u guests, %llu registrations\n", hyv_world_stats().guests, served);
}

static void an_injection_kills_a_guests_process(void **state)
{
	for (__u32 verbs = 1; verbs < 20; verbs += 6) {
		int socket, status;
		pid_t pid;

		hyv_arm(INJECT_GUEST_KILL, 0, verbs, 1);
		assert_int_equal(hyv_host_invite(hyv.host, &socket), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			child(socket);
		close(socket);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		hyv_world_await_end();
		assert_nothing_left();
		assert_int_equal(inject_disarm(rig->injections, 1), 1);
	}
	/* Also one that is a thread of this process, which goes on. */
	hyv_world_guest();
	hyv_arm(INJECT_GUEST_KILL, 0, 1, 1);
	(void)hyv_create_queue(3, 8);
	hyv_world_await_end();
	assert_nothing_left();
}

static void one_guest_at_a_time(void **state)
{
	int socket;

	hyv_world_guest();
	assert_int_equal(hyv_host_invite(hyv.host, &socket), -EBUSY);
	hyv_host_evict_guest(hyv.host);
	hyv_host_evict_guest(hyv.host);
	half_close(&hyv.guest);
	/* One that says nothing sensible is none. */
	assert_int_equal(hyv_host_invite(hyv.host, &socket), 0);
	assert_int_equal(write(socket, "hello", 5), 5);
	hyv_world_await_end();
	close(socket);
	assert_int_equal(hyv_world_stats().cut_off, 1);
	hyv_world_guest();
	assert_int_equal(hyv_world_stats().guests, 2);
}

static int passthrough(void **state)
{
	hyv_world_build(RDMA_MODE_PASSTHROUGH, NULL, 0);
	return 0;
}

/* By the mailbox, as a guest's driver. */
static int mailbox(struct verbs_command *command)
{
	struct verbs_registers *registers = &hyv.guest.shared->registers;
	struct verbs_command *ring = (void *)hyv.guest.control;
	__u64 index = hyv.guest.published++;

	ring[index % VERBS_COMMANDS] = *command;
	atomic_store(&registers->written, index + 1);
	doorbell_ring(&registers->commands);
	while (atomic_load(&registers->answered) <= index && !atomic_load(&registers->stopping))
		sched_yield();
	*command = ring[index % VERBS_COMMANDS];
	return command->error;
}

static void passthrough_pins_all_at_once(void **state)
{
	struct verbs_command command;
	int socket;

	for (int round = 0; round < 2; round++) {
		assert_registered(HYV_WORLD_BYTES);
		hyv_world_guest();
		command = (struct verbs_command){
			.kind = VERBS_REGISTER,
			.argument = {hyv_page(1), 9 * PAGE_BYTES, VERBS_PINNED, HYV_RIGHTS}};
		assert_int_equal(mailbox(&command), 0);
		*(__u64 *)(hyv.guest.control + 65536) = hyv_page(3);
		command = (struct verbs_command){
			.kind = VERBS_REGISTER_PAGES,
			.argument = {5, PAGE_BYTES - 5, HYV_KINDS(VERBS_PINNED, HYV_RIGHTS), 0,
				     hyv.guest.hello.control_address + 65536}};
		assert_int_equal(mailbox(&command), 0);
		command.argument[4] = hyv_page(1);
		assert_int_equal(mailbox(&command), -EFAULT);
		command = (struct verbs_command){.kind = VERBS_CREATE_CQ,
						 .argument = {hyv_page(1), 8}};
		assert_int_equal(mailbox(&command), 0);
		assert_int_equal(verbs_fake_objects(&hyv.fake), 3);
		assert_registered(HYV_WORLD_BYTES);
		/* No kernel pin is its own, and who is there stays alone. */
		assert_int_equal(hyv_host_invite(hyv.host, &socket), -EBUSY);
		/* It may take back what it has rung; that harms nobody. */
		hyv.guest.shared->registers.commands.count = 0;
		hyv_world_leave();
		assert_int_equal(verbs_fake_objects(&hyv.fake), 0);
	}
	assert_int_equal(hyv.fake.wrong, 0);
}

static int native(void **state)
{
	hyv_world_build(RDMA_MODE_NATIVE, NULL, 0);
	return 0;
}

static void native_pins_once(void **state)
{
	struct verbs_device *device;
	struct verbs_mr mr;
	int socket;

	assert_int_equal(hyv_host_invite(hyv.host, &socket), -EOPNOTSUPP);
	assert_int_equal(verbs_attach(&device, verbs_backend_registers(hyv_host_backend(hyv.host)),
				      hyv.channel, rig->tenants[0].memory),
			 0);
	assert_int_equal(verbs_reg_mr(device, &mr, hyv_page(4), 17 * PAGE_BYTES, VERBS_PINNED, 7),
			 0);
	assert_registered(17 * PAGE_BYTES);
	hyv_arm(INJECT_PIN_ENOMEM, 0, 1, 1);
	assert_int_equal(
		verbs_reg_mr(device, &(struct verbs_mr){}, hyv_page(4), 1, VERBS_PINNED, 7),
		-ENOMEM);
	assert_registered(17 * PAGE_BYTES);
	assert_int_equal(verbs_dereg_mr(device, &mr), 0);
	assert_registered(0);
	verbs_close(device);
}

static int odp(void **state)
{
	hyv_world_build(RDMA_MODE_ODP, NULL, 0);
	hyv_world_guest();
	return 0;
}

static void odp_pins_queues_alone(void **state)
{
	const __u64 list[2] = {hyv_page(5), hyv_page(3)};
	struct verbs_command command = {
		.kind = VERBS_REGISTER_PAGES,
		.argument = {0x1000, 2 * PAGE_BYTES, HYV_KINDS(VERBS_DEMAND, HYV_RIGHTS)}};

	assert_int_equal(half_do(&hyv.guest, VERBS_REGISTER,
				 (__u64[5]){hyv_page(3), 40 * PAGE_BYTES, VERBS_DEMAND, HYV_RIGHTS},
				 NULL),
			 0);
	assert_int_equal(half_command(&hyv.guest, &command, list, 2), 0);
	assert_registered(0);
	(void)hyv_create_queue(100, 8);
	assert_registered(PAGE_BYTES);
	assert_int_equal(half_do(&hyv.guest, VERBS_ADVISE,
				 (__u64[5]){command.result[0], 0x1ff8, 16, 1}, NULL),
			 0);
	assert_int_equal(hyv.fake.advised, 2);
	hyv_world_leave();
	assert_nothing_left();
}

static void the_guest_hears_of_the_hosts_end(void **state)
{
	char end;

	assert_int_equal(hyv_map(50, HYV_DOORBELL_BYTES, VERBS_DOORBELLS, 0), 0);
	(void)hyv_create_queue(10, 64);
	hyv_host_destroy(hyv.host);
	hyv.host = NULL;
	assert_int_equal(recv(hyv.guest.socket, &end, 1, 0), 0);
	assert_int_equal(hyv.guest.shared->events.event[0].kind, HYV_EVENT_DEVICE_GONE);
	assert_true(interrupts() > 0);
	assert_int_equal(pinned_by_kernel(0), 0);
	assert_int_equal(verbs_fake_objects(&hyv.fake), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HYV_TEST(nonsense_cuts_the_guest_off_and_nobody_else, hyv_hybrid),
		HYV_TEST(a_killed_guest_leaves_nothing, hyv_no_guest),
		HYV_TEST(an_injection_kills_a_guests_process, hyv_no_guest),
		HYV_TEST(one_guest_at_a_time, hyv_no_guest),
		HYV_TEST(passthrough_pins_all_at_once, passthrough),
		HYV_TEST(native_pins_once, native),
		HYV_TEST(odp_pins_queues_alone, odp),
		HYV_TEST(the_guest_hears_of_the_hosts_end, hyv_hybrid),
	};

	return cmocka_run_group_tests_name("hyv host life", tests, NULL, NULL);
}
