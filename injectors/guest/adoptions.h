/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of a program's own that are the guest's for now. Where the program has them is the kernel's to say: it may have unmapped them since,
 * moved them, or mapped other memory where they were.
 */
#ifndef FAULTLINE_GUEST_ADOPTIONS_H
#define FAULTLINE_GUEST_ADOPTIONS_H

#include "injectors/guest/guest_private.h"
#include "injectors/guest/guest_swap.h"
#include "injectors/guest/own_mappings.h"

/* Before the first, under the lock, as all of these; -ENOMEM, -EIO. */
int adoptions_begin(struct guest_device *guest);
/* Of a page of the guest's for programs. */
struct adopted_page *adopted_page(const struct guest_device *guest, __u64 guest_address);
/* One more region has the page, or one less. */
void adopted_page_count(struct guest_device *guest, __u64 guest_address, int change);
/* The guest address of what the program has there, if it is a page that a region has; 0: it is not, 0 being no page of programs. */
__u64 adopted_there(const struct guest_device *guest, const struct own_mapping *mapping,
		    __u64 here);
/* Calls for each page that a region has and the program sees. */
void adopted_each(const struct guest_device *guest, struct own_mappings *mappings,
		  void (*call)(void *argument, __u64 here, __u64 guest_address), void *argument);

/*
 * guest_adopt_pages.c
 */

/* One that comes, or goes. */
struct adoption {
	struct guest_device *guest;
	struct guest_mr *region;
	unsigned char *start; /* of its first page */
	__u32 pages;
	__u64 *list;	     /* guest addresses, of all its pages */
	unsigned char *made; /* a row of as many pages, to take the place of its own; NULL: none */
	struct swap *swap;
};

static inline __u64 adoption_bytes(const struct adoption *adoption)
{
	return (__u64)adoption->pages << PAGE_BITS;
}

/* Private memory of the guest's own; NULL. */
void *adoption_map(__u64 bytes, int protection);
int adoption_begin(struct adoption *adoption, struct verbs_device *device, struct guest_mr *region);
void adoption_end(struct adoption *adoption);
/* A range of the program's whose pages are the guest's or can become so. -EFAULT. */
int adoption_check(const struct guest_device *guest, void *address, __u64 bytes);
/* Fills the list, with pages of the guest's for those of the program's that have none yet; -ENOMEM, -EFAULT. */
int adoption_list_pages(struct adoption *adoption);
/* Of the list those that only this region has taken. */
void adoption_give_pages(struct adoption *adoption);
bool adoption_page_is_new(const struct adoption *adoption, __u32 i);
/* The list's pages in a row, at `made`. */
int adoption_map_pages(struct adoption *adoption);
/* Of a region that goes: where the program has the pages that no other has; `here` 0: nowhere any more. */
int adoption_find_pages(struct adoption *adoption);

#endif
