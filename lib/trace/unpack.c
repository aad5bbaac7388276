// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/unpack.h"

#include <errno.h>
#include <zstd.h>

#include "lib/base/fail.h"

int trace_unpacker_open(struct trace_unpacker *unpacker)
{
	*unpacker = (struct trace_unpacker){.zstd = ZSTD_createDCtx()};
	return unpacker->zstd ? 0 : failed(-ENOMEM, "no memory for the decompressor");
}

void trace_unpacker_close(struct trace_unpacker *unpacker)
{
	ZSTD_freeDCtx(unpacker->zstd);
	trace_buffer_free(&unpacker->raw);
}

int trace_unpack(struct trace_unpacker *unpacker, const struct trace_frame_header *header,
		 const __u8 *stored, struct trace_cursor *cursor)
{
	void *raw;
	size_t n;

	*cursor = (struct trace_cursor){stored, header->stored_length, false};
	if (!(header->flags & TRACE_COMPRESSED))
		return header->raw_length == header->stored_length ? 0 : -EBADMSG;
	unpacker->raw.size = 0;
	raw = trace_buffer_reserve(&unpacker->raw, (size_t)header->raw_length + 1);
	if (!raw)
		return failed(-ENOMEM, "no memory for a frame of %u bytes", header->raw_length);
	n = ZSTD_decompressDCtx(unpacker->zstd, raw, header->raw_length, stored,
				header->stored_length);
	if (ZSTD_isError(n) || n != header->raw_length)
		return -EBADMSG;
	*cursor = (struct trace_cursor){raw, n, false};
	return 0;
}
