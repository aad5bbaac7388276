// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/pair_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/sentence.h"
#include "lib/analyze/session.h"
#include "lib/analyze/waits.h"
#include "lib/base/array.h"
#include "tests/unit/told.h"

void pair_rig_begin(struct pair_rig *rig)
{
	memset(rig, 0, sizeof(*rig));
}

void pair_rig_add(struct pair_rig *rig, struct event event)
{
	assert_true(
		array_grow(&rig->events, &rig->room, rig->count + 1, sizeof(event), ARRAY_PLAIN));
	rig->events[rig->count++] = event;
}

struct event told_pair(__u16 kind, __u64 time, __u32 device, __u32 pair, __u64 token, __u8 code)
{
	return (struct event){
		.kind = kind,
		.time_ns = PAIR_START + time,
		.value = token,
		.device = device,
		.tid = pair,
		.queue = QUEUE_NONE,
		.code = code,
	};
}

static struct event with_fault(struct event e, __u32 instance)
{
	if (instance) {
		e.pasid = PASID_NONE;
		e.group = 5;
		e.instance = instance;
	}
	return e;
}

struct event told_nak(__u64 time, __u32 device, __u32 pair, __u64 token, __u64 timer,
		      __u32 instance)
{
	struct event e =
		told_pair(EVENT_RNR_SENT, time, device, pair, token, RDMA_RESPONDER_WRITES);

	e.length = timer;
	return with_fault(e, instance);
}

struct event told_paused(__u64 time, __u32 device, __u32 pair, __u64 token, enum rdma_wait wait,
			 __u32 instance)
{
	struct event e = told_pair(EVENT_QP_PAUSED, time, device, pair, token, (__u8)wait);

	e.address = wait == RDMA_WAIT_READ ? RDMA_INITIATOR_WRITES : RDMA_INITIATOR_READS;
	return with_fault(e, instance);
}

struct event told_resumed(__u64 time, __u64 since, __u32 device, __u32 pair, __u64 token,
			  enum rdma_wait wait)
{
	struct event e = told_pair(EVENT_QP_RESUMED, time, device, pair, token, (__u8)wait);

	e.length = since ? PAIR_START + since : 0;
	return e;
}

struct event told_packets(__u16 kind, __u64 time, __u32 device, __u32 pair, __u64 token,
			  __u32 packets, __u8 code)
{
	struct event e = told_pair(kind, time, device, pair, token, code);

	e.address = packets;
	e.length = e.time_ns;
	e.group = packets;
	return e;
}

void pair_rig_fault(struct pair_rig *rig, __u32 device, __u32 instance, __u64 from, __u64 total)
{
	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		__u64 at = from + total * k / (FAULT_STAGES - 1);
		struct event e = told_pair((__u16)(EVENT_FAULT_DETECT + k), at, device, 0, 0, 0);

		e.queue = 0;
		e.address = 0x5000;
		e.length = 4096;
		if (e.kind == EVENT_FAULT_REQUEST)
			e.flags = EVENT_LAST;
		pair_rig_add(rig, with_fault(e, instance));
	}
}

void pair_rig_stages(struct pair_rig *rig, const struct told_fault *fault)
{
	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		struct event e = told_pair((__u16)(EVENT_FAULT_DETECT + k), fault->at[k],
					   fault->device ?: PAIR_DISK, 0, 0, 0);

		if (!fault->at[k])
			continue;
		e.tid = fault->tid;
		e.queue = fault->queue;
		e.pasid = fault->pasid ?: PASID_NONE;
		e.group = fault->group;
		e.instance = fault->instance;
		e.address = fault->address;
		e.length = 4096;
		e.flags = fault->access | (e.kind == EVENT_FAULT_REQUEST ? EVENT_LAST : 0);
		if (e.kind == EVENT_FAULT_RESOLVED) {
			e.code = fault->cause;
			e.flags |= fault->page;
		} else if (e.kind >= EVENT_FAULT_RESPONSE) {
			e.code = fault->code;
		}
		pair_rig_add(rig, e);
	}
}

static int pair_rig_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void pair_rig_devices(const struct pair_rig *rig, struct stream to)
{
	const struct host_info host = {.hostname = "moon", .start_ns = PAIR_START};
	static const char *const names[] = {"vm0/hca", "vm1/hca", "vm2/hca", "vm3/hca", "vm0/disk"};

	to.ops->host(to.self, &host);
	for (__u32 i = 0; i < COUNT(names); i++) {
		const bool second = i + 1 == PAIR_ELSEWHERE || i + 1 == PAIR_BEYOND;
		struct device_info device = {
			.handle = i + 1,
			.kind = DEVICE_EMULATED,
			.pid = second && !rig->pid_again ? 8 : 7,
			/* As told, for each device by itself. */
			.pid_start_ns = rig->pid_start_ns + i * 301 +
					(second && rig->pid_again ? 20 * MS : 0),
			.first_ns = PAIR_START,
		};

		strcpy(device.name, names[i]);
		strcpy(device.model, i + 1 == PAIR_DISK ? "block" : "rdma/npf");
		to.ops->device(to.self, &device);
	}
}

void pair_rig_run(struct pair_rig *rig, size_t chunk)
{
	struct stream to;
	__u64 end;

	/* Few of them have one time, and of these any order will do. */
	qsort(rig->events, rig->count, sizeof(struct event), pair_rig_order);
	assert_int_equal(analysis_create(&rig->analysis, &rig->config), 0);
	to = analysis_stream(rig->analysis);
	pair_rig_devices(rig, to);
	told_in_batches(to, rig->events, rig->count, chunk);
	end = rig->end_ns ? PAIR_START + rig->end_ns : rig->events[rig->count - 1].time_ns;
	assert_int_equal(to.ops->tick(to.self, end), 0);
	assert_int_equal(to.ops->end(to.self, end), 0);
}

size_t pair_rig_rows(struct pair_rig *rig, analyzer_write *write)
{
	return told_rows(&rig->rows, rig->analysis, write);
}

union cell pair_rig_cell(const struct pair_rig *rig, size_t row, const char *column)
{
	return told_cell(&rig->rows, row, column);
}

void pair_rig_expect(const struct pair_rig *rig, size_t rank, const char *words)
{
	__u64 now_ns = session_last_ns(rig->analysis->session);
	size_t count = 0;
	const struct wait **list = waits_longest(rig->analysis->waits, now_ns, &count);
	struct sentence sentence = {0};

	assert_non_null(list);
	assert_true(rank < count);
	wait_tell(list[rank], rig->analysis->session, &sentence);
	assert_string_equal(sentence.text, words);
	free(list);
}

bool pair_rig_finds(const struct pair_rig *rig, const char *words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	const struct writer_config config = {.format = OUTPUT_TEXT, .file = file};
	struct writer *writer;
	bool found;

	assert_int_equal(writer_open(&writer, &config), 0);
	analysis_write_findings(rig->analysis, writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(file);
	for (char *at = text; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	found = strstr(text, words);
	free(text);
	return found;
}

void pair_rig_end(struct pair_rig *rig)
{
	analysis_destroy(rig->analysis);
	rows_free(&rig->rows);
	free(rig->events);
	memset(rig, 0, sizeof(*rig));
}
