// SPDX-License-Identifier: GPL-2.0
/* Explanations as a whole: every sentence and every piece of evidence of a fault, in whatever batches it was told. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/explain.h"
#include "lib/base/inject_point.h"
#include "tests/unit/pair_rig.h"

#define MINE 2 /* what is explained: the group of that number */

/* What is not said of a fault, in us, is as usual. */
static struct told_fault as_usual(const struct told_fault *said)
{
	static const struct told_fault usual = {.at = {20, 21, 22, 30, 130, 131, 132, 140}};
	struct told_fault fault = *said;

	if (!fault.at[0])
		memcpy(fault.at, usual.at, sizeof(fault.at));
	fault.group = fault.group ?: MINE;
	fault.instance = fault.group + 10;
	fault.tid = fault.tid ?: 99;
	fault.address = fault.address ?: 0x2000;
	fault.queue = fault.queue ?: 2;
	fault.access = EVENT_READ;
	return fault;
}

static void tell_fault(struct pair_rig *rig, const struct told_fault *said)
{
	struct told_fault fault = as_usual(said);

	for (unsigned int k = 0; k < FAULT_STAGES; k++)
		fault.at[k] *= US;
	pair_rig_stages(rig, &fault);
}

static void tell_of(struct pair_rig *rig, const struct told_fault *said, __u16 kind, __u64 at_us,
		    __u64 value)
{
	const struct told_fault all = as_usual(said), *fault = &all;
	struct event e = told_pair(kind, at_us * US, PAIR_DISK, fault->tid, value, 0);

	e.queue = fault->queue;
	e.pasid = PASID_NONE;
	e.group = fault->group;
	e.instance = fault->instance;
	e.address = fault->address;
	e.length = 4096;
	e.flags = EVENT_READ;
	pair_rig_add(rig, e);
}

static void tell_injection(struct pair_rig *rig, __u64 id, unsigned int point, __u64 from_us,
			   __u64 to_us)
{
	struct event e = told_pair(EVENT_INJECT_START, from_us * US, PAIR_DISK, 700 + (__u32)id, id,
				   (__u8)point);

	pair_rig_add(rig, e);
	e.kind = EVENT_INJECT_STOP;
	e.time_ns = PAIR_START + to_us * US;
	pair_rig_add(rig, e);
}

static void tell_taken(struct pair_rig *rig, __u64 at_us, __u32 tid, __u64 token, __u8 flags)
{
	struct told_fault page = {.tid = tid};
	struct event e;

	tell_of(rig, &page, EVENT_INVALIDATE_DEVICE, at_us, token);
	e = rig->events[rig->count - 1];
	e.kind = EVENT_INVALIDATE_FREED;
	e.flags = flags;
	e.time_ns += 500;
	pair_rig_add(rig, e);
}

static void tell_io(struct pair_rig *rig, __u64 from_us, __u64 to_us, __u8 code)
{
	struct event e = told_pair(EVENT_IO_COMPLETE, to_us * US, PAIR_DISK, 0,
				   (to_us - from_us) * US, code);

	e.queue = 2;
	e.address = 0x9000;
	e.length = 8192;
	pair_rig_add(rig, e);
}

/* A handler that another group keeps busy, of the same thread; I/Os that meet and that queue behind. */
static void busy(struct pair_rig *rig)
{
	const struct told_fault first = {.at = {10, 11, 12, 13, 390, 391, 393, 395},
					 .group = 1,
					 .address = 0x7000,
					 .queue = 1};
	const struct told_fault fault = {.at = {20, 21, 22, 430, 440, 441, 442, 450}};

	tell_fault(rig, &first);
	tell_fault(rig, &fault);
	tell_io(rig, 15, 460, IO_FAULTED);
	tell_io(rig, 16, 470, IO_FAULTED);
	tell_io(rig, 471, 480, IO_FAULTED);
	tell_io(rig, 472, 490, IO_OK);
}

/* It waits for a CPU while two injections keep them busy, and one that had ended. */
static void waits_for_a_cpu(struct pair_rig *rig)
{
	const struct told_fault fault = {.at = {20, 21, 22, 130, 140, 141, 142, 150}};

	tell_injection(rig, 3, INJECT_CPU_HOG, 1, 100);
	tell_injection(rig, 4, INJECT_CPU_HOG, 2, 300);
	tell_injection(rig, 5, INJECT_CPU_HOG, 3, 4);
	tell_fault(rig, &fault);
	pair_rig_add(rig, told_pair(EVENT_SCHED_RUN, 129 * US, DEVICE_NONE, 99, 90 * US, 0));
}

/* An injection holds it back; meanwhile its handler was busy and had no CPU. */
static void delayed(struct pair_rig *rig)
{
	const struct told_fault first = {
		.at = {10, 11, 12, 13, 40, 41, 43, 45}, .group = 1, .address = 0x7000, .queue = 1};
	const struct told_fault fault = {.at = {20, 21, 22, 130, 140, 141, 142, 150}};

	tell_injection(rig, 3, INJECT_DISPATCH, 1, 200);
	tell_injection(rig, 4, INJECT_DISPATCH, 2, 200);
	tell_fault(rig, &first);
	tell_fault(rig, &fault);
	pair_rig_add(rig, told_pair(EVENT_SCHED_RUN, 60 * US, DEVICE_NONE, 99, 50 * US, 0));
}

/* Two requests of its machine are ahead in the queue, one of another machine is not. */
static void behind_others(struct pair_rig *rig)
{
	const struct told_fault first = {.at = {5, 6, 100, 101, 102, 103, 104, 105},
					 .group = 1,
					 .address = 0x7000,
					 .tid = 98,
					 .queue = 1};
	const struct told_fault second = {.at = {7, 8, 110, 111, 112, 113, 114, 115},
					  .group = 4,
					  .device = PAIR_LEFT,
					  .tid = 97};
	const struct told_fault elsewhere = {.at = {7, 8, 111, 111, 112, 113, 114, 115},
					     .group = 5,
					     .device = PAIR_ELSEWHERE,
					     .tid = 96};
	const struct told_fault fault = {.at = {20, 21, 121, 122, 123, 124, 125, 126}};

	pair_rig_add(rig, told_pair(EVENT_INJECT_START, 1 * US, PAIR_LEFT, 0, 3, INJECT_DELIVERY));
	tell_fault(rig, &first);
	tell_fault(rig, &second);
	tell_fault(rig, &elsewhere);
	tell_fault(rig, &fault);
}

/* Its device waits for two more of that I/O; one of another queue is none. */
static void with_peers(struct pair_rig *rig)
{
	const struct told_fault other = {
		.at = {20, 21, 22, 30, 60, 61, 180, 190}, .group = 1, .address = 0x7000, .tid = 98};
	const struct told_fault last = {
		.at = {20, 21, 22, 30, 60, 61, 185, 190}, .group = 4, .address = 0x8000, .tid = 97};
	const struct told_fault queue = {.at = {20, 21, 22, 30, 60, 61, 188, 190},
					 .group = 5,
					 .address = 0x9000,
					 .tid = 96,
					 .queue = 3};
	const struct told_fault fault = {.at = {20, 21, 22, 30, 50, 51, 52, 190}};

	tell_fault(rig, &other);
	tell_fault(rig, &last);
	tell_fault(rig, &queue);
	tell_fault(rig, &fault);
}

/* Two pages of its group are served first; the respond of each is delayed. */
static void with_its_group(struct pair_rig *rig)
{
	struct told_fault page = {.at = {20, 21, 22, 30, 60, 61, 190, 200}};
	const struct told_fault fault = {.at = {20, 21, 22, 30, 120, 122, 190, 200}};

	tell_injection(rig, 3, INJECT_RESOLVE, 1, 90);
	tell_injection(rig, 4, INJECT_RESPOND, 2, 180);
	page.address = 0x7000;
	tell_fault(rig, &page);
	page.address = 0x8000;
	page.at[4] = 99;
	page.at[5] = 100;
	tell_fault(rig, &page);
	tell_fault(rig, &fault);
}

/* From storage, while an injection delays it; its page was taken by one of two evictions, its neighbour had faulted. */
static void from_storage(struct pair_rig *rig)
{
	const struct told_fault before = {
		.at = {12, 13, 14, 15, 16, 17, 18, 19}, .group = 1, .address = 0x1000, .tid = 98};
	const struct told_fault queue = {.at = {13, 14, 14, 15, 16, 17, 18, 19},
					 .group = 4,
					 .address = 0x1000,
					 .tid = 98,
					 .queue = 3};
	const struct told_fault space = {.at = {14, 14, 14, 15, 16, 17, 18, 19},
					 .group = 5,
					 .address = 0x1000,
					 .tid = 98,
					 .pasid = 7};
	const struct told_fault fault = {.cause = MM_FILE, .page = EVENT_MAJOR};

	tell_injection(rig, 3, INJECT_EVICT, 1, 500);
	tell_injection(rig, 4, INJECT_EVICT, 2, 500);
	tell_injection(rig, 5, INJECT_RESOLVE, 3, 500);
	tell_taken(rig, 4, 703, 1, 0);
	tell_taken(rig, 8, 704, 2, EVENT_MAJOR);
	tell_taken(rig, 300, 703, 3, 0);
	tell_fault(rig, &before);
	tell_fault(rig, &queue);
	tell_fault(rig, &space);
	tell_fault(rig, &fault);
}

static void read_only(struct pair_rig *rig)
{
	const struct told_fault fault = {.pasid = 7, .cause = MM_PERMISSION};

	tell_injection(rig, 4, INJECT_RESPOND, 131, 132);
	tell_taken(rig, 4, 703, 1, 0);
	tell_fault(rig, &fault);
}

/* Its device gives up before any response, which comes all the same. */
static void silent(struct pair_rig *rig)
{
	const struct told_fault fault = {.at = {20, 21, 22, 30, 330, 331, 332}};

	tell_fault(rig, &fault);
	tell_of(rig, &fault, EVENT_FAULT_ABANDON, 220, 0);
}

static void lost(struct pair_rig *rig)
{
	const struct told_fault fault = {.at = {20, 21, 22, 30, 40, 41, 42}};

	tell_injection(rig, 3, INJECT_RESPONSE_LOST, 40, 50);
	tell_fault(rig, &fault);
	tell_of(rig, &fault, EVENT_FAULT_ABANDON, 220, 0);
}

/* The queue drops its own request, and before that another one. */
static void overflowed(struct pair_rig *rig)
{
	const struct told_fault other = {.group = 1, .address = 0x7000};
	const struct told_fault fault = {.at = {20, 0, 0, 0, 0, 0, 0, 140},
					 .code = RESPONSE_AUTOMATIC};

	tell_injection(rig, 3, INJECT_OVERFLOW, 10, 50);
	tell_of(rig, &other, EVENT_FAULT_OVERFLOW, 19, 7);
	tell_fault(rig, &fault);
	tell_of(rig, &fault, EVENT_FAULT_OVERFLOW, 22, 8);
	tell_of(rig, &other, EVENT_FAULT_OVERFLOW, 23, 9);
}

/* It was in the queue when that overflowed with another request. */
static void discarded(struct pair_rig *rig)
{
	const struct told_fault other = {.group = 1, .address = 0x7000};
	const struct told_fault fault = {.at = {20, 21, 22, 0, 0, 0, 0, 140},
					 .code = RESPONSE_AUTOMATIC};

	tell_of(rig, &other, EVENT_FAULT_OVERFLOW, 5, 7);
	tell_fault(rig, &fault);
	tell_of(rig, &other, EVENT_FAULT_OVERFLOW, 24, 9);
	tell_of(rig, &fault, EVENT_FAULT_VOID, 25, 0);
	tell_of(rig, &other, EVENT_FAULT_OVERFLOW, 200, 11);
}

static void failed_by_injection(struct pair_rig *rig)
{
	const struct told_fault fault = {.code = RESPONSE_FAILURE, .cause = MM_ANONYMOUS};

	tell_injection(rig, 3, INJECT_RESPONSE_FAILURE, 10, 500);
	tell_fault(rig, &fault);
}

static void refused(struct pair_rig *rig)
{
	const struct told_fault fault = {.at = {20, 21, 22, 30, 130, 0, 132, 140},
					 .code = RESPONSE_INVALID};

	tell_fault(rig, &fault);
}

/* One that acts on its device and on its whole machine is one; it took its page, as the other's is of another kind. */
static void taken_by_kind(struct pair_rig *rig)
{
	const struct told_fault fault = {0}, other = {.address = 0x7000, .tid = 704};
	struct event machine =
		told_pair(EVENT_INJECT_START, 2 * US, DEVICE_ALL, 703, 3, INJECT_EVICT);

	machine.pid = 7;
	tell_injection(rig, 3, INJECT_EVICT, 1, 500);
	pair_rig_add(rig, machine);
	pair_rig_add(rig, told_pair(EVENT_INJECT_START, 3 * US, PAIR_DISK, 704, 4, INJECT_EVICT));
	tell_of(rig, &other, EVENT_INVALIDATE_FREED, 3, 1);
	tell_taken(rig, 8, 799, 2, EVENT_MAJOR);
	tell_fault(rig, &fault);
}

/* It is explained long before the next one is over, and once. */
static void long_before(struct pair_rig *rig)
{
	const __u64 late = 20000000;
	const struct told_fault fault = {0};
	const struct told_fault next = {
		.at = {late, late + 1, late + 2, late + 3, late + 4, late + 5, late + 6, late + 7},
		.group = 1,
		.address = 0x7000};

	tell_fault(rig, &fault);
	tell_fault(rig, &next);
}

struct scenario {
	void (*tell)(struct pair_rig *rig);
	const char *expected;
};

static const struct scenario scenarios[] = {
#include "tests/unit/explained.def"
};

struct told {
	char *text;
	size_t size;
	FILE *to;
};

static __u64 want_each(void *self, const struct fault *fault)
{
	(void)self;
	return fault->group == MINE ? fault->address : 0;
}

static void put_ns(FILE *to, char before, __u64 ns)
{
	if (ns)
		fprintf(to, "%c%lld", before, (long long)(ns - PAIR_START));
	else
		fprintf(to, "%c-", before);
}

static void write_each(void *self, const struct explanation *x)
{
	FILE *to = ((struct told *)self)->to;

	fprintf(to, "%llx: %s\n", x->row, explain_cause_name(x->cause));
	for (size_t i = 0; i < x->count; i++) {
		const struct explained *item = &x->items[i];

		fprintf(to, "%s %s %s %llu %s", explain_part_name(item->part),
			item->stage < STAGES ? stage_name(item->stage) : "-",
			explain_cause_name(item->cause), item->ns,
			item->evidence ? item->evidence : "-");
		put_ns(to, ' ', item->from_ns);
		put_ns(to, ':', item->to_ns);
		fprintf(to, " %llx %llu %u.%x.%x %u.%u", item->address, item->count, item->device,
			item->queue, item->pasid, item->group, item->instance);
		fprintf(to, item->text == SIZE_MAX ? "\n" : " %s\n", explanation_text(x, item));
	}
}

static void all_is_told_and_nothing_else(void **state)
{
	static const size_t chunks[] = {0, 1, 3};

	for (size_t i = 0; i < COUNT(scenarios) * COUNT(chunks); i++) {
		const struct scenario *scenario = &scenarios[i / COUNT(chunks)];
		struct told told = {0};
		const struct explain_wish wish = {want_each, write_each, &told};
		struct pair_rig rig;

		told.to = open_memstream(&told.text, &told.size);
		pair_rig_begin(&rig);
		rig.config.explain = &wish;
		scenario->tell(&rig);
		pair_rig_run(&rig, chunks[i % COUNT(chunks)]);
		fclose(told.to);
		assert_string_equal(told.text, scenario->expected);
		free(told.text);
		pair_rig_end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_told_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
