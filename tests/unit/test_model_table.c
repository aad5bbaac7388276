// SPDX-License-Identifier: GPL-2.0
/*
 * Cell by cell what the simulator that HyperTRIO's authors released gave on the trace of the
 * calibration: 200,000 packets; a ring page, 32 data pages in runs of 1500, a mailbox page.
 *
 * With 8 to 32 tenants much depends on the pages where they happen to begin: these cells are
 * several draws of that, taken together. The released simulator's cell is one draw.
 */
#include "tests/unit/test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/unit/amount.h"
#include "tests/unit/model_runs.h"

#define COLUMNS	   7
#define BOUND	   0.05
#define DRAWS	   4  /* where the beginning matters */
#define DRAWS_MANY 40 /* where the bound is missed because of it */
#define THREADS	   2
/* All numbers are the plain build's in full; a part of it is one of each row and of each number of tenants. */
#ifdef __SANITIZE_ADDRESS__
#define EVERY amount(4, 8)
#else
#define EVERY amount(1, 4)
#endif

/* Here the mailbox shares one of 128 sets with a data page; where the workload has it, with none. */
#define MAILBOX_AMONG_DATA 0xfee00000

static const __u32 tenants_of[COLUMNS] = {4, 8, 16, 32, 64, 256, 1024};

/* Why a cell misses the bound. */
enum reason {
	MET,
	/* What was published is one draw; ours reach from below to above it. */
	ONE_DRAW,
	/* Which set the mailbox falls into; see the second test. */
	MAILBOX,
	/*
	 * LFU in turns of four, where counters reach their limit all the time. Neither another draw,
	 * nor another mailbox, nor the clock of 61 ns, nor new entries that begin at 1 come near
	 * what was published; halving at 4 instead of 15 would. Not settled.
	 */
	COUNTERS,
};

struct exception {
	__u32 row, column;
	enum reason reason;
	double gbit; /* ours */
};

struct row {
	const char *name;
	__u32 ptb, entries, ways;
	enum replacement policy;
	bool partitions, prefetch;
	enum turns_order order;
	__u32 turn;
};

static const struct row rows[] = {
	{"lru", 1, 64, 8, REPLACE_LRU, false, false, ORDER_ROUND_ROBIN, 1},
	{"lfu", 1, 64, 8, REPLACE_LFU, false, false, ORDER_ROUND_ROBIN, 1},
	{"oracle", 1, 64, 8, REPLACE_BELADY, false, false, ORDER_ROUND_ROBIN, 1},
	{"lfu, turns of 4", 1, 64, 8, REPLACE_LFU, false, false, ORDER_ROUND_ROBIN, 4},
	{"lru, 1024 entries", 1, 1024, 8, REPLACE_LRU, false, false, ORDER_ROUND_ROBIN, 1},
	{"lru, turns of 4", 1, 64, 8, REPLACE_LRU, false, false, ORDER_ROUND_ROBIN, 4},
	{"oracle, one set of 32", 1, 32, 32, REPLACE_BELADY, false, false, ORDER_ROUND_ROBIN, 1},
	{"oracle, one set of 64", 1, 64, 64, REPLACE_BELADY, false, false, ORDER_ROUND_ROBIN, 1},
	{"partitions", 1, 64, 8, REPLACE_LFU, true, false, ORDER_ROUND_ROBIN, 1},
	{"partitions, PTB 8", 8, 64, 8, REPLACE_LFU, true, false, ORDER_ROUND_ROBIN, 1},
	{"partitions, PTB 32", 32, 64, 8, REPLACE_LFU, true, false, ORDER_ROUND_ROBIN, 1},
	{"hypertrio", 32, 64, 8, REPLACE_LFU, true, true, ORDER_ROUND_ROBIN, 1},
	{"hypertrio, turns of 4", 32, 64, 8, REPLACE_LFU, true, true, ORDER_ROUND_ROBIN, 4},
	{"hypertrio, random", 32, 64, 8, REPLACE_LFU, true, true, ORDER_RANDOM, 1},
};

#define ROWS	 (sizeof(rows) / sizeof(rows[0]))
#define LRU_1024 4

/* Of the released simulator, Gb/s; 0: not measured. */
static const double published[ROWS][COLUMNS] = {
	{200, 14, 12, 12, 12, 12, 11.8},
	{200, 33, 16, 12, 12, 12, 11.8},
	{200, 44, 17, 14, 13, 12, 11.8},
	{200, 56, 30, 27, 27, 26, 26},
	{200, 43, 12, 12, 12, 12, 11.8},
	{200, 47, 41, 40, 40, 40, 40},
	{200, 200, 17, 12, 12},
	{200, 200, 200, 18, 12},
	{200, 200, 200, 14, 13, 12, 11.8},
	{202, 202, 202, 86, 50, 38, 36},
	{202, 202, 202, 202, 188, 139, 130},
	{202, 202, 202, 202, 202, 187, 185},
	{202, 202, 202, 202, 202, 200, 195},
	{202, 202, 202, 202, 194, 153, 136},
};

#define EXCEPTIONS (sizeof(exceptions) / sizeof(exceptions[0]))

static const struct exception exceptions[] = {
	{1, 2, ONE_DRAW, 14.5}, {3, 1, COUNTERS, 76.5}, {3, 2, COUNTERS, 33.8},
	{4, 1, MAILBOX, 197.8}, {6, 2, ONE_DRAW, 15.8},
};

struct cell {
	double gbit;	    /* of all draws together */
	double least, most; /* of one */
	bool failed;
};

static void configure(const struct row *row, __u32 tenants, __u64 draw, struct model_config *config,
		      struct tenants_config *trace)
{
	model_preset(config, row->prefetch ? MODEL_HYPERTRIO : MODEL_BASE);
	config->ptb_entries = row->ptb;
	config->devtlb.cache.entries = row->entries;
	config->devtlb.cache.ways = row->ways;
	config->devtlb.cache.policy = row->policy;
	if (row->partitions)
		partition(config);
	calibration_trace(trace, tenants, row->order, row->turn);
	trace->seed = draw;
}

static struct cell measure(const struct row *row, __u32 tenants, __u32 draws, __u64 mailbox)
{
	struct cell cell = {0, INFINITY, 0, false};
	double time = 0;

	for (__u32 draw = 1; draw <= draws; draw++) {
		struct model_config config;
		struct tenants_config trace;
		struct model_stats stats;

		configure(row, tenants, draw, &config, &trace);
		if (mailbox)
			trace.mailbox.first = mailbox;
		cell.failed = !model_runs(&config, &trace, NULL, &stats);
		if (cell.failed)
			break;
		time += (double)stats.time_ps;
		cell.least = fmin(cell.least, gbit(&stats));
		cell.most = fmax(cell.most, gbit(&stats));
	}
	cell.gbit = (double)draws * CALIBRATION_PACKETS * PACKET_BITS * 1000 / time;
	return cell;
}

static const struct exception *exception_of(size_t row, size_t column)
{
	for (size_t i = 0; i < EXCEPTIONS; i++)
		if (exceptions[i].row == row && exceptions[i].column == column)
			return &exceptions[i];
	return NULL;
}

static struct cell table[ROWS][COLUMNS];

static bool is_measured(size_t row, size_t column)
{
	return published[row][column] != 0 && (row + column) % EVERY == 0;
}

static size_t next_cell;

static void *measure_cells(void *unused)
{
	size_t i;

	while ((i = __atomic_fetch_add(&next_cell, 1, __ATOMIC_RELAXED)) < ROWS * COLUMNS) {
		const struct exception *exception = exception_of(i / COLUMNS, i % COLUMNS);
		__u32 tenants = tenants_of[i % COLUMNS];
		__u32 draws = exception && exception->reason == ONE_DRAW ? DRAWS_MANY
			      : tenants >= 8 && tenants <= 32		 ? DRAWS
									 : 1;

		if (is_measured(i / COLUMNS, i % COLUMNS))
			table[i / COLUMNS][i % COLUMNS] =
				measure(&rows[i / COLUMNS], tenants, draws, 0);
	}
	return unused;
}

static void check_cell(size_t row, size_t column)
{
	const struct exception *exception = exception_of(row, column);
	const struct cell *cell = &table[row][column];
	double expected = published[row][column];
	bool met = fabs(cell->gbit - expected) <= BOUND * expected;

	if (cell->failed)
		fail_msg("%s, %u tenants: did not run", rows[row].name, tenants_of[column]);
	if (!exception && !met)
		fail_msg("%s, %u tenants: %.2f Gb/s, expected %.1f within %.0f%%", rows[row].name,
			 tenants_of[column], cell->gbit, expected, 100 * BOUND);
	if (!exception)
		return;
	if (met)
		fail_msg("%s, %u tenants: %.2f Gb/s is no exception any more", rows[row].name,
			 tenants_of[column], cell->gbit);
	if (fabs(cell->gbit - exception->gbit) > 0.051)
		fail_msg("%s, %u tenants: %.2f Gb/s, was %.1f", rows[row].name, tenants_of[column],
			 cell->gbit, exception->gbit);
	if (exception->reason == ONE_DRAW)
		assert_true(cell->least < expected && expected < cell->most);
}

static void every_cell_of_the_released_simulators_table_is_met(void **state)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, measure_cells, NULL), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t row = 0; row < ROWS; row++) {
		for (size_t column = 0; column < COLUMNS; column++)
			print_message("%7.1f", table[row][column].gbit);
		print_message("  %s\n", rows[row].name);
	}
	for (size_t row = 0; row < ROWS; row++)
		for (size_t column = 0; column < COLUMNS; column++)
			if (is_measured(row, column))
				check_cell(row, column);
}

/* With the mailbox in a set that data pages pass through, the large DevTLB collapses here, too: what
 * was published lies among the draws. */
static void a_mailbox_among_the_data_is_what_a_large_devtlb_does_not_bear(void **state)
{
	const struct row *row = &rows[LRU_1024];
	struct cell cell = measure(row, 8, 2 * DRAWS, MAILBOX_AMONG_DATA);

	assert_false(cell.failed);
	assert_true(cell.least < published[LRU_1024][1] && published[LRU_1024][1] < cell.most);
	assert_true(cell.gbit < 0.5 * exceptions[3].gbit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_of_the_released_simulators_table_is_met),
		cmocka_unit_test(a_mailbox_among_the_data_is_what_a_large_devtlb_does_not_bear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
