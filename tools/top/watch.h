/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run of `faultline top`: an analysis that a source feeds, and at every interval a look at it,
 * on the terminal or as batch output. Sources (live.c, replay.c) push events into watch_stream() and
 * say when an interval has passed.
 */
#ifndef FAULTLINE_TOP_WATCH_H
#define FAULTLINE_TOP_WATCH_H

#include <signal.h>

#include "tools/top/batch.h"
#include "tools/top/draw.h"
#include "tools/top/options.h"

struct top_watch {
	const struct top_options *options;
	struct analysis *analysis;
	struct collector *collector;
	struct top_model model;
	struct top_detail detail;
	struct top_view view;
	struct canvas canvas;
	struct batch *batch; /* NULL: on the terminal */
	__u32 *order;	     /* rows shown */
	__u64 *ids;	     /* of each of them */
	size_t order_room;
	size_t order_count;
	__u64 intervals; /* passed */
	__u64 left_out;	 /* more than a recording of its size has */
	bool on_terminal;
};

/* Set by SIGINT, SIGTERM, SIGHUP and SIGQUIT. */
extern volatile sig_atomic_t watch_signal;

int watch_open(struct top_watch *watch, const struct top_options *options);
/* Takes over the terminal, unless in batch mode: once the source is known to work. */
int watch_start(struct top_watch *watch);
struct stream watch_stream(struct top_watch *watch);
/*
 * An interval has ended at now_ns (CLOCK_MONOTONIC, of the recording in a replay). `show` false: the
 * terminal is not drawn, another interval follows before anyone could read it.
 */
int watch_interval(struct top_watch *watch, __u64 now_ns, bool show);
/* Waits for keys and handles them, at most timeout_ms. */
int watch_keys(struct top_watch *watch, int timeout_ms);
/* The user, a signal or the count of intervals has ended it. */
bool watch_done(const struct top_watch *watch);
__u64 watch_interval_ns(const struct top_watch *watch);
/* Gives the terminal back and frees; returns the output's error, if any. */
int watch_close(struct top_watch *watch);

int watch_live(struct top_watch *watch);
int watch_replay(struct top_watch *watch);

#endif
