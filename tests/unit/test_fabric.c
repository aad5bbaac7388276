// SPDX-License-Identifier: GPL-2.0
/* Topologies, routes and prices by hand: PIV Tables 1 and 2, Little's law, sums of hops; and what is refused. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/fabric/cost.h"
#include "lib/job/text.h"
#include "tests/unit/job_files.h"

static struct fabric *fabric;

static void build(const char *content)
{
	struct job_text *text;

	fabric_free(fabric);
	fabric = NULL;
	assert_int_equal(read_job(&text, content), 0);
	if (fabric_build(&fabric, text))
		fail_msg("%s", failure_text());
	job_text_free(text);
}

static int forget(void **state)
{
	(void)state;
	fabric_free(fabric);
	fabric = NULL;
	return 0;
}

static struct route way(const char *from, const char *to, bool translated)
{
	struct route route;
	__u32 a = fabric_find(fabric, from), b = fabric_find(fabric, to);

	assert_int_not_equal(a, FABRIC_NONE);
	assert_int_not_equal(b, FABRIC_NONE);
	if (route_find(fabric, a, b, translated, NULL, &route))
		fail_msg("%s", failure_text());
	return route;
}

static struct route bounce(const char *from, const char *by, const char *to, bool translated)
{
	struct route first = way(from, by, translated), second = way(by, to, translated), sum;

	assert_int_equal(route_bounce(&first, &second, fabric, &sum), 0);
	return sum;
}

/* The nodes of a route, with blanks between them. */
static const char *names(const struct route *route)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (__u32 i = 0; i < route->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 fabric->nodes[route->nodes[i]].name);
	return text;
}

static void check_counts(struct route route, unsigned int hops, unsigned int roots)
{
	if (route.hops != hops || route.roots != roots)
		fail_msg("%s: %u hops, %u roots; not %u, %u", names(&route), route.hops,
			 route.roots, hops, roots);
}

/* Three hosts, each joined to each other; GPUs of one lender under another switch than its adapters, of two under the same. */
#define TABLE_1                                                                       \
	"[host local]\n"                                                              \
	"[switch s1]\nunder = local\n[switch s2]\nunder = local\n"                    \
	"[device l1]\nunder = s1\n[device l2]\nunder = s1\n"                          \
	"[device l3]\nunder = s2\n"                                                   \
	"[host borrower]\n"                                                           \
	"[adapter ba]\nunder = borrower\n[adapter bb]\nunder = borrower\n"            \
	"[host a]\niommu = yes\n"                                                     \
	"[switch a1]\nunder = a\n[switch a2]\nunder = a\n"                            \
	"[device g1]\nunder = a1\n[device g2]\nunder = a1\n[device g3]\nunder = a2\n" \
	"[adapter ab]\nunder = a2\n[adapter aB]\nunder = a2\n"                        \
	"[host b]\niommu = yes\n"                                                     \
	"[switch b2]\nunder = b\n[device g4]\nunder = b2\n"                           \
	"[adapter bB]\nunder = b2\n[adapter bA]\nunder = b2\n"                        \
	"[link 1]\nbetween = ba ab\n[link 2]\nbetween = bb bB\n[link 3]\nbetween = aB bA\n"

static void table_1(void **state)
{
	(void)state;
	build(TABLE_1);
	check_counts(way("l1", "l2", false), 1, 0);
	check_counts(way("l1", "l3", false), 3, 1);
	check_counts(bounce("l1", "local", "l3", false), 3, 1);
	check_counts(way("g1", "g2", false), 1, 0);
	check_counts(way("g1", "g2", true), 3, 1);
	check_counts(way("g3", "g4", false), 4, 0);
	check_counts(way("g3", "g4", true), 8, 2);
	check_counts(bounce("g1", "borrower", "g2", false), 11, 3);
	check_counts(bounce("g1", "borrower", "g2", true), 11, 3);
	/* Printed as 8, which its neighbours leave no room for: docs/fabric.md. */
	check_counts(bounce("g3", "borrower", "g4", false), 7, 1);
	check_counts(bounce("g3", "borrower", "g4", true), 11, 3);
}

/* A chassis behind two cards; the borrower has a switch between its root and its adapter. */
#define TABLE_2                                                                      \
	"[host lender]\niommu = yes\n"                                               \
	"[switch card]\nunder = lender\n[switch uplink]\nunder = card\n"             \
	"[switch chassis]\nunder = uplink\n"                                         \
	"[device g1]\nunder = chassis\n[device g2]\nunder = chassis\n"               \
	"[adapter far]\nunder = chassis\n"                                           \
	"[host borrower]\n[switch s]\nunder = borrower\n[adapter near]\nunder = s\n" \
	"[link cable]\nbetween = near far\n"

static void table_2(void **state)
{
	(void)state;
	build(TABLE_2);
	check_counts(way("g1", "g2", true), 7, 1);
	check_counts(bounce("g1", "lender", "g2", true), 7, 1);
	check_counts(bounce("g1", "borrower", "g2", true), 21, 3);
	assert_string_equal(names(&(struct route){0}), "");
	struct route route = way("g1", "borrower", true);

	assert_string_equal(
		names(&route),
		"g1 chassis uplink card lender card uplink chassis far near s borrower");
	assert_int_equal(route.crossings, 1);
	assert_int_equal(route.translations, 1);
	/* 4 switches twice but one, a root, 2 adapters, a cable, half a root. */
	assert_int_equal(route.delay_ns, 7 * 150 + 200 + 2 * 177 + 5 + 100);
	assert_int_equal(route.behind_ns, 4 * 150 + 2 * 177 + 5 + 100);
	assert_int_equal(route.crossing_ns, 2 * 177 + 5);
}

/* Section 7.4.1 of PV. */
static void queues(void **state)
{
	(void)state;
	build("[host lender]\n[switch p]\nunder = lender\n[switch q]\nunder = p\n[switch r]\nunder = q\n"
	      "[device disk]\nunder = r\n[device gpu]\nunder = r\n[adapter far]\nunder = r\n"
	      "[host borrower]\n[switch s]\nunder = borrower\n[adapter near]\nunder = s\n"
	      "[link cable]\nbetween = near far\n");
	check_counts(way("disk", "borrower", false), 4, 0);
	check_counts(way("disk", "lender", false), 3, 0);
	check_counts(way("borrower", "lender", false), 6, 0);
	check_counts(way("disk", "gpu", false), 1, 0);
}

static void one_way_between_memories(void **state)
{
	struct fabric_costs costs;
	struct transaction_cost cost;
	struct job_text *text;
	struct route route;

	(void)state;
	build("[host a]\n[adapter x]\nunder = a\n[host b]\n[adapter y]\nunder = b\n[link c]\nbetween = x y\n");
	assert_int_equal(read_job(&text, "[host a]\n"), 0);
	assert_int_equal(fabric_costs_read(&costs, text), 0);
	job_text_free(text);
	route = way("a", "b", true);
	assert_int_equal(route.hops, 2);
	fabric_cost(fabric, &costs, &(struct transaction){&route, true, 64}, &cost);
	assert_int_equal(cost.first_ns, 559);
	assert_int_equal(cost.total_ns, 559);
	assert_int_equal(cost.requests, 1);
	/* A read goes there and back, and memory answers. */
	fabric_cost(fabric, &costs, &(struct transaction){&route, false, 64}, &cost);
	assert_int_equal(cost.first_ns, 2 * 559 + 100);
}

/* Two hosts with a device each, whose way passes the first one's root where that translates. */
#define SPLIT                                                                                  \
	"[host a]\niommu = yes\n[switch s]\nunder = a\ndelay = 100ns\n[device d]\nunder = s\n" \
	"[adapter x]\nunder = s\n[host b]\n[adapter y]\nunder = b\n[device e]\nunder = b\n"    \
	"[link c]\nbetween = x y\ndelay = 6ns\nrate = 10e9/s\n"

static const struct fabric_costs hand = {
	.memory_ns = 40,
	.device_ns = 60,
	.translate_ns = 10,
	.payload = 128,
	.request = 256,
	.split = 64,
	.outstanding = 8,
	.split_outstanding = 16,
	.bytes_per_s = 12e9,
	.root_bytes_per_s = 5e9,
};

static struct transaction_cost priced(const struct fabric_costs *costs, const struct route *route,
				      bool posted, __u64 bytes)
{
	struct transaction_cost cost;

	fabric_cost(fabric, costs, &(struct transaction){route, posted, bytes}, &cost);
	return cost;
}

static void reads_outstanding(void **state)
{
	struct transaction_cost cost;
	struct fabric_costs costs = hand;
	struct route route;
	/* A switch, two adapters, a cable, half a root; there and back, and RAM's answer. */
	const double trip = 2 * (100 + 2 * 177 + 6 + 100) + 40;

	(void)state;
	build(SPLIT);
	route = way("d", "b", false);
	cost = priced(&costs, &route, false, 1);
	assert_int_equal(cost.first_ns, trip);
	assert_int_equal(cost.total_ns, trip);
	assert_int_equal(cost.requests, 1);
	assert_int_equal(cost.pieces, 1);
	/* 8 at a time, the last 25.6 ns behind the one before; then the first again. */
	cost = priced(&costs, &route, false, 8 * 256);
	assert_int_equal(cost.requests, 8);
	assert_int_equal(cost.total_ns, trip + 7 * 25.6);
	cost = priced(&costs, &route, false, 8 * 256 + 1);
	assert_int_equal(cost.requests, 9);
	assert_int_equal(cost.total_ns, 2 * trip);
	cost = priced(&costs, &route, false, 17 * 256);
	assert_int_equal(cost.total_ns, 3 * trip);
	/* Little: outstanding times size by the time of one. */
	assert_true(fabs(fabric_bandwidth(fabric, &costs, &route, false) - 8 * 256 / trip * 1e9) <
		    1);
	/* With enough of them the cable is what limits, then the endpoint's link. */
	costs.outstanding = 512;
	assert_true(fabric_bandwidth(fabric, &costs, &route, false) == 10e9);
	cost = priced(&costs, &route, false, 1025 * 256);
	assert_int_equal(cost.total_ns, (__u64)(trip + 1024 * 25.6));
	costs.bytes_per_s = 9e9;
	assert_true(fabric_bandwidth(fabric, &costs, &route, false) == 9e9);
	/* Of what would take longer than there are nanoseconds, so many. */
	costs = hand;
	costs.memory_ns = 1000000000;
	costs.request = costs.outstanding = 1;
	cost = priced(&costs, &route, false, 1ull << 40);
	assert_int_equal(cost.total_ns, 4000000000000000000 + cost.first_ns);
	/* A device answers in its own time. */
	route = way("d", "e", false);
	cost = priced(&hand, &route, false, 1);
	assert_int_equal(cost.first_ns, 2 * (100 + 2 * 177 + 6 + 200) + 60);
	assert_int_equal(cost.pieces, 1);
}

static void split_behind_the_root(void **state)
{
	struct transaction_cost cost;
	struct fabric_costs costs = hand;
	struct route route;
	/* Twice the switch and the root more, and the IOMMU; from the root on: a switch, adapters, a cable, RAM. */
	const double trip = 2 * (2 * 100 + 200 + 2 * 177 + 6 + 100) + 10 + 40;
	const double behind = 2 * (100 + 2 * 177 + 6 + 100) + 40;

	(void)state;
	build(SPLIT);
	route = way("d", "b", true);
	assert_int_equal(route.translations, 1);
	assert_int_equal(route.behind_translations, 0);
	cost = priced(&costs, &route, false, 256);
	assert_int_equal(cost.first_ns, trip);
	assert_int_equal(cost.requests, 1);
	assert_int_equal(cost.pieces, 4);
	cost = priced(&costs, &route, false, 256 + 65);
	assert_int_equal(cost.requests, 2);
	assert_int_equal(cost.pieces, 6);
	assert_int_equal(priced(&costs, &route, false, 0).pieces, 1);
	/* 16 pieces, which are 4 requests, at a time. */
	cost = priced(&costs, &route, false, 4 * 256 + 1);
	assert_int_equal(cost.total_ns, trip + behind);
	assert_true(fabs(fabric_bandwidth(fabric, &costs, &route, false) - 16 * 64 / behind * 1e9) <
		    1);
	/* The engine's own limit, where it is the lower one. */
	costs.split_outstanding = 64;
	assert_true(fabs(fabric_bandwidth(fabric, &costs, &route, false) - 8 * 256 / trip * 1e9) <
		    1);
	cost = priced(&costs, &route, false, 8 * 256 + 1);
	assert_int_equal(cost.total_ns, 2 * trip);
	/* Requests that are as small leave as they came. */
	costs.request = 32;
	cost = priced(&costs, &route, false, 96);
	assert_int_equal(cost.requests, 3);
	assert_int_equal(cost.pieces, 3);
	costs.request = 256;
	costs.split = 0;
	cost = priced(&costs, &route, false, 4096);
	assert_int_equal(cost.pieces, 16);
	assert_true(fabs(fabric_bandwidth(fabric, &costs, &route, false) - 8 * 256 / trip * 1e9) <
		    1);
}

static void writes_are_posted(void **state)
{
	struct transaction_cost cost;
	struct route route;

	(void)state;
	build(SPLIT);
	route = way("d", "b", false);
	cost = priced(&hand, &route, true, 129);
	assert_int_equal(cost.first_ns, 100 + 2 * 177 + 6 + 100);
	assert_int_equal(cost.requests, 2);
	assert_int_equal(cost.pieces, 2);
	assert_int_equal(priced(&hand, &route, true, 256).requests, 2);
	/* What comes behind the first packet takes the cable's time. */
	cost = priced(&hand, &route, true, 128 + 1000);
	assert_int_equal(cost.total_ns, 560 + 100);
	assert_true(fabric_bandwidth(fabric, &hand, &route, true) == 10e9);
	route = way("d", "b", true);
	cost = priced(&hand, &route, true, 128 + 1000);
	assert_int_equal(cost.first_ns, 560 + 300 + 10);
	assert_int_equal(cost.total_ns, 560 + 300 + 10 + 200);
	assert_int_equal(cost.requests, 9);
	assert_int_equal(cost.pieces, 9);
	assert_true(fabric_bandwidth(fabric, &hand, &route, true) == 5e9);
	/* Within a host there is no cable. */
	route = way("d", "a", false);
	assert_true(fabric_bandwidth(fabric, &hand, &route, true) == 12e9);
	assert_int_equal(priced(&hand, &route, true, 0).requests, 1);
	assert_int_equal(priced(&hand, &route, false, 0).requests, 1);
	assert_int_equal(priced(&hand, &route, false, 0).total_ns, 2 * 200 + 40);
}

static void ways_that_there_are_not(void **state)
{
	const __u64 down = 1;
	__u32 x, y, d, b, many[ROUTE_THROUGH_MAX + 1] = {0};
	struct route route, other;

	(void)state;
	build(SPLIT "[host c]\n[device f]\nunder = c\n");
	x = fabric_find(fabric, "x");
	y = fabric_find(fabric, "y");
	d = fabric_find(fabric, "d");
	b = fabric_find(fabric, "b");
	assert_int_equal(route_find(fabric, d, fabric_find(fabric, "f"), false, NULL, &route),
			 -ENETUNREACH);
	assert_string_equal(failure_text(), "there is no way from d to f");
	assert_int_equal(route_find(fabric, d, b, false, &down, &route), -ENETUNREACH);
	assert_string_equal(failure_text(), "there is no way from d to b by cables that are up");
	assert_int_equal(route_through(fabric, d, b, true, (__u32[]){x, y}, 2, &route), 0);
	assert_string_equal(names(&route), "d s a s x y b");
	assert_int_equal(route_through(fabric, d, b, true, (__u32[]){y, x}, 2, &route),
			 -ENETUNREACH);
	assert_string_equal(failure_text(),
			    "there is no way from d to b by the adapters that were asked for");
	assert_int_equal(route_through(fabric, d, b, true, many, COUNT(many), &route), -E2BIG);
	/* From a node to itself. */
	route = way("d", "d", true);
	assert_int_equal(route.count, 1);
	assert_int_equal(route.hops, 0);
	route = way("d", "b", true);
	other = way("e", "b", true);
	assert_int_equal(route_bounce(&route, &other, fabric, &route), -EINVAL);
	assert_int_equal(route_bounce(&(struct route){0}, &other, fabric, &route), -EINVAL);
	assert_int_equal(route_bounce(&other, &(struct route){0}, fabric, &route), -EINVAL);
	/* As many as may be given: that is not what is wrong. */
	assert_int_equal(route_through(fabric, d, b, true, many, ROUTE_THROUGH_MAX, &route),
			 -ENETUNREACH);
}

/* Of so many cables between two switches the first that is up is taken. */
static void each_cable_of_many(void **state)
{
	static char text[1 << 16];
	size_t used = (size_t)sprintf(text, "[host a]\n[adapter x]\nunder = a\n[switch s]\n"
					    "[host b]\n[adapter y]\nunder = b\n[switch t]\n"
					    "[link x]\nbetween = x s\n[link y]\nbetween = y t\n");
	__u64 down[3] = {0};

	(void)state;
	for (int i = 2; i < 140; i++)
		used += (size_t)sprintf(text + used,
					"[link %d]\nbetween = s t\ndelay = %dns\nrate = %de6/s\n",
					i, 1000 + i, 100 + i);
	build(text);
	for (__u32 i = 2; i < 140; i++) {
		struct route route;

		assert_int_equal(route_find(fabric, 0, 3, false, down, &route), 0);
		assert_int_equal(route.crossing_ns, 2 * (177 + 5 + 150) + 1000 + i);
		assert_int_equal(route.bytes_per_s, (100 + i) * 1000000);
		assert_int_equal(route.hops, 4);
		down[i / 64] |= 1ull << (i % 64);
	}
}

/* A device under so many switches, one under the other. */
static void build_chains(int one, int other)
{
	static char text[1 << 14];
	size_t used = (size_t)sprintf(text, "[host a]\n");

	for (int c = 0; c < 2; c++) {
		int count = c ? other : one;

		for (int i = 0; i < count; i++)
			used += i ? (size_t)sprintf(text + used, "[switch %d-%d]\nunder = %d-%d\n",
						    c, i, c, i - 1)
				  : (size_t)sprintf(text + used, "[switch %d-0]\nunder = a\n", c);
		used += (size_t)sprintf(text + used, "[device d%d]\nunder = %d-%d\n", c, c,
					count - 1);
	}
	build(text);
}

static void ways_as_long_as_they_may_be(void **state)
{
	struct route route, other, sum;

	(void)state;
	build_chains(62, 63);
	route = way("d0", "a", false);
	assert_int_equal(route.count, ROUTE_NODES_MAX);
	assert_int_equal(route.hops, 62);
	assert_int_equal(route.delay_ns, 62 * 150 + 100);
	assert_int_equal(route_find(fabric, fabric_find(fabric, "d1"), 0, false, NULL, &route),
			 -E2BIG);
	assert_string_equal(failure_text(),
			    "the way from d1 to a passes 65 nodes: accepted: up to 64");
	build_chains(30, 31);
	route = way("d0", "a", false);
	other = way("a", "d1", false);
	assert_int_equal(route_bounce(&route, &other, fabric, &sum), 0);
	assert_int_equal(sum.count, ROUTE_NODES_MAX);
	assert_int_equal(sum.nodes[ROUTE_NODES_MAX - 1], fabric_find(fabric, "d1"));
	assert_int_equal(sum.hops, 62);
	assert_int_equal(sum.roots, 1);
	assert_int_equal(sum.crossings, 0);
	build_chains(31, 31);
	route = way("d0", "a", false);
	other = way("a", "d1", false);
	assert_int_equal(route_bounce(&route, &other, fabric, &sum), -E2BIG);
	assert_string_equal(failure_text(), "a way of 65 nodes: accepted: up to 64");
}

static void bounces_add_up(void **state)
{
	struct route first, second, sum;

	(void)state;
	build(SPLIT);
	/* At a root, which is then one that is passed. */
	sum = bounce("d", "b", "e", false);
	assert_string_equal(names(&sum), "d s x y b e");
	assert_int_equal(sum.hops, 4);
	assert_int_equal(sum.roots, 1);
	assert_int_equal(sum.crossings, 1);
	assert_int_equal(sum.delay_ns, 100 + 2 * 177 + 6 + 200);
	assert_int_equal(sum.behind_ns, 0);
	assert_int_equal(sum.crossing_ns, 2 * 177 + 6);
	assert_int_equal(sum.bytes_per_s, 10000000000);
	sum = bounce("d", "b", "d", true);
	assert_int_equal(sum.crossings, 2);
	assert_int_equal(sum.crossing_ns, 2 * (2 * 177 + 6));
	assert_int_equal(sum.translations, 2);
	assert_int_equal(sum.behind_translations, 1);
	assert_int_equal(sum.behind_ns, 2 * (100 + 2 * 177 + 6 + 100) + 300);
	/* Of the first within a host the second's cable is the slowest there is. */
	sum = bounce("d", "a", "b", false);
	assert_int_equal(sum.bytes_per_s, 10000000000);
	assert_int_equal(sum.behind_ns, 100 + 2 * 177 + 6 + 100);
	/* At a device, which is no hop. */
	first = way("b", "d", false);
	second = way("d", "a", true);
	assert_int_equal(route_bounce(&first, &second, fabric, &sum), 0);
	assert_int_equal(sum.hops, 3 + 1);
	assert_int_equal(sum.roots, 0);
	assert_int_equal(sum.translations, 1);
	assert_int_equal(sum.behind_translations, 0);
	second = way("d", "e", true);
	assert_int_equal(route_bounce(&first, &second, fabric, &sum), 0);
	assert_int_equal(sum.roots, 2);
	assert_int_equal(sum.behind_ns, second.behind_ns);
	sum = bounce("e", "b", "d", true);
	assert_int_equal(sum.translations, 1);
	assert_int_equal(sum.behind_translations, 1);
	/* The slower cable of both, whichever way it is. */
	build(SPLIT "[host c]\n[adapter z]\nunder = c\n[adapter v]\nunder = b\n"
		    "[link f]\nbetween = z v\nrate = 1e9/s\n");
	sum = bounce("a", "b", "c", false);
	assert_int_equal(sum.bytes_per_s, 1000000000);
	sum = bounce("c", "b", "a", false);
	assert_int_equal(sum.bytes_per_s, 1000000000);
	build(TABLE_1);
	first = way("borrower", "g3", false);
	second = way("g3", "g4", true);
	assert_int_equal(route_bounce(&first, &second, fabric, &sum), 0);
	assert_int_equal(sum.translations, 2);
	assert_int_equal(sum.behind_translations, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(table_1, forget),
		cmocka_unit_test_teardown(table_2, forget),
		cmocka_unit_test_teardown(queues, forget),
		cmocka_unit_test_teardown(one_way_between_memories, forget),
		cmocka_unit_test_teardown(reads_outstanding, forget),
		cmocka_unit_test_teardown(split_behind_the_root, forget),
		cmocka_unit_test_teardown(writes_are_posted, forget),
		cmocka_unit_test_teardown(ways_that_there_are_not, forget),
		cmocka_unit_test_teardown(each_cable_of_many, forget),
		cmocka_unit_test_teardown(ways_as_long_as_they_may_be, forget),
		cmocka_unit_test_teardown(bounces_add_up, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
