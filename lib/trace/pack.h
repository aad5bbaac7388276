/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: one frame from its parts, and back. */
#ifndef FAULTLINE_TRACE_PACK_H
#define FAULTLINE_TRACE_PACK_H

#include "lib/trace/buffer.h"
#include "lib/trace/columns.h"
#include "lib/trace/format.h"

struct ZSTD_CCtx_s;

struct trace_packer {
	struct ZSTD_CCtx_s *zstd;
};

int trace_packer_open(struct trace_packer *packer, int level);
void trace_packer_close(struct trace_packer *packer);

/*
 * Appends a frame to `out`: `header` gives type, flags, count, sequence, recording and times, the
 * rest is filled in. The payload is compressed where that makes it smaller and there is a packer.
 * `cuts` may be NULL.
 */
int trace_pack(struct trace_packer *packer, struct trace_frame_header *header,
	       const struct trace_buffer *raw, const struct trace_cuts *cuts,
	       struct trace_buffer *out);

/* Completes magic and both checksums of a header whose payload is `stored`. */
void trace_seal(struct trace_frame_header *header, const void *stored);
void trace_seal_file(struct trace_file_header *header);

bool trace_header_is_sound(const struct trace_frame_header *header);
bool trace_payload_is_sound(const struct trace_frame_header *header, const void *stored);
bool trace_file_header_is_sound(const struct trace_file_header *header);

#endif
