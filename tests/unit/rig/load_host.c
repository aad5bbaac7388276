// SPDX-License-Identifier: GPL-2.0
/* Loads whose devices have no hosts: takes the place of injectors/emu/verbs_load/load_host.c in a test that it is linked into. */
#include "injectors/emu/verbs_load/load_host.h"

#include <errno.h>

#include "lib/base/fail.h"

int load_host_start(struct guest_process **process, const struct driver_setup *setup,
		    struct load_guest *guest)
{
	(void)process;
	(void)setup;
	(void)guest;
	return failed(-EOPNOTSUPP, "there is no host here");
}

void load_host_stop(struct guest_process *process, const struct driver_setup *setup)
{
	(void)process;
	(void)setup;
}

void load_host_count(const struct driver_setup *setup, struct verbs_load_hosts *sum)
{
	(void)setup;
	(void)sum;
}
