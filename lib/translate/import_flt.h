/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the import: recordings of Faultline. */
#ifndef FAULTLINE_TRANSLATE_IMPORT_FLT_H
#define FAULTLINE_TRANSLATE_IMPORT_FLT_H

#include <stddef.h>

#include "lib/translate/store.h"

/* Whether a file that begins so is a recording. */
bool import_flt_knows(const unsigned char *bytes, size_t count);
int import_flt(struct store *store, const char *path, __u32 number);

#endif
