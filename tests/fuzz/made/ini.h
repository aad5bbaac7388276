/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A job, SLO or simulation file that a fuzzer's bytes describe: sections and keys of its table and values as
 * people write them, or any bytes.
 */
#ifndef FAULTLINE_FUZZ_INI_H
#define FAULTLINE_FUZZ_INI_H

#include <stdio.h>

#include "lib/job/options.h"
#include "tests/fuzz/made/bytes.h"

/* Puts it into a memory file and its name into `path`. */
void make_ini(const struct option_table *table, const uint8_t *data, size_t size, char path[64]);
/* First inputs: each of these files as it is, and files made of random bytes. */
void write_ini_seeds(const char *directory, const char *const *files, size_t count);

#endif
