// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/tap_loop.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define FRAME_MOST (66u << 10)
#define SMALL_MOST 100 /* an ACK has no more */

static bool is_strange(const struct tap_loop *loop, unsigned int to, const __u8 *frame)
{
	const __u8 *ethernet = frame;

	if (loop->network->config.offload != NETWORK_OFFLOAD_NONE)
		ethernet += NETWORK_HEADER;
	return memcmp(ethernet, loop->network->ends[to].mac, LINK_MAC) != 0 ||
	       ethernet[12] != 0x08 || ethernet[13];
}

static void carry(struct tap_loop *loop, unsigned int from)
{
	static __u8 frame[FRAME_MOST];
	unsigned int to = 1 - from;
	ssize_t size;

	while ((size = read(loop->network->ends[from].tap, frame, sizeof(frame))) > 0) {
		loop->carried[from]++;
		loop->bytes[from] += (__u64)size;
		loop->strange += is_strange(loop, to, frame);
		if ((__u64)size > loop->largest)
			loop->largest = (__u64)size;
		if (from == NETWORK_WIRE && size > SMALL_MOST && loop->lose_every &&
		    loop->carried[from] % loop->lose_every == 0)
			loop->lost++;
		else if (write(loop->network->ends[to].tap, frame, (size_t)size) != size)
			loop->lost++;
	}
}

static void *tap_loop_main(void *argument)
{
	struct tap_loop *loop = argument;
	struct pollfd polled[] = {
		{.fd = loop->network->ends[NETWORK_GUEST].tap, .events = POLLIN},
		{.fd = loop->network->ends[NETWORK_WIRE].tap, .events = POLLIN},
		{.fd = loop->stop[0], .events = POLLIN},
	};

	while (poll(polled, COUNT(polled), -1) >= 0 && !polled[2].revents) {
		carry(loop, NETWORK_GUEST);
		carry(loop, NETWORK_WIRE);
	}
	return NULL;
}

void tap_loop_start(struct tap_loop *loop, const struct network *network)
{
	*loop = (struct tap_loop){.network = network};
	assert_int_equal(pipe(loop->stop), 0);
	assert_int_equal(pthread_create(&loop->thread, NULL, tap_loop_main, loop), 0);
}

void tap_loop_stop(struct tap_loop *loop)
{
	close(loop->stop[1]);
	assert_int_equal(pthread_join(loop->thread, NULL), 0);
	close(loop->stop[0]);
}
