// SPDX-License-Identifier: GPL-2.0
/* A wire on which a traffic's frames arrive at their times. What is sent on it is gone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/nic/generator.h"
#include "injectors/emu/nic/wires.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

struct wire_generator {
	struct wire wire;
	struct generator *generator;
	size_t header; /* of the virtio-net header before each frame */
	__u64 start_ns, due_ns;
	__u64 given_ns; /* when the newest frame was taken: a batch has one time */
	bool ended;	/* atomic */
};

static long generator_receive(struct wire *wire, void *frame, size_t room, __u64 now_ns)
{
	struct wire_generator *from = (struct wire_generator *)wire;
	__u32 length;

	if (!from->start_ns)
		from->start_ns = now_ns;
	from->due_ns = generator_due(from->generator, from->start_ns, now_ns);
	if (from->due_ns == ~0ull) {
		/* Whoever asks later has found those before their places. */
		if (from->given_ns != now_ns)
			__atomic_store_n(&from->ended, true, __ATOMIC_RELEASE);
		return 0;
	}
	if (from->due_ns)
		return 0;
	from->given_ns = now_ns;
	memset(frame, 0, from->header);
	length = generator_next(from->generator, (char *)frame + from->header, room - from->header);
	return (long)(length + from->header);
}

static void generator_send(struct wire *wire, const struct iovec *iov, int count)
{
	(void)wire;
	(void)iov;
	(void)count;
}

static int generator_ready(const struct wire *wire, __u64 *at_ns)
{
	const struct wire_generator *from = (const struct wire_generator *)wire;

	*at_ns = from->due_ns == ~0ull ? 0 : from->due_ns;
	return -1;
}

static bool generator_ended(struct wire *wire)
{
	return __atomic_load_n(&((struct wire_generator *)wire)->ended, __ATOMIC_ACQUIRE);
}

static void wire_generator_destroy(struct wire *wire)
{
	generator_destroy(((struct wire_generator *)wire)->generator);
	free(wire);
}

static const struct wire_ops wire_ops = {
	.receive = generator_receive,
	.send = generator_send,
	.ready = generator_ready,
	.ended = generator_ended,
	.destroy = wire_generator_destroy,
};

int wire_generator_create(struct wire **wire, const struct traffic_config *traffic, size_t header)
{
	struct wire_generator *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return failed(-ENOMEM, "no memory for a wire");
	new->wire.ops = &wire_ops;
	new->header = header;
	err = generator_create(&new->generator, traffic);
	if (err)
		free(new);
	else
		*wire = &new->wire;
	return err;
}
