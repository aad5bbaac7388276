// SPDX-License-Identifier: GPL-2.0
/* What a job about a fabric prints: a row a point, and with --csv or --json each transaction with its way. */
#include "tools/fabric/command.h"

const char *const fabric_tables[] = {"results", "transactions", NULL};

struct transaction_row {
	const struct scenario_transaction *of;
	const char *path;
};

#define TRANSACTIONS(COLUMN)                                                           \
	COLUMN(stage, none, TEXT, 10, SHOWN, row->of->name)                            \
	COLUMN(kind, none, TEXT, 10, SHOWN, row->of->posted ? "posted" : "non-posted") \
	COLUMN(size, bytes, BYTES, 9, SHOWN, row->of->bytes)                           \
	COLUMN(hops, none, COUNT, 4, SHOWN, row->of->route.hops)                       \
	COLUMN(roots, none, COUNT, 5, SHOWN, row->of->route.roots)                     \
	COLUMN(crossings, none, COUNT, 9, SHOWN, row->of->route.crossings)             \
	COLUMN(translations, none, COUNT, 12, WIDE, row->of->route.translations)       \
	COLUMN(requests, none, COUNT, 8, WIDE, row->of->cost.requests)                 \
	COLUMN(pieces, none, COUNT, 8, WIDE, row->of->cost.pieces)                     \
	COLUMN(delays, none, DURATION, 9, WIDE, row->of->route.delay_ns)               \
	COLUMN(crossed, none, DURATION, 9, WIDE, row->of->route.crossing_ns)           \
	COLUMN(first, none, DURATION, 9, SHOWN, row->of->cost.first_ns)                \
	COLUMN(total, none, DURATION, 9, SHOWN, row->of->cost.total_ns)                \
	COLUMN(peak, bytes_per_s, REAL, 16, WIDE, row->of->bytes_per_s)                \
	COLUMN(path, none, TEXT, 0, WIDE, row->path)
TABLE(transactions, "Transactions (model)", TRANSACTIONS, struct transaction_row, void)

static int fabric_write_results(struct writer *writer, const struct fabric_command *command)
{
	struct sweep_results results;
	int err = sweep_results_begin(&results, writer, "Results (model)", &command->sweep,
				      &fabric_job_columns);

	for (size_t i = 0; !err && i < command->sweep.points; i++)
		err = sweep_results_row(&results, writer, i, command->points[i].values);
	return err ? err : writer_end(writer);
}

static int write_transactions(struct writer *writer, const struct fabric_command *command)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, &command->sweep, &transactions_table);

	for (size_t i = 0; !err && i < command->sweep.points; i++) {
		const struct fabric_point *point = &command->points[i];

		for (__u32 s = 0; !err && s < point->stage_count; s++)
			err = point_table_put(
				&table, writer, i,
				&(struct transaction_row){&point->stages[s], point->paths[s]});
	}
	return err ? err : writer_end(writer);
}

int fabric_write(struct writer *writer, const struct fabric_command *command)
{
	bool whole = command->output.to.format != OUTPUT_TEXT || command->output.table;
	int err = fabric_write_results(writer, command);

	return err || !whole ? err : write_transactions(writer, command);
}
