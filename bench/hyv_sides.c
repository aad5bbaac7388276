// SPDX-License-Identifier: GPL-2.0
#include "bench/hyv_sides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/rdma_ends.h"
#include "injectors/emu/hyv/guest_process.h"
#include "injectors/emu/hyv/hyv_host.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/rdma/rdma.h"
#include "injectors/guest/guest_open.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define CONTROL_ROOM (8u << 20) /* virtqueue, lists and doorbells, of a share */

_Static_assert((int)SIDES == RDMA_ENDS, "an end each");

static struct {
	struct hyv_sides_config config;
	struct rdma_ends *ends;
	struct machine *machine;
	struct hyv_place native;
	struct guest_process *guest;
	int control; /* a socket of the guest's process */
	void *results;
} world = {.control = -1};

struct side_told {
	int error;
	char sentence[256];
};

static void describe_sides(void)
{
	struct rdma_ends *ends = rdma_ends_describe(
		(world.config.memory + CONTROL_ROOM + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1ull));

	for (int side = 0; side < SIDES; side++) {
		ends->tenants[side].quota.rights =
			VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ;
		strcpy(ends->devices[side].name, side == SIDE_NATIVE ? "native" : "hybrid");
		rdma_ends_settings(ends, side)->mode =
			side == SIDE_NATIVE ? RDMA_MODE_NATIVE : RDMA_MODE_HYBRID;
	}
	world.ends = ends;
}

static int open_native(void)
{
	struct hyv_place *place = &world.native;
	__u64 offset;
	int error = verbs_open(&place->device, &world.ends->given[SIDE_NATIVE]);

	if (error)
		return error;
	place->side = SIDE_NATIVE;
	place->descriptors = world.config.descriptors;
	verbs_memory(place->device, &place->address, &place->bytes, &offset);
	place->memory = guest_memory_cpu(world.ends->given[SIDE_NATIVE].memory, place->address);
	place->bytes = world.config.memory;
	/* As that of a guest, which begins with memory that is there. */
	memset(place->memory, 0, place->bytes);
	return 0;
}

static int side_begin(struct hyv_place *place, int socket)
{
	int error = guest_open(&place->device, socket);

	if (error)
		return error;
	place->side = SIDE_HYBRID;
	place->bytes = world.config.memory;
	place->memory = guest_allocate(place->device, place->bytes, &place->address);
	return place->memory ? 0
			     : failed(-ENOMEM, "the guest has no %llu bytes for what it does",
				      place->bytes);
}

static void side_tell(int control, int error)
{
	struct side_told told = {.error = error};

	if (error)
		snprintf(told.sentence, sizeof(told.sentence), "%s", failure_text());
	(void)send(control, &told, sizeof(told), MSG_NOSIGNAL);
}

/* In the guest's process: a socket of its device, one to be asked by, and what it was given besides. */
static int guest_main(void *unused, const int *sockets, __u32 count)
{
	struct hyv_place place = {.descriptors = sockets + 2};
	struct hyv_task task;
	int error = side_begin(&place, sockets[0]);

	(void)unused;
	(void)count;
	side_tell(sockets[1], error);
	while (!error && recv(sockets[1], &task, sizeof(task), 0) == sizeof(task))
		side_tell(sockets[1], world.config.run(&place, &task, world.results));
	if (place.device)
		guest_close(place.device);
	return 0;
}

static int start_guest(void)
{
	int ends[2], sockets[2 + HYV_SIDES_DESCRIPTORS];
	struct guest_process_config process = {
		.name = "bench-guest",
		.sockets = sockets,
		.socket_count = 2 + world.config.count,
		.run = guest_main,
		.network = -1,
	};
	int error = hyv_host_invite(rdma_host(world.ends->given[SIDE_HYBRID].model), &sockets[0]);

	if (error)
		return error;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		error = failed(-errno, "a pair of sockets: %s", strerror(errno));
		close(sockets[0]);
		return error;
	}
	sockets[1] = ends[0];
	world.control = ends[1];
	/* All of them are closed as it starts. */
	for (__u32 i = 0; i < world.config.count; i++)
		sockets[2 + i] = dup(world.config.descriptors[i]);
	error = guest_process_start(&world.guest, &process);
	return error ? error : hyv_sides_await();
}

int hyv_sides_open(const struct hyv_sides_config *config)
{
	int error;

	world.config = *config;
	world.results = mmap(NULL, config->results_bytes, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (world.results == MAP_FAILED)
		return failed(-ENOMEM, "no memory for results");
	describe_sides();
	error = machine_create(&world.machine, &world.ends->machine);
	if (error)
		return error;
	error = machine_start(world.machine);
	if (!error)
		error = open_native();
	return error ? error : start_guest();
}

void hyv_sides_close(void)
{
	if (world.control >= 0)
		close(world.control);
	if (world.guest) {
		/* It ends by itself once nobody can ask it any more. */
		(void)guest_process_wait(world.guest, NSEC_PER_SEC, NULL);
		guest_process_free(world.guest);
		hyv_host_evict_guest(rdma_host(world.ends->given[SIDE_HYBRID].model));
	}
	if (world.native.device)
		verbs_close(world.native.device);
	if (world.machine)
		machine_destroy(world.machine);
}

void *hyv_sides_results(void)
{
	return world.results;
}

struct hyv_place *hyv_sides_native(void)
{
	return &world.native;
}

const struct driver_setup *hyv_sides_setup(enum hyv_side side)
{
	return &world.ends->given[side];
}

int hyv_sides_ask(const struct hyv_task *task)
{
	return send(world.control, task, sizeof(*task), MSG_NOSIGNAL) == sizeof(*task)
		       ? 0
		       : failed(-EPIPE, "the guest has ended");
}

int hyv_sides_await(void)
{
	struct side_told told;

	if (recv(world.control, &told, sizeof(told), 0) != sizeof(told))
		return failed(-EPIPE, "the guest has ended");
	return told.error ? failed(told.error, "the guest: %s", told.sentence) : 0;
}

int hyv_sides_do(enum hyv_side side, const struct hyv_task *task)
{
	int error;

	if (side == SIDE_NATIVE)
		return world.config.run(&world.native, task, world.results);
	error = hyv_sides_ask(task);
	return error ? error : hyv_sides_await();
}

static int ns_by_size(const void *a, const void *b)
{
	__u64 left = *(const __u64 *)a, right = *(const __u64 *)b;

	return left < right ? -1 : left > right;
}

static int medians_by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

double hyv_median_ns(__u64 *ns, __u32 count, double *least)
{
	qsort(ns, count, sizeof(*ns), ns_by_size);
	*least = (double)ns[0];
	return (double)ns[count / 2];
}

double hyv_median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), medians_by_size);
	return values[count / 2];
}
