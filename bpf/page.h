/* SPDX-License-Identifier: GPL-2.0 */
/* The page of CPUs, IOMMUs and devices, in kernel and user space alike: the smallest that is mapped. */
#ifndef FAULTLINE_PAGE_H
#define FAULTLINE_PAGE_H

#define PAGE_BITS  12
#define PAGE_BYTES (1ul << PAGE_BITS)

static inline unsigned long long whole_pages(unsigned long long bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

#endif
