/* SPDX-License-Identifier: GPL-2.0 */
/* Gives a PCI device to vfio-pci, and through the journal back to whom it belonged. */
#ifndef FAULTLINE_REAL_VFIO_BIND_H
#define FAULTLINE_REAL_VFIO_BIND_H

#include "injectors/real/journal.h"

/*
 * -ENODEV: vfio-pci is not loaded; -EBUSY: a disk behind the device is in use; -ENOENT and others:
 * whether it is cannot be told. Nothing is changed then. Nothing is done if the device has vfio-pci already.
 */
int vfio_bind(struct journal *journal, const char *address, bool dry_run);

#endif
