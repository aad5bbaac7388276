// SPDX-License-Identifier: GPL-2.0
/* Verbs of devices with a mode, from streams made by hand: their stages, and how one is put together of them. */
#include "tests/unit/hyv_seen.h"

#include <errno.h>

#include "lib/analyze/guest_pins.h"
#include "lib/analyze/verb_calls.h"
#include "lib/analyze/verbs.h"
#include "lib/analyze/work_requests.h"

static void stage(__u32 handle, __u32 token, __u16 kind, __u8 code, __u64 begun_ns, __u64 ns)
{
	seen_push((struct event){.kind = EVENT_VERB_STAGE,
				 .device = handle,
				 .group = token,
				 .queue = kind,
				 .code = code,
				 .address = begun_ns,
				 .value = ns});
}

static void woken(__u32 handle, __u32 token, __u8 kind, __u64 ns)
{
	seen_push((struct event){.kind = EVENT_VERB_WOKEN,
				 .device = handle,
				 .group = token,
				 .code = kind,
				 .value = ns});
}

static void verbs_are_counted_by_stage(void **state)
{
	(void)state;
	for (__u32 i = 1; i <= 13; i++) {
		seen_verb(HYBRID, i, VERB_KIND_REGISTER, 5000, 900 + i, i == 7 ? ENOMEM : 0);
		stage(HYBRID, i, VERB_KIND_REGISTER, VERB_PIN, 5100, 211);
		stage(HYBRID, i, VERB_KIND_REGISTER, VERB_INSTALL, 5400, 503);
		if (i > 1)
			woken(HYBRID, i - 1, VERB_KIND_REGISTER, 37);
	}
	seen_verb(NATIVE, 1, VERB_KIND_CREATE_QP, 5000, 77, 0);
	assert_int_equal(verbs_count(seen.analysis->verbs, HYBRID), 13);
	assert_int_equal(verbs_count(seen.analysis->verbs, ODP), 0);
	assert_int_equal(
		verbs_stage(seen.analysis->verbs, HYBRID, VERB_KIND_REGISTER, VERB_WAKE)->count,
		12);
	assert_null(verbs_stage(seen.analysis->verbs, HYBRID, VERB_KIND_REGISTER, VERB_REMAP));
	seen_says(&verbs_analyzer, "left/hybrid,reg_mr,total,13,1,");
	seen_says(&verbs_analyzer, "left/hybrid,reg_mr,pin,13,,211,211,211,2743,\n");
	seen_says(&verbs_analyzer, "left/hybrid,reg_mr,install,13,,");
	seen_says(&verbs_analyzer, "left/native,create_qp,total,1,0,77,77,77,77,12288\n");
	seen_says_not(&verbs_analyzer, "remap");
}

static void what_no_verb_can_be_is_left_out(void **state)
{
	(void)state;
	seen_verb(HYBRID, 1, VERB_KINDS, 5000, 1, 0);
	seen_verb(HYBRID, 1, 255, 5000, 1, 0);
	stage(HYBRID, 1, 0xffff, VERB_PIN, 5000, 1);
	stage(HYBRID, 1, VERB_KIND_REGISTER, VERB_STAGES, 5000, 1);
	stage(HYBRID, 1, VERB_KIND_REGISTER, 255, 5000, 1);
	seen_push((struct event){
		.kind = EVENT_PINNED, .device = HYBRID, .code = PIN_ROLES, .value = 1});
	seen_push(
		(struct event){.kind = EVENT_WORK_REQUEST, .device = HYBRID, .code = WORK_STAGES});
	seen_push((struct event){.kind = EVENT_WORK_REQUEST, .device = HYBRID, .queue = 4});
	assert_int_equal(verbs_count(seen.analysis->verbs, HYBRID), 0);
	assert_int_equal(guest_pins_count(seen.analysis), 0);
	assert_int_equal(work_requests_count(seen.analysis->work_requests, HYBRID), 0);
}

static struct verb_call calls[8];
static size_t call_count;

static void on_call(void *self, const struct verb_call *call)
{
	(void)self;
	assert_true(call_count < 8);
	calls[call_count++] = *call;
}

static void follow(void)
{
	call_count = 0;
	assert_int_equal(verb_calls_follow(seen.analysis->verb_calls, (struct verb_sink){on_call}),
			 0);
}

static void a_verb_is_put_together(void **state)
{
	(void)state;
	follow();
	assert_int_equal(verb_calls_follow(seen.analysis->verb_calls, (struct verb_sink){on_call}),
			 -EBUSY);
	woken(HYBRID, 6, VERB_KIND_OPEN, 5); /* of one that was answered before */
	seen_verb(HYBRID, 7, VERB_KIND_REGISTER, 5000, 914, 0);
	stage(HYBRID, 7, VERB_KIND_REGISTER, VERB_SYSCALL, 5000, 411);
	stage(HYBRID, 7, VERB_KIND_REGISTER, VERB_DRIVER, 5411, 503);
	assert_int_equal(call_count, 0);
	woken(HYBRID, 7, VERB_KIND_REGISTER, 86);
	assert_int_equal(call_count, 1);
	assert_int_equal(calls[0].took_ns, 914);
	assert_int_equal(calls[0].stage_ns[VERB_WAKE], 86);
	assert_int_equal(calls[0].stage_ns[VERB_DRIVER], 503);
	assert_int_equal(calls[0].runs, 2);
	assert_int_equal(calls[0].key, 17);
	assert_int_equal(calls[0].bytes, PAGES(3));
}

/* Not woken, since nothing was called any more; of a token that a new guest begins with again; and one whose answer was lost. */
static void verbs_that_lack_something_are_told(void **state)
{
	(void)state;
	follow();
	seen_verb(HYBRID, 1, VERB_KIND_OPEN, 5000, 10, 0);
	seen_verb(HYBRID, 1, VERB_KIND_OPEN, 9000, 20, 0);
	assert_int_equal(call_count, 1);
	assert_int_equal(calls[0].took_ns, 10);
	stage(HYBRID, 1 + VERB_CALLS_OPEN, VERB_KIND_CREATE_QP, VERB_PIN, 9500, 33);
	assert_int_equal(call_count, 2);
	assert_int_equal(calls[1].took_ns, 20);
	seen_verb(NATIVE, 1, VERB_KIND_POST, 9900, 3, EPERM);
	assert_int_equal(seen.stream.ops->end(seen.stream.self, seen.now_ns), 0);
	assert_int_equal(call_count, 4);
	assert_int_equal(calls[2].kind, VERB_KIND_CREATE_QP);
	assert_int_equal(calls[2].took_ns, 0);
	assert_int_equal(calls[2].start_ns, 9500);
	assert_int_equal(calls[3].error, EPERM);
}

static void verbs_belong_to_the_period_by_their_call(void **state)
{
	const struct analysis_config config = {.period = {5000, 6000}};

	(void)state;
	analysis_destroy(seen.analysis);
	seen_setup_with(&config);
	follow();
	seen_verb(HYBRID, 1, VERB_KIND_OPEN, 4999, 10, 0);
	seen_verb(HYBRID, 2, VERB_KIND_OPEN, 5000, 10, 0);
	seen_verb(HYBRID, 3, VERB_KIND_OPEN, 6000, 10, 0);
	assert_int_equal(seen.stream.ops->end(seen.stream.self, seen.now_ns), 0);
	assert_int_equal(call_count, 1);
	assert_int_equal(calls[0].token, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SEEN(verbs_are_counted_by_stage),
		SEEN(what_no_verb_can_be_is_left_out),
		SEEN(a_verb_is_put_together),
		SEEN(verbs_that_lack_something_are_told),
		SEEN(verbs_belong_to_the_period_by_their_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
