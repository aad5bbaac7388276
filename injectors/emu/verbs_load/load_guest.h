/* SPDX-License-Identifier: GPL-2.0 */
/* An end in its guest's own process. */
#ifndef FAULTLINE_LOAD_GUEST_H
#define FAULTLINE_LOAD_GUEST_H

#include "injectors/emu/verbs_load/load_share.h"

/* Runs in the process: guest_process_config.run. */
struct load_guest {
	struct load_share *share;
	int end;
};
int load_guest_run(void *guest, const int *sockets, __u32 count);

#endif
