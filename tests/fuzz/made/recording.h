/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording that a fuzzer's bytes describe step by step: devices, faults, I/Os, windows, probes, claims,
 * and payloads of any bytes, all behind sound checksums, so that every input gets as far as the analysis.
 */
#ifndef FAULTLINE_FUZZ_RECORDING_H
#define FAULTLINE_FUZZ_RECORDING_H

#include "lib/trace/buffer.h"
#include "tests/fuzz/made/bytes.h"

/* Replaces what `out` holds. */
void make_recording(struct trace_buffer *out, const uint8_t *data, size_t size);

#endif
