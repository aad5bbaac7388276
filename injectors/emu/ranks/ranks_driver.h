/* SPDX-License-Identifier: GPL-2.0 */
/* The driver of RDMA devices in the guest: the ranks that a [ranks NAME] has put there. */
#ifndef FAULTLINE_RANKS_DRIVER_H
#define FAULTLINE_RANKS_DRIVER_H

#include "injectors/emu/device_driver.h"
#include "injectors/emu/ranks/ranks.h"

/* A device that no [ranks] is for has none. */
extern const struct device_driver rdma_driver;

/* Adds what the ranks of one device have come to; valid once it has stopped. The text, if one went wrong, is the group's: "" if none. */
void ranks_driver_result(const void *driver, struct ranks_result *sum);
const char *ranks_driver_error(const void *driver);

#endif
