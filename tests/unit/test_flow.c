// SPDX-License-Identifier: GPL-2.0
/* Flows as people read them, and their dictionary. */
#include "tests/unit/test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "lib/analyze/session.h"
#include "lib/base/flow.h"

static const struct flow_info tcp = {
	.id = 7,
	.device = 3,
	.family = AF_INET,
	.protocol = IPPROTO_TCP,
	.source_port = 40002,
	.destination_port = 5201,
	.source = {10, 77, 0, 2},
	.destination = {10, 77, 0, 1},
};

static void assert_text(const struct flow_info *flow, const char *wanted)
{
	char text[FLOW_TEXT];

	assert_string_equal(flow_format(flow, text), wanted);
}

static void a_flow_is_called_by_its_ends(void **state)
{
	struct flow_info flow = tcp;

	assert_text(&flow, "10.77.0.2:40002 > 10.77.0.1:5201");
	flow.protocol = IPPROTO_UDP;
	assert_text(&flow, "10.77.0.2:40002 > 10.77.0.1:5201 (UDP)");
	flow.source_port = flow.destination_port = 0;
	assert_text(&flow, "10.77.0.2:0 > 10.77.0.1:0 (UDP)");
	flow.protocol = IPPROTO_ICMP;
	assert_text(&flow, "10.77.0.2 > 10.77.0.1 (ICMP)");
	flow.protocol = 47;
	assert_text(&flow, "10.77.0.2 > 10.77.0.1 (protocol 47)");
	assert_text(&(struct flow_info){.ethertype = 0x0806}, "ethertype 0x0806");
	/* A family that is not known, as a damaged recording may have. */
	assert_text(&(struct flow_info){.family = 255, .ethertype = 0xffff}, "ethertype 0xffff");
}

static void the_longest_flow_fits(void **state)
{
	struct flow_info flow = {.family = AF_INET6, .protocol = IPPROTO_TCP};

	flow.source[0] = 0xfe;
	flow.source[1] = 0x80;
	flow.source[15] = 1;
	flow.source_port = 1;
	flow.destination[15] = 1;
	flow.destination_port = 2;
	assert_text(&flow, "[fe80::1]:1 > [::1]:2");
	flow.protocol = IPPROTO_ICMPV6;
	flow.source_port = flow.destination_port = 0;
	assert_text(&flow, "fe80::1 > ::1 (ICMP)");
	memset(flow.source, 0xfe, sizeof(flow.source));
	memset(flow.destination, 0xfe, sizeof(flow.destination));
	flow.source_port = flow.destination_port = UINT16_MAX;
	flow.protocol = 255;
	assert_text(&flow, "[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe]:65535 > "
			   "[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe]:65535 (protocol 255)");
}

static void a_session_knows_its_flows(void **state)
{
	struct flow_info changed = tcp;
	struct session *session;
	struct stream stream;
	char text[FLOW_TEXT];

	assert_int_equal(session_create(&session), 0);
	stream = session_stream(session);
	assert_int_equal(stream.ops->flow(stream.self, &tcp), 0);
	assert_int_equal(session_flow(session, 7)->device, 3);
	assert_string_equal(session_flow_text(session, 7, text),
			    "10.77.0.2:40002 > 10.77.0.1:5201");
	assert_null(session_flow(session, 8));
	assert_string_equal(session_flow_text(session, 8, text), "flow 8");
	assert_string_equal(session_flow_text(session, 0, text), "-");
	changed.source_port = 40003;
	assert_int_equal(stream.ops->flow(stream.self, &changed), 0);
	assert_int_equal(session_flow(session, 7)->source_port, 40003);
	session_destroy(session);
}

/* A recording may claim as many as it likes. */
static void flows_are_bounded(void **state)
{
	struct flow_info flow = tcp;
	struct session *session;
	struct stream stream;

	assert_int_equal(session_create(&session), 0);
	stream = session_stream(session);
	for (flow.id = 1; flow.id <= 65536 + 13; flow.id++)
		assert_int_equal(stream.ops->flow(stream.self, &flow), 0);
	assert_int_equal(session_dropped(session), 13);
	assert_non_null(session_flow(session, 65536));
	assert_null(session_flow(session, 65537));
	session_destroy(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_is_called_by_its_ends),
		cmocka_unit_test(the_longest_flow_fits),
		cmocka_unit_test(a_session_knows_its_flows),
		cmocka_unit_test(flows_are_bounded),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
