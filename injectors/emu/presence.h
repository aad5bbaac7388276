/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel says about one page of this process. Addresses are rounded down to their page. */
#ifndef FAULTLINE_PRESENCE_H
#define FAULTLINE_PRESENCE_H

/* 1: mapped in this process' page table (pagemap bit 63), 0: not, negative errno: cannot tell. */
int page_mapped(const void *address);
/* 1: its content is in swap (pagemap bit 62). */
int page_swapped(const void *address);
/* 1: in the page cache (mincore of a file mapping), 0: not, negative errno: cannot tell. */
int page_cached(const void *address);

/* Of up to PAGES_LOOK_MOST pages that follow each other at once; 0, or negative errno with a sentence. */
#define PAGES_LOOK_MOST 128
int pages_look_mapped(const void *address, unsigned int pages, unsigned char *mapped);
int pages_look_cached(const void *address, unsigned int pages, unsigned char *cached);

#endif
