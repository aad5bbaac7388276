/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lock for each page of a tenant, as the kernel's page lock: one bit. It keeps a resolve and an
 * eviction of the same page apart (lookup.h); holders of different pages never meet.
 */
#ifndef FAULTLINE_PAGE_LOCK_H
#define FAULTLINE_PAGE_LOCK_H

#include <linux/types.h>

struct page_locks;

int page_locks_create(struct page_locks **locks, __u64 pages);
void page_locks_destroy(struct page_locks *locks);

/* Waits while another holds it. A thread holds one page at a time. */
void page_lock(struct page_locks *locks, __u64 page);
void page_unlock(struct page_locks *locks, __u64 page);

#endif
