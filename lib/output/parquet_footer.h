/* SPDX-License-Identifier: GPL-2.0 */
/* A Parquet file around its pages: magic, row groups, schema. */
#ifndef FAULTLINE_PARQUET_FOOTER_H
#define FAULTLINE_PARQUET_FOOTER_H

#include "lib/output/parquet_column.h"

struct parquet_fact {
	char *name, *value;
};

struct parquet_footer {
	struct parquet_column *columns;
	size_t column_count;
	__u64 rows;  /* of the file */
	__u64 bytes; /* written so far */
	size_t group_count;
	struct thrift groups; /* what the footer will say of those that are written */
	struct thrift schema;
};

void parquet_file_begin(struct parquet_footer *footer, FILE *file);
/* The rows since the last one; nothing if there are none. -ENOMEM without a sentence, as the next. */
int parquet_file_group(struct parquet_footer *footer, struct parquet_scratch *scratch, FILE *file);
int parquet_file_end(struct parquet_footer *footer, const struct parquet_fact *facts,
		     size_t fact_count, FILE *file);
void parquet_footer_free(struct parquet_footer *footer);

#endif
