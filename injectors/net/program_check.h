/* SPDX-License-Identifier: GPL-2.0 */
/* Before a program starts: its words, where it is, and as whom it runs. */
#ifndef FAULTLINE_NET_PROGRAM_CHECK_H
#define FAULTLINE_NET_PROGRAM_CHECK_H

#include <limits.h>
#include <sys/types.h>

#include "injectors/net/program.h"
#include "injectors/net/program_words.h"

/* As of program_check(), with what it found. */
int program_prepare(const struct program_config *config, struct program_words *words,
		    char path[PATH_MAX], struct listening *listening);
/* sudo's caller, else nobody. */
void program_user(uid_t *uid, gid_t *gid);

#endif
