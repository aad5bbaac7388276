/* SPDX-License-Identifier: GPL-2.0 */
/* What stands for a device's driver where that is in a virtual machine: nothing begins or ends by it, but it tells what comes next. */
#ifndef FAULTLINE_VHOST_DRIVER_H
#define FAULTLINE_VHOST_DRIVER_H

#include "injectors/emu/device_driver.h"

/* Of devices of a tenant with backend MEMORY_VM whose model has none of its own. */
extern const struct device_driver vhost_driver;

#endif
