// SPDX-License-Identifier: GPL-2.0
/* Stalls against a second way to find them: byte by byte of a flow's sequence numbers, over random streams. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/sequence.h"
#include "lib/base/random.h"
#include "tests/unit/nic_rig.h"

#define STREAMS 499
#define EVENTS	211 /* of a stream, about half of which lose frames */
#define WINDOW	97  /* bytes that a flow has under way */
#define FLOWS	3

/* A flow as its bytes are: number `base` + i is bit i. */
struct slow_flow {
	__u32 base;
	bool missing[WINDOW];
	size_t open; /* index of its stall + 1, 0: none */
};

struct slow_stall {
	__u32 flow;
	__u64 from, to; /* to 0: open */
	__u64 frames, lost[LOSS_REASONS];
	__u32 faults, timeouts, probes, fast, slow_start;
	__u64 timeout;
	bool blamed[8];		/* by instance */
	size_t runs[EVENTS], n; /* events of which it consists */
};

struct slow {
	const struct event *events;
	struct slow_flow flows[FLOWS];
	struct slow_stall stalls[EVENTS];
	size_t count;
};

static __u32 first_of(const struct event *e)
{
	return (__u32)(e->address >> 32);
}

static bool has_byte(const struct event *e, __u32 byte)
{
	return byte - first_of(e) < (__u32)e->address - first_of(e);
}

static bool share_a_byte(const struct event *a, const struct event *b)
{
	for (__u32 byte = first_of(a); byte != (__u32)a->address; byte++)
		if (has_byte(b, byte))
			return true;
	return false;
}

static void slow_lost(struct slow *s, size_t at)
{
	const struct event *e = &s->events[at];
	struct slow_flow *flow = &s->flows[e->tid - 1];
	struct slow_stall *stall;

	if (!flow->open) {
		flow->open = ++s->count;
		s->stalls[s->count - 1] = (struct slow_stall){.flow = e->tid, .from = e->value};
	}
	stall = &s->stalls[flow->open - 1];
	stall->from = e->value < stall->from ? e->value : stall->from;
	stall->frames += e->length >> 32;
	stall->lost[e->code] += e->length >> 32;
	if (e->code == LOSS_FAULT && !stall->blamed[e->instance]) {
		stall->blamed[e->instance] = true;
		stall->faults++;
	}
	stall->runs[stall->n++] = at;
	for (__u32 i = 0; i < WINDOW; i++)
		flow->missing[i] |= has_byte(e, flow->base + i);
}

/* What was sent again before the stall ended and after the first frame of one of its runs was lost. */
static void slow_count(const struct slow *s, struct slow_stall *stall, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		const struct event *e = &s->events[i];
		bool counts = false;

		for (size_t k = 0; k < stall->n; k++) {
			const struct event *run = &s->events[stall->runs[k]];

			counts |= e->time_ns >= run->value && share_a_byte(run, e);
		}
		if (e->kind != EVENT_TCP_RETRANSMIT || e->tid != stall->flow || !counts)
			continue;
		stall->timeouts += e->code == RECOVERY_TIMEOUT;
		stall->probes += e->code == RECOVERY_PROBE;
		stall->fast += e->code == RECOVERY_FAST;
		stall->slow_start += e->code == RECOVERY_SLOW_START;
		if (e->code == RECOVERY_TIMEOUT && e->value > stall->timeout)
			stall->timeout = e->value;
	}
}

static void slow_recovered(struct slow *s, size_t at)
{
	const struct event *e = &s->events[at];
	struct slow_flow *flow = &s->flows[e->tid - 1];
	struct slow_stall *stall;
	bool left = false;

	if (!flow->open)
		return;
	stall = &s->stalls[flow->open - 1];
	for (__u32 i = 0; i < WINDOW; i++) {
		flow->missing[i] &= !has_byte(e, flow->base + i);
		left |= flow->missing[i];
	}
	if (left)
		return;
	stall->to = e->time_ns;
	slow_count(s, stall, at);
	flow->open = 0;
}

static void slow_all(struct slow *s, const struct nic_rig *rig)
{
	s->events = rig->events;
	for (size_t i = 0; i < rig->count; i++)
		if (rig->events[i].kind == EVENT_FRAMES_LOST)
			slow_lost(s, i);
		else if (rig->events[i].kind == EVENT_FRAMES_RECOVERED)
			slow_recovered(s, i);
	for (size_t i = 0; i < s->count; i++)
		if (!s->stalls[i].to)
			slow_count(s, &s->stalls[i], rig->count);
}

/* A part of the flow's window. */
static void random_range(struct random *random, const struct slow *s, __u32 flow, __u32 *first,
			 __u32 *length)
{
	__u32 at = (__u32)random_below(random, WINDOW);

	*first = s->flows[flow - 1].base + at;
	*length = 1 + (__u32)random_below(random, WINDOW - at);
	if (random_below(random, 4))
		*length = 1 + *length / 5;
}

static void add_random(struct nic_rig *rig, struct random *random, const struct slow *s, __u64 time)
{
	__u32 flow = 1 + (__u32)random_below(random, FLOWS), first, length;
	__u64 back = random_below(random, 5) * MS;
	enum loss_reason reason = (enum loss_reason)random_below(random, LOSS_REASONS);

	random_range(random, s, flow, &first, &length);
	switch (random_below(random, 8)) {
	case 0:
	case 1:
		nic_rig_add(rig, told_resent(time, flow, first, length,
					     (enum tcp_recovery)(1 + random_below(random, 4)),
					     1 + random_below(random, 1000)));
		break;
	case 2:
	case 3:
		nic_rig_add(rig, told_recovered(time, flow, s->flows[flow - 1].base,
						random_below(random, 2) ? WINDOW : length));
		break;
	case 4:
		nic_rig_add(rig, told_recovered(time, flow, first, length));
		break;
	default:
		nic_rig_add(rig, told_lost(time, time > back ? time - back : time, flow, first,
					   length, 1 + (__u32)random_below(random, 5), reason,
					   1 + (__u32)random_below(random, 7)));
	}
}

/* The stall that began then, of that flow and order, in the table. */
static void expect_stall(const struct nic_rig *rig, const struct slow_stall *stall, __u64 now)
{
	char flow[FLOW_TEXT];
	size_t found = 0;

	session_flow_text(rig->analysis->session, stall->flow, flow);
	for (size_t row = 0; row < rig->rows.count; row++) {
		static const struct {
			const char *name;
			enum loss_reason reason;
		} lost[] = {{"lost_fault", LOSS_FAULT},
			    {"lost_wire", LOSS_WIRE},
			    {"lost_no_buffer", LOSS_NO_BUFFER},
			    {"lost_unknown", LOSS_UNKNOWN},
			    {"lost_cache_full", LOSS_CACHE_FULL},
			    {"lost_overlong", LOSS_OVERLONG},
			    {"lost_backup_full", LOSS_BACKUP_FULL},
			    {"lost_before_nic", LOSS_BEFORE_NIC}};
		bool same = nic_rig_cell(rig, row, "start").count == stall->from &&
			    !strcmp(nic_rig_cell(rig, row, "state").text,
				    stall->to ? "recovered" : "open") &&
			    !strcmp(nic_rig_cell(rig, row, "device").text,
				    stall->flow == FLOW_ELSEWHERE ? "vm1/net" : "vm/net") &&
			    !strcmp(nic_rig_cell(rig, row, "flow").text, flow) &&
			    nic_rig_cell(rig, row, "duration").count ==
				    (stall->to ?: now) - stall->from &&
			    nic_rig_cell(rig, row, "lost").count == stall->frames &&
			    nic_rig_cell(rig, row, "faults").count == stall->faults &&
			    nic_rig_cell(rig, row, "timeouts").count == stall->timeouts &&
			    nic_rig_cell(rig, row, "probes").count == stall->probes &&
			    nic_rig_cell(rig, row, "fast").count == stall->fast &&
			    nic_rig_cell(rig, row, "slow_start").count == stall->slow_start &&
			    nic_rig_cell(rig, row, "timeout").count ==
				    count_if(stall->timeouts, stall->timeout);

		for (size_t i = 0; i < COUNT(lost); i++)
			same &= nic_rig_cell(rig, row, lost[i].name).count ==
				stall->lost[lost[i].reason];
		found += same;
	}
	if (!found)
		fail_msg("no stall of flow %u from %llu to %llu: %llu frames, %u faults, %u %u %u",
			 stall->flow, stall->from, stall->to, stall->frames, stall->faults,
			 stall->timeouts, stall->probes, stall->fast);
}

static void stalls_are_those_found_byte_by_byte(void **state)
{
	static const size_t chunks[] = {0, 1, 2, 17};
	size_t recovered = 0, sent = 0, several = 0;
	struct random random = {7};

	for (size_t n = 0; n < STREAMS; n++) {
		static struct slow slow;
		struct nic_rig rig;
		__u64 time = MS;

		memset(&slow, 0, sizeof(slow));
		nic_rig_begin(&rig);
		for (__u32 i = 0; i < FLOWS; i++)
			slow.flows[i].base = random_below(&random, 2)
						     ? (__u32)random_next(&random)
						     : 0u - (__u32)random_below(&random, WINDOW);
		for (int i = 0; i < EVENTS; i++, time += random_below(&random, 3 * MS))
			add_random(&rig, &random, &slow, time);
		nic_rig_run(&rig, chunks[n % COUNT(chunks)]);
		slow_all(&slow, &rig);
		assert_int_equal(floor_of(rig.analysis), 0);
		assert_int_equal(nic_rig_rows(&rig, stalls_write), slow.count);
		for (size_t i = 0; i < slow.count; i++) {
			expect_stall(&rig, &slow.stalls[i], rig.events[rig.count - 1].time_ns);
			recovered += slow.stalls[i].to != 0;
			sent += slow.stalls[i].timeouts + slow.stalls[i].slow_start +
				slow.stalls[i].fast;
			several += slow.stalls[i].n > 2;
		}
		nic_rig_end(&rig);
	}
	assert_true(recovered > 10 * STREAMS && sent > 10 * STREAMS && several > 3 * STREAMS);
}

#define SPACE 211

static void expect_set(const struct sequence_set *set, const bool *has, __s64 base)
{
	for (__s64 i = 0; i < SPACE; i++) {
		assert_int_equal(sequence_overlaps(set, base + i, base + i + 1), has[i]);
	}
	for (size_t i = 0; i < set->count; i++) {
		assert_true(set->ranges[i].from < set->ranges[i].to);
		assert_true(!i || set->ranges[i - 1].to < set->ranges[i].from);
	}
}

static void a_set_has_the_bytes_that_were_put_in(void **state)
{
	struct random random = {3};

	for (int n = 0; n < 97; n++) {
		__s64 base = (__s64)random_below(&random, 1ull << 40);
		struct sequence_set set = {0};
		bool has[SPACE] = {0};

		for (int step = 0; step < 211; step++) {
			__s64 from = (__s64)random_below(&random, SPACE);
			__s64 to = from + 1 + (__s64)random_below(&random, (__u64)(SPACE - from));
			bool add = random_below(&random, 2), any = false;

			if (random_below(&random, 3))
				to = from + 1 + (to - from) / 16;
			for (__s64 i = from; i < to; i++)
				any |= has[i];
			assert_int_equal(sequence_overlaps(&set, base + from, base + to), any);
			assert_true((add ? sequence_add : sequence_remove)(&set, base + from,
									   base + to));
			for (__s64 i = from; i < to; i++)
				has[i] = add;
			expect_set(&set, has, base);
		}
		sequence_free(&set);
	}
}

/* Where there is no room the lowest goes, and that is said. */
static void a_full_set_forgets_the_lowest(void **state)
{
	struct sequence_set set = {0};

	for (__s64 i = 0; i < SEQUENCE_RANGES_MAX; i++)
		assert_true(sequence_add(&set, 4 * i, 4 * i + 3));
	assert_true(sequence_add(&set, 5, 6));
	assert_false(sequence_remove(&set, 9, 10));
	assert_int_equal(set.count, SEQUENCE_RANGES_MAX);
	assert_false(sequence_overlaps(&set, 0, 4));
	assert_true(sequence_overlaps(&set, 8, 9));
	assert_false(sequence_overlaps(&set, 9, 10));
	assert_true(sequence_overlaps(&set, 10, 11));
	assert_false(sequence_add(&set, 1, 2));
	assert_false(sequence_overlaps(&set, 1, 2));
	assert_false(sequence_add(&set, 1 << 20, (1 << 20) + 1));
	assert_false(sequence_overlaps(&set, 4, 7));
	assert_true(sequence_overlaps(&set, 1 << 20, (1 << 20) + 1));
	assert_int_equal(set.count, SEQUENCE_RANGES_MAX);
	sequence_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stalls_are_those_found_byte_by_byte),
		cmocka_unit_test(a_set_has_the_bytes_that_were_put_in),
		cmocka_unit_test(a_full_set_forgets_the_lowest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
