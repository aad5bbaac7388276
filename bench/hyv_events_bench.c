// SPDX-License-Identifier: GPL-2.0
/*
 * A completion event's way to a guest's process: the host raises it as its engine would, the guest waits for it by its channel, and answers
 * by an eventfd. The peer: a plain eventfd there, too, between the same two processes. Both ways the other side sleeps. Prints
 * "NAME VALUE UNIT [PEER PEER_VALUE]" a line: medians of interleaved rounds' medians.
 *
 *	hyv_events_bench ROUNDS
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "bench/hyv_sides.h"
#include "injectors/emu/hyv/hyv_host_private.h"
#include "injectors/emu/rdma/rdma.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define ROUNDS_MAX  101
#define ROUND_TRIPS 1500 /* of a kind in a round */
#define DEPTH	    16
#define WAIT_NS	    (10 * NSEC_PER_SEC)

enum event_what { OPEN, BY_RING, BY_EVENTFD, WHATS };
enum descriptor { THERE, BACK };

struct shared {
	__u32 queue; /* its number */
	__u64 ns[ROUND_TRIPS];
};

static int descriptors[] = {-1, -1};

/* In the guest's process alone. */
static struct verbs_channel *channel;

static int channel_of_bench(struct hyv_place *place, struct shared *shared)
{
	struct verbs_queue *queue;
	int error = verbs_create_channel(place->device, &channel);

	if (!error)
		error = verbs_create_cq(place->device, &queue, place->address, DEPTH);
	if (error)
		return error;
	verbs_set_channel(queue, channel);
	shared->queue = verbs_queue_number(queue);
	return 0;
}

static int await_once(const struct hyv_place *place, enum event_what what)
{
	struct verbs_queue *queue;
	eventfd_t told;

	if (what == BY_RING)
		return verbs_get_cq_event(channel, &queue, monotonic_ns() + WAIT_NS);
	return eventfd_read(place->descriptors[THERE], &told) ? -errno : 0;
}

static int guest_task(struct hyv_place *place, const struct hyv_task *task, void *results)
{
	int error = 0;

	if (task->what == OPEN)
		error = channel_of_bench(place, results);
	for (__u32 i = 0; !error && i < task->count; i++) {
		error = await_once(place, (enum event_what)task->what);
		if (!error && eventfd_write(place->descriptors[BACK], 1))
			error = -errno;
	}
	return error ? failed(error, "an event: %s", strerror(-error)) : 0;
}

static int event_trip(enum event_what what, struct event_sender *events, struct shared *shared,
		      __u32 i)
{
	__u64 start_ns = monotonic_ns();
	eventfd_t told;

	if (what == BY_RING)
		event_ring_raise(events, shared->queue);
	else if (eventfd_write(descriptors[THERE], 1))
		return failed(-errno, "an eventfd: %s", strerror(errno));
	if (eventfd_read(descriptors[BACK], &told))
		return failed(-errno, "an eventfd: %s", strerror(errno));
	shared->ns[i] = monotonic_ns() - start_ns;
	return 0;
}

static int run_event_round(enum event_what what, double *median)
{
	struct hyv_host *host = rdma_host(hyv_sides_setup(SIDE_HYBRID)->model);
	const struct hyv_task task = {.what = what, .count = ROUND_TRIPS};
	struct shared *shared = hyv_sides_results();
	double least;
	int error = hyv_sides_ask(&task);

	for (__u32 i = 0; !error && i < task.count; i++)
		error = event_trip(what, &host->events, shared, i);
	if (!error)
		error = hyv_sides_await();
	if (error)
		return error;
	*median = hyv_median_ns(shared->ns, ROUND_TRIPS, &least);
	return 0;
}

static int measure_rounds(int rounds)
{
	static double medians[WHATS][ROUNDS_MAX], ratios[ROUNDS_MAX];
	const struct hyv_task open = {.what = OPEN};
	int error = hyv_sides_do(SIDE_HYBRID, &open);

	for (int round = 0; round < rounds; round++) {
		for (int turn = 0; !error && turn < 2; turn++) {
			enum event_what what = (turn + round) % 2 ? BY_EVENTFD : BY_RING;

			error = run_event_round(what, &medians[what][round]);
		}
		ratios[round] = medians[BY_RING][round] / medians[BY_EVENTFD][round];
	}
	if (error)
		return error;
	printf("hyv_event_round_trip %.0f ns bare_eventfd %.0f\n",
	       hyv_median(medians[BY_RING], rounds), hyv_median(medians[BY_EVENTFD], rounds));
	printf("hyv_event_to_eventfd %.3f times\n", hyv_median(ratios, rounds));
	return 0;
}

int main(int argc, char **argv)
{
	struct hyv_sides_config config = {.memory = 1 << 20,
					  .run = guest_task,
					  .results_bytes = sizeof(struct shared),
					  .count = HYV_SIDES_DESCRIPTORS};
	int rounds = argc == 2 ? atoi(argv[1]) : 0, error = 0;

	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "Usage: hyv_events_bench ROUNDS\n");
		return 2;
	}
	for (int i = 0; !error && i < HYV_SIDES_DESCRIPTORS; i++) {
		config.descriptors[i] = descriptors[i] = eventfd(0, EFD_CLOEXEC);
		if (descriptors[i] < 0)
			error = failed(-errno, "an eventfd: %s", strerror(errno));
	}
	if (!error)
		error = hyv_sides_open(&config);
	if (!error)
		error = measure_rounds(rounds);
	if (error)
		fprintf(stderr, "hyv_events_bench: %s\n", failure_text());
	hyv_sides_close();
	return exit_code_of(error);
}
