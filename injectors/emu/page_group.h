/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page request groups as the host assembles them: requests of many devices arrive interleaved, a
 * group is complete with its LAST request.
 */
#ifndef FAULTLINE_PAGE_GROUP_H
#define FAULTLINE_PAGE_GROUP_H

#include <uthash.h>

#include "injectors/emu/service.h"

struct group_key {
	__u32 device;
	__u32 pasid;
	__u32 group;
};

struct page_group {
	struct group_key key;
	__u32 count;
	struct page_request *requests; /* GROUP_PAGES_MAX */
	UT_hash_handle hh;	       /* while incomplete */
	struct page_group *next;       /* while unused */
};

struct group_table;

int group_table_create(struct group_table **table);
void group_table_destroy(struct group_table *table);

/*
 * ISR thread. Adds one request. *complete is the group if this was its last request: it is the
 * caller's until group_table_put(). -E2BIG: the group has more requests than PCIe allows, -ENOMEM;
 * in both cases the request is not kept.
 */
int group_table_add(struct group_table *table, const struct page_request *request,
		    struct page_group **complete);
/* ISR thread. Forgets what is there of an incomplete group; returns the number of its requests. */
__u32 group_table_forget(struct group_table *table, const struct page_request *request);

/* Any thread. Gives a complete group back. */
void group_table_put(struct group_table *table, struct page_group *group);

#endif
