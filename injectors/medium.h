/* SPDX-License-Identifier: GPL-2.0 */
/* A file or block device that the user names, and that may hold what is precious to somebody. */
#ifndef FAULTLINE_MEDIUM_H
#define FAULTLINE_MEDIUM_H

#include <linux/types.h>
#include <stdbool.h>

struct medium_request {
	const char *path; /* if it is to be written: resolved, as links may point elsewhere later */
	bool writable;	  /* else it is opened for reading alone */
	bool consented;	  /* also if it is a block device that is written */
	bool direct;	  /* O_DIRECT */
};

/*
 * A descriptor, and the size in bytes. Never creates, grows or shrinks. To write, a block device is
 * opened with O_EXCL: no other open of that kind is possible meanwhile, so those who share it share the
 * descriptor. -EINVAL: it is something else; -EPERM: a block device without consent; -EBUSY: mounted,
 * swapped to, part of another device, or made of the same as another one (lib/base/disk.h). Errors come
 * with a sentence.
 */
int medium_open(const struct medium_request *request, __u64 *bytes);

#endif
