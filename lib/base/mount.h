/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAULTLINE_MOUNT_H
#define FAULTLINE_MOUNT_H

/*
 * Mounts a file system of this type, read-only, in no directory and in no one else's sight: it goes with
 * the descriptor. Returns that or a negative errno, without a sentence.
 */
int mount_unseen(const char *type);

#endif
