/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the import: one reader a format. `path` and `number` as in import_file(). */
#ifndef FAULTLINE_TRANSLATE_IMPORT_PRIVATE_H
#define FAULTLINE_TRANSLATE_IMPORT_PRIVATE_H

#include "lib/translate/import.h"
#include <stddef.h>
#include <stdio.h>

#include "lib/base/stream.h"
#include "lib/translate/store.h"

#define IMPORT_LEVELS	    3 /* of page tables that may hold a leaf: 4K, 2M, 1G */
#define IMPORT_ADDRESS_BITS 57
#define IMPORT_RECORD_BYTES 48
#define IMPORT_FILE_KEY_BITS \
	56 /* above them the file's number, below what tells its tenants apart */

/* The page size of a leaf at that level, 1 to IMPORT_LEVELS. */
static inline __u32 import_page_shift(__u64 level)
{
	return 3 + 9 * (__u32)level;
}

/* Tenants of QEMU and HyperSIO: a source and a domain of 16 bits each. */
static inline __u64 import_key(__u32 number, __u64 source, __u64 domain)
{
	return (__u64)number << IMPORT_FILE_KEY_BITS | source << 16 | domain;
}

/* Whether a file that begins so is of that format. */
bool import_flt_knows(const unsigned char *bytes, size_t count);
bool import_hypersio_knows(const unsigned char *bytes, size_t count);
bool import_qemu_knows(const unsigned char *bytes, size_t count);

/* `host`: of a merged one, as of trace_read_config. */
int import_flt(struct store *store, const char *path, __u32 host, __u32 number,
	       struct import_missing *missing);
int import_hypersio(struct store *store, const char *path, FILE *file, __u32 number);
int import_qemu(struct store *store, const char *path, FILE *file, __u32 number);

#endif
