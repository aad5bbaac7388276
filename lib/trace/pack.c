// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/pack.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "lib/base/fail.h"

#define COMPRESS_MINIMUM 64 /* zstd's own header eats what could be won below */

int trace_packer_open(struct trace_packer *packer, int level)
{
	packer->zstd = NULL;
	if (level < 0 || level > ZSTD_maxCLevel())
		return failed(-EINVAL, "compression level %d; accepted: 1 to %d", level,
			      ZSTD_maxCLevel());
	packer->zstd = ZSTD_createCCtx();
	if (!packer->zstd)
		return failed(-ENOMEM, "no memory for the compressor");
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, level ? level : 1);
	return 0;
}

void trace_packer_close(struct trace_packer *packer)
{
	ZSTD_freeCCtx(packer->zstd);
	packer->zstd = NULL;
}

/*
 * Compresses `raw` into `room` bytes behind out. Each cut flushes, which gives every byte plane a
 * block and thereby an entropy table of its own. Returns the size, 0 if it does not pay.
 */
static size_t pack_compress(struct trace_packer *packer, const struct trace_buffer *raw,
			    const struct trace_cuts *cuts, void *room, size_t room_size)
{
	ZSTD_inBuffer in = {raw->bytes, 0, 0};
	ZSTD_outBuffer out = {room, room_size, 0};
	size_t count = cuts ? cuts->count : 0, left;

	ZSTD_CCtx_reset(packer->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(packer->zstd, raw->size);
	for (size_t i = 0; i < count; i++) {
		in.size = cuts->offsets[i];
		left = ZSTD_compressStream2(packer->zstd, &out, &in, ZSTD_e_flush);
		if (left)
			return 0; /* an error, or out is full */
	}
	in.size = raw->size;
	left = ZSTD_compressStream2(packer->zstd, &out, &in, ZSTD_e_end);
	return left ? 0 : out.pos;
}

int trace_pack(struct trace_packer *packer, struct trace_frame_header *header,
	       const struct trace_buffer *raw, const struct trace_cuts *cuts,
	       struct trace_buffer *out)
{
	size_t stored = 0;
	__u8 *frame, *payload;

	if (raw->failed)
		return failed(-ENOMEM, "no memory for a frame of the recording");
	if (raw->size > TRACE_RAW_MAX)
		return failed(-E2BIG, "a frame of %zu bytes is too large to record", raw->size);
	frame = trace_buffer_reserve(out, sizeof(*header) + raw->size);
	if (!frame)
		return failed(-ENOMEM, "no memory for a frame of the recording");
	payload = frame + sizeof(*header);
	if (packer && raw->size >= COMPRESS_MINIMUM)
		stored = pack_compress(packer, raw, cuts, payload, raw->size);
	if (stored) {
		header->flags |= TRACE_COMPRESSED;
	} else {
		stored = raw->size;
		memcpy(payload, raw->bytes, stored);
	}
	header->raw_length = (__u32)raw->size;
	header->stored_length = (__u32)stored;
	trace_seal(header, payload);
	memcpy(frame, header, sizeof(*header));
	out->size += sizeof(*header) + stored;
	return 0;
}

void trace_seal(struct trace_frame_header *header, const void *stored)
{
	header->magic = TRACE_FRAME_MAGIC;
	header->payload_checksum = XXH3_64bits(stored, header->stored_length);
	header->header_checksum =
		XXH3_64bits(header, offsetof(struct trace_frame_header, header_checksum));
}

void trace_seal_file(struct trace_file_header *header)
{
	memcpy(header->magic, TRACE_FILE_MAGIC, sizeof(header->magic));
	header->checksum = XXH3_64bits(header, offsetof(struct trace_file_header, checksum));
}

bool trace_header_is_sound(const struct trace_frame_header *header)
{
	return header->magic == TRACE_FRAME_MAGIC && header->raw_length <= TRACE_RAW_MAX &&
	       header->stored_length <= TRACE_STORED_MAX &&
	       header->header_checksum ==
		       XXH3_64bits(header, offsetof(struct trace_frame_header, header_checksum));
}

bool trace_payload_is_sound(const struct trace_frame_header *header, const void *stored)
{
	return header->payload_checksum == XXH3_64bits(stored, header->stored_length);
}

bool trace_file_header_is_sound(const struct trace_file_header *header)
{
	return !memcmp(header->magic, TRACE_FILE_MAGIC, sizeof(header->magic)) &&
	       header->checksum ==
		       XXH3_64bits(header, offsetof(struct trace_file_header, checksum));
}
