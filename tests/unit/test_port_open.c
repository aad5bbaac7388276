// SPDX-License-Identifier: GPL-2.0
/* For how long a queue had open faults, whatever overlaps and in whatever order it is told. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "injectors/emu/port_private.h"

#define QUEUES 2

static struct port *make_port(void)
{
	struct port_config config = {.queues = QUEUES, .group_pages = 1};
	struct port *port;

	assert_int_equal(port_create(&port, &config), 0);
	return port;
}

static void overlapping_ones_count_once(void **state)
{
	struct port *port = make_port();

	port_group_opens(port, 0, 100);
	port_group_opens(port, 0, 120);
	port_group_closes(port, 0, 150);
	port_group_opens(port, 0, 160);
	port_group_closes(port, 0, 170);
	port_group_closes(port, 0, 200);
	assert_int_equal(port_open_ns(port), 100);
	port_group_opens(port, 0, 300);
	port_group_closes(port, 0, 301);
	assert_int_equal(port_open_ns(port), 101);
	port_destroy(port);
}

static void each_queue_has_its_own(void **state)
{
	struct port *port = make_port();

	port_group_opens(port, 0, 100);
	port_group_opens(port, 1, 110);
	port_group_closes(port, 0, 130);
	port_group_closes(port, 1, 130);
	assert_int_equal(port_open_ns(port), 50);
	port_destroy(port);
}

static void what_is_told_late_counts_once(void **state)
{
	struct port *port = make_port();

	/* The one that was detected first is claimed last. */
	port_group_opens(port, 0, 120);
	port_group_opens(port, 0, 100);
	port_group_closes(port, 0, 140);
	port_group_closes(port, 0, 130);
	assert_int_equal(port_open_ns(port), 40);
	/* Of this one a part has been counted. */
	port_group_opens(port, 0, 135);
	port_group_opens(port, 0, 110);
	port_group_closes(port, 0, 150);
	port_group_closes(port, 0, 145);
	assert_int_equal(port_open_ns(port), 50);
	/* And all of this one. */
	port_group_opens(port, 0, 101);
	port_group_closes(port, 0, 149);
	assert_int_equal(port_open_ns(port), 50);
	/* This one has begun before another that has come and gone. */
	port_group_opens(port, 0, 210);
	port_group_closes(port, 0, 220);
	port_group_opens(port, 0, 190);
	port_group_closes(port, 0, 230);
	assert_int_equal(port_open_ns(port), 90);
	port_destroy(port);
}

static void what_is_open_counts_until_the_port_ends(void **state)
{
	struct port *port = make_port();

	port_group_opens(port, 0, 100);
	port->stopped_ns = 170;
	assert_int_equal(port_open_ns(port), 70);
	port->stopped_ns = 90;
	assert_int_equal(port_open_ns(port), 0);
	port_destroy(port);
}

/* What a bitmap of time says of any such groups; less by what is claimed late at most. */
static void any_order_gives_the_union(void **state)
{
	enum { TIMES = 400, GROUPS = 40 };
	__u64 random = 7;

	for (int round = 0; round < 300; round++) {
		struct port *port = make_port();
		bool blocked[TIMES] = {0};
		__u64 sum = 0, late = 0, most = round % 2 ? 1 : 20;
		struct {
			__u64 detect, claim, end;
		} group[GROUPS];

		for (int i = 0; i < GROUPS; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			group[i].detect = (random >> 33) % (TIMES - 60);
			group[i].claim = group[i].detect + (random >> 20) % most;
			late += group[i].claim - group[i].detect;
			group[i].end = group[i].claim + (random >> 45) % 40;
			for (__u64 t = group[i].detect; t < group[i].end; t++)
				blocked[t] = true;
		}
		for (__u64 now = 0; now < TIMES; now++) {
			for (int i = 0; i < GROUPS; i++)
				if (group[i].claim == now)
					port_group_opens(port, 0, group[i].detect);
			for (int i = 0; i < GROUPS; i++)
				if (group[i].end == now)
					port_group_closes(port, 0, now);
			sum += blocked[now];
		}
		assert_in_range(port_open_ns(port), late < sum ? sum - late : 0, sum);
		port_destroy(port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_ones_count_once),
		cmocka_unit_test(each_queue_has_its_own),
		cmocka_unit_test(what_is_told_late_counts_once),
		cmocka_unit_test(what_is_open_counts_until_the_port_ends),
		cmocka_unit_test(any_order_gives_the_union),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
