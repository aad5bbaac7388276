/* SPDX-License-Identifier: GPL-2.0 */
/* The driver of RDMA devices that a [verbs NAME] is for. */
#ifndef FAULTLINE_VERBS_LOAD_DRIVER_H
#define FAULTLINE_VERBS_LOAD_DRIVER_H

#include "injectors/emu/device_driver.h"
#include "injectors/emu/verbs_load/verbs_load.h"

extern const struct device_driver verbs_load_driver;

/* Adds what a load has come to, from the driver of either of its devices; valid once both have stopped. Returns what went wrong
 * first, "": nothing. */
const char *verbs_load_driver_result(const void *driver, struct verbs_load_result *sum);
/* Adds what the host of a driver's device has counted; likewise. */
void verbs_load_driver_host(const void *driver, struct verbs_load_hosts *sum);

#endif
