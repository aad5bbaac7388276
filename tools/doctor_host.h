/* SPDX-License-Identifier: GPL-2.0 */
/* What `doctor` asks of the host: what it cannot show, and what would change that. */
#ifndef FAULTLINE_DOCTOR_HOST_H
#define FAULTLINE_DOCTOR_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/capture/paths.h"

struct host_check {
	const char *name;
	bool good;
	bool untold;	   /* it cannot be looked for: the mounts' check says why */
	bool caveat;	   /* what it found is to be said with its path although it is good */
	bool partial;	   /* where it is missing, some of the path is shown all the same */
	enum path_id path; /* that shows nothing, or less, without it; 0: the host as a whole */
	char finding[256];
	char remedy[160]; /* "" if good */
};

#define CHECK_MOUNTS "mounts" /* the first: it explains what others find missing */

#define HOST_CHECKS 17

/* Fills in up to HOST_CHECKS and returns their number. Changes nothing on the host. */
size_t host_checks(struct host_check checks[HOST_CHECKS], const char *emulator);

#endif
