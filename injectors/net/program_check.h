/* SPDX-License-Identifier: GPL-2.0 */
/* Before a program starts: its words and where it is. */
#ifndef FAULTLINE_NET_PROGRAM_CHECK_H
#define FAULTLINE_NET_PROGRAM_CHECK_H

#include <limits.h>
#include <sys/types.h>

#include "injectors/net/program.h"
#include "lib/base/program_words.h"

/* program_words_split() with the addresses of a network's two sides. */
int program_split(const char *run, struct program_words *words);
/* As of program_check(), with what it found. */
int program_prepare(const struct program_config *config, struct program_words *words,
		    char path[PATH_MAX], struct listening *listening);

#endif
