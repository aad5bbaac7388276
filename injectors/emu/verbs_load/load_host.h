/* SPDX-License-Identifier: GPL-2.0 */
/* What an end's driver does with the host of its device: the guest's process, and what the host has counted. */
#ifndef FAULTLINE_LOAD_HOST_H
#define FAULTLINE_LOAD_HOST_H

#include "injectors/emu/device_driver.h"
#include "injectors/emu/verbs_load/load_guest.h"

struct guest_process;

/* *guest stays where it is until the process has ended. */
int load_host_start(struct guest_process **process, const struct driver_setup *setup,
		    struct load_guest *guest);
/* Its memory, pins and mappings go before the device does. */
void load_host_stop(struct guest_process *process, const struct driver_setup *setup);
/* While there still are the device and its host. */
void load_host_count(const struct driver_setup *setup, struct verbs_load_hosts *sum);

#endif
