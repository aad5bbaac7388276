/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page tables of many domains in a memory of their own, in the formats that hardware walks: x86
 * 4-level tables of 512 eight-byte entries (Intel VT-d specification, second-level page tables;
 * Intel SDM volume 3, 4-level paging), pages of 4 KiB, 2 MiB and 1 GiB.
 *
 * A domain translates in one dimension (IOVA to host address) or in two: the guest's tables lead
 * from IOVA to guest address, and each of their own addresses, as well as the result, is led by the
 * host's tables from guest to host address. A walk counts every entry that it reads; in two
 * dimensions and with 4 KiB pages in both these are (4 + 1) * 4 + 4 = 24.
 *
 * Pages are given addresses as they are mapped. One owner, no locks.
 */
#ifndef FAULTLINE_TRANSLATE_TABLES_H
#define FAULTLINE_TRANSLATE_TABLES_H

#include <linux/types.h>
#include <stdbool.h>

#define TABLES_LEVELS	 4
#define TABLES_IOVA_BITS 48

struct tables_config {
	bool nested;	  /* two dimensions */
	__u32 host_shift; /* pages of the second dimension: 12 or 21 */
};

struct tables_walk {
	__u64 address;	    /* host address of the IOVA's byte */
	__u32 shift;	    /* of the leaf in the first dimension */
	__u32 reads;	    /* entries read */
	__u32 nested_reads; /* of these, in the second dimension */
};

struct tables;

/* Whether there can be such tables: -EINVAL with the accepted pages. */
int tables_check(const struct tables_config *config);
/* -EINVAL as of tables_check(), -ENOMEM. */
int tables_create(struct tables **tables, const struct tables_config *config);
void tables_destroy(struct tables *tables);

/*
 * Maps a page of 2^shift bytes (12, 21, 30) that holds `iova`, unless it is mapped already. -EINVAL
 * beyond 48 bits, -EEXIST if it overlaps a page of another size, -ENOMEM.
 */
int tables_map(struct tables *tables, __u16 domain, __u64 iova, __u32 shift);

/*
 * Walks from the table of `level` (4: the root; less where a walk cache knew the way). False if
 * nothing is mapped there; `reads` is what was read until that was known.
 */
bool tables_walk(struct tables *tables, __u16 domain, __u64 iova, __u32 level,
		 struct tables_walk *walk);

/* Bytes of tables. */
__u64 tables_bytes(const struct tables *tables);

#endif
