// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/page_clock.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define LOOK_NS	   (20 * NSEC_PER_MSEC) /* between two looks at what is present, if nobody wakes it */
#define ROOM_NS	   (100 * NSEC_PER_MSEC) /* that a page waits for room at most */
#define ROUNDS	   2	/* of the clock in one pass at most: the second meets no marks */
#define GROUP_TEXT 8192 /* of memory.stat, whose first lines are read */
#define OWN_ROOM \
	(32ull << 20)  /* in the cgroup, for what the machine still makes: stacks, sockets */
#define WAKE_SHARE  64 /* of the limit: it is woken so far below it, */
#define SLEEP_SHARE 32 /* and evicts down to there */
#define PIN_SHARE   16 /* that can never be pinned */

struct memory_limit {
	struct machine *machine;
	struct page_clock *clock;
	__u64 pages, wake_pages, sleep_pages, pin_pages;
	int group_current, group_stat; /* of the cgroup; -1: there is none */
	atomic_ullong used;	       /* pages: the last look, and what came and went since */
	atomic_ullong pinned, waits, reclaimed, looked_at, present, present_most;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, room;
	__u64 begun, ended; /* passes */
	bool running, stop;
};

/* All that the guests hold, in bytes. */
static __u64 guests_hold(const struct machine *machine)
{
	__u64 bytes = 0;

	for (__u32 i = 0; i < machine->config.tenant_count; i++)
		bytes += guest_memory_held(machine->tenants[i].memory);
	return bytes;
}

static __u64 group_number(int file)
{
	char text[32] = "";
	ssize_t got = pread(file, text, sizeof(text) - 1, 0);

	return got > 0 ? strtoull(text, NULL, 10) : 0;
}

/* memory.stat is a line a number: "file 4096". */
static __u64 stat_number(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == ' ')
			return strtoull(line + length + 1, NULL, 10);
	}
	return 0;
}

static __u64 group_memory(const struct memory_limit *limit, const char *name)
{
	char text[GROUP_TEXT];
	ssize_t got = pread(limit->group_stat, text, sizeof(text) - 1, 0);

	if (got <= 0)
		return 0;
	text[got] = '\0';
	return stat_number(text, name);
}

/* Of the machine's own process, bytes: heap and stacks, which are no guest's. */
static __u64 own_anonymous(void)
{
	unsigned long long resident = 0, shared = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%*u %llu %llu", &resident, &shared) != 2)
		resident = shared = 0;
	if (file)
		fclose(file);
	return resident > shared ? (resident - shared) << PAGE_BITS : 0;
}

/*
 * Guests' programs in the cgroup, bytes. Guest memory is "shmem" there, but so is a pager's file on tmpfs, which holds
 * what has left: whose frames are still here is known to the guests' memory alone.
 */
static __u64 programs_hold(const struct memory_limit *limit)
{
	__u64 anonymous = group_memory(limit, "anon"), own = own_anonymous();

	return anonymous > own ? anonymous - own : 0;
}

/* What counts against the limit, pages, as the kernel has it now. */
static __u64 look_at_guests(struct memory_limit *limit)
{
	__u64 present = guests_hold(limit->machine), used = present;

	atomic_store(&limit->present, present);
	if (present > atomic_load(&limit->present_most))
		atomic_store(&limit->present_most, present);
	if (limit->group_current >= 0)
		used += programs_hold(limit);
	used = (used + PAGE_BYTES - 1) >> PAGE_BITS;
	atomic_store(&limit->used, used);
	return used;
}

/* A pass that began later and ends without room for it says that there is none. */
void memory_limit_wait_room(void *argument)
{
	struct memory_limit *limit = argument;
	__u64 used = atomic_fetch_add(&limit->used, 1) + 1;
	__u64 until, pass;

	if (used <= limit->wake_pages)
		return;
	pthread_mutex_lock(&limit->lock);
	pthread_cond_signal(&limit->wake);
	if (used > limit->pages && limit->running && !limit->stop) {
		atomic_fetch_add(&limit->waits, 1);
		until = monotonic_ns() + ROOM_NS;
		pass = limit->begun + 1;
		while (!limit->stop && limit->ended < pass &&
		       atomic_load(&limit->used) > limit->pages && monotonic_ns() < until)
			monotonic_cond_wait_until(&limit->room, &limit->lock, until);
	}
	pthread_mutex_unlock(&limit->lock);
}

static bool limit_stopping(struct memory_limit *limit)
{
	bool stop;

	pthread_mutex_lock(&limit->lock);
	stop = limit->stop;
	pthread_mutex_unlock(&limit->lock);
	return stop;
}

static void pass_begins(struct memory_limit *limit)
{
	pthread_mutex_lock(&limit->lock);
	limit->begun++;
	pthread_mutex_unlock(&limit->lock);
}

static void pass_ends(struct memory_limit *limit)
{
	pthread_mutex_lock(&limit->lock);
	limit->ended = limit->begun;
	pthread_cond_broadcast(&limit->room);
	pthread_mutex_unlock(&limit->lock);
}

static void tell_room(struct memory_limit *limit)
{
	pthread_mutex_lock(&limit->lock);
	pthread_cond_broadcast(&limit->room);
	pthread_mutex_unlock(&limit->lock);
}

/* Down to the lower mark, or two rounds of the clock: if all is pinned or in use there is nothing to be had. */
static void reclaim_pass(struct memory_limit *limit)
{
	__u64 used = look_at_guests(limit), pages = page_clock_pages(limit->clock), looked_at = 0;
	__u64 want = used > limit->sleep_pages ? used - limit->sleep_pages : 0;
	struct page_clock_step step;

	if (used <= limit->wake_pages)
		return;
	while (want && looked_at < ROUNDS * pages && !limit_stopping(limit)) {
		page_clock_step(limit->clock, want, &step);
		looked_at += step.looked_at ? step.looked_at : 1;
		want -= step.evicted;
		atomic_fetch_sub(&limit->used, step.evicted);
		atomic_fetch_add(&limit->reclaimed, step.evicted);
		atomic_fetch_add(&limit->looked_at, step.looked_at);
		if (step.evicted)
			tell_room(limit);
	}
}

/* Where too little could go, all being pinned or in use, the next pass is not worth more than a quarter of a CPU. */
static __u64 next_pass(const struct memory_limit *limit, __u64 began_ns)
{
	__u64 now = monotonic_ns(), rest = 3 * (now - began_ns);

	if (atomic_load(&limit->used) <= limit->wake_pages)
		return now + LOOK_NS;
	return now + (rest > NSEC_PER_MSEC ? rest : NSEC_PER_MSEC);
}

static void *limit_main(void *argument)
{
	struct memory_limit *limit = argument;
	__u64 began, next;
	bool short_of;

	while (!limit_stopping(limit)) {
		began = monotonic_ns();
		pass_begins(limit);
		reclaim_pass(limit);
		pass_ends(limit);
		next = next_pass(limit, began);
		short_of = atomic_load(&limit->used) > limit->wake_pages;
		pthread_mutex_lock(&limit->lock);
		/* Who waits for room wakes it, but not before it has rested. */
		do {
			if (!limit->stop)
				monotonic_cond_wait_until(&limit->wake, &limit->lock, next);
		} while (short_of && !limit->stop && monotonic_ns() < next);
		pthread_mutex_unlock(&limit->lock);
	}
	return NULL;
}

static int open_in_group(const char *directory, const char *name, int *file)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	*file = open(path, O_RDONLY | O_CLOEXEC);
	return *file < 0 ? failed(-errno, "%s: %s", path, strerror(errno)) : 0;
}

int memory_limit_create(struct memory_limit **limit, struct machine *machine)
{
	const struct machine_config *config = &machine->config;
	struct memory_limit *new;
	int error;

	if (!config->memory_limit)
		return 0;
	if (config->memory_limit < MEMORY_LIMIT_LEAST)
		return failed(-EINVAL, "memory_limit of %llu bytes: accepted: at least %llu",
			      config->memory_limit, MEMORY_LIMIT_LEAST);
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for the reclaimer");
	new->machine = machine;
	new->pages = config->memory_limit >> PAGE_BITS;
	new->wake_pages = new->pages - new->pages / WAKE_SHARE;
	new->sleep_pages = new->pages - new->pages / SLEEP_SHARE;
	new->pin_pages = new->pages - new->pages / PIN_SHARE;
	new->group_current = new->group_stat = -1;
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->wake);
	monotonic_cond_init(&new->room);
	error = page_clock_create(&new->clock, machine);
	if (!error && *config->memory_group)
		error = open_in_group(config->memory_group, "memory.current", &new->group_current)
				?: open_in_group(config->memory_group, "memory.stat",
						 &new->group_stat);
	if (error)
		memory_limit_destroy(new);
	else
		*limit = new;
	return error;
}

void memory_limit_destroy(struct memory_limit *limit)
{
	if (!limit)
		return;
	if (limit->group_current >= 0)
		close(limit->group_current);
	if (limit->group_stat >= 0)
		close(limit->group_stat);
	page_clock_destroy(limit->clock);
	pthread_cond_destroy(&limit->wake);
	pthread_cond_destroy(&limit->room);
	pthread_mutex_destroy(&limit->lock);
	free(limit);
}

/* What leaves for a file on tmpfs stays in the cgroup's memory, bytes at most. */
static __u64 paged_to_memory(const struct machine *machine)
{
	__u64 bytes = 0;

	for (__u32 i = 0; i < machine->config.tenant_count; i++)
		if (guest_memory_paged_to_memory(machine->tenants[i].memory))
			bytes += machine->tenants[i].config.memory;
	return bytes;
}

/* What the machine is made of is not its guests', and had to be there before the first of their pages. */
static int hold_in_group(struct memory_limit *limit)
{
	const char *directory = limit->machine->config.memory_group;
	char path[512], text[32];
	int file, error = 0, length;
	__u64 own;

	if (limit->group_current < 0)
		return 0;
	own = group_number(limit->group_current) + paged_to_memory(limit->machine) + OWN_ROOM;
	length = snprintf(text, sizeof(text), "%llu", (limit->pages << PAGE_BITS) + own);
	snprintf(path, sizeof(path), "%s/memory.max", directory);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, text, (size_t)length) != length)
		error = failed(-errno, "%s: %s: %s", path, text, strerror(errno));
	if (file >= 0)
		close(file);
	return error;
}

int memory_limit_start(struct memory_limit *limit)
{
	int error;

	if (!limit)
		return 0;
	error = hold_in_group(limit);
	if (error)
		return error;
	error = thread_start(&limit->thread, NULL, limit_main, limit, "reclaimer");
	limit->running = !error;
	return error;
}

void memory_limit_stop(struct memory_limit *limit)
{
	if (!limit || !limit->running)
		return;
	pthread_mutex_lock(&limit->lock);
	limit->stop = true;
	pthread_cond_signal(&limit->wake);
	pthread_cond_broadcast(&limit->room);
	pthread_mutex_unlock(&limit->lock);
	pthread_join(limit->thread, NULL);
	limit->running = false;
	(void)look_at_guests(limit);
}

bool memory_limit_pin(struct memory_limit *limit)
{
	unsigned long long pinned;

	if (!limit)
		return true;
	pinned = atomic_load(&limit->pinned);
	do {
		if (pinned >= limit->pin_pages)
			return false;
	} while (!atomic_compare_exchange_weak(&limit->pinned, &pinned, pinned + 1));
	return true;
}

void memory_limit_unpin(struct memory_limit *limit)
{
	if (limit)
		atomic_fetch_sub(&limit->pinned, 1);
}

__u64 memory_limit_left(const struct memory_limit *limit)
{
	return (limit->pin_pages - atomic_load(&limit->pinned)) << PAGE_BITS;
}

void memory_limit_stats(const struct memory_limit *limit, struct memory_limit_stats *stats)
{
	*stats = (struct memory_limit_stats){0};
	if (!limit)
		return;
	*stats = (struct memory_limit_stats){
		.limit = limit->pages << PAGE_BITS,
		.present = atomic_load(&limit->present),
		.present_most = atomic_load(&limit->present_most),
		.pinnable = limit->pin_pages << PAGE_BITS,
		.reclaimed = atomic_load(&limit->reclaimed),
		.looked_at = atomic_load(&limit->looked_at),
		.waits = atomic_load(&limit->waits),
		.in_group = limit->group_current >= 0,
	};
}
