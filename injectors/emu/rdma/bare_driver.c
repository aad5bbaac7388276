// SPDX-License-Identifier: GPL-2.0
/* A device that nobody drives, but who calls it by hand. */
#include "injectors/emu/rdma/rdma_private.h"

static int create_nothing(void **driver, const struct driver_setup *setup)
{
	(void)setup;
	*driver = NULL;
	return 0;
}

const struct device_driver rdma_bare_driver = {.create = create_nothing};
