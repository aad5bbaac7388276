// SPDX-License-Identifier: GPL-2.0
/* A cable whose two ends are in the same socket: what is sent comes back. Full: frames are lost, and counted. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/nic/wires.h"
#include "lib/base/fail.h"

#define LOOP_FRAMES 256

struct loop_frame {
	__u32 length;
	unsigned char bytes[];
};

struct wire_loop {
	struct wire wire;
	pthread_mutex_t lock;
	int readable; /* eventfd */
	__u32 frame_bytes;
	__u64 sent, received, missed;
	unsigned char *frames;
};

static struct loop_frame *loop_frame(struct wire_loop *loop, __u64 number)
{
	size_t stride = (sizeof(struct loop_frame) + loop->frame_bytes + 7) & ~7ul;

	return (struct loop_frame *)(loop->frames + number % LOOP_FRAMES * stride);
}

static long loop_receive(struct wire *wire, void *frame, size_t room, __u64 now_ns)
{
	struct wire_loop *loop = (struct wire_loop *)wire;
	const struct loop_frame *from;
	eventfd_t count;
	long length = 0;

	(void)now_ns;
	pthread_mutex_lock(&loop->lock);
	if (loop->received != loop->sent) {
		from = loop_frame(loop, loop->received++);
		length = from->length;
		memcpy(frame, from->bytes, from->length < room ? from->length : room);
	} else {
		(void)eventfd_read(loop->readable, &count);
	}
	pthread_mutex_unlock(&loop->lock);
	return length;
}

static __u32 gather(unsigned char *to, __u32 room, const struct iovec *iov, int count)
{
	__u32 filled = 0;

	for (int i = 0; i < count; i++) {
		if (iov[i].iov_len > room - filled)
			return 0;
		memcpy(to + filled, iov[i].iov_base, iov[i].iov_len);
		filled += (__u32)iov[i].iov_len;
	}
	return filled;
}

static void loop_send(struct wire *wire, const struct iovec *iov, int count)
{
	struct wire_loop *loop = (struct wire_loop *)wire;
	struct loop_frame *to;

	pthread_mutex_lock(&loop->lock);
	to = loop_frame(loop, loop->sent);
	if (loop->sent - loop->received == LOOP_FRAMES)
		loop->missed++;
	else if ((to->length = gather(to->bytes, loop->frame_bytes, iov, count)) &&
		 loop->sent++ == loop->received)
		(void)eventfd_write(loop->readable, 1);
	pthread_mutex_unlock(&loop->lock);
}

static int loop_ready(const struct wire *wire, __u64 *at_ns)
{
	*at_ns = 0;
	return ((const struct wire_loop *)wire)->readable;
}

static __u64 loop_missed(struct wire *wire)
{
	struct wire_loop *loop = (struct wire_loop *)wire;
	__u64 missed;

	pthread_mutex_lock(&loop->lock);
	missed = loop->missed;
	pthread_mutex_unlock(&loop->lock);
	return missed;
}

static void loop_destroy(struct wire *wire)
{
	struct wire_loop *loop = (struct wire_loop *)wire;

	if (loop->readable >= 0)
		close(loop->readable);
	pthread_mutex_destroy(&loop->lock);
	free(loop->frames);
	free(loop);
}

static const struct wire_ops loop_ops = {
	.receive = loop_receive,
	.send = loop_send,
	.ready = loop_ready,
	.missed = loop_missed,
	.destroy = loop_destroy,
};

int wire_loop_create(struct wire **wire, __u32 frame_bytes)
{
	struct wire_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return failed(-ENOMEM, "no memory for a loop");
	loop->wire.ops = &loop_ops;
	loop->frame_bytes = frame_bytes;
	pthread_mutex_init(&loop->lock, NULL);
	loop->readable = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	loop->frames = calloc(LOOP_FRAMES, (sizeof(struct loop_frame) + frame_bytes + 7) & ~7ul);
	if (loop->readable < 0 || !loop->frames) {
		loop_destroy(&loop->wire);
		return failed(-ENOMEM, "no memory for a loop of %d frames", LOOP_FRAMES);
	}
	*wire = &loop->wire;
	return 0;
}
