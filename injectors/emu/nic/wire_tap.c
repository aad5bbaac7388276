// SPDX-License-Identifier: GPL-2.0
/* A TAP in the wire's namespace: it belongs to the network. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/emu/nic/wires.h"
#include "injectors/net/network.h"
#include "lib/base/fail.h"

struct wire_tap {
	struct wire wire;
	const struct network_end *end;
	__u64 missed; /* as it was told last */
};

static long tap_receive(struct wire *wire, void *frame, size_t room, __u64 now_ns)
{
	char more;
	/* A TAP cuts what is too long without a word: one that fills a byte more was. */
	const struct iovec places[2] = {{frame, room}, {&more, sizeof(more)}};
	long length = readv(((struct wire_tap *)wire)->end->tap, places, 2);

	(void)now_ns;
	if (length >= 0)
		return length;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static void tap_send(struct wire *wire, const struct iovec *iov, int count)
{
	/* What the kernel does not take, it counts as the interface's. */
	if (writev(((struct wire_tap *)wire)->end->tap, iov, count) < 0)
		return;
}

static int tap_ready(const struct wire *wire, __u64 *at_ns)
{
	*at_ns = 0;
	return ((const struct wire_tap *)wire)->end->tap;
}

/* What the kernel dropped of its queue to us. */
static __u64 tap_missed(struct wire *wire)
{
	struct wire_tap *tap = (struct wire_tap *)wire;
	struct link_statistics statistics;

	if (!link_observed(tap->end->observer, &statistics))
		tap->missed = statistics.tx_dropped;
	return tap->missed;
}

static void tap_destroy(struct wire *wire)
{
	free(wire);
}

static const struct wire_ops tap_ops = {
	.receive = tap_receive,
	.send = tap_send,
	.ready = tap_ready,
	.missed = tap_missed,
	.destroy = tap_destroy,
};

int wire_tap_create(struct wire **wire, const struct network_end *end)
{
	struct wire_tap *tap = calloc(1, sizeof(*tap));

	if (!tap)
		return failed(-ENOMEM, "no memory for a wire");
	tap->wire.ops = &tap_ops;
	tap->end = end;
	*wire = &tap->wire;
	return 0;
}
