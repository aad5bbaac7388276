// SPDX-License-Identifier: GPL-2.0
/* Lent functions are taken back, and either side dies, at each step and at any instant: what the other sees, and what is left. */
#include "tests/unit/lend_rig.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/cluster/agent_private.h"
#include "injectors/cluster/inject.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/message.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

static int forget(void **state)
{
	rig_close();
	return 0;
}

static void nap(__u64 ns)
{
	struct timespec time = timespec_of_ns(ns);

	nanosleep(&time, NULL);
}

static void one_injection(struct cluster_config *config)
{
	config->injection_count = 1;
	rig.injection.probability = 100;
	rig.injection.host = rig.injection.adapter = CLUSTER_NONE;
	rig.injection.device = rig.injection.agent = CLUSTER_NONE;
	rig.injection.step = CLUSTER_NONE;
}

static void await_resets(__u64 count)
{
	for (int i = 0; i < 20000 && function_resets(rig.a, rig.function) < count; i++)
		nap(MS);
	assert_int_equal(function_resets(rig.a, rig.function), count);
}

/* The borrower does not give it back: it is gone all the same, windows first. */
static void taken_by_force(void **state)
{
	struct rig_sight before;
	struct lend_borrow borrow, next;
	struct lend_wish wish;
	struct bus bus;

	rig_open(true, NULL);
	wish = rig_wish();
	rig_look(&before);
	rig_borrow(&borrow);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	assert_int_equal(bus.ops->state(&bus), 0);
	assert_true(bus.ops->read(&bus, 0, NVME_VS, 4) != ~0u);
	assert_int_equal(lend_revoke(rig.a, rig.function, 0), -ENOENT);
	assert_int_equal(lend_revoke(&rig.b, rig.function, 0), 0);
	rig_await(LEND_RESETTING);
	await_resets(1);
	assert_true(bus.ops->read(&bus, 0, NVME_VS, 4) == ~0u);
	assert_true(bus.ops->config_read(&bus, 0, 2) == 0xffff);
	assert_int_equal(bus.ops->state(&bus), -ENODEV);
	assert_int_equal(lend_check(rig.a, &borrow), -ENODEV);
	assert_non_null(strstr(failure_text(), "taken back"));
	/* Nobody else's as long as this host has windows onto it. */
	assert_int_equal(lend_borrow(rig.a, &wish, &next), -EBUSY);
	lend_look(rig.a);
	rig_await(LEND_AVAILABLE);
	rig_borrow(&next);
	/* The driver leaves late, and disturbs nobody. */
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	assert_int_equal(lend_check(rig.a, &next), 0);
	assert_int_equal(lend_return(rig.a, &next), 0);
	rig_await(LEND_AVAILABLE);
	rig_assert_same(&before);
}

/* A borrower that does not clean up is waited for, but not for ever. */
static void taken_from_the_deaf(void **state)
{
	struct lend_borrow borrow;

	rig_open(true, NULL);
	rig_borrow(&borrow);
	assert_int_equal(lend_revoke(&rig.b, rig.function, 0), 0);
	rig_await(LEND_RESETTING);
	rig_await(LEND_AVAILABLE);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
}

static void returned_when_asked(void **state)
{
	struct lend_borrow borrow;

	rig_open(true, NULL);
	rig_borrow(&borrow);
	assert_false(lend_asked_back(rig.a, borrow.number));
	assert_int_equal(lend_revoke(&rig.b, rig.function, 60 * SECOND), 0);
	messages_serve(rig.a, 60 * SECOND);
	assert_true(lend_asked_back(rig.a, borrow.number));
	assert_int_equal(lend_check(rig.a, &borrow), 0);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	assert_int_equal(lend_end_of(rig.a, borrow.number), LEND_END_RETURNED);
	rig_await(LEND_AVAILABLE);
}

static void link_drops(void **state)
{
	struct rig_sight before;
	struct lend_borrow borrow;
	struct bus bus;

	rig_open(true, NULL);
	rig_look(&before);
	rig_borrow(&borrow);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	ntb_link_set(rig.a, 0, false, false);
	assert_true(bus.ops->read(&bus, 0, NVME_VS, 4) == ~0u);
	/* No return: for a while the driver is told to wait. */
	assert_int_equal(bus.ops->state(&bus), 0);
	assert_true(lend_lasts(rig.a, borrow.number));
	nap(rig.fixture.config.dead_ns + 10 * MS);
	assert_int_equal(bus.ops->state(&bus), -ENODEV);
	assert_non_null(strstr(failure_text(), "down"));
	assert_true(lend_lasts(rig.a, borrow.number));
	ntb_link_set(rig.a, 0, true, false);
	assert_int_equal(bus.ops->state(&bus), 0);
	assert_true(bus.ops->read(&bus, 0, NVME_VS, 4) != ~0u);
	/* Returned while it is down: the lender learns of it as it comes back. */
	ntb_link_set(rig.a, 0, false, false);
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), -ENETUNREACH);
	nap(20 * MS);
	assert_int_equal(lend_state(rig.a, rig.function), LEND_MAPPED);
	ntb_link_set(rig.a, 0, true, false);
	rig_await(LEND_AVAILABLE);
	rig_assert_same(&before);
}

static void tables_wiped(void **state)
{
	struct rig_sight before;
	struct lend_borrow borrow;

	rig_open(true, NULL);
	rig_look(&before);
	rig_borrow(&borrow);
	ntb_link_set(rig.a, 0, false, true);
	ntb_link_set(rig.a, 0, true, false);
	assert_int_equal(lend_check(rig.a, &borrow), -ENODEV);
	rig_await(LEND_RESETTING);
	assert_int_equal(lend_end_of(rig.a, borrow.number), LEND_END_WIPED);
	lend_look(rig.a);
	rig_await(LEND_AVAILABLE);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	rig_assert_same(&before);
}

/* A child is one of the hosts and kills itself where the injection says. */
static void at_a_step(struct cluster_config *config)
{
	one_injection(config);
	rig.injection.kind = CLUSTER_HOST_KILL;
}

static pid_t born(void (*live)(void))
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		live();
		_exit(0);
	}
	return child;
}

static bool reaped(pid_t child, __u32 agent)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	agent_state_set(rig.a, agent, AGENT_DEAD);
	return WIFSIGNALED(status);
}

static void begun_anew(__u32 agent)
{
	rig.a->agents->slots[agent].life++;
	agent_state_set(rig.a, agent, AGENT_RUNS);
}

static void borrow_once(void)
{
	struct lend_borrow borrow;
	struct bus bus;
	void *memory;
	__u64 address;
	struct lend_wish wish = rig_wish();

	if (lend_borrow(rig.a, &wish, &borrow))
		return;
	if (!bus_lent_open(&bus, rig.a, &borrow)) {
		memory = bus.ops->memory(&bus, HOST_PAGE);
		if (memory && !bus.ops->dma_map(&bus, memory, 100, DMA_BOTH, &address))
			bus.ops->dma_unmap(&bus, address, 100, DMA_BOTH);
		bus_lent_close(&bus);
	}
	lend_return(rig.a, &borrow);
}

/* A whole life of a borrow, by whoever has not died before. */
static void works_again(const struct rig_sight *before)
{
	struct lend_borrow borrow;

	rig_await(LEND_AVAILABLE);
	rig_borrow(&borrow);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	rig_await(LEND_AVAILABLE);
	rig_assert_same(before);
}

static void borrower_dies(void **state)
{
	static const enum cluster_step steps[] = {STEP_REQUEST, STEP_CONFIG, STEP_BARS, STEP_SHADOW,
						  STEP_REMOVE};

	for (size_t i = 0; i < COUNT(steps); i++) {
		struct rig_sight before;

		rig_open(true, at_a_step);
		rig.injection.host = rig.injection.agent = RIG_A;
		rig.injection.step = steps[i];
		rig_look(&before);
		if (!reaped(born(borrow_once), RIG_A))
			fail_msg("it has survived step %s", cluster_step_name(steps[i]));
		rig_await(LEND_AVAILABLE);
		rig_bury(RIG_A);
		begun_anew(RIG_A);
		works_again(&before);
		rig_close();
	}
}

static void borrow_for_ever(void)
{
	for (;;)
		borrow_once();
}

static void borrower_dies_at_any_instant(void **state)
{
	struct random random = {13};

	for (int i = 0; i < 13; i++) {
		struct rig_sight before;
		pid_t child;

		rig_open(true, NULL);
		rig_look(&before);
		child = born(borrow_for_ever);
		nap(random_below(&random, 7 * MS));
		kill(child, SIGKILL);
		assert_true(reaped(child, RIG_A));
		rig_await(LEND_AVAILABLE);
		rig_bury(RIG_A);
		begun_anew(RIG_A);
		works_again(&before);
		rig_close();
	}
}

static void lend_for_ever(void)
{
	for (;;) {
		messages_serve(&rig.b, MS);
		lend_look(&rig.b);
	}
}

static void lend_and_revoke(void)
{
	for (;;) {
		messages_serve(&rig.b, MS);
		lend_revoke(&rig.b, rig.function, 0);
		lend_look(&rig.b);
	}
}

static void *reap_lender(void *child)
{
	reaped(*(pid_t *)child, RIG_B);
	return NULL;
}

/* As its lender dies the borrower gets an error in time, is left with nothing, and borrows from the lender's next life. */
static void lender_dies_at(enum cluster_step step, void (*live)(void))
{
	struct rig_sight before;
	struct lend_borrow borrow;
	struct lend_wish wish;
	pthread_t reaper;
	pid_t child;
	int err;

	rig_open(true, at_a_step);
	rig_lender_stop();
	wish = rig_wish();
	rig.injection.host = rig.injection.agent = RIG_B;
	rig.injection.step = step;
	rig_look(&before);
	child = born(live);
	assert_int_equal(pthread_create(&reaper, NULL, reap_lender, &child), 0);
	err = lend_borrow(rig.a, &wish, &borrow);
	if (!err && live == lend_for_ever)
		err = lend_return(rig.a, &borrow);
	if (err && err != -EHOSTDOWN)
		fail_msg("step %s: %d: %s", cluster_step_name(step), err, failure_text());
	pthread_join(reaper, NULL);
	if (live == lend_and_revoke) {
		lend_check(rig.a, &borrow);
		lend_return(rig.a, &borrow);
	}
	lend_look(rig.a);
	rig_bury(RIG_B);
	begun_anew(RIG_B);
	messages_forget(&rig.b);
	if (lend_register(&rig.b, rig.function))
		fail_msg("%s", failure_text());
	rig_lender_start();
	works_again(&before);
	rig_close();
}

static void lender_dies(void **state)
{
	static const enum cluster_step lending[] = {STEP_GRANT,	     STEP_DOMAIN,  STEP_DMA_WINDOW,
						    STEP_MSI_WINDOW, STEP_RELEASE, STEP_RESET,
						    STEP_AVAILABLE};
	static const enum cluster_step revoking[] = {STEP_REVOKE, STEP_REVOKED, STEP_RELEASE,
						     STEP_RESET};

	for (size_t i = 0; i < COUNT(lending); i++)
		lender_dies_at(lending[i], lend_for_ever);
	for (size_t i = 0; i < COUNT(revoking); i++)
		lender_dies_at(revoking[i], lend_and_revoke);
}

static void lender_is_dead(void **state)
{
	struct rig_sight before;
	struct lend_borrow borrow;
	struct bus bus;

	rig_open(true, NULL);
	rig_look(&before);
	rig_borrow(&borrow);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	rig_lender_stop();
	agent_state_set(rig.a, RIG_B, AGENT_DEAD);
	assert_int_equal(lend_check(rig.a, &borrow), -EHOSTDOWN);
	assert_int_equal(bus.ops->state(&bus), -ENODEV);
	lend_look(rig.a);
	assert_int_equal(lend_state(rig.a, rig.function), LEND_LOST);
	assert_true(bus.ops->read(&bus, 0, NVME_VS, 4) == ~0u);
	assert_int_equal(lend_check(rig.a, &borrow), -EHOSTDOWN);
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	rig_bury(RIG_B);
	rig_assert_same(&before);
	begun_anew(RIG_B);
	assert_int_equal(lend_register(&rig.b, rig.function), 0);
	assert_int_equal(lend_register(&rig.b, rig.function), -EALREADY);
	rig_lender_start();
	works_again(&before);
}

/* Neither is there any more: who has begun them all cleans up. */
static void both_are_dead(void **state)
{
	struct rig_sight before;
	struct lend_borrow borrow;

	rig_open(true, NULL);
	rig_look(&before);
	rig_borrow(&borrow);
	rig_lender_stop();
	agent_state_set(rig.a, RIG_A, AGENT_DEAD);
	agent_state_set(rig.a, RIG_B, AGENT_DEAD);
	lend_look(&rig.c);
	rig_bury(RIG_A);
	rig_bury(RIG_B);
	rig_assert_same(&before);
}

struct late_question {
	int error, answered;
};

static void *ask_late(void *argument)
{
	struct late_question *question = argument;
	struct message message = {.type = MESSAGE_LEND_BORROW, .words = {rig.function}};

	question->error = message_call(rig.a, RIG_B, &message, 60 * NSEC_PER_SEC);
	__atomic_store_n(&question->answered, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* What a host was asked before it was begun anew is answered, and not done. */
static void asked_of_a_former_life(void **state)
{
	struct late_question question = {0};
	struct lend_borrow borrow;
	pthread_t thread;

	rig_open(true, NULL);
	rig_lender_stop();
	assert_int_equal(pthread_create(&thread, NULL, ask_late, &question), 0);
	while (!__atomic_load_n(&question.answered, __ATOMIC_ACQUIRE)) {
		nap(MS);
		messages_forget(&rig.b);
	}
	pthread_join(thread, NULL);
	assert_int_equal(question.error, -EHOSTDOWN);
	assert_int_equal(lend_state(rig.a, rig.function), LEND_AVAILABLE);
	rig_lender_start();
	rig_borrow(&borrow);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(taken_by_force, forget),
		cmocka_unit_test_teardown(taken_from_the_deaf, forget),
		cmocka_unit_test_teardown(returned_when_asked, forget),
		cmocka_unit_test_teardown(link_drops, forget),
		cmocka_unit_test_teardown(tables_wiped, forget),
		cmocka_unit_test_teardown(borrower_dies, forget),
		cmocka_unit_test_teardown(borrower_dies_at_any_instant, forget),
		cmocka_unit_test_teardown(lender_dies, forget),
		cmocka_unit_test_teardown(lender_is_dead, forget),
		cmocka_unit_test_teardown(both_are_dead, forget),
		cmocka_unit_test_teardown(asked_of_a_former_life, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
