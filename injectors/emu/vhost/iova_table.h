/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Translations that a front-end has told: ranges of IOVAs and the guest addresses behind them, of a bounded number. No lock: the
 * caller's (vhost_iotlb.h). Ranges are inclusive, as one may end at 2^64 - 1.
 */
#ifndef FAULTLINE_IOVA_TABLE_H
#define FAULTLINE_IOVA_TABLE_H

#include <linux/types.h>
#include <stdbool.h>

/* As the protocol has them. */
#define IOVA_READ  1u
#define IOVA_WRITE 2u

struct iova_range {
	__u64 first, last;
	__u64 guest_address; /* of `first` */
	__u32 permissions;
};

struct iova_table;

/* NULL: no memory. */
struct iova_table *iova_table_create(__u32 entries);
void iova_table_destroy(struct iova_table *table);

/*
 * Adds a range, and drops those that it overlaps: what is told later holds. The one that was used for longest makes way if there is no
 * room: true. `first` <= `last`. Takes time in proportion to the entries.
 */
bool iova_table_add(struct iova_table *table, const struct iova_range *range);
/* Drops every range that shares an address with [first, last], whole; returns how many. */
__u32 iova_table_drop(struct iova_table *table, __u64 first, __u64 last);
/* The range that `iova` lies in. False: none, or it lacks one of `permissions`. Logarithmic. */
bool iova_table_find(struct iova_table *table, __u64 iova, __u32 permissions,
		     struct iova_range *range);
/* Whether a range that overlaps this one says something else of an address of both. */
bool iova_table_contradicts(const struct iova_table *table, const struct iova_range *range);
__u32 iova_table_count(const struct iova_table *table);

#endif
