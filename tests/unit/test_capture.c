// SPDX-License-Identifier: GPL-2.0
/*
 * Capture against this very process: it carries the emulator's probes itself and fires them in a
 * known number and order. Needs root and BTF; without them every test is skipped.
 */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/probes.h"
#include "lib/base/fail.h"
#include "lib/base/flow.h"
#include "lib/capture/capture.h"
#include "lib/capture/capture_private.h"

#define EVENTS_MAX 65536
#define FLOWS_KEPT 512
#define MSEC	   1000000ull
#define MACHINE	   4242424 /* no pid */

static struct event *events;
static size_t event_count;
static struct loss_info loss;
static struct device_info device;
static size_t device_count, aggregated_faults, aggregated_ios;
static struct flow_info flows[FLOWS_KEPT];
static size_t flow_count;
static __u64 began_ns, ended_ns;
static bool waits_for_the_end;
static struct capture *capture;

static int take_events(void *self, const struct event *batch, size_t count)
{
	(void)self;
	for (size_t i = 0; i < count && event_count < EVENTS_MAX; i++)
		events[event_count++] = batch[i];
	return 0;
}

static int take_loss(void *self, const struct loss_info *info)
{
	(void)self;
	loss = *info;
	return 0;
}

static int take_device(void *self, const struct device_info *info)
{
	(void)self;
	/* The host's own disk may be busy meanwhile: it is a device, too. */
	if (info->kind != DEVICE_EMULATED)
		return 0;
	device = *info;
	device_count++;
	return 0;
}

static int take_flow(void *self, const struct flow_info *info)
{
	(void)self;
	/* Before the first event that names it. */
	for (size_t i = 0; i < event_count && flow_count < FLOWS_KEPT; i++)
		assert_int_not_equal(event_flow(&events[i]), info->id);
	if (flow_count < FLOWS_KEPT)
		flows[flow_count] = *info;
	flow_count++;
	return 0;
}

static int take_aggregate(void *self, const struct aggregate_frame *frame)
{
	(void)self;
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];

		if (row->key.kind == EVENT_CPU_FAULT && row->key.pid == (__u32)getpid())
			aggregated_faults += row->counts.count;
		if (row->key.kind == EVENT_IO_COMPLETE && row->key.pid == MACHINE)
			aggregated_ios += row->counts.count;
	}
	return 0;
}

static int take_host(void *self, const struct host_info *host)
{
	(void)self;
	began_ns = host->start_ns;
	/* A recorder that is held up as soon as programs were let go. */
	while (waits_for_the_end && !capture_is_over(capture))
		usleep(1000);
	return 0;
}

static int take_end(void *self, __u64 end_ns)
{
	(void)self;
	ended_ns = end_ns;
	return 0;
}

static const struct stream_ops ops = {
	.host = take_host,
	.end = take_end,
	.events = take_events,
	.loss = take_loss,
	.device = take_device,
	.flow = take_flow,
	.aggregate = take_aggregate,
};
static const struct stream sink = {&ops, NULL};

static void begin(struct capture_config *config)
{
	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	event_count = device_count = flow_count = aggregated_faults = aggregated_ios = 0;
	config->emulator = "/proc/self/exe";
	if (capture_open(&capture, config) || capture_attach(capture, sink))
		fail_msg("%s", failure_text());
}

static void end(void)
{
	if (capture_finish(capture, sink))
		fail_msg("%s", failure_text());
	capture_close(capture);
	assert_int_equal(loss.produced, loss.received + loss.lost + loss.missed);
}

static int allocate(void **state)
{
	setenv("FAULTLINE_RUN_DIR", "/run/faultline-no-such-directory", 1);
	events = malloc(EVENTS_MAX * sizeof(*events));
	return events ? 0 : -1;
}

static int release(void **state)
{
	free(events);
	return 0;
}

/* Touches fresh pages: that many page faults of this process. */
static void touch_pages(size_t pages)
{
	char *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	assert_true(memory != MAP_FAILED);
	madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		memory[i * 4096] = 1;
	munmap(memory, pages * 4096);
}

static struct fault_probe probe_of(__u32 index, __u32 group, __u64 address, __u64 flags)
{
	return (struct fault_probe){
		.device = index,
		.queue = 3,
		.pasid = PASID_NONE,
		.group = group,
		.address = address,
		.length = 4096,
		.flags_code = flags,
		.value = 11,
	};
}

/* All eight stages of a group with one request. */
static void whole_fault(__u32 index, __u32 group, __u64 address)
{
	struct fault_probe p = probe_of(index, group, address, EVENT_WRITE | EVENT_LAST);

	FAULT_PROBE(detect, &p);
	FAULT_PROBE(request, &p);
	FAULT_PROBE(isr, &p);
	FAULT_PROBE(handler, &p);
	touch_pages(1);
	FAULT_PROBE(resolved, &p);
	FAULT_PROBE(mapped, &p);
	FAULT_PROBE(response, &p);
	FAULT_PROBE(resume, &p);
}

static size_t count_kind(__u16 kind)
{
	size_t count = 0;

	for (size_t i = 0; i < event_count; i++)
		count += events[i].kind == kind;
	return count;
}

static const struct event *nth_of_kind(__u16 kind, size_t n)
{
	for (size_t i = 0; i < event_count; i++)
		if (events[i].kind == kind && !n--)
			return &events[i];
	fail_msg("no such event of kind %u", kind);
	return NULL;
}

static void a_fault_keeps_its_instance_through_all_stages(void **state)
{
	struct capture_config config = {0};
	__u32 instance = 0;

	begin(&config);
	for (int i = 0; i < 101; i++)
		whole_fault(5, 7, (__u64)i << 12);
	end();
	assert_int_equal(loss.lost + loss.late + loss.state_failed, 0);
	assert_int_equal(device_count, 1);
	assert_int_equal(device.pid, getpid());
	assert_int_equal(device.source_id, 5);
	for (size_t i = 0, stage = 0; i < event_count; i++) {
		const struct event *e = &events[i];

		if (i)
			assert_true(e->time_ns >= events[i - 1].time_ns);
		if (e->kind < EVENT_FAULT_DETECT || e->kind > EVENT_FAULT_RESUME)
			continue;
		assert_int_equal(e->kind, EVENT_FAULT_DETECT + stage % FAULT_STAGES);
		if (stage++ % FAULT_STAGES == 0)
			instance++;
		assert_int_equal(e->instance, instance);
		assert_int_equal(e->device, device.handle);
		assert_int_equal(e->group, 7);
		assert_int_equal(e->queue, 3);
		assert_int_equal(e->address, (__u64)(instance - 1) << 12);
		assert_true(e->flags & EVENT_WRITE);
	}
	assert_int_equal(instance, 101);
	assert_int_equal(count_kind(EVENT_FAULT_RESUME), 101);
	assert_int_equal(count_kind(EVENT_FAULT_UNFINISHED), 0);
}

static void a_cpu_fault_inside_a_handler_names_its_fault(void **state)
{
	struct capture_config config = {0};

	begin(&config);
	for (int i = 0; i < 53; i++)
		whole_fault(0, i, 0x1000);
	touch_pages(211);
	end();
	assert_true(count_kind(EVENT_CPU_FAULT) >= 53);
	assert_true(aggregated_faults >= 211);
	for (size_t i = 0; i < event_count; i++)
		if (events[i].kind == EVENT_CPU_FAULT) {
			assert_int_equal(events[i].device, device.handle);
			assert_int_equal(events[i].instance, events[i].group + 1);
			assert_int_equal(events[i].tid, gettid());
		}
}

static void a_reused_number_ends_its_predecessor(void **state)
{
	struct capture_config config = {0};
	struct fault_probe p = probe_of(0, 9, 0x7000, EVENT_READ | EVENT_LAST);
	const struct event *unfinished;

	begin(&config);
	FAULT_PROBE(detect, &p);
	FAULT_PROBE(request, &p);
	p.address = 0x9000;
	FAULT_PROBE(detect, &p);
	FAULT_PROBE(resume, &p);
	end();
	assert_int_equal(count_kind(EVENT_FAULT_UNFINISHED), 1);
	unfinished = nth_of_kind(EVENT_FAULT_UNFINISHED, 0);
	assert_int_equal(unfinished->instance, nth_of_kind(EVENT_FAULT_DETECT, 0)->instance);
	assert_int_equal(unfinished->address, 0x7000);
	assert_int_equal(unfinished->code, EVENT_FAULT_REQUEST);
	assert_true(nth_of_kind(EVENT_FAULT_DETECT, 1)->instance !=
		    nth_of_kind(EVENT_FAULT_DETECT, 0)->instance);
	assert_int_equal(nth_of_kind(EVENT_FAULT_RESUME, 0)->instance,
			 nth_of_kind(EVENT_FAULT_DETECT, 1)->instance);
}

static void requests_of_one_group_share_an_instance(void **state)
{
	struct capture_config config = {0};

	begin(&config);
	for (int i = 0; i < 13; i++) {
		struct fault_probe p =
			probe_of(0, 1, (__u64)i << 12, EVENT_READ | (i == 12 ? EVENT_LAST : 0));

		FAULT_PROBE(detect, &p);
		FAULT_PROBE(request, &p);
	}
	end();
	assert_int_equal(count_kind(EVENT_FAULT_REQUEST), 13);
	for (size_t i = 0; i < 13; i++)
		assert_int_equal(nth_of_kind(EVENT_FAULT_REQUEST, i)->instance, 1);
}

static void poll_until_given_up(void)
{
	for (size_t i = 0; i < 200 && !count_kind(EVENT_FAULT_UNFINISHED); i++) {
		usleep(20000);
		assert_true(capture_poll(capture, sink) >= 0);
	}
	assert_int_equal(count_kind(EVENT_FAULT_UNFINISHED), 1);
}

/* What was given up stays the fault that it is: a later stage has its instance, a detect a new one. */
static void what_goes_on_after_it_was_given_up_is_no_other_fault(void **state)
{
	struct capture_config config = {.unfinished_ns = 1};
	struct fault_probe p = probe_of(0, 1, 0x3000, EVENT_READ);
	__u32 instance;

	begin(&config);
	FAULT_PROBE(detect, &p);
	poll_until_given_up();
	FAULT_PROBE(request, &p);
	FAULT_PROBE(handler, &p);
	FAULT_PROBE(resume, &p);
	FAULT_PROBE(detect, &p);
	end();
	instance = nth_of_kind(EVENT_FAULT_DETECT, 0)->instance;
	assert_int_equal(nth_of_kind(EVENT_FAULT_UNFINISHED, 0)->instance, instance);
	assert_int_equal(nth_of_kind(EVENT_FAULT_REQUEST, 0)->instance, instance);
	assert_int_equal(nth_of_kind(EVENT_FAULT_HANDLER, 0)->instance, instance);
	assert_int_equal(nth_of_kind(EVENT_FAULT_RESUME, 0)->instance, instance);
	assert_true(nth_of_kind(EVENT_FAULT_DETECT, 1)->instance > instance);
}

/* The number of a group that was given up is free for the next fault, which is told apart. */
static void the_number_of_what_was_given_up_can_be_taken_again(void **state)
{
	struct capture_config config = {.unfinished_ns = 1};
	struct fault_probe p = probe_of(0, 1, 0x3000, EVENT_READ);
	const struct event *again;

	begin(&config);
	FAULT_PROBE(detect, &p);
	poll_until_given_up();
	FAULT_PROBE(detect, &p);
	FAULT_PROBE(resume, &p);
	end();
	again = nth_of_kind(EVENT_FAULT_DETECT, 1);
	assert_true(again->instance != nth_of_kind(EVENT_FAULT_DETECT, 0)->instance);
	assert_int_equal(nth_of_kind(EVENT_FAULT_RESUME, 0)->instance, again->instance);
}

static void what_never_resumes_is_given_up(void **state)
{
	struct capture_config config = {.unfinished_ns = 1};
	struct fault_probe p = probe_of(0, 1, 0x3000, EVENT_READ | EVENT_LAST);

	begin(&config);
	FAULT_PROBE(detect, &p);
	poll_until_given_up();
	end();
	assert_int_equal(count_kind(EVENT_FAULT_UNFINISHED), 1);
	assert_int_equal(nth_of_kind(EVENT_FAULT_UNFINISHED, 0)->code, EVENT_FAULT_DETECT);
}

#define IPV4(a, b, c, d) ((__u64)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static struct frames_probe run_of(__u16 port, __u64 code)
{
	return (struct frames_probe){
		.device = 5,
		.queue = 1,
		.addresses = IPV4(10, 77, 0, 2) << 32 | IPV4(10, 77, 0, 1),
		.ports = (__u64)port << 32 | 5201u << 16 | 6,
		.sequence = 0xfffffff0ull << 32 | 0x10,
		.frames = 17ull << 32 | 1514,
		.since = 4711,
		.code = code,
	};
}

static const struct flow_info *flow_of(__u32 id)
{
	for (size_t i = 0; i < flow_count && i < FLOWS_KEPT; i++)
		if (flows[i].id == id)
			return &flows[i];
	fail_msg("flow %u was not told", id);
	return NULL;
}

static void is_run(const struct event *e, const char *flow)
{
	char text[FLOW_TEXT];

	assert_int_equal(e->device, device.handle);
	assert_int_equal(e->queue, 1);
	assert_int_equal(e->address, 0xfffffff0ull << 32 | 0x10);
	assert_int_equal(e->length, 17ull << 32 | 1514);
	assert_int_equal(e->value, 4711);
	assert_int_equal(e->pid, getpid());
	assert_string_equal(flow_format(flow_of(e->tid), text), flow);
	assert_int_equal(flow_of(e->tid)->device, device.handle);
}

static void runs_of_frames_name_their_flow(void **state)
{
	struct capture_config config = {0};
	struct frames_probe p;
	__u32 first;

	begin(&config);
	for (__u16 i = 0; i < 211; i++) {
		p = run_of(40000 + i, LOSS_WIRE);
		FRAMES_PROBE(lost, &p);
		FRAMES_PROBE(held, &p);
		FRAMES_PROBE(recovered, &p);
	}
	p.addresses = p.addresses << 32 | p.addresses >> 32;
	FRAMES_PROBE(lost, &p);
	p.addresses = 0;
	p.ports = 0x0806;
	FRAMES_PROBE(lost, &p);
	end();
	assert_int_equal(loss.lost + loss.late + loss.state_failed, 0);
	assert_int_equal(count_kind(EVENT_FRAMES_LOST), 213);
	assert_int_equal(count_kind(EVENT_FRAMES_HELD), 211);
	assert_int_equal(count_kind(EVENT_FRAMES_RECOVERED), 211);
	assert_int_equal(flow_count, 213);
	for (size_t i = 0; i < 211; i++) {
		const struct event *e = nth_of_kind(EVENT_FRAMES_LOST, i);
		char flow[64];

		snprintf(flow, sizeof(flow), "10.77.0.2:%zu > 10.77.0.1:5201", 40000 + i);
		is_run(e, flow);
		assert_int_equal(e->code, LOSS_WIRE);
		assert_int_equal(e->pasid, PASID_NONE);
		assert_int_equal(e->group + e->instance, 0);
		first = e->tid;
		is_run(nth_of_kind(EVENT_FRAMES_HELD, i), flow);
		assert_int_equal(nth_of_kind(EVENT_FRAMES_HELD, i)->tid, first);
		assert_int_equal(nth_of_kind(EVENT_FRAMES_RECOVERED, i)->tid, first);
	}
	is_run(nth_of_kind(EVENT_FRAMES_LOST, 211), "10.77.0.1:40210 > 10.77.0.2:5201");
	is_run(nth_of_kind(EVENT_FRAMES_LOST, 212), "ethertype 0x0806");
}

/* A run that a fault has cost is told while its page request group is open. */
static void runs_of_frames_name_their_fault(void **state)
{
	struct fault_probe fault = probe_of(5, 7, 1 << 12, EVENT_WRITE | EVENT_LAST);
	struct frames_probe p = run_of(1, LOSS_FAULT | 8 << 8 | (__u64)PASID_NONE << 32);
	struct capture_config config = {0};

	begin(&config);
	for (int i = 0; i < 13; i++) {
		FAULT_PROBE(detect, &fault);
		FAULT_PROBE(request, &fault);
		FRAMES_PROBE(lost, &p);
		FAULT_PROBE(response, &fault);
		FRAMES_PROBE(held, &p);
		FAULT_PROBE(resume, &fault);
		FRAMES_PROBE(lost, &p);
	}
	p.code = LOSS_FAULT | 8 << 8 | 3ull << 32;
	fault.pasid = 3;
	FAULT_PROBE(detect, &fault);
	FRAMES_PROBE(held, &p);
	end();
	assert_int_equal(loss.state_failed, 0);
	assert_int_equal(flow_count, 1);
	assert_int_equal(count_kind(EVENT_FRAMES_LOST), 26);
	for (size_t i = 0; i < 26; i++) {
		const struct event *e = nth_of_kind(EVENT_FRAMES_LOST, i);

		assert_int_equal(e->group, 7);
		assert_int_equal(e->pasid, PASID_NONE);
		/* Every other one comes when nobody knows the group any more. */
		assert_int_equal(e->instance,
				 i % 2 ? 0 : nth_of_kind(EVENT_FAULT_DETECT, i / 2)->instance);
		assert_true(i % 2 || e->instance);
	}
	for (size_t i = 0; i < 14; i++)
		assert_int_equal(nth_of_kind(EVENT_FRAMES_HELD, i)->instance,
				 nth_of_kind(EVENT_FAULT_DETECT, i)->instance);
	assert_int_equal(nth_of_kind(EVENT_FRAMES_HELD, 13)->pasid, 3);
}

static void rings_tell_what_they_count(void **state)
{
	struct ring_probe p = {5, 2, RING_TX, 1ull << 40, 3ull << 41, 19ull << 32 | 256, 23, 29};
	struct capture_config config = {0};
	const struct event *e;

	begin(&config);
	RING_PROBE(&p);
	HEAD_PROBE(5, 4, 31, 37);
	end();
	e = nth_of_kind(EVENT_RING_STATE, 0);
	assert_int_equal(e->device, device.handle);
	assert_int_equal(e->queue, 2);
	assert_int_equal(e->code, RING_TX);
	assert_int_equal(e->value, 1ull << 40);
	assert_int_equal(e->length, 3ull << 41);
	assert_int_equal(e->address, 19ull << 32 | 256);
	assert_int_equal(e->tid, 23);
	assert_int_equal(e->group, 29);
	e = nth_of_kind(EVENT_HEAD_ADVANCED, 0);
	assert_int_equal(e->device, device.handle);
	assert_int_equal(e->queue, 4);
	assert_int_equal(e->value, 31);
	assert_int_equal(e->length, 37);
	assert_int_equal(e->tid, 0);
	assert_int_equal(flow_count, 0);
}

/* Whoever invents flows takes what room there is: the others' events have none, and that is counted. */
static void flows_without_room_are_counted(void **state)
{
	struct capture_config config = {.ring_bytes = 8u << 20};
	struct frames_probe p;

	begin(&config);
	for (unsigned int i = 0; i < FLOWS_MAX; i++) {
		p = run_of((__u16)i, LOSS_WIRE);
		FRAMES_PROBE(lost, &p);
	}
	for (unsigned int i = 0; i < 17; i++) {
		p = run_of((__u16)(FLOWS_MAX + i), LOSS_WIRE);
		FRAMES_PROBE(lost, &p);
		/* Those that are known are known. */
		p = run_of(1, LOSS_WIRE);
		FRAMES_PROBE(lost, &p);
	}
	end();
	assert_int_equal(loss.state_failed, 17);
	assert_int_equal(flow_count, FLOWS_MAX);
	for (size_t i = 0; i < 34; i++)
		assert_int_equal(!nth_of_kind(EVENT_FRAMES_LOST, FLOWS_MAX + i)->tid, i % 2 == 0);
}

static void loss_of_a_small_ring_is_exact(void **state)
{
	struct capture_config config = {.ring_bytes = 4096, .pids = {getpid()}, .pid_count = 1};

	kind_set_add(&config.kinds, EVENT_CPU_FAULT);
	begin(&config);
	touch_pages(10007);
	end();
	assert_true(loss.lost > 9000);
	assert_true(loss.received > 0);
	assert_int_equal(loss.received, event_count);
	/* Under ASan the shadow, an eighth of the memory, faults as well. */
	assert_in_range(loss.produced, 10007, 10007 + 10007 / 8 + 200);
}

static void filters_act_before_the_ring(void **state)
{
	struct capture_config config = {
		.devices = {"vm7/*"},
		.device_count = 1,
		.disabled = {"fault_isr"},
		.disabled_count = 1,
	};

	begin(&config);
	whole_fault(0, 1, 0x1000);
	assert_true(capture_poll(capture, sink) >= 0); /* learns the name, drops the device */
	for (int i = 0; i < 997; i++)
		whole_fault(0, 1, 0x1000);
	end();
	assert_int_equal(device_count, 0);
	assert_int_equal(count_kind(EVENT_FAULT_DETECT), 0);
	assert_in_range(loss.produced, 1, 997); /* of 7000 and more without a filter */
}

static void a_disabled_probe_is_silent_and_others_go_on(void **state)
{
	struct capture_config config = {.disabled = {"fault_isr"}, .disabled_count = 1};

	begin(&config);
	whole_fault(0, 1, 0x1000);
	end();
	assert_int_equal(count_kind(EVENT_FAULT_ISR), 0);
	assert_int_equal(count_kind(EVENT_FAULT_HANDLER), 1);
}

/* What a caller does between the moment of stopping and capture_finish() takes no part. */
static void nothing_is_recorded_once_it_is_stopped(void **state)
{
	struct capture_config config = {0};
	__u64 recorded_ns;

	begin(&config);
	assert_true(began_ns > 0 && capture_recorded_ns(capture) > 0);
	for (int i = 0; i < 17; i++)
		whole_fault(0, i, 0x1000);
	capture_stop(capture);
	recorded_ns = capture_recorded_ns(capture);
	for (int i = 17; i < 40; i++)
		whole_fault(0, i, 0x1000);
	assert_true(capture_poll(capture, sink) >= 0);
	capture_stop(capture);
	assert_true(recorded_ns == capture_recorded_ns(capture));
	end();
	assert_int_equal(count_kind(EVENT_FAULT_DETECT), 17);
	assert_int_equal(count_kind(EVENT_FAULT_RESUME), 17);
	for (size_t i = 0; i < event_count; i++)
		assert_true(events[i].time_ns >= began_ns && events[i].time_ns <= ended_ns);
	assert_true(ended_ns == began_ns + recorded_ns);
}

static void log_io(__u64 time_ns)
{
	const struct capture_machine_device disk = {.handle = 1};
	const struct access_record record = {
		.time_ns = time_ns,
		.length = 4096,
		.latency = 1u << 20, /* slow: recorded one by one */
		.flags = EVENT_READ,
	};

	assert_int_equal(capture_machines_ops.access(capture, MACHINE, &disk, &record), 0);
}

/* A machine may begin while programs are being attached, and goes on once they are stopped. */
static void only_ios_of_the_time_between_begin_and_end_count(void **state)
{
	struct capture_config config = {0};
	size_t ios;

	begin(&config);
	log_io(began_ns - 1);
	log_io(began_ns - 3000 * MSEC);
	for (__u64 i = 0; i < 5; i++)
		log_io(began_ns + i);
	capture_stop(capture);
	log_io(began_ns + capture_recorded_ns(capture));
	log_io(began_ns + capture_recorded_ns(capture) + 1);
	end();
	ios = count_kind(EVENT_IO_COMPLETE);
	assert_int_equal(ios, 6);
	assert_int_equal(aggregated_ios, ios);
	for (size_t i = 0; i < event_count; i++)
		assert_in_range(events[i].time_ns, began_ns, ended_ns);
}

/* What is saved while a recorder goes on, or is left of one that was killed, ends with such an account. */
static void an_account_between_is_exact_whatever_the_rings_hold(void **state)
{
	struct capture_config config = {0};
	__u64 received;

	begin(&config);
	whole_fault(0, 1, 0x1000);
	assert_true(capture_poll(capture, sink) >= 0);
	for (int i = 2; i < 50; i++)
		whole_fault(0, i, 0x1000);
	assert_int_equal(capture_account(capture, sink), 0);
	received = loss.received;
	assert_true(received > 0);
	assert_int_equal(loss.produced, received + loss.lost + loss.missed);
	end();
	assert_true(loss.received >= received + (50 - 2) * 8);
	assert_int_equal(count_kind(EVENT_FAULT_RESUME), 49);
}

/* Its end is set as it begins: nothing that holds the recorder up comes between the two. */
static void it_ends_in_time_however_late_the_recorder_is(void **state)
{
	struct capture_config config = {.duration_ns = 30 * MSEC};
	__u64 recorded_ns;

	waits_for_the_end = true;
	begin(&config);
	waits_for_the_end = false;
	assert_true(capture_is_over(capture));
	recorded_ns = capture_recorded_ns(capture);
	assert_in_range(recorded_ns, config.duration_ns,
			10 * 1000 * MSEC); /* of the 20 s that the recorder would have waited */
	whole_fault(0, 1, 0x1000);
	end();
	assert_int_equal(count_kind(EVENT_FAULT_DETECT), 0);
	assert_true(ended_ns == began_ns + recorded_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_keeps_its_instance_through_all_stages),
		cmocka_unit_test(a_cpu_fault_inside_a_handler_names_its_fault),
		cmocka_unit_test(a_reused_number_ends_its_predecessor),
		cmocka_unit_test(requests_of_one_group_share_an_instance),
		cmocka_unit_test(what_never_resumes_is_given_up),
		cmocka_unit_test(what_goes_on_after_it_was_given_up_is_no_other_fault),
		cmocka_unit_test(the_number_of_what_was_given_up_can_be_taken_again),
		cmocka_unit_test(runs_of_frames_name_their_flow),
		cmocka_unit_test(runs_of_frames_name_their_fault),
		cmocka_unit_test(rings_tell_what_they_count),
		cmocka_unit_test(flows_without_room_are_counted),
		cmocka_unit_test(loss_of_a_small_ring_is_exact),
		cmocka_unit_test(filters_act_before_the_ring),
		cmocka_unit_test(a_disabled_probe_is_silent_and_others_go_on),
		cmocka_unit_test(nothing_is_recorded_once_it_is_stopped),
		cmocka_unit_test(only_ios_of_the_time_between_begin_and_end_count),
		cmocka_unit_test(an_account_between_is_exact_whatever_the_rings_hold),
		cmocka_unit_test(it_ends_in_time_however_late_the_recorder_is),
	};

	return cmocka_run_group_tests_name("capture", tests, allocate, release);
}
