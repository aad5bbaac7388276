/* SPDX-License-Identifier: GPL-2.0 */
/* What the guests of a tenant have of devices with a mode, against what they may have (struct tenant_quota). Any thread. */
#ifndef FAULTLINE_HYV_QUOTA_H
#define FAULTLINE_HYV_QUOTA_H

#include <linux/types.h>

#include "injectors/emu/verbs/verbs_backend.h"

struct tenant_quota;

struct quota_account {
	_Atomic __u64 pinned; /* bytes */
	_Atomic __u64 objects[VERBS_OBJECTS];
};

/* An object with so many pinned bytes, all or nothing. -ENOMEM (bytes), -ENOSPC (objects), with a sentence of both numbers. */
int quota_take(struct quota_account *account, const struct tenant_quota *quota,
	       enum verbs_object object, __u64 bytes);
void quota_return(struct quota_account *account, enum verbs_object object, __u64 bytes);

#endif
