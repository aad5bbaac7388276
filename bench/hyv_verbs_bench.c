// SPDX-License-Identifier: GPL-2.0
/*
 * What each verb of control takes its caller, through the hypervisor and natively, and registration and its end beside io_uring's own of the
 * same bytes. The same thread of the same kind does the same things at both ends, in turn; what is told is the median of the rounds'
 * medians, and as _least the quickest of all, which other work on the machine disturbs least. Nothing is set or slowed down: the device itself takes no time to install anything. Prints
 * "NAME VALUE UNIT PEER PEER_VALUE" a line.
 *
 *	hyv_verbs_bench ROUNDS
 *	hyv_verbs_bench SIDE REGISTRATIONS	1 MiB each, for a profiler: native or hybrid
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench/hyv_sides.h"
#include "bpf/page.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define ROUNDS_MAX  101
#define SAMPLES_MAX 256 /* of a verb in a round */
#define RIGHTS	    (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define REGION_MOST (256ull << 20)
#define ROOM	    (REGION_MOST + (4u << 20))
#define DEPTH	    16
#define IO_URING    SIDES /* beside them */

/* In the order of their rows. */
enum timed_verb {
	REG_MR,
	DEREG_MR,
	CREATE_QP,
	DESTROY_QP,
	CREATE_CQ,
	DESTROY_CQ,
	MODIFY_QP,
	QUERY_QP,
	QUERY_DEVICE,
	ALLOC_PD,
	DEALLOC_PD,
	CREATE_SRQ,
	DESTROY_SRQ,
	CREATE_CHANNEL,
	DESTROY_CHANNEL,
	TIMED_VERBS
};
static const char *const verb_names[TIMED_VERBS] = {
	"reg_mr",     "dereg_mr",   "create_qp",   "destroy_qp",     "create_cq",
	"destroy_cq", "modify_qp",  "query_qp",	   "query_device",   "alloc_pd",
	"dealloc_pd", "create_srq", "destroy_srq", "create_channel", "destroy_channel",
};

enum verbs_what { REGIONS, QUEUES, OTHERS };

static const struct verbs_step {
	struct hyv_task task;
	const char *label; /* behind the verb's name */
} steps[] = {
	{{REGIONS, 60, 1 << 10}, "_1K"},
	{{REGIONS, 60, 64 << 10}, "_64K"},
	{{REGIONS, 40, 1 << 20}, "_1M"},
	{{REGIONS, 10, 16 << 20}, "_16M"},
	{{REGIONS, 3, REGION_MOST}, "_256M"},
	{{QUEUES, 40, 16}, "_16"},
	{{QUEUES, 40, 128}, "_128"},
	{{QUEUES, 40, 1024}, "_1024"},
	{{OTHERS, 40, DEPTH}, ""},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* Of one task, shared with the guest's process. */
struct verbs_timed {
	__u32 count[TIMED_VERBS];
	__u64 ns[TIMED_VERBS][SAMPLES_MAX];
};

/* By side, and of io_uring: medians of rounds. */
static double medians[SIDES + 1][STEPS][TIMED_VERBS][ROUNDS_MAX];
static double leasts[SIDES + 1][STEPS][TIMED_VERBS]; /* of all samples; 0: there is none */
static int ring = -1;

/* The time since the last one was this verb's. */
static void lap(struct verbs_timed *timed, enum timed_verb verb, __u64 *since_ns)
{
	__u64 now_ns = monotonic_ns();

	if (timed->count[verb] < SAMPLES_MAX)
		timed->ns[verb][timed->count[verb]++] = now_ns - *since_ns;
	*since_ns = monotonic_ns();
}

static int time_region(struct hyv_place *place, __u64 bytes, struct verbs_timed *timed)
{
	struct verbs_mr region;
	__u64 at_ns = monotonic_ns();
	int error =
		verbs_reg_mr(place->device, &region, place->address, bytes, VERBS_PINNED, RIGHTS);

	if (error)
		return error;
	lap(timed, REG_MR, &at_ns);
	error = verbs_dereg_mr(place->device, &region);
	lap(timed, DEREG_MR, &at_ns);
	return error;
}

/* Between its creation and its end; `at_ns` is now at either end of this. */
static int time_states(struct verbs_pair *pair, struct verbs_timed *timed, __u64 *at_ns)
{
	static const enum verbs_pair_state states[] = {VERBS_INIT, VERBS_RTR, VERBS_RTS};
	enum verbs_pair_state state;
	int error = 0;

	*at_ns = monotonic_ns();
	for (size_t i = 0; !error && i < sizeof(states) / sizeof(states[0]); i++) {
		error = verbs_modify_qp(pair, states[i], verbs_pair_number(pair), true);
		lap(timed, MODIFY_QP, at_ns);
	}
	if (!error)
		error = verbs_query_qp(pair, &state);
	lap(timed, QUERY_QP, at_ns);
	return error;
}

static int time_queues(struct hyv_place *place, __u32 entries, struct verbs_timed *timed,
		       bool states)
{
	struct verbs_pair_attributes attributes = {
		.send_depth = entries,
		.receive_depth = entries,
		.guest_address = place->address + whole_pages(verbs_completion_bytes(entries)),
	};
	struct verbs_queue *queue;
	struct verbs_pair *pair;
	__u64 at_ns = monotonic_ns();
	int error = verbs_create_cq(place->device, &queue, place->address, entries);

	if (error)
		return error;
	lap(timed, CREATE_CQ, &at_ns);
	attributes.send_queue = attributes.receive_queue = queue;
	error = verbs_create_qp(place->device, &pair, &attributes);
	if (error)
		return error;
	lap(timed, CREATE_QP, &at_ns);
	if (states)
		error = time_states(pair, timed, &at_ns);
	if (!error)
		error = verbs_destroy_qp(pair);
	lap(timed, DESTROY_QP, &at_ns);
	if (!error)
		error = verbs_destroy_cq(queue);
	lap(timed, DESTROY_CQ, &at_ns);
	return error;
}

static int time_shared(struct hyv_place *place, __u32 entries, struct verbs_timed *timed)
{
	struct verbs_srq *shared;
	__u64 at_ns = monotonic_ns();
	int error = verbs_create_srq(place->device, &shared, place->address, entries, 0);

	if (error)
		return error;
	lap(timed, CREATE_SRQ, &at_ns);
	error = verbs_destroy_srq(shared);
	lap(timed, DESTROY_SRQ, &at_ns);
	return error;
}

static int time_accounts(struct hyv_place *place, struct verbs_timed *timed)
{
	struct verbs_channel *channel;
	struct verbs_limits limits;
	__u32 domain;
	__u64 at_ns = monotonic_ns();
	int error = verbs_query_device(place->device, &limits);

	lap(timed, QUERY_DEVICE, &at_ns);
	if (!error)
		error = verbs_alloc_pd(place->device, &domain);
	if (error)
		return error;
	lap(timed, ALLOC_PD, &at_ns);
	error = verbs_dealloc_pd(place->device, domain);
	lap(timed, DEALLOC_PD, &at_ns);
	if (!error)
		error = verbs_create_channel(place->device, &channel);
	if (error)
		return error;
	lap(timed, CREATE_CHANNEL, &at_ns);
	error = verbs_destroy_channel(channel);
	lap(timed, DESTROY_CHANNEL, &at_ns);
	return error;
}

/* At either end. */
static int do_verbs_task(struct hyv_place *place, const struct hyv_task *task, void *results)
{
	struct verbs_timed *timed = results;
	__u32 entries = (__u32)task->size;
	int error = 0;

	for (__u32 i = 0; !error && i < task->count; i++)
		switch (task->what) {
		case REGIONS:
			error = time_region(place, task->size, timed);
			break;
		case QUEUES:
			error = time_queues(place, entries, timed, false);
			break;
		default:
			error = time_queues(place, entries, timed, true)
					?: time_shared(place, entries, timed)
						?: time_accounts(place, timed);
		}
	return error ? failed(error, "a verb: %s", strerror(-error)) : 0;
}

static int ring_register(unsigned int operation, void *argument, unsigned int count)
{
	return syscall(__NR_io_uring_register, ring, operation, argument, count) < 0 ? -errno : 0;
}

/* The native end's memory, which is the very same mapping that its driver pins. */
static int time_io_uring(const struct hyv_task *task, struct verbs_timed *timed)
{
	struct iovec buffer = {hyv_sides_native()->memory, task->size};
	int error = 0;

	for (__u32 i = 0; !error && i < task->count; i++) {
		__u64 at_ns = monotonic_ns();

		error = ring_register(IORING_REGISTER_BUFFERS, &buffer, 1);
		if (error)
			break;
		lap(timed, REG_MR, &at_ns);
		error = ring_register(IORING_UNREGISTER_BUFFERS, NULL, 0);
		lap(timed, DEREG_MR, &at_ns);
	}
	return error ? failed(error, "io_uring's own registration: %s", strerror(-error)) : 0;
}

static int run_verbs_step(int side, size_t step, int round)
{
	struct verbs_timed *timed = hyv_sides_results();
	double *least = leasts[side][step], quickest;
	int error;

	memset(timed, 0, sizeof(*timed));
	error = side == IO_URING ? time_io_uring(&steps[step].task, timed)
				 : hyv_sides_do((enum hyv_side)side, &steps[step].task);
	for (int verb = 0; !error && verb < TIMED_VERBS; verb++) {
		__u32 count = timed->count[verb];

		if (!count)
			continue;
		medians[side][step][verb][round] = hyv_median_ns(timed->ns[verb], count, &quickest);
		if (!least[verb] || quickest < least[verb])
			least[verb] = quickest;
	}
	return error;
}

static int run_verbs_rounds(int rounds)
{
	int error = 0;

	for (int round = 0; round < rounds; round++)
		for (size_t step = 0; step < STEPS; step++) {
			int sides = steps[step].task.what == REGIONS ? SIDES + 1 : SIDES;

			for (int turn = 0; !error && turn < sides; turn++)
				error = run_verbs_step((turn + round) % sides, step, round);
		}
	return error;
}

/* What is the same for all queues is told once. */
static bool is_row(size_t step, int verb, double value)
{
	return value > 0 && (steps[step].task.what != OTHERS || verb >= MODIFY_QP);
}

static void print_verb_rows(size_t step, int verb, const char *kind, const double value[SIDES + 1])
{
	static const char *const peers[SIDES + 1] = {"native", NULL, "io_uring"};

	for (int peer = 0; peer <= SIDES; peer++)
		if (peers[peer] && value[peer] > 0)
			printf("hyv_%s%s%s %.0f ns %s %.0f\n", verb_names[verb], steps[step].label,
			       kind, value[SIDE_HYBRID], peers[peer], value[peer]);
}

static void print_rows(int rounds)
{
	for (int verb = 0; verb < TIMED_VERBS; verb++)
		for (size_t step = 0; step < STEPS; step++) {
			double median[SIDES + 1], least[SIDES + 1];

			for (int side = 0; side <= SIDES; side++) {
				median[side] = hyv_median(medians[side][step][verb], rounds);
				least[side] = leasts[side][step][verb];
			}
			if (!is_row(step, verb, least[SIDE_HYBRID]))
				continue;
			print_verb_rows(step, verb, "", median);
			print_verb_rows(step, verb, "_least", least);
		}
}

/* Also the first touch of all that is pinned later. */
static int warm_up(void)
{
	const struct hyv_task all = {REGIONS, 1, REGION_MOST};

	return hyv_sides_do(SIDE_NATIVE, &all) ?: hyv_sides_do(SIDE_HYBRID, &all);
}

static int open_ring(void)
{
	struct io_uring_params parameters = {0};

	ring = (int)syscall(__NR_io_uring_setup, 1, &parameters);
	return ring < 0 ? failed(-errno, "an io_uring: %s", strerror(errno)) : 0;
}

static int run_alone(char **argv)
{
	const struct hyv_task task = {REGIONS, (__u32)atoi(argv[1]), 1 << 20};

	return hyv_sides_do(strcmp(argv[0], "hybrid") ? SIDE_NATIVE : SIDE_HYBRID, &task);
}

int main(int argc, char **argv)
{
	const struct hyv_sides_config config = {
		.memory = ROOM, .run = do_verbs_task, .results_bytes = sizeof(struct verbs_timed)};
	int rounds = argc == 2 ? atoi(argv[1]) : 0, error;

	if (argc != 3 && (rounds < 1 || rounds > ROUNDS_MAX)) {
		fprintf(stderr, "Usage: hyv_verbs_bench ROUNDS | SIDE REGISTRATIONS\n");
		return 2;
	}
	error = open_ring();
	if (!error)
		error = hyv_sides_open(&config);
	if (!error)
		error = warm_up();
	if (!error)
		error = argc == 3 ? run_alone(argv + 1) : run_verbs_rounds(rounds);
	if (!error && argc == 2)
		print_rows(rounds);
	if (error)
		fprintf(stderr, "hyv_verbs_bench: %s\n", failure_text());
	hyv_sides_close();
	return exit_code_of(error);
}
