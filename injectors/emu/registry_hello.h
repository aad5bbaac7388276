/* SPDX-License-Identifier: GPL-2.0 */
/* What a machine says of itself to an observer (lib/capture/access_log.h). */
#ifndef FAULTLINE_REGISTRY_HELLO_H
#define FAULTLINE_REGISTRY_HELLO_H

#include <stddef.h>

#include "injectors/emu/registry.h"

/* The JSON text, to be freed by the caller. -E2BIG if it is longer than HELLO_MAX. */
int registry_hello(const struct registry_device *devices, __u32 count, __u64 id, char **text,
		   size_t *bytes);

#endif
