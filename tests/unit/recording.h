/* SPDX-License-Identifier: GPL-2.0 */
/* Recordings that a test writes. */
#ifndef FAULTLINE_TEST_RECORDING_H
#define FAULTLINE_TEST_RECORDING_H

#include "lib/trace/trace.h"

/* The test fails with the sentence if it cannot be opened. */
struct trace_writer *recording_open(const struct trace_writer_config *config);

/*
 * Likewise, and begins it: of the host "node" from start_ns on, which was wall_ns of the wall clock (0: that
 * is not told), with the emulated device "t/d" as handle 1. Returns where the rest is told.
 */
struct stream recording_begin(struct trace_writer **writer,
			      const struct trace_writer_config *config, __u64 start_ns,
			      __u64 wall_ns);

#endif
