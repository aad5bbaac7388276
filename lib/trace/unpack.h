/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: decompression of one payload. */
#ifndef FAULTLINE_TRACE_UNPACK_H
#define FAULTLINE_TRACE_UNPACK_H

#include "lib/trace/buffer.h"
#include "lib/trace/format.h"

struct ZSTD_DCtx_s;

struct trace_unpacker {
	struct ZSTD_DCtx_s *zstd;
	struct trace_buffer raw;
};

int trace_unpacker_open(struct trace_unpacker *unpacker);
void trace_unpacker_close(struct trace_unpacker *unpacker);
/* Points `cursor` at the raw payload. -EBADMSG if it is not what the header says. */
int trace_unpack(struct trace_unpacker *unpacker, const struct trace_frame_header *header,
		 const __u8 *stored, struct trace_cursor *cursor);

#endif
