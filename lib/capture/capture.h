/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Live capture: attaches probes, drains the per-CPU rings, merges by time, pushes into a sink.
 *
 * capture_open() -> capture_attach() -> capture_poll() again and again -> capture_finish() ->
 * capture_close().
 * Nothing stays attached after capture_close() or after the process has died: every link is a
 * descriptor of this process.
 */
#ifndef FAULTLINE_CAPTURE_H
#define FAULTLINE_CAPTURE_H

#include "bpf/kind_set.h"
#include "lib/base/stream.h"

#define CAPTURE_FILTERS	     16
#define CAPTURE_PATTERN_MOST 250 /* characters of a device's name or pattern */

struct capture_config {
	const char *devices[CAPTURE_FILTERS]; /* names or fnmatch patterns; none: all */
	size_t device_count;
	__u32 pids
		[CAPTURE_FILTERS]; /* CPU faults of these are recorded one by one, none: counted */
	size_t pid_count;
	struct kind_set kinds;		       /* to record; empty: every one */
	const char *disabled[CAPTURE_FILTERS]; /* probe names to leave out */
	size_t disabled_count;
	/* "PROBE=FUNCTION": a function of the same arguments to look at instead, if it was renamed. */
	const char *moved[CAPTURE_FILTERS];
	size_t moved_count;
	const char *emulator; /* path of faultline-inject; NULL: beside this program, then $PATH */
	__u64 slow_io_ns;     /* I/Os slower than this are recorded one by one, 0: 10 ms */
	size_t ring_bytes;    /* per CPU, power of two; 0: 64 MiB / CPUs, at least 256 KiB */
	bool tcp;	      /* TCP of all of the host, not only of emulated machines' networks */
	bool iommu_registers; /* VT-d's fault records may be read from its registers */
	__u64 old_mapping_ns; /* live mappings older than this are told apart, 0: 60 s */
	__u64 unfinished_ns;  /* age at which an open group is given up, 0: 60 s */
	/*
	 * Programs stop by themselves when they have been at work for so long, as after capture_stop(): the
	 * kernel sees to it, also while the caller is held up. 0: they go on.
	 */
	__u64 duration_ns;
	bool verbose; /* the whole of what the verifier says of refused programs goes to stderr */
};

struct capture;

int capture_open(struct capture **capture, const struct capture_config *config);
/*
 * Loads and attaches row by row of the probe table. A probe that cannot attach is turned off with
 * its reason; -ENODEV only if none could. Then lets all programs go at once: that is when capture
 * begins, and what struct host_info says. Pushes host, clock and probe states into `sink`.
 */
int capture_attach(struct capture *capture, struct stream sink);
/* Adds a pid whose CPU faults are wanted one by one, not those of its children. -ESRCH: gone. */
int capture_add_pid(struct capture *capture, __u32 pid);
/*
 * One pass: drain, merge, push, close windows. Returns events pushed, or a negative errno: what was drained may
 * then be missing, and only capture_close() is left.
 */
int capture_poll(struct capture *capture, struct stream sink);
/*
 * Pushes the counters of probes and the account of loss as of now, which otherwise come once a second and at
 * the end. It is exact for what was drained from the rings; what still is in them will be in the next.
 */
int capture_account(struct capture *capture, struct stream sink);
/*
 * From now on programs do nothing, so that capture ends at this moment whatever the caller does next.
 * May be called from a signal handler, and more than once: the first counts. capture_finish() is
 * still to come.
 */
void capture_stop(struct capture *capture);
/* Whether programs do nothing any more: capture_stop() was called, or their time (duration_ns) is over. */
bool capture_is_over(const struct capture *capture);
/* How long programs were at work, or have been until now. */
__u64 capture_recorded_ns(const struct capture *capture);
/* Emulated machines that were not trusted, found no room, or whose I/Os cannot be read, and why the last was not. */
struct capture_refusals {
	__u64 count;
	char last[REASON_TEXT];
};
const struct capture_refusals *capture_refusals(const struct capture *capture);
/* Why emulated machines that end before they are met are not counted, "" if they are. */
const char *capture_no_account(const struct capture *capture);
/*
 * Stops all programs, drains what is left, closes the open windows, pushes loss and end. What is
 * attached goes with capture_close(), which takes the kernel up to 0.1 s for each function.
 */
int capture_finish(struct capture *capture, struct stream sink);
void capture_close(struct capture *capture);

/* What `doctor` prints: the probe table with what this host says of each row. Attaches nothing. */
int capture_probe_report(const struct capture_config *config, struct stream sink);

#endif
