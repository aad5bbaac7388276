/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Storage that answers late, for page faults that take as long as one wants on a stock kernel: a
 * null_blk device (its own memory, exact completion delay by a high-resolution timer), or dm-delay
 * above a disk (whole milliseconds, and in ticks of the kernel's clock). Built and taken down
 * through a journal.
 */
#ifndef FAULTLINE_REAL_SLOW_H
#define FAULTLINE_REAL_SLOW_H

#include <linux/types.h>
#include <stdbool.h>

#include "injectors/real/journal.h"
#include "injectors/real/verb.h"
#include "lib/base/command.h"

struct slow_options {
	struct verb_options verb;
	const char *name;
	__u64 bytes;	  /* of a null_blk device, 0: dm-delay above `over` */
	const char *over; /* block device */
	__u64 delay_ns;
	bool swap;
	int priority; /* of the swap, -1: the kernel's choice */
	bool no_readahead;
	__u64 duration_ns;
	char **command; /* NULL: none */
};

struct slow_device {
	char node[64];
	__u64 bytes;
};

/* Refuses names that are taken and devices in use; what was built before an error is in the
 * journal, as everything is. */
int slow_build(struct journal *journal, const struct slow_options *options,
	       struct slow_device *device);

/*
 * Lets a prepared command go and waits for it. A signal to us (verb.h) asks it and all that it has started to
 * end; what it leaves behind then is killed, for the device is to go; a second one kills the command itself.
 * Returns its status as a shell would give it, EXIT_INTERRUPTED after a signal, or that of an error, which is said.
 */
int slow_run_command(struct command *command);

#endif
