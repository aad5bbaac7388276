/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAULTLINE_WORKLOAD_DEVICE_H
#define FAULTLINE_WORKLOAD_DEVICE_H

#include "injectors/emu/device_driver.h"
#include "injectors/emu/workload.h"

/* The driver of models that a [workload] may drive. A device without one has none. */
extern const struct device_driver workload_driver;

#endif
