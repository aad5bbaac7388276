// SPDX-License-Identifier: GPL-2.0
/*
 * Messages and bytes that a core's worth of an RDMA device's engine moves between two guests, without a link limit.
 * What counts is CPU time of that one of the two engine threads that needed more, and what its peer's
 * guest got. Prints "NAME VALUE UNIT [PEER PEER_VALUE]" a line. Peer of bytes: memcpy() of as many from and to as large
 * buffers, in the same round. What is told of each is the median of interleaved rounds, of demand also that of its
 * ratios to pin within a round. No page leaves: regions on demand have been touched before.
 *
 *	rdma_bench ROUNDS
 *	rdma_bench VARIANT MESSAGES	one run, for a profiler
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench/rdma_ends.h"
#include "injectors/emu/device_driver.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/rdma/rdma.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define ROUNDS_MAX    101
#define DEPTH	      512
#define SIGNALED      16 /* every so manieth send completes */
#define SMALL	      64
#define LARGE	      (1u << 20)
#define BUFFERS	      8 /* large ones, in turn */
#define SMALL_COUNT   200000
#define LARGE_COUNT   400
#define REGISTERED    (4u << 20) /* a region that is registered and gone again */
#define REGISTRATIONS 16

enum rdma_measure {
	SEND_SMALL,
	WRITE_SMALL,
	WRITE_PIN,
	WRITE_DEMAND,
	MEMCPY,
	REGISTER_PIN,
	REGISTER_DEMAND,
	VARIANTS
};
static const char *const names[VARIANTS] = {"send_64",	       "write_64", "write_1m_pin",
					    "write_1m_demand", "memcpy",   "register_pin",
					    "register_demand"};

static struct rdma_ends *ends;

struct guest {
	struct rdma *device;
	unsigned char *memory;
	__u64 next, queue, pair, data;
	__u32 queue_number, pair_number, key;
	__u64 polled, sent, received, completed;
};

static __u64 guest_range(struct guest *guest, __u64 bytes)
{
	__u64 at = guest->next;

	guest->next += (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return at;
}

static int pin(struct machine *machine, __u32 index, __u64 at, __u64 bytes)
{
	return machine_pin(machine, index, at, bytes, true);
}

static int build_guest(struct machine *machine, struct guest *guest, __u32 index, bool pinned)
{
	const struct channel *channel = ends->given[index].channel;
	struct region region = {
		.bytes = (__u64)BUFFERS * LARGE,
		.kind = pinned ? VERBS_PINNED : VERBS_DEMAND,
		.rights = VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ,
	};
	struct verbs_queue_setup queue = {.depth = 2 * DEPTH, .eventfd = -1};
	struct verbs_pair_setup setup = {
		.send_depth = DEPTH, .receive_depth = DEPTH, .shared = VERBS_NO_SRQ};
	struct verbs_completion_words *words;
	int error;

	*guest = (struct guest){
		.device = ends->given[index].model,
		.memory = guest_memory_cpu(ends->given[index].memory, 0),
		/* Behind the ring of commands. */
		.next = channel->data_address + PAGE_BYTES,
	};
	guest->queue = guest_range(guest, verbs_completion_bytes(2 * DEPTH));
	guest->pair = guest_range(guest, verbs_pair_bytes(DEPTH, DEPTH));
	guest->data = guest_range(guest, region.bytes);
	region.address = guest->data;
	setup.iova = guest->pair;
	queue.iova = guest->queue;
	words = (void *)(guest->memory + guest->queue);
	/* Memory that was mapped ahead is not empty. */
	memset(guest->memory + guest->queue, 0, guest->data - guest->queue);
	words->armed = ~0ull;
	error = pin(machine, index, guest->queue, verbs_completion_bytes(2 * DEPTH));
	if (!error)
		error = pin(machine, index, guest->pair, verbs_pair_bytes(DEPTH, DEPTH));
	if (!error && pinned)
		error = pin(machine, index, guest->data, region.bytes);
	if (!error)
		error = rdma_queue_create(guest->device, &queue, &guest->queue_number);
	setup.send_queue = setup.receive_queue = guest->queue_number;
	if (!error)
		error = rdma_pair_create(guest->device, &setup, &guest->pair_number);
	return error ? error : region_register(rdma_regions(guest->device), &region, &guest->key);
}

static int connect_guest(struct guest *guest, const struct guest *peer)
{
	int error = rdma_pair_modify(guest->device, guest->pair_number, VERBS_INIT, 0, false);

	if (!error)
		error = rdma_pair_modify(guest->device, guest->pair_number, VERBS_RTR,
					 peer->pair_number, false);
	return error ? error
		     : rdma_pair_modify(guest->device, guest->pair_number, VERBS_RTS, 0, false);
}

static struct verbs_pair_words *guest_words(const struct guest *guest)
{
	return (struct verbs_pair_words *)(guest->memory + guest->pair);
}

static void post_send(struct guest *guest, const struct guest *peer, enum verbs_opcode opcode,
		      __u32 bytes, __u64 offset)
{
	struct verbs_send *entry =
		(struct verbs_send *)(guest_words(guest) + 1) + guest->sent % DEPTH;

	entry->id = guest->sent;
	entry->opcode = (__u8)opcode;
	entry->flags = ++guest->sent % SIGNALED ? 0 : VERBS_SEND_SIGNALED;
	entry->pieces = 1;
	entry->piece[0] = (struct verbs_sge){guest->data + offset, bytes, guest->key};
	entry->remote_address = peer->data + offset;
	entry->remote_key = peer->key;
}

static void post_receive(struct guest *guest, __u32 bytes, __u64 offset)
{
	struct verbs_receive *entry =
		(struct verbs_receive *)((struct verbs_send *)(guest_words(guest) + 1) + DEPTH) +
		guest->received++ % DEPTH;

	entry->pieces = 1;
	entry->piece[0] = (struct verbs_sge){guest->data + offset, bytes, guest->key};
}

/* Returns how many there were; *failed if one is no success. */
static __u32 poll_queue(struct guest *guest, bool *failed)
{
	struct verbs_completion_words *words = (void *)(guest->memory + guest->queue);
	const struct verbs_completion *entries = (void *)(words + 1);
	__u32 count = 0;

	for (;; count++) {
		const struct verbs_completion *entry = &entries[guest->polled % (2 * DEPTH)];

		if (__atomic_load_n(&entry->turn, __ATOMIC_ACQUIRE) != guest->polled + 1)
			break;
		*failed |= entry->status != VERBS_SUCCESS;
		guest->polled++;
	}
	if (count)
		__atomic_store_n(&words->taken, guest->polled, __ATOMIC_RELEASE);
	return count;
}

/* One thread is both guests. */
static int drive(struct guest guests[2], enum verbs_opcode opcode, __u32 bytes, __u64 messages)
{
	struct guest *a = &guests[0], *b = &guests[1];
	__u64 stride = bytes < PAGE_BYTES ? PAGE_BYTES : bytes;
	bool failed_one = false, idle;

	while (a->completed < messages && !failed_one) {
		idle = true;
		while (opcode == VERBS_SEND && b->received < messages &&
		       b->received - b->completed < DEPTH) {
			post_receive(b, bytes, b->received % BUFFERS * stride);
			idle = false;
		}
		__atomic_store_n(&guest_words(b)->received, b->received, __ATOMIC_RELEASE);
		while (a->sent < messages && a->sent - a->completed < DEPTH) {
			post_send(a, b, opcode, bytes, a->sent % BUFFERS * stride);
			idle = false;
		}
		__atomic_store_n(&guest_words(a)->sent, a->sent, __ATOMIC_RELEASE);
		a->completed += (__u64)poll_queue(a, &failed_one) * SIGNALED;
		b->completed += poll_queue(b, &failed_one);
		if (idle)
			sched_yield();
	}
	return failed_one ? failed(-EIO, "a work request failed") : 0;
}

static __u64 rdma_own_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec;
}

/* Of the engine that needed more. */
static int measure_moves(enum rdma_measure variant, __u64 messages, double *per_second)
{
	bool small = variant <= WRITE_SMALL;
	__u32 bytes = small ? SMALL : LARGE;
	struct guest guests[2];
	struct machine *machine;
	__u64 start[2], most = 0;
	int error;

	ends = rdma_ends_describe(16 * HUGE_BYTES);
	error = machine_create(&machine, &ends->machine);
	if (error)
		return error;
	error = machine_start(machine);
	for (__u32 i = 0; i < 2 && !error; i++)
		error = build_guest(machine, &guests[i], i, variant != WRITE_DEMAND);
	for (__u32 i = 0; i < 2 && !error; i++)
		error = connect_guest(&guests[i], &guests[!i]);
	for (__u32 i = 0; i < 2 && !error; i++)
		start[i] = rdma_engine_ns(guests[i].device);
	if (!error)
		error = drive(guests, variant == SEND_SMALL ? VERBS_SEND : VERBS_WRITE, bytes,
			      messages);
	for (__u32 i = 0; i < 2 && !error; i++) {
		__u64 used = rdma_engine_ns(guests[i].device) - start[i];

		most = used > most ? used : most;
	}
	machine_destroy(machine);
	*per_second = (double)messages * (small ? 1 : bytes) * NSEC_PER_SEC / (double)(most ?: 1);
	return error;
}

static int measure_memcpy(double *per_second)
{
	const size_t size = (size_t)BUFFERS * LARGE;
	unsigned char *from = malloc(size), *to = malloc(size);
	__u64 start;

	if (!from || !to) {
		free(from);
		free(to);
		return failed(-ENOMEM, "no memory for buffers");
	}
	memset(from, 1, size);
	memset(to, 2, size);
	start = rdma_own_ns();
	for (__u64 i = 0; i < LARGE_COUNT; i++) {
		memcpy(to + i % BUFFERS * LARGE, from + i % BUFFERS * LARGE, LARGE);
		/* Each is made. */
		asm volatile("" : : "r"(to) : "memory");
	}
	*per_second = (double)LARGE_COUNT * LARGE * NSEC_PER_SEC / (double)(rdma_own_ns() - start);
	free(from);
	free(to);
	return 0;
}

/* As the backend does it; ns a page. */
static int register_once(struct machine *machine, struct guest *guest, bool pinned, __u64 *ns)
{
	struct region region = {
		.address = guest->data,
		.bytes = REGISTERED,
		.kind = pinned ? VERBS_PINNED : VERBS_DEMAND,
	};
	__u64 start = rdma_own_ns();
	__u32 key = 0;
	int error = pinned ? pin(machine, 0, region.address, region.bytes) : 0;

	if (!error)
		error = region_register(rdma_regions(guest->device), &region, &key);
	*ns += rdma_own_ns() - start;
	if (error)
		return error;
	error = region_retire(rdma_regions(guest->device), key);
	rdma_quiesce(guest->device);
	if (pinned)
		error = error ?: machine_unpin(machine, 0, region.address, region.bytes);
	region_free(rdma_regions(guest->device), key);
	return error;
}

static int measure_registrations(bool pinned, double *per_page)
{
	struct guest guest;
	struct machine *machine;
	__u64 ns = 0;
	int error;

	ends = rdma_ends_describe(16 * HUGE_BYTES);
	error = machine_create(&machine, &ends->machine);
	if (error)
		return error;
	error = machine_start(machine);
	if (!error)
		error = build_guest(machine, &guest, 0, false);
	for (int i = 0; i < REGISTRATIONS && !error; i++)
		error = register_once(machine, &guest, pinned, &ns);
	machine_destroy(machine);
	*per_page = (double)ns / REGISTRATIONS / (REGISTERED / PAGE_BYTES);
	return error;
}

static int measure(enum rdma_measure variant, __u64 messages, double *value)
{
	switch (variant) {
	case MEMCPY:
		return measure_memcpy(value);
	case REGISTER_PIN:
	case REGISTER_DEMAND:
		return measure_registrations(variant == REGISTER_PIN, value);
	default:
		return measure_moves(variant, messages, value);
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static double median_value(const double *values, int count)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, values, (size_t)count * sizeof(*values));
	qsort(sorted, (size_t)count, sizeof(*sorted), compare_doubles);
	return sorted[count / 2];
}

static void print_all(double values[VARIANTS][ROUNDS_MAX], int rounds)
{
	double ratios[ROUNDS_MAX];

	printf("rdma_send_64 %.0f messages/CPU-s\n", median_value(values[SEND_SMALL], rounds));
	printf("rdma_write_64 %.0f messages/CPU-s\n", median_value(values[WRITE_SMALL], rounds));
	printf("rdma_write_1m %.0f bytes/CPU-s memcpy %.0f\n",
	       median_value(values[WRITE_PIN], rounds), median_value(values[MEMCPY], rounds));
	for (int i = 0; i < rounds; i++)
		ratios[i] = values[WRITE_PIN][i] / values[MEMCPY][i];
	printf("rdma_write_1m_to_memcpy %.3f times\n", median_value(ratios, rounds));
	for (int i = 0; i < rounds; i++)
		ratios[i] = values[WRITE_DEMAND][i] / values[WRITE_PIN][i];
	printf("rdma_write_1m_demand_to_pin %.3f times\n", median_value(ratios, rounds));
	printf("rdma_register_pin %.1f ns/page demand %.1f\n",
	       median_value(values[REGISTER_PIN], rounds),
	       median_value(values[REGISTER_DEMAND], rounds));
}

static int rdma_measure_all(int rounds)
{
	static double values[VARIANTS][ROUNDS_MAX];
	int error = 0;

	for (int round = 0; round < rounds && !error; round++)
		for (int turn = 0; turn < VARIANTS && !error; turn++) {
			enum rdma_measure variant = (enum rdma_measure)((turn + round) % VARIANTS);

			error = measure(variant, variant <= WRITE_SMALL ? SMALL_COUNT : LARGE_COUNT,
					&values[variant][round]);
		}
	if (!error)
		print_all(values, rounds);
	return error;
}

static int run_measure(char **argv)
{
	double value = 0;
	int error = failed(-EINVAL, "no variant %s", argv[0]);

	for (int variant = 0; variant < VARIANTS; variant++)
		if (!strcmp(argv[0], names[variant]))
			/* Whole groups: only the last of each tells of its end. */
			error = measure((enum rdma_measure)variant,
					(strtoull(argv[1], NULL, 10) + SIGNALED - 1) / SIGNALED *
						SIGNALED,
					&value);
	if (!error)
		printf("%.1f\n", value);
	return error;
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;
	int error;

	if (argc != 3 && (rounds < 1 || rounds > ROUNDS_MAX)) {
		fprintf(stderr, "Usage: rdma_bench ROUNDS | VARIANT MESSAGES\n");
		return 2;
	}
	(void)setpriority(PRIO_PROCESS, 0, -15);
	error = argc == 3 ? run_measure(argv + 1) : rdma_measure_all(rounds);
	if (error)
		fprintf(stderr, "faultline: %s\n", failure_text());
	return exit_code_of(error);
}
