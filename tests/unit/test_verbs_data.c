// SPDX-License-Identifier: GPL-2.0
/* The data path of the verbs: loads and stores, and nothing else. */
#include "tests/unit/test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_data.h"
#include "tests/unit/verbs_world.h"

static int build(void **state)
{
	world_build(0);
	return 0;
}

static struct verbs_send send_of(__u64 id, bool signaled)
{
	return (struct verbs_send){.id = id, .flags = signaled ? VERBS_SEND_SIGNALED : 0};
}

static int post_send(struct verbs_pair *pair, __u64 id, bool signaled)
{
	const struct verbs_send send = send_of(id, signaled);

	return verbs_post_send(pair, &send);
}

static int post_receive(struct verbs_pair *pair, __u64 id)
{
	const struct verbs_receive receive = {.id = id};

	return verbs_post_recv(pair, &receive);
}

static void a_full_queue_takes_no_more(void **state)
{
	struct verbs_queue *queue = world_queue(0, 16);
	struct verbs_pair *pair = world_pair(1, queue, queue, 8);
	struct verbs_completion completions[16];
	struct verbs_send send = {.pieces = VERBS_SGE_MAX + 1};
	struct verbs_receive receive = {.pieces = VERBS_SGE_MAX + 1};
	int taken = 0;

	assert_int_equal(verbs_post_send(pair, &send), -EINVAL);
	assert_int_equal(verbs_post_recv(pair, &receive), -EINVAL);
	/* Only the fifth is signaled: it frees those before it, not those behind. */
	for (__u64 i = 0; i < 8; i++)
		assert_int_equal(post_send(pair, 100 + i, i == 4), 0);
	assert_int_equal(post_send(pair, 108, true), -ENOMEM);
	for (__u64 i = 0; i < 8; i++)
		assert_int_equal(post_receive(pair, 200 + i), 0);
	assert_int_equal(post_receive(pair, 208), -ENOMEM);
	assert_int_equal(verbs_poll_cq(queue, 16, completions), 0);
	verbs_fake_engine_start(&world.fake);
	while (taken < 9)
		taken += verbs_poll_cq(queue, 16, completions + taken);
	verbs_fake_engine_stop(&world.fake);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(completions[i].id, 200 + i);
		assert_int_equal(completions[i].opcode, VERBS_RECEIVE);
	}
	assert_int_equal(completions[8].id, 104);
	for (__u64 i = 0; i < 5; i++)
		assert_int_equal(post_send(pair, 109 + i, true), 0);
	assert_int_equal(post_send(pair, 114, true), -ENOMEM);
	for (__u64 i = 0; i < 8; i++)
		assert_int_equal(post_receive(pair, 208 + i), 0);
	assert_int_equal(post_receive(pair, 216), -ENOMEM);
}

enum { SENT = 200003 }; /* the low bits of an entry's index wrap three times */

static void indices_wrap(void **state)
{
	struct verbs_queue *sends = world_queue(0, 4), *receives = world_queue(1, 4);
	struct verbs_pair *pair = world_pair(2, sends, receives, 8);
	struct verbs_completion completion;
	__u64 sent = 0, received = 0, done = 0, got = 0;

	verbs_fake_engine_start(&world.fake);
	while (done < (SENT + 2) / 3 || got < SENT) {
		if (sent < SENT && !post_send(pair, sent, sent % 3 == 0))
			sent++;
		if (received < SENT && !post_receive(pair, received))
			received++;
		while (verbs_poll_cq(sends, 1, &completion) == 1)
			assert_int_equal(completion.id, 3 * done++);
		while (verbs_poll_cq(receives, 1, &completion) == 1)
			assert_int_equal(completion.id, got++);
	}
	verbs_fake_engine_stop(&world.fake);
	assert_int_equal(got, SENT);
	assert_int_equal(verbs_poll_cq(sends, 1, &completion), 0);
	assert_int_equal(verbs_poll_cq(receives, 1, &completion), 0);
}

struct poster {
	struct verbs_pair *pair;
	_Atomic __u64 posted;
};

static void *post_around(void *argument)
{
	struct poster *poster = argument;

	while (poster->posted < SENT)
		if (!post_send(poster->pair, poster->posted, true))
			poster->posted++;
	return NULL;
}

/* One posts, one polls and sleeps when there is nothing: nothing is lost, and no sleep is for ever. */
static void one_posts_and_one_waits(void **state)
{
	struct verbs_queue *queue = world_queue(0, 8);
	struct poster poster = {.pair = world_pair(1, queue, queue, 16)};
	struct verbs_completion completions[3];
	pthread_t thread;
	__u64 next = 0;

	verbs_fake_engine_start(&world.fake);
	assert_int_equal(thread_start(&thread, NULL, post_around, &poster, "post"), 0);
	while (next < SENT) {
		int taken;

		assert_int_equal(verbs_wait_cq(queue, monotonic_ns() + 60 * SECOND), 0);
		taken = verbs_poll_cq(queue, 3, completions);
		assert_true(taken > 0);
		for (int i = 0; i < taken; i++)
			assert_int_equal(completions[i].id, next++);
	}
	pthread_join(thread, NULL);
	verbs_fake_engine_stop(&world.fake);
	assert_int_equal(verbs_wait_cq(queue, monotonic_ns() + MS), -ETIMEDOUT);
	assert_true(queue->words->armed == VERBS_UNARMED);
}

/*
 * System calls of one thread: all are trapped that it does not need to end itself. ASan needs others then: there
 * posts and polls are only held against locks and commands.
 */
#ifdef __SANITIZE_ADDRESS__
#define TRAPS 0
#else
#define TRAPS 1
#endif
static __thread unsigned int trapped;

static void count_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
	trapped++;
}

#define PASS(number)                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void trap_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		PASS(SYS_rt_sigreturn),
		PASS(SYS_exit),
		PASS(SYS_exit_group),
		PASS(SYS_madvise),
		PASS(SYS_munmap),
		PASS(SYS_rt_sigprocmask),
		PASS(SYS_sigaltstack),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	const struct sock_fprog program = {COUNT(filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

struct quiet {
	struct verbs_queue *queue;
	struct verbs_pair *pair;
	unsigned int before, during;
	__u64 taken;
};

enum { QUIET = 10007 };

static void *post_and_poll(void *argument)
{
	struct quiet *quiet = argument;
	struct verbs_completion completions[7];
	__u64 sent = 0, received = 0;

	if (TRAPS)
		trap_system_calls();
	/* The trap does count. */
	(void)syscall(SYS_getppid);
	quiet->before = trapped;
	while (quiet->taken < 2ull * QUIET) {
		if (sent < QUIET && !post_send(quiet->pair, sent, true))
			sent++;
		if (received < QUIET && !post_receive(quiet->pair, received))
			received++;
		quiet->taken += (__u64)verbs_poll_cq(quiet->queue, 7, completions);
	}
	quiet->during = trapped - quiet->before;
	return NULL;
}

static void *ask(void *argument)
{
	struct verbs_limits limits;

	*(int *)argument = verbs_query_device(world.device, &limits);
	return NULL;
}

static __u64 commands(void)
{
	struct verbs_backend_stats stats = world_stats();
	__u64 sum = 0;

	for (int kind = 0; kind < VERBS_COMMAND_KINDS; kind++)
		sum += stats.kind[kind].commands;
	return sum;
}

/* While the backend is stuck in a command and all of control's lock is held. */
static void posts_and_polls_are_loads_and_stores(void **state)
{
	struct sigaction action = {.sa_sigaction = count_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct quiet quiet = {.queue = world_queue(0, 64)};
	pthread_t thread, asking;
	__u64 before;
	int asked;

	quiet.pair = world_pair(1, quiet.queue, quiet.queue, 16);
	before = commands();
	sigaction(SIGSYS, &action, NULL);
	atomic_store(&world.fake.block, true);
	assert_int_equal(thread_start(&asking, NULL, ask, &asked, "asking"), 0);
	sem_wait(&world.fake.blocked);
	pthread_mutex_lock(&world.device->lock);
	verbs_fake_engine_start(&world.fake);
	/* Not as threads of the project are: SIGSYS must not be blocked. */
	assert_int_equal(pthread_create(&thread, NULL, post_and_poll, &quiet), 0);
	pthread_join(thread, NULL);
	verbs_fake_engine_stop(&world.fake);
	assert_int_equal(commands(), before);
	pthread_mutex_unlock(&world.device->lock);
	atomic_store(&world.fake.block, false);
	sem_post(&world.fake.go);
	pthread_join(asking, NULL);
	assert_int_equal(asked, 0);
	assert_int_equal(quiet.before, TRAPS);
	assert_int_equal(quiet.during, 0);
	assert_int_equal(quiet.taken, 2 * QUIET);
}

/* A device that writes anything at all into completions does not move a guest's indices beyond what it has posted. */
static void strange_completions_free_nothing(void **state)
{
	struct verbs_queue *queue = world_queue(0, 8);
	struct verbs_pair *pair = world_pair(1, queue, queue, 4);
	const struct verbs_completion strange[] = {
		{.queue_pair = verbs_pair_number(pair), .entry = 4},
		{.queue_pair = verbs_pair_number(pair), .entry = 0xffff},
		{.queue_pair = verbs_pair_number(pair) + VERBS_QUEUE_PAIRS_MAX, .entry = 3},
		{.queue_pair = 0xffffffff, .entry = 3},
	};
	struct verbs_completion completion;

	for (__u64 i = 0; i < 4; i++)
		assert_int_equal(post_send(pair, i, true), 0);
	for (__u64 i = 0; i < COUNT(strange); i++) {
		queue->entries[i] = strange[i];
		queue->entries[i].turn = i + 1;
		assert_int_equal(verbs_poll_cq(queue, 1, &completion), 1);
		assert_int_equal(post_send(pair, 4, true), -ENOMEM);
	}
}

#define DATA_TEST(name) cmocka_unit_test_setup_teardown(name, build, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DATA_TEST(a_full_queue_takes_no_more),
		DATA_TEST(indices_wrap),
		DATA_TEST(one_posts_and_one_waits),
		DATA_TEST(posts_and_polls_are_loads_and_stores),
		DATA_TEST(strange_completions_free_nothing),
	};

	return cmocka_run_group_tests_name("verbs data", tests, NULL, NULL);
}
