/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tells devices of one name apart. Machines that run side by side or one after the other have a
 * vm/disk each, and what is plugged in again comes to the address of what has gone: "vm/disk#4711" is
 * that of the machine whose process is 4711, "0000:00:05.0#7", which no process owns, the device with
 * the handle 7. Where even that is not one device alone, its handle follows: "vm/disk#4711.12".
 */
#ifndef FAULTLINE_DEVICE_NAME_H
#define FAULTLINE_DEVICE_NAME_H

#include <stdbool.h>

#include "lib/base/stream.h"

#define DEVICE_NAME_TEXT (NAME_TEXT + 24)

const char *device_name_of_owner(const struct device_info *info, char text[DEVICE_NAME_TEXT]);
const char *device_name_of_handle(const struct device_info *info, char text[DEVICE_NAME_TEXT]);

/*
 * Whether a shell pattern fits a device: its name, or, where the pattern has a #, any of the above; also
 * where nobody shares the name, so that what fits does not depend on who is met later.
 */
bool device_name_fits(const struct device_info *info, const char *pattern);
/* How long the end of a shown name is that tells it apart, 0: it has none. */
size_t device_name_tail(const char *shown);
/* How long the end of any text is that stays where it is cut: of a device's name that, of a virtual machine's, NAME[PID], its process. */
size_t device_text_tail(const char *shown);
/* device_name_fits() of a name as it is shown. */
bool device_name_shown_fits(const char *shown, const char *pattern);

#endif
