/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel addresses to names. /proc/kallsyms is read once when the first is asked for, since printing
 * it takes the kernel a second on a slow machine, and again when an address lies in a module that
 * was loaded since.
 */
#ifndef FAULTLINE_SYMBOLS_H
#define FAULTLINE_SYMBOLS_H

#include <linux/types.h>
#include <stddef.h>

struct symbols;

/* `path` NULL: /proc/kallsyms. NULL without memory. Reads nothing yet. */
struct symbols *symbols_create(const char *path);
void symbols_destroy(struct symbols *symbols);

/* "dma_map_page_attrs+0x1f", "fill+0x2 [nvme]", or "0xffffffff81234567" if the kernel hides or does not know it. */
void symbols_name(struct symbols *symbols, __u64 address, char *text, size_t size);

#endif
