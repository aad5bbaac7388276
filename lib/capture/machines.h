/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Emulated machines that run now or start later: found in the run directory, trusted only as far
 * as the kernel vouches for them (peer credentials, start time, executable).
 */
#ifndef FAULTLINE_MACHINES_H
#define FAULTLINE_MACHINES_H

#include "lib/base/stream.h"
#include "lib/capture/access_log.h"
#include "lib/capture/hello.h"
#include "bpf/state.h"

struct capture_machine_device {
	struct hello_device hello;
	__u32 handle; /* or HANDLE_DROPPED */
};

/* What capture does about machines. A nonzero return is the first error and ends the call. */
struct machines_ops {
	/* A process claims to be a machine; its executable is open. <0: it is not to be trusted; else the
	 * number of its binary, which it uses until leave(). */
	int (*trust)(void *self, __u32 pid, int executable);
	void (*leave)(void *self, int binary);
	/* Since when that binary is watched, CLOCK_MONOTONIC; NULL where that is nobody's concern. */
	__u64 (*watched_since)(void *self, int binary);
	/* It was not trusted, or not all of it can be seen; failure_text() says why. */
	void (*refused)(void *self);
	/* A device of a machine that is trusted; returns its handle. */
	__u32 (*device)(void *self, const struct hello *hello, const struct hello_device *device);
	/* A record that has passed validation. */
	int (*access)(void *self, __u32 pid, const struct capture_machine_device *device,
		      const struct access_record *record);
	/* It has ended; everything it published was delivered. */
	int (*gone)(void *self, __u32 pid, __u64 start_time);
};

struct machines;

int machines_create(struct machines **machines, const struct machines_ops *ops, void *self);
void machines_destroy(struct machines *machines);

/* Takes the hellos of those that run, and where their logs are now: call it last before the recording begins. */
void machines_greet(struct machines *machines);
/* Looks for new machines (every 100 ms, at once if one has told that it began), reads the logs of
 * known ones. The recording began at the `now_ns` of the first call: what completed since is delivered,
 * of machines that began before the observer did; of others everything. */
int machines_poll(struct machines *machines, __u64 now_ns);
/* Looks at once for the machine of this process and waits shortly for its hello. */
void machines_meet(struct machines *machines, __u32 pid);
/* Whether this process is a machine that is trusted and has not ended. */
bool machines_knows(const struct machines *machines, __u32 pid, __u64 start_time);
/* Why those that end before they are met are not counted, "" if they are. */
const char *machines_no_account(const struct machines *machines);
size_t machines_count(const struct machines *machines);

/* The last poll: waits shortly for what machines that have ended are telling. */
int machines_finish(struct machines *machines);
/* The part of the account that is theirs, over all machines, those that have ended included. */
void machines_loss(const struct machines *machines, struct loss_info *loss);

#endif
