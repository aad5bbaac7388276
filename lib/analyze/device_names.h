/* SPDX-License-Identifier: GPL-2.0 */
/* The names of a recording's devices, and which of them are more than one device's. */
#ifndef FAULTLINE_DEVICE_NAMES_H
#define FAULTLINE_DEVICE_NAMES_H

#include "lib/base/device_name.h"

struct device_name; /* a text, and how many devices would be called so */

/* -ENOMEM. */
int device_names_add(struct device_name **names, const struct device_info *info);
/* As it was when it was added. */
void device_names_remove(struct device_name **names, const struct device_info *info);
void device_names_free(struct device_name **names);

/* Its own name if no other device has it, else in `text` with what tells it from them. */
const char *device_names_shown(const struct device_name *names, const struct device_info *info,
			       char text[DEVICE_NAME_TEXT]);

#endif
