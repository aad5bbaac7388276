/* SPDX-License-Identifier: GPL-2.0 */
/* The little that is needed of the device mapper's ioctls. */
#ifndef FAULTLINE_REAL_MAPPER_H
#define FAULTLINE_REAL_MAPPER_H

#include <stddef.h>

/* Makes and resumes a device with one target; its node /dev/dm-N. -EEXIST: the name is taken. */
int mapper_create(const char *name, const char *uuid, const char *target,
		  unsigned long long sectors, const char *parameters, char *node, size_t size);
/* Whether a device of the name exists: 1, 0, or a negative errno. */
int mapper_exists(const char *name);
/* 0 also if there is no such device; -EEXIST if the name is another's by now. */
int mapper_remove(const char *name, const char *uuid);

#endif
