// SPDX-License-Identifier: GPL-2.0
/* Faults of the kernel's own paths: no detect, no resume, the end is where the source says so. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/stage.h"

#define FOUND_MAX 64
#define FIRST	  1
#define OTHER	  2

struct rig {
	struct faults *faults;
	struct fault found[FOUND_MAX];
	size_t count, began;
	__u64 now;
};

static void on_began(void *self, const struct fault *fault)
{
	struct rig *rig = self;

	(void)fault;
	rig->began++;
}

static void on_finished(void *self, const struct fault *fault)
{
	struct rig *rig = self;

	assert_true(rig->count < FOUND_MAX);
	rig->found[rig->count++] = *fault;
}

static void begin(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->now = 1000 * MS;
	assert_int_equal(faults_create(&rig->faults, NULL), 0);
	assert_int_equal(
		faults_subscribe(rig->faults, (struct fault_sink){on_began, on_finished, rig}), 0);
	for (__u32 handle = FIRST; handle <= OTHER; handle++)
		faults_stream(rig->faults)
			.ops->device(rig->faults, &(struct device_info){.handle = handle,
									.kind = DEVICE_PLATFORM});
}

static struct faults_counts end(struct rig *rig)
{
	struct faults_counts counts;

	faults_stream(rig->faults).ops->end(rig->faults, rig->now);
	faults_counts(rig->faults, &counts);
	faults_destroy(rig->faults);
	assert_int_equal(rig->count, rig->began);
	return counts;
}

/* A group on its way: what its events have in common. */
struct flight {
	__u32 device, pasid, group, instance;
};

static struct event *stage(struct flight f, __u16 kind, __u8 flags)
{
	static struct event e;

	e = (struct event){
		.device = f.device,
		.pasid = f.pasid,
		.group = f.group,
		.instance = f.instance,
		.queue = QUEUE_NONE,
		.kind = kind,
		.flags = flags,
	};
	return &e;
}

/* 1 ms after the last one. */
static void put(struct rig *rig, struct event *e)
{
	rig->now += MS;
	e->time_ns = rig->now;
	assert_int_equal(stream_events(faults_stream(rig->faults), e, 1), 0);
}

static void report(struct rig *rig, struct flight f, __u64 address, bool last)
{
	struct event *e = stage(f, EVENT_FAULT_ISR, (__u8)(EVENT_WRITE | (last ? EVENT_LAST : 0)));

	e->address = address;
	e->length = 4096;
	put(rig, e);
}

static void queue(struct rig *rig, struct flight f)
{
	struct event *e = stage(f, EVENT_FAULT_QUEUED, EVENT_GROUP);

	e->code = CONSUMER_SVA;
	put(rig, e);
}

static void handle(struct rig *rig, struct flight f, __u32 tid)
{
	struct event *e = stage(f, EVENT_FAULT_HANDLER, EVENT_GROUP);

	e->tid = tid;
	put(rig, e);
}

static void resolve(struct rig *rig, struct flight f, __u64 address, __u8 cause)
{
	struct event *e = stage(f, EVENT_FAULT_RESOLVED, cause == MM_SWAP ? EVENT_MAJOR : 0);

	e->address = address;
	e->code = cause;
	e->value = 7000;
	put(rig, e);
}

static void respond(struct rig *rig, struct flight f, __u8 code)
{
	struct event *e = stage(f, EVENT_FAULT_RESPONSE, EVENT_GROUP | EVENT_LAST);

	e->code = code;
	put(rig, e);
}

static void whole(struct rig *rig, struct flight f, __u64 address)
{
	report(rig, f, address, true);
	queue(rig, f);
	handle(rig, f, 40);
	resolve(rig, f, address, MM_ANONYMOUS);
	respond(rig, f, RESPONSE_SUCCESS);
}

static void attach(struct rig *rig, __u32 device, __u32 pasid, __u32 pid, const char *name)
{
	struct event *e = stage((struct flight){device, pasid, 0, 0}, EVENT_PASID_ATTACH, 0);
	char comm[16] = "";

	strncpy(comm, name, sizeof(comm) - 1);
	memcpy(&e->address, comm, 8);
	memcpy(&e->length, comm + 8, 8);
	e->pid = pid;
	put(rig, e);
}

static const struct fault *at(const struct rig *rig, __u32 device, __u32 instance, __u64 address)
{
	for (size_t i = 0; i < rig->count; i++)
		if (rig->found[i].device == device && rig->found[i].instance == instance &&
		    rig->found[i].address == address)
			return &rig->found[i];
	fail_msg("no fault of device %u, instance %u at %llx", device, instance, address);
	return NULL;
}

static void the_response_completes_a_fault(void **state)
{
	const struct flight f = {FIRST, 5, 3, 1};
	struct stage_times times;
	char span[SPAN_TEXT];
	struct rig rig;

	begin(&rig);
	whole(&rig, f, 0x7000);
	assert_int_equal(end(&rig).complete, 1);
	assert_int_equal(rig.found[0].state, FAULT_COMPLETE);
	assert_int_equal(fault_total_ns(&rig.found[0]), 4 * MS);
	assert_int_equal(fault_begin_ns(&rig.found[0]), 1001 * MS);
	assert_string_equal(stage_span(rig.found[0].seen, span), "isr-response");
	stage_times(&rig.found[0], &times);
	assert_int_equal(times.ns[STAGE_DISPATCH], 2 * MS);
	assert_int_equal(times.ns[STAGE_RESOLVE], 1 * MS);
	assert_int_equal(times.ns[STAGE_RESPOND], 1 * MS);
	assert_int_equal(times.merged, 1 << STAGE_RESPOND);
	assert_int_equal(rig.found[0].queued_ns, 1002 * MS);
	assert_int_equal(rig.found[0].mm_ns, 7000);
	assert_string_equal(fault_cause_name(&rig.found[0]), "anonymous");
	assert_string_equal(fault_consumer_name(&rig.found[0]), "sva");
	assert_string_equal(fault_response_name(&rig.found[0]), "success");
	assert_int_equal(rig.found[0].handler_tid, 40);
}

/* Two of one number are on their way, answered in the wrong order; a third one follows. */
static void a_number_in_use_twice_is_two_groups(void **state)
{
	const struct flight one = {FIRST, 5, 3, 1}, two = {FIRST, 5, 3, 2},
			    three = {FIRST, 5, 3, 3};
	struct rig rig;

	begin(&rig);
	report(&rig, one, 0x1000, true);
	queue(&rig, one);
	report(&rig, two, 0x2000, true);
	queue(&rig, two);
	handle(&rig, two, 41);
	handle(&rig, one, 40);
	resolve(&rig, two, 0x2000, MM_FILE);
	respond(&rig, two, RESPONSE_SUCCESS);
	report(&rig, three, 0x1000, true);
	respond(&rig, three, RESPONSE_INVALID);
	respond(&rig, one, RESPONSE_FAILURE);
	assert_int_equal(end(&rig).complete, 3);
	assert_int_equal(at(&rig, FIRST, 1, 0x1000)->code, RESPONSE_FAILURE);
	assert_int_equal(at(&rig, FIRST, 1, 0x1000)->handler_tid, 40);
	assert_int_equal(at(&rig, FIRST, 1, 0x1000)->cause, MM_NONE);
	assert_int_equal(at(&rig, FIRST, 2, 0x2000)->handler_tid, 41);
	assert_int_equal(at(&rig, FIRST, 2, 0x2000)->cause, MM_FILE);
	assert_int_equal(at(&rig, FIRST, 3, 0x1000)->code, RESPONSE_INVALID);
}

static void one_answer_is_for_all_of_a_group(void **state)
{
	const struct flight f = {FIRST, 5, 3, 9};
	struct rig rig;

	begin(&rig);
	report(&rig, f, 0x1000, false);
	report(&rig, f, 0x2000, false);
	report(&rig, f, 0x3000, true);
	handle(&rig, f, 40);
	resolve(&rig, f, 0x1000, MM_SWAP);
	/* The second is refused: nothing is resolved for it nor for the third. */
	respond(&rig, f, RESPONSE_INVALID);
	assert_int_equal(end(&rig).complete, 3);
	assert_int_equal(at(&rig, FIRST, 9, 0x1000)->cause, MM_SWAP);
	assert_true(at(&rig, FIRST, 9, 0x1000)->flags & EVENT_MAJOR);
	assert_false(at(&rig, FIRST, 9, 0x1000)->flags & EVENT_LAST);
	assert_int_equal(at(&rig, FIRST, 9, 0x2000)->cause, MM_NONE);
	assert_true(at(&rig, FIRST, 9, 0x3000)->flags & EVENT_LAST);
	for (__u64 page = 1; page <= 3; page++)
		assert_int_equal(at(&rig, FIRST, 9, page << 12)->code, RESPONSE_INVALID);
}

/* The last request never comes, or its device goes, or the host throws it away with its queue. */
static void a_partial_group_is_unfinished_or_discarded(void **state)
{
	const struct flight waits = {FIRST, 5, 1, 1}, thrown = {FIRST, 5, 2, 2},
			    removed = {FIRST, 5, 3, 4};
	struct event *over;
	struct faults_counts counts;
	struct rig rig;

	begin(&rig);
	report(&rig, waits, 0x1000, false);
	report(&rig, thrown, 0x2000, false);
	report(&rig, thrown, 0x3000, false);
	over = stage(thrown, EVENT_FAULT_UNFINISHED, EVENT_GROUP);
	over->code = EVENT_FAULT_DISCARD;
	put(&rig, over);
	assert_int_equal(rig.count, 2);
	report(&rig, removed, 0x4000, false);
	over = stage(removed, EVENT_FAULT_UNFINISHED, EVENT_GROUP);
	over->code = EVENT_FAULT_ISR;
	put(&rig, over);
	whole(&rig, (struct flight){FIRST, 5, 2, 3}, 0x2000);
	counts = end(&rig);
	assert_int_equal(counts.unfinished, 2);
	assert_int_equal(counts.discarded, 2);
	assert_int_equal(counts.cut, 0);
	assert_int_equal(counts.complete, 1);
	assert_int_equal(at(&rig, FIRST, 2, 0x2000)->state, FAULT_DISCARDED);
	assert_int_equal(at(&rig, FIRST, 2, 0x3000)->state, FAULT_DISCARDED);
	assert_int_equal(at(&rig, FIRST, 4, 0x4000)->state, FAULT_UNFINISHED);
	assert_int_equal(at(&rig, FIRST, 3, 0x2000)->state, FAULT_COMPLETE);
	assert_int_equal(fault_total_ns(at(&rig, FIRST, 1, 0x1000)), 0);
}

/* Nobody to handle it: the core answers within the report. */
static void an_invalid_request_is_complete(void **state)
{
	const struct flight f = {FIRST, 0xf0000, 4, 1};
	struct rig rig;

	begin(&rig);
	report(&rig, f, 0x1000, true);
	respond(&rig, f, RESPONSE_INVALID);
	assert_int_equal(end(&rig).complete, 1);
	assert_string_equal(fault_response_name(&rig.found[0]), "invalid");
	assert_string_equal(fault_cause_name(&rig.found[0]), "none");
	assert_string_equal(fault_consumer_name(&rig.found[0]), "-");
	assert_int_equal(fault_total_ns(&rig.found[0]), 1 * MS);
}

static void an_unanswered_group_is_unfinished(void **state)
{
	const struct flight f = {FIRST, 5, 4, 1};
	struct faults_counts counts;
	struct rig rig;

	begin(&rig);
	report(&rig, f, 0x1000, true);
	queue(&rig, f);
	handle(&rig, f, 40);
	counts = end(&rig);
	assert_int_equal(counts.unfinished, 1);
	assert_string_equal(fault_reached_name(&rig.found[0]), "handler");
}

static void a_response_alone_was_cut(void **state)
{
	struct faults_counts counts;
	struct rig rig;

	begin(&rig);
	respond(&rig, (struct flight){FIRST, 5, 4, 1}, RESPONSE_SUCCESS);
	counts = end(&rig);
	assert_int_equal(counts.unfinished, 1);
	assert_int_equal(counts.cut, 1);
}

static void devices_that_share_a_pasid_are_kept_apart(void **state)
{
	const struct flight one = {FIRST, 5, 3, 1}, two = {OTHER, 5, 3, 2};
	struct rig rig;

	begin(&rig);
	attach(&rig, FIRST, 5, 100, "first");
	report(&rig, one, 0x1000, true);
	report(&rig, two, 0x1000, true);
	handle(&rig, two, 41);
	/* Its PASID is older than the recording: told with its first fault. */
	attach(&rig, OTHER, 5, 200, "of sixteen bytes");
	respond(&rig, two, RESPONSE_SUCCESS);
	handle(&rig, one, 40);
	respond(&rig, one, RESPONSE_FAILURE);
	assert_int_equal(end(&rig).complete, 2);
	assert_int_equal(at(&rig, FIRST, 1, 0x1000)->code, RESPONSE_FAILURE);
	assert_int_equal(at(&rig, FIRST, 1, 0x1000)->pid, 100);
	assert_string_equal(at(&rig, FIRST, 1, 0x1000)->comm, "first");
	assert_int_equal(at(&rig, OTHER, 2, 0x1000)->code, RESPONSE_SUCCESS);
	assert_int_equal(at(&rig, OTHER, 2, 0x1000)->pid, 200);
	assert_string_equal(at(&rig, OTHER, 2, 0x1000)->comm, "of sixteen byte");
}

static void a_pasid_means_another_process_after_its_detach(void **state)
{
	struct rig rig;

	begin(&rig);
	attach(&rig, DEVICE_NONE, 5, 100, "anywhere");
	whole(&rig, (struct flight){FIRST, 5, 1, 1}, 0x1000);
	attach(&rig, FIRST, 5, 200, "here");
	whole(&rig, (struct flight){FIRST, 5, 1, 2}, 0x1000);
	put(&rig, stage((struct flight){FIRST, 5, 0, 0}, EVENT_PASID_DETACH, 0));
	put(&rig, stage((struct flight){DEVICE_NONE, 5, 0, 0}, EVENT_PASID_DETACH, 0));
	whole(&rig, (struct flight){FIRST, 5, 1, 3}, 0x1000);
	whole(&rig, (struct flight){FIRST, PASID_NONE, 1, 4}, 0x1000);
	assert_int_equal(end(&rig).complete, 4);
	assert_int_equal(at(&rig, FIRST, 1, 0x1000)->pid, 100);
	assert_int_equal(at(&rig, FIRST, 2, 0x1000)->pid, 200);
	assert_int_equal(at(&rig, FIRST, 3, 0x1000)->pid, 0);
	assert_string_equal(at(&rig, FIRST, 3, 0x1000)->comm, "");
	assert_int_equal(at(&rig, FIRST, 4, 0x1000)->pid, 0);
}

/* ODP on soft-RoCE ends with the page being mapped; the IOMMU says when it has the response. */
static void other_ends_and_notes(void **state)
{
	const struct flight odp = {OTHER, PASID_NONE, 1, 1}, f = {FIRST, 5, 1, 2};
	struct event *e;
	struct rig rig;

	begin(&rig);
	e = stage(odp, EVENT_FAULT_HANDLER, EVENT_GROUP);
	e->address = 0x1000;
	put(&rig, e);
	resolve(&rig, odp, 0x1000, MM_SWAP);
	e = stage(odp, EVENT_FAULT_MAPPED, EVENT_LAST);
	e->address = 0x1000;
	put(&rig, e);
	whole(&rig, f, 0x1000);
	e = stage(f, EVENT_FAULT_DELIVERED, EVENT_GROUP);
	e->value = 1234;
	put(&rig, e);
	assert_int_equal(end(&rig).complete, 2);
	assert_string_equal(fault_reached_name(at(&rig, OTHER, 1, 0x1000)), "mapped");
	assert_int_equal(fault_total_ns(at(&rig, OTHER, 1, 0x1000)), 2 * MS);
	assert_int_equal(at(&rig, FIRST, 2, 0x1000)->delivered_ns, 1234);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_response_completes_a_fault),
		cmocka_unit_test(a_number_in_use_twice_is_two_groups),
		cmocka_unit_test(one_answer_is_for_all_of_a_group),
		cmocka_unit_test(a_partial_group_is_unfinished_or_discarded),
		cmocka_unit_test(an_invalid_request_is_complete),
		cmocka_unit_test(an_unanswered_group_is_unfinished),
		cmocka_unit_test(a_response_alone_was_cut),
		cmocka_unit_test(devices_that_share_a_pasid_are_kept_apart),
		cmocka_unit_test(a_pasid_means_another_process_after_its_detach),
		cmocka_unit_test(other_ends_and_notes),
	};

	return cmocka_run_group_tests_name("kernel faults", tests, NULL, NULL);
}
