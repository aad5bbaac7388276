// SPDX-License-Identifier: GPL-2.0
/*
 * What a row of a table costs as Parquet and as CSV: rows like those of table `faults`, of so many different values
 * as a host has. Prints "NAME ROWS NANOSECONDS BYTES" a line, of CPU time.
 *
 *	parquet_bench ROWS DIRECTORY	leaves DIRECTORY/rows.parquet and DIRECTORY/rows.csv
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "lib/output/table.h"

struct bench_row {
	__u64 start;
	char device[32];
	__u64 group, address, total, resolve, respond;
	bool major;
};

#define ROWS(COLUMN)                                                                  \
	COLUMN(start, none, TIME, 15, SHOWN, row->start)                              \
	COLUMN(device, none, TEXT, 16, SHOWN, row->device)                            \
	COLUMN(queue, none, COUNT, 5, SHOWN, row->group % 2)                          \
	COLUMN(pasid, none, COUNT, 7, SHOWN, CELL_NONE)                               \
	COLUMN(group, none, COUNT, 5, SHOWN, row->group)                              \
	COLUMN(address, none, ADDRESS, 12, SHOWN, row->address)                       \
	COLUMN(length, none, BYTES, 6, SHOWN, 4096)                                   \
	COLUMN(kind, none, TEXT, 7, SHOWN, row->major ? "major" : "minor")            \
	COLUMN(state, none, TEXT, 12, SHOWN, "complete")                              \
	COLUMN(total, none, DURATION, 8, SHOWN, row->total)                           \
	COLUMN(resolve, none, DURATION, 8, SHOWN, row->resolve)                       \
	COLUMN(respond, none, DURATION, 8, SHOWN, count_if(row->major, row->respond)) \
	COLUMN(share, percent, REAL, 8, SHOWN, 100.0 * (double)row->resolve / (double)row->total)
TABLE(rows, "Rows", ROWS, struct bench_row, void)

static void make_row(struct random *random, struct bench_row *row)
{
	row->start += random_below(random, 20000);
	snprintf(row->device, sizeof(row->device), "vm%u/disk", (unsigned)random_below(random, 64));
	row->group = random_below(random, 512);
	row->address = random_below(random, 1 << 20) << 12;
	row->major = random_below(random, 4) == 0;
	row->resolve = 2000 + random_below(random, row->major ? 4000000 : 8000);
	row->respond = 500 + random_below(random, 1000);
	row->total = row->resolve + row->respond + 3000;
}

static int write_rows_as(enum output_format format, const char *name, const char *directory,
			 size_t count)
{
	const struct writer_config config = {
		.format = format, .path = directory, .overwrite = true};
	const struct clock_anchor anchor = {1000, 1795269723000001000};
	struct random random = {7};
	struct bench_row row = {.start = 1000};
	char path[4096];
	struct writer *writer;
	struct stat status;
	clock_t begin = clock();
	double used;

	if (writer_open(&writer, &config))
		return failure_report(-EIO);
	writer_clock(writer, &anchor);
	writer_begin(writer, &rows_table);
	for (size_t i = 0; i < count; i++) {
		make_row(&random, &row);
		writer_row(writer, &row);
	}
	writer_end(writer);
	if (writer_close(writer))
		return failure_report(-EIO);
	used = (double)(clock() - begin) / CLOCKS_PER_SEC;
	snprintf(path, sizeof(path), "%s/rows.%s", directory, name);
	if (stat(path, &status))
		return EXIT_FAIL;
	printf("%s %zu %.0f %lld\n", name, count, used * 1e9, (long long)status.st_size);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	size_t count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;

	if (!count) {
		fprintf(stderr, "Usage: parquet_bench ROWS DIRECTORY\n");
		return EXIT_USAGE;
	}
	return write_rows_as(OUTPUT_PARQUET, "parquet", argv[2], count)
		       ?: write_rows_as(OUTPUT_CSV, "csv", argv[2], count);
}
