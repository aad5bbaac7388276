/* SPDX-License-Identifier: GPL-2.0 */
/* Whether this process may attach anything to the kernel: what doctor may say of it, and not of root. */
#ifndef FAULTLINE_PERMISSION_H
#define FAULTLINE_PERMISSION_H

/* NULL if it may; else why nothing of what is in the kernel can be attached to, as a probe's reason. */
const char *permission_lacking(void);
/* What would give it. */
const char *permission_remedy(void);

#endif
