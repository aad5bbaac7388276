/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What walks of lib/translate/tables.h must find and read, without any tables: a list of the pages
 * that are mapped, and the specification's arithmetic. An entry of level L covers 2^(12 + 9 (L - 1))
 * bytes; it is there if a page of its level or below is mapped in them, and is a leaf if that page
 * is of its level. In two dimensions each table of the first lies on a 4 KiB page of the second.
 */
#ifndef FAULTLINE_SLOW_TABLES_H
#define FAULTLINE_SLOW_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#define SLOW_PAGES 2000

struct slow_page {
	unsigned int domain, level; /* 1: 4 KiB, 2: 2 MiB, 3: 1 GiB */
	uint64_t iova;		    /* of its first byte */
};

struct slow_tables {
	bool nested;
	unsigned int host_level; /* of the pages that hold data, 1 or 2 */
	unsigned int count;
	struct slow_page pages[SLOW_PAGES];
};

struct slow_tables_walk {
	int page; /* that was found, -1: none */
	unsigned int reads, nested_reads;
};

/* False if it overlaps a page of another size. */
bool slow_tables_map(struct slow_tables *tables, unsigned int domain, uint64_t iova,
		     unsigned int level);
struct slow_tables_walk slow_tables_walk(const struct slow_tables *tables, unsigned int domain,
					 uint64_t iova, unsigned int level);
/* In one dimension. */
unsigned int slow_tables_count(const struct slow_tables *tables);

#endif
