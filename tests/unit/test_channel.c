// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "injectors/emu/channel.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define ROUNDS 100003u

struct pair {
	struct doorbell there, back;
};

static void *answer_each(void *argument)
{
	struct pair *pair = argument;

	for (__u32 seen = 0; seen != ROUNDS; doorbell_ring(&pair->back))
		seen = doorbell_wait(&pair->there, seen, 0);
	return NULL;
}

/* A ring that got lost would stop this for ever. */
static void no_ring_is_lost(void **state)
{
	struct pair pair = {0};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, answer_each, &pair), 0);
	for (__u32 seen = 0; seen != ROUNDS;) {
		doorbell_ring(&pair.there);
		seen = doorbell_wait(&pair.back, seen, 0);
	}
	pthread_join(thread, NULL);
	assert_int_equal(doorbell_count(&pair.there), ROUNDS);
	assert_int_equal(doorbell_count(&pair.back), ROUNDS);
}

static void a_deadline_ends_the_wait(void **state)
{
	__u64 start = monotonic_ns();
	struct doorbell bell = {0};

	assert_int_equal(doorbell_wait(&bell, 0, start + 20 * NSEC_PER_MSEC), 0);
	assert_true(monotonic_ns() - start >= 20 * NSEC_PER_MSEC);
	assert_int_equal(doorbell_wait(&bell, 0, start), 0);
	doorbell_ring(&bell);
	assert_int_equal(doorbell_wait(&bell, 0, 0), 1);
}

static void refused(struct channel_config config, const char *word)
{
	struct channel *channel;

	assert_int_equal(channel_create(&channel, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), word));
}

static void impossible_channels_are_refused(void **state)
{
	struct channel_config good = {
		.queues = 2, .queue_depth = 64, .depth_max = 1024, .bytes = 1 << 20};
	struct channel_config config;
	struct channel *channel;

	for (unsigned int queues = 0; queues <= 65; queues += 65) {
		config = good;
		config.queues = queues;
		refused(config, "queues");
	}
	for (unsigned int depth = 0; depth < 8; depth += 3) {
		config = good;
		config.queue_depth = depth == 6 ? 2048 : depth;
		refused(config, "queue_depth");
	}
	config = good;
	config.bytes = 65536;
	refused(config, "more memory");
	config = good;
	config.guest_address = 1;
	refused(config, "whole pages");
	assert_int_equal(channel_create(&channel, &good), 0);
	/* Queues do not share pages, and data begins behind them. */
	assert_int_equal(channel->queue[1].ring % 4096, 0);
	assert_true(channel->queue[1].ring >= ring_bytes(64));
	assert_true(channel->data_address >= channel->queue[1].ring + ring_bytes(64));
	assert_int_equal(channel->data_address + channel->data_bytes, 1 << 20);
	channel_destroy(channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ring_is_lost),
		cmocka_unit_test(a_deadline_ends_the_wait),
		cmocka_unit_test(impossible_channels_are_refused),
	};

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
