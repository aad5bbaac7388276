// SPDX-License-Identifier: GPL-2.0
/* Flows that the kernel side has numbered, as events name them one after the other. Needs root for maps. */
#include "tests/unit/test.h"

#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>

#include "lib/capture/flows.h"

#define TOLD_MAX 64
#define NS	 1000000000ull

static struct capture_state shared;
static struct flows_config config;
static struct flows *flows;
static struct flow_info told[TOLD_MAX];
static size_t told_count;

static int take_flow(void *self, const struct flow_info *info)
{
	assert_true(told_count < TOLD_MAX);
	told[told_count++] = *info;
	return 0;
}

static const struct stream_ops ops = {.flow = take_flow};
static const struct stream sink = {&ops, NULL};

static int setup(void **state)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);

	if (geteuid())
		return 0;
	told_count = 0;
	memset(&shared, 0, sizeof(shared));
	config.state = &shared;
	config.flows = bpf_map_create(BPF_MAP_TYPE_HASH, "flows", sizeof(struct flow_key),
				      sizeof(struct flow_state), FLOWS_MAX, &options);
	config.names = bpf_map_create(BPF_MAP_TYPE_HASH, "names", sizeof(__u32),
				      sizeof(struct flow_key), FLOWS_MAX, &options);
	return config.flows < 0 || config.names < 0 || flows_create(&flows, &config);
}

static int teardown(void **state)
{
	if (geteuid())
		return 0;
	flows_destroy(flows);
	close(config.flows);
	close(config.names);
	return 0;
}

static struct flow_key key_of(__u32 id)
{
	return (struct flow_key){.device = 3,
				 .family = 2,
				 .protocol = 6,
				 .source_port = (__u16)id,
				 .destination_port = 5201,
				 .source = {id},
				 .destination = {0x04030201}};
}

/* As the kernel side does at its first event. */
static void enter(__u32 id, __u64 last_ns)
{
	struct flow_state flow = {.id = id, .last_ns = last_ns};
	struct flow_key key = key_of(id);

	assert_int_equal(bpf_map_update_elem(config.names, &id, &key, BPF_NOEXIST), 0);
	assert_int_equal(bpf_map_update_elem(config.flows, &key, &flow, BPF_NOEXIST), 0);
}

static bool is_there(__u32 id)
{
	struct flow_key key = key_of(id);
	struct flow_state flow;
	bool named = !bpf_map_lookup_elem(config.names, &id, &key);

	key = key_of(id);
	assert_int_equal(!bpf_map_lookup_elem(config.flows, &key, &flow), named);
	return named;
}

/* What becomes of the flow of an event of this kind. */
static __u32 report(__u16 kind, __u32 tid)
{
	struct event event = {.kind = kind, .tid = tid};

	assert_int_equal(flows_report(flows, &event, 1, sink), 0);
	return event.tid;
}

static void a_flow_is_told_once_before_its_first_event(void **state)
{
	if (geteuid())
		skip();
	enter(1, NS);
	enter(2, NS);
	assert_int_equal(report(EVENT_FAULT_DETECT, 1), 1);
	assert_int_equal(report(EVENT_RING_STATE, 1), 1);
	assert_int_equal(told_count, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(report(EVENT_FRAMES_LOST, 2), 2);
		assert_int_equal(report(EVENT_TCP_RETRANSMIT, 2), 2);
	}
	assert_int_equal(told_count, 1);
	assert_int_equal(told[0].id, 2);
	assert_int_equal(told[0].device, 3);
	assert_int_equal(told[0].family, 2);
	assert_int_equal(told[0].protocol, 6);
	assert_int_equal(told[0].source_port, 2);
	assert_int_equal(told[0].destination_port, 5201);
	assert_int_equal(told[0].source[0], 2);
	assert_memory_equal(told[0].destination, ((__u8[]){1, 2, 3, 4}), 4);
	assert_int_equal(report(EVENT_TCP_ERROR, 1), 1);
	assert_int_equal(told_count, 2);
}

static void what_nobody_knows_is_no_flow(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(report(EVENT_FRAMES_LOST, 0), 0);
	assert_int_equal(shared.state_failed, 0);
	assert_int_equal(report(EVENT_FRAMES_LOST, 7), 0);
	assert_int_equal(shared.state_failed, 1);
	/* Numbers share places: none is taken for another. */
	enter(9, NS);
	assert_int_equal(report(EVENT_FRAMES_LOST, 9), 9);
	assert_int_equal(report(EVENT_FRAMES_LOST, 9 + 4 * FLOWS_MAX), 0);
	assert_int_equal(shared.state_failed, 2);
	assert_int_equal(told_count, 1);
}

static void quiet_flows_give_their_room_back(void **state)
{
	__u64 now = 1000 * NS;

	if (geteuid())
		skip();
	for (__u32 id = 1; id <= 601; id++)
		enter(id, id % 2 ? now - FLOWS_QUIET_NS - 1 : now - FLOWS_QUIET_NS);
	enter(602, now - 10 * FLOWS_QUIET_NS - 1);
	for (__u32 id = 1; id <= 12; id++)
		assert_int_equal(report(EVENT_FRAMES_LOST, id), id);
	flows_sweep(flows, now);
	/* Those that were told; who was not may be in an event that is not out yet. */
	for (__u32 id = 1; id <= 601; id++)
		assert_int_equal(is_there(id), id > 12 || id % 2 == 0);
	assert_false(is_there(602));
	/* An event of it that comes late is still of it. */
	assert_int_equal(report(EVENT_FRAMES_LOST, 11), 11);
	assert_int_equal(told_count, 12);
	assert_int_equal(shared.state_failed, 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_flow_is_told_once_before_its_first_event),
		TEST(what_nobody_knows_is_no_flow),
		TEST(quiet_flows_give_their_room_back),
	};

	return cmocka_run_group_tests_name("flows", tests, NULL, NULL);
}
