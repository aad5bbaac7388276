// SPDX-License-Identifier: GPL-2.0
/* A TAP in the wire's namespace: its descriptor belongs to the network. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/emu/nic/wires.h"
#include "lib/base/fail.h"

struct wire_tap {
	struct wire wire;
	int descriptor;
};

static long tap_receive(struct wire *wire, void *frame, size_t room, __u64 now_ns)
{
	long length = read(((struct wire_tap *)wire)->descriptor, frame, room);

	(void)now_ns;
	if (length >= 0)
		return length;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static void tap_send(struct wire *wire, const struct iovec *iov, int count)
{
	/* What the kernel does not take, it counts as the interface's. */
	if (writev(((struct wire_tap *)wire)->descriptor, iov, count) < 0)
		return;
}

static int tap_ready(const struct wire *wire, __u64 *at_ns)
{
	*at_ns = 0;
	return ((const struct wire_tap *)wire)->descriptor;
}

static void tap_destroy(struct wire *wire)
{
	free(wire);
}

static const struct wire_ops tap_ops = {
	.receive = tap_receive,
	.send = tap_send,
	.ready = tap_ready,
	.destroy = tap_destroy,
};

int wire_tap_create(struct wire **wire, int descriptor)
{
	struct wire_tap *tap = calloc(1, sizeof(*tap));

	if (!tap)
		return failed(-ENOMEM, "no memory for a wire");
	tap->wire.ops = &tap_ops;
	tap->descriptor = descriptor;
	*wire = &tap->wire;
	return 0;
}
