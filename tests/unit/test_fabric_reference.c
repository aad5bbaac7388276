// SPDX-License-Identifier: GPL-2.0
/* Routes and prices of random fabrics against a second implementation that tries every walk and sends every packet. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "lib/job/text.h"
#include "tests/reference/slow_fabric.h"
#include "tests/unit/job_files.h"

#define FABRICS 1999
#define PAIRS	5
#define WALKS	20000 /* that the slow one tries of a pair at most */

static struct random draws;

static __u32 draw(__u32 below)
{
	return (__u32)random_below(&draws, below);
}

static char *put(char *at, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	at += vsprintf(at, format, arguments);
	va_end(arguments);
	return at;
}

/* Up to 4 hosts with trees of switches, devices and adapters; cables between these or to a switch between hosts. */
static void make_text(char *at)
{
	__u32 hosts = 1 + draw(4), adapters = 0, switches, links = 0, open = draw(2);

	for (__u32 h = 0; h < hosts; h++) {
		at = put(at, "[host h%u]\niommu = %s\ndelay = %uns\n", h, draw(2) ? "yes" : "no",
			 2 * draw(150));
		switches = draw(4);
		for (__u32 s = 0; s < switches; s++) {
			at = put(at, "[switch s%u-%u]\ndelay = %uns\nunder = ", h, s,
				 1 + draw(300));
			at = s && draw(2) ? put(at, "s%u-%u\n", h, draw(s)) : put(at, "h%u\n", h);
		}
		for (__u32 d = draw(4) + (h < 2 ? 1 : 0); d--;) {
			at = put(at, "[device d%u-%u]\nunder = ", h, d);
			at = switches ? put(at, "s%u-%u\n", h, draw(switches))
				      : put(at, "h%u\n", h);
		}
		for (__u32 a = hosts > 1 ? draw(3) + (h < 2) : 0; a--; adapters++) {
			at = put(at, "[adapter a%u]\ndelay = %uns\nunder = ", adapters, draw(300));
			at = switches ? put(at, "s%u-%u\n", h, draw(switches))
				      : put(at, "h%u\n", h);
		}
	}
	if (open || adapters % 2)
		at = put(at, "[switch open]\n");
	for (__u32 a = 0; a < adapters; links++) {
		at = put(at, "[link l%u]\ndelay = %uns\nrate = %ue8/s\nbetween = a%u ", links,
			 draw(9), 1 + draw(200), a);
		if (a + 1 == adapters || (open && draw(2))) {
			at = put(at, "open\n");
			a += 1;
		} else {
			at = put(at, "a%u\n", a + 1);
			a += 2;
		}
	}
}

static struct fabric *make_fabric(void)
{
	static char content[1 << 16];
	struct fabric *fabric;
	struct job_text *text;

	make_text(content);
	assert_int_equal(read_job(&text, content), 0);
	if (fabric_build(&fabric, text))
		fail_msg("%s\n%s", failure_text(), content);
	job_text_free(text);
	return fabric;
}

static void explain(const struct fabric *fabric, const struct route *route, const char *whose)
{
	print_message("%s: %u hops, %u roots, %u crossings, %u+%u translations, %llu ns, behind "
		      "%llu, crossings %llu, %llu/s:",
		      whose, route->hops, route->roots, route->crossings, route->translations,
		      route->behind_translations, route->delay_ns, route->behind_ns,
		      route->crossing_ns, route->bytes_per_s);
	for (__u32 i = 0; i < route->count; i++)
		print_message(" %s", fabric->nodes[route->nodes[i]].name);
	print_message("\n");
}

static void compare_routes(const struct fabric *fabric, const struct route *fast,
			   const struct route *slow)
{
	if (!memcmp(fast->nodes, slow->nodes, slow->count * sizeof(slow->nodes[0])) &&
	    fast->count == slow->count && fast->hops == slow->hops && fast->roots == slow->roots &&
	    fast->crossings == slow->crossings && fast->translations == slow->translations &&
	    fast->behind_translations == slow->behind_translations &&
	    fast->delay_ns == slow->delay_ns && fast->behind_ns == slow->behind_ns &&
	    fast->crossing_ns == slow->crossing_ns && fast->bytes_per_s == slow->bytes_per_s)
		return;
	explain(fabric, fast, "fast");
	explain(fabric, slow, "slow");
	fail();
}

/* Returns whether both have been compared. */
static bool compare_pair(const struct fabric *fabric)
{
	__u64 links_down[FABRIC_LINKS_MAX / 64] = {0};
	__u32 through[2], count = draw(4) ? 0 : 1 + draw(2);
	struct slow_way way = {.fabric = fabric, .translated = draw(2), .budget = WALKS};
	struct route fast, slow;
	int err, slow_err;

	way.from = draw(fabric->node_count);
	way.to = draw(fabric->node_count);
	for (__u32 i = 0; i < count; i++) {
		through[i] = draw(fabric->node_count);
		if (fabric->nodes[through[i]].kind != FABRIC_ADAPTER)
			return false;
	}
	links_down[0] = draw(3) ? 0 : random_next(&draws);
	way.down = count ? NULL : links_down;
	way.through = through;
	way.through_count = count;
	err = count ? route_through(fabric, way.from, way.to, way.translated, through, count, &fast)
		    : route_find(fabric, way.from, way.to, way.translated, links_down, &fast);
	/* A way that was asked for may turn back: the fast one then gives up where another is longer. */
	if (count && err)
		return false;
	slow_err = slow_route(&way, &slow);
	if (slow_err == -EAGAIN)
		return false;
	assert_int_equal(err, slow_err);
	if (!err)
		compare_routes(fabric, &fast, &slow);
	return true;
}

static struct fabric_costs draw_costs(void)
{
	return (struct fabric_costs){
		.memory_ns = draw(1000),
		.device_ns = draw(1000),
		.translate_ns = draw(100),
		.payload = 1u << (5 + draw(5)),
		.request = 1u << (5 + draw(6)),
		.split = draw(4) ? 1u << (5 + draw(5)) : 0,
		.outstanding = 1 + draw(70),
		.split_outstanding = 1 + draw(70),
		.bytes_per_s = 1e8 * (1 + draw(200)),
		.root_bytes_per_s = 1e8 * (1 + draw(200)),
	};
}

/* What cannot be told apart by a formula: a request more or less, and what is under way at a root when both limits are near. */
static void compare_prices(const struct fabric *fabric, const struct route *route)
{
	struct fabric_costs costs = draw_costs();
	struct transaction transaction = {route, draw(2), 1 + random_below(&draws, 1u << draw(20))};
	struct transaction_cost cost;
	double slow, window, unit;

	fabric_cost(fabric, &costs, &transaction, &cost);
	slow = slow_total(fabric, &costs, &transaction);
	unit = 1e9 * (transaction.posted ? costs.payload : costs.request) /
	       fmin(costs.bytes_per_s, costs.root_bytes_per_s);
	if (route->bytes_per_s)
		unit = fmax(unit, 1e9 * costs.request / (double)route->bytes_per_s);
	if (!transaction.posted && route->roots && costs.split) {
		/* Two limits, one inside the other. */
		window = (double)cost.first_ns + unit * (1 + costs.outstanding);
		assert_true(slow < 2 * (double)cost.total_ns + window);
		assert_true(slow > (double)cost.total_ns - window);
	} else {
		assert_true(fabs(slow - (double)cost.total_ns) <= unit + 2);
	}
	assert_true(cost.total_ns >= cost.first_ns);
	assert_true(cost.pieces >= cost.requests);
}

static void random_fabrics(void **state)
{
	__u32 compared = 0, priced = 0;

	(void)state;
	draws.state = 16;
	for (int f = 0; f < FABRICS; f++) {
		struct fabric *fabric = make_fabric();

		for (int p = 0; p < PAIRS; p++) {
			struct route route;

			compared += compare_pair(fabric);
			if (route_find(fabric, draw(fabric->node_count), draw(fabric->node_count),
				       draw(2), NULL, &route))
				continue;
			compare_prices(fabric, &route);
			priced++;
		}
		fabric_free(fabric);
	}
	assert_true(compared > FABRICS * PAIRS / 2);
	assert_true(priced > FABRICS * PAIRS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_fabrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
