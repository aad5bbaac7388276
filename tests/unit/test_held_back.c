// SPDX-License-Identifier: GPL-2.0
/* Faults that their devices knew of before they were allowed to ask: they begin when they were found. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stage.h"
#include "lib/output/table.h"

static struct analysis *analysis;
static struct stream stream;
static struct fault last;

static void take(void *self, const struct fault *fault)
{
	(void)self;
	last = *fault;
}

static int setup(void **state)
{
	const struct device_info devices[] = {
		{.handle = 1, .kind = DEVICE_EMULATED, .name = "vm/disk"},
		{.handle = 2, .kind = DEVICE_PCI, .name = "0000:00:02.0"}};

	memset(&last, 0, sizeof(last));
	assert_int_equal(analysis_create(&analysis, NULL), 0);
	stream = analysis_stream(analysis);
	for (size_t i = 0; i < 2; i++)
		stream.ops->device(stream.self, &devices[i]);
	faults_subscribe(analysis->faults, (struct fault_sink){NULL, take, NULL});
	return 0;
}

static int teardown(void **state)
{
	analysis_destroy(analysis);
	return 0;
}

/* Told at `told_ns`, a millisecond from one timestamp to the next. */
static void fault(__u32 device, __u32 instance, __u64 told_ns, __u64 found_ns)
{
	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		const struct event e = {.time_ns = told_ns + k * MS,
					.kind = (__u16)(EVENT_FAULT_DETECT + k),
					.device = device,
					.instance = instance,
					.value = k ? 0 : found_ns};

		assert_int_equal(stream.ops->events(stream.self, &e, 1), 0);
	}
}

static void a_fault_begins_when_it_was_found(void **state)
{
	struct stage_times times;
	struct queue_blocked blocked;

	fault(1, 1, 10 * SECOND, 10 * SECOND - 4 * MS);
	assert_int_equal(last.state, FAULT_COMPLETE);
	assert_int_equal(fault_first_ns(&last), 10 * SECOND - 4 * MS);
	assert_int_equal(fault_total_ns(&last), 11 * MS);
	assert_int_equal(last.held_ns, 4 * MS);
	stage_times(&last, &times);
	assert_int_equal(times.ns[STAGE_REQUEST], 5 * MS);
	assert_int_equal(times.ns[STAGE_DELIVERY], MS);
	assert_int_equal(queues_get(analysis->queues, 1, 0, &blocked), 0);
	assert_int_equal(blocked.blocked_ns, 11 * MS);
}

/* Recordings made before have 0; a time to come is no time, and kernel paths tell none. */
static void without_a_time_it_was_found_as_it_is_told(void **state)
{
	static const __u64 found[] = {0, 20 * SECOND, 20 * SECOND + 1, UINT64_MAX};

	for (__u32 i = 0; i < 4; i++) {
		fault(1, i, 20 * SECOND, found[i]);
		assert_int_equal(fault_first_ns(&last), 20 * SECOND);
		assert_int_equal(last.held_ns, 0);
	}
	fault(2, 1, 30 * SECOND, 29 * SECOND);
	assert_int_equal(fault_first_ns(&last), 30 * SECOND);
	assert_int_equal(last.held_ns, 0);
}

/* A burst that goes on for long is worst somewhere: that second is told, not the burst's first. */
static void the_worst_second_is_told_by_its_own_time(void **state)
{
	struct burst worst;
	__u32 n = 0;

	for (; n < 70; n++)
		fault(1, n, 10 * SECOND + n * 100 * MS, 0);
	for (; n < 100; n++)
		fault(1, n, 17 * SECOND + (n - 70) * 10 * MS, 0);
	for (; n < 130; n++)
		fault(1, n, 17 * SECOND + 300 * MS + (n - 100) * 100 * MS, 0);
	assert_true(rates_worst_burst(analysis->rates, analysis->session, &worst));
	assert_int_equal(worst.from_ns, 10 * SECOND);
	assert_in_range(worst.peak, 36, 38);
	assert_in_range(worst.peak_ns, 16 * SECOND + 300 * MS, 17 * SECOND);
}

static void a_short_burst_is_at_its_peak_from_its_first_fault_on(void **state)
{
	struct burst worst;

	for (__u32 n = 0; n < 9; n++)
		fault(1, n, 10 * SECOND + n * 50 * MS, 0);
	assert_true(rates_worst_burst(analysis->rates, analysis->session, &worst));
	assert_int_equal(worst.peak, 9);
	assert_int_equal(worst.peak_ns, 10 * SECOND);
}

/* Minutes later no fault can join the first burst any more: it is the worst all the same. */
static void the_worst_burst_may_be_over(void **state)
{
	struct burst worst;

	for (__u32 n = 0; n < 9; n++)
		fault(1, n, 10 * SECOND + n * 10 * MS, 0);
	for (__u32 n = 10; n < 17; n++)
		fault(1, n, 200 * SECOND + n * 10 * MS, 0);
	for (__u32 n = 20; n < 28; n++)
		fault(1, n, 400 * SECOND + n * 10 * MS, 0);
	assert_int_equal(rates_bursts(analysis->rates, analysis->session), 3);
	assert_true(rates_worst_burst(analysis->rates, analysis->session, &worst));
	assert_int_equal(worst.from_ns, 10 * SECOND);
	assert_int_equal(worst.faults, 9);
	assert_int_equal(worst.peak, 9);
}

static void a_burst_lasts_from_the_first_to_the_last(void **state)
{
	struct burst worst;

	/* Six within a second as they are told; the last was found two seconds before. */
	for (__u32 i = 0; i < 5; i++)
		fault(1, i, 10 * SECOND + i * 50 * MS, 0);
	fault(1, 5, 10 * SECOND + 250 * MS, 8 * SECOND);
	assert_int_equal(rates_bursts(analysis->rates, analysis->session), 0);
	for (__u32 i = 0; i < 8; i++)
		fault(1, 10 + i, 20 * SECOND + i * 50 * MS, i == 7 ? 20 * SECOND - 100 * MS : 0);
	assert_true(rates_worst_burst(analysis->rates, analysis->session, &worst));
	assert_int_equal(worst.from_ns, 20 * SECOND - 100 * MS);
	assert_int_equal(worst.to_ns, 20 * SECOND + 300 * MS);
	assert_int_equal(worst.faults, 8);
}

#define FAULTS 3000
#define LIMIT  5
#define STEP   (10 * MS)

struct told {
	__u64 told_ns, found_ns;
};

struct row {
	__u64 from_ns, to_ns, faults, peak;
};

static int by_told(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return x->told_ns < y->told_ns ? -1 : x->told_ns > y->told_ns;
}

static int by_found(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return x->found_ns < y->found_ns ? -1 : x->found_ns > y->found_ns;
}

/* Close together and far apart; most are told at once, many later, some seconds later. */
static void make_faults(struct told told[FAULTS], unsigned int seed)
{
	static const __u64 gaps[] = {0, MS, 30 * MS, 190 * MS, 230 * MS, 1500 * MS};
	static const __u64 waits[] = {0, 0, 0, 3 * MS, 300 * MS, 4 * SECOND, 50 * SECOND};
	__u64 time = 100 * SECOND;

	srandom(seed);
	for (size_t i = 0; i < FAULTS; i++) {
		__u64 gap = gaps[(size_t)random() % 6], wait = waits[(size_t)random() % 7];

		time += gap ? (__u64)random() % gap : 0;
		told[i].found_ns = time;
		told[i].told_ns = time + (wait ? (__u64)random() % wait : 0);
	}
	qsort(told, FAULTS, sizeof(*told), by_told);
}

/* Most faults of any second, in steps, that has this one. */
static __u64 plain_peak(const struct told *by, size_t at)
{
	__u64 first = by[at].found_ns / STEP, peak = 0;

	for (size_t k = at; k < FAULTS && by[k].found_ns / STEP < first + 100; k++) {
		__u64 last = by[k].found_ns / STEP, count = 0;

		for (size_t i = k; i < FAULTS && by[i].found_ns / STEP == last; i++)
			count++;
		for (size_t i = k; i-- && by[i].found_ns / STEP + 100 > last;)
			count++;
		peak = count > peak ? count : peak;
	}
	return peak;
}

/* Of all faults, sorted: every LIMIT + 1 neighbours within a second; those that share one together. */
static size_t plain_rows(const struct told *by, struct row *rows)
{
	size_t count = 0, last = 0;

	for (size_t i = 0; i + LIMIT < FAULTS; i++) {
		size_t counted = count && i <= last ? last + 1 : i;

		if (by[i + LIMIT].found_ns - by[i].found_ns >= SECOND)
			continue;
		if (counted == i)
			rows[count++] = (struct row){.from_ns = by[i].found_ns, .peak = LIMIT + 1};
		last = i + LIMIT;
		rows[count - 1].to_ns = by[last].found_ns;
		for (size_t k = counted; k <= last; k++) {
			__u64 peak = plain_peak(by, k);

			rows[count - 1].faults++;
			if (peak > rows[count - 1].peak)
				rows[count - 1].peak = peak;
		}
	}
	return count;
}

static size_t told_rows(struct row *rows)
{
	struct writer_config config = {.format = OUTPUT_CSV, .raw_time = true};
	struct writer *writer;
	size_t size, count = 0;
	char *text, *line;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	rates_write_bursts(analysis, writer, &(struct table_wish){0});
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	for (line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		unsigned long long from, duration, faults, peak;

		assert_int_equal(sscanf(line, "vm/disk,%llu,%llu,%llu,%llu", &from, &duration,
					&faults, &peak),
				 4);
		rows[count++] = (struct row){from, from + duration, faults, peak};
	}
	free(text);
	return count;
}

static void bursts_equal_a_plain_count(unsigned int seed)
{
	static struct row plain[FAULTS], rows[FAULTS];
	static struct told told[FAULTS];
	struct device_rate rate;
	__u64 late = 0, peak = 0;
	size_t count;

	make_faults(told, seed);
	for (__u32 i = 0; i < FAULTS; i++) {
		const struct event e = {.time_ns = told[i].told_ns,
					.kind = EVENT_FAULT_DETECT,
					.device = 1,
					.instance = i,
					.value = told[i].found_ns};

		late += i && told[i].found_ns < told[i - 1].found_ns;
		assert_int_equal(stream.ops->events(stream.self, &e, 1), 0);
	}
	qsort(told, FAULTS, sizeof(*told), by_found);
	count = plain_rows(told, plain);
	assert_true(late > FAULTS / 10 && count > 20 && count < FAULTS / LIMIT);
	assert_int_equal(rates_bursts(analysis->rates, analysis->session), count);
	assert_int_equal(told_rows(rows), count);
	for (size_t i = 0; i < count; i++) {
		peak = plain[i].peak > peak ? plain[i].peak : peak;
		assert_memory_equal(&rows[i], &plain[i], sizeof(*rows));
	}
	rate = rates_device(analysis->rates, 1);
	assert_int_equal(rate.bursts, count);
	assert_int_equal(rate.first_ns, told[0].found_ns);
	assert_int_equal(rate.last_ns, told[FAULTS - 1].found_ns);
	assert_int_equal(rate.faults, FAULTS);
	assert_int_equal(rate.peak, peak);
	assert_int_equal(rates_dropped(analysis->rates), 0);
}

static void bursts_go_by_when_faults_began(void **state)
{
	for (unsigned int seed = 1; seed <= 5; seed++) {
		bursts_equal_a_plain_count(seed);
		teardown(state);
		setup(state);
	}
}

/* What comes too late for peaks and bursts is counted, and makes them floors. */
static void a_fault_told_a_minute_late_is_said(void **state)
{
	fault(1, 1, 200 * SECOND, 0);
	fault(1, 2, 201 * SECOND, 130 * SECOND);
	assert_int_equal(rates_dropped(analysis->rates), 1);
	assert_int_equal(rates_device(analysis->rates, 1).first_ns, 130 * SECOND);
	assert_int_equal(floor_of(analysis), 1u << FLOOR_TABLES);
}

#define with_analysis(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_analysis(a_fault_begins_when_it_was_found),
		with_analysis(without_a_time_it_was_found_as_it_is_told),
		with_analysis(the_worst_second_is_told_by_its_own_time),
		with_analysis(a_short_burst_is_at_its_peak_from_its_first_fault_on),
		with_analysis(the_worst_burst_may_be_over),
		with_analysis(a_burst_lasts_from_the_first_to_the_last),
		with_analysis(bursts_go_by_when_faults_began),
		with_analysis(a_fault_told_a_minute_late_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
