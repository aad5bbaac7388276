// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/kvstore/kv_stream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static int receive_more(struct kv_stream *stream)
{
	ssize_t got;

	if (stream->begin == stream->end)
		stream->begin = stream->end = 0;
	do
		got = recv(stream->socket, stream->buffer + stream->end,
			   sizeof(stream->buffer) - stream->end, 0);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return -ECONNRESET;
	stream->end += (size_t)got;
	return 0;
}

int kv_stream_line(struct kv_stream *stream, char line[KV_LINE])
{
	size_t length = 0;
	int err;

	for (;;) {
		for (; stream->begin < stream->end; stream->begin++) {
			char byte = stream->buffer[stream->begin];

			if (byte == '\n') {
				stream->begin++;
				length -= length && line[length - 1] == '\r';
				line[length] = '\0';
				return 0;
			}
			if (length == KV_LINE - 1)
				return -EMSGSIZE;
			line[length++] = byte;
		}
		err = receive_more(stream);
		if (err)
			return err;
	}
}

int kv_stream_read(struct kv_stream *stream, void *to, size_t bytes)
{
	char *at = to;
	int err;

	while (bytes) {
		size_t there = stream->end - stream->begin;

		if (!there) {
			err = receive_more(stream);
			if (err)
				return err;
			continue;
		}
		if (there > bytes)
			there = bytes;
		if (at) {
			memcpy(at, stream->buffer + stream->begin, there);
			at += there;
		}
		stream->begin += there;
		bytes -= there;
	}
	return 0;
}

int kv_stream_write(struct kv_stream *stream, struct iovec *pieces, int count)
{
	while (count) {
		struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
		ssize_t sent = sendmsg(stream->socket, &message, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -ECONNRESET;
		for (; count && (size_t)sent >= pieces->iov_len; pieces++, count--)
			sent -= (ssize_t)pieces->iov_len;
		if (count) {
			pieces->iov_base = (char *)pieces->iov_base + sent;
			pieces->iov_len -= (size_t)sent;
		}
	}
	return 0;
}
