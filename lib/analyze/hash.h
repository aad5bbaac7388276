/* SPDX-License-Identifier: GPL-2.0 */
/* Hash tables whose buckets count as memory that grows with what is read (lib/base/memory.h). */
#ifndef FAULTLINE_HASH_H
#define FAULTLINE_HASH_H

#include "lib/base/memory.h"

#define HASH_NONFATAL_OOM	  1
#define uthash_malloc(size)	  memory_calloc(1, size)
#define uthash_free(memory, size) memory_free(memory)

#include <uthash.h>

#endif
