// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/workload_verify.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/base/random.h"

#define WORDS		   (PAGE_BYTES / sizeof(__u64))
#define GENERATION_UNKNOWN 0xffffffffu /* a write failed: anything may be there */
#define EXCLUSIVE	   0xffff

struct verify {
	struct guest_memory *memory;
	__u64 data_address;
	__u64 seed;
	__u32 copies;	     /* generation of the last copy's source */
	bool zeroed;	     /* generation 0 reads as zero, not as anything */
	__u32 *generation;   /* per page of the disk */
	__u16 *disk_users;   /* per page of the disk: readers, or EXCLUSIVE */
	__u16 *memory_users; /* per page of data */
};

int verify_create(struct verify **verify, struct guest_memory *memory,
		  const struct channel *channel, __u64 data_bytes, __u64 seed)
{
	size_t blocks = channel->disk_bytes / PAGE_BYTES + 1;
	struct verify *new = calloc(1, sizeof(*new));

	if (new) {
		new->generation = calloc(blocks, sizeof(*new->generation));
		new->disk_users = calloc(blocks, sizeof(*new->disk_users));
		new->memory_users = calloc(data_bytes / PAGE_BYTES + 1, sizeof(*new->memory_users));
	}
	if (!new || !new->generation || !new->disk_users || !new->memory_users) {
		verify_destroy(new);
		return failed(-ENOMEM, "no memory to verify a disk of %llu bytes: verify less",
			      channel->disk_bytes);
	}
	new->memory = memory;
	new->data_address = channel->data_address;
	new->seed = seed;
	new->zeroed = channel->disk_zeroed;
	*verify = new;
	return 0;
}

void verify_destroy(struct verify *verify)
{
	if (!verify)
		return;
	free(verify->generation);
	free(verify->disk_users);
	free(verify->memory_users);
	free(verify);
}

/* The first word of a page's content; the others follow in odd steps of it. */
static __u64 verify_page_key(const struct verify *verify, __u64 place, __u32 generation)
{
	struct random random = {verify->seed ^ (place << 24) ^ generation};

	return random_next(&random);
}

static void page_fill(const struct verify *verify, __u64 address, __u64 place, __u32 generation)
{
	__u64 *words = guest_memory_cpu(verify->memory, address);
	__u64 key = verify_page_key(verify, place, generation);

	for (size_t i = 0; i < WORDS; i++)
		words[i] = key + i * (key | 1);
}

static bool page_holds(const struct verify *verify, __u64 address, __u64 place, __u32 generation)
{
	const __u64 *words = guest_memory_cpu(verify->memory, address);
	__u64 key = verify_page_key(verify, place, generation), wrong = 0;

	for (size_t i = 0; i < WORDS; i++)
		wrong |= words[i] ^ (key + i * (key | 1));
	return !wrong;
}

static bool page_is_zero(const struct verify *verify, __u64 address)
{
	const __u64 *words = guest_memory_cpu(verify->memory, address);
	__u64 any = 0;

	for (size_t i = 0; i < WORDS; i++)
		any |= words[i];
	return !any;
}

/* Takes `count` places for one more user, all or none. */
static bool verify_take(__u16 *users, __u64 count, bool exclusive)
{
	for (__u64 i = 0; i < count; i++)
		if (exclusive ? users[i] : users[i] == EXCLUSIVE)
			return false;
	for (__u64 i = 0; i < count; i++)
		users[i] = exclusive ? EXCLUSIVE : users[i] + 1;
	return true;
}

static void give_back(__u16 *users, __u64 count)
{
	for (__u64 i = 0; i < count; i++)
		users[i] = users[i] == EXCLUSIVE ? 0 : users[i] - 1;
}

/* The users of what the I/O's target is made of. */
static __u16 *target_users(const struct verify *verify, const struct workload_io *io)
{
	if (io->opcode == RING_COPY)
		return verify->memory_users + (io->target - verify->data_address) / PAGE_BYTES;
	return verify->disk_users + io->target / PAGE_BYTES;
}

static __u16 *data_users(const struct verify *verify, const struct workload_io *io)
{
	return verify->memory_users + (io->memory - verify->data_address) / PAGE_BYTES;
}

bool verify_begin(struct verify *verify, struct workload_io *io)
{
	__u64 pages = io->length / PAGE_BYTES, place = io->target / PAGE_BYTES;

	if (!verify_take(data_users(verify, io), pages, true))
		return false;
	if (!verify_take(target_users(verify, io), pages, io->opcode != RING_READ)) {
		give_back(data_users(verify, io), pages);
		return false;
	}
	if (io->opcode == RING_COPY)
		io->generation = ++verify->copies;
	for (__u64 i = 0; i < pages; i++) {
		__u64 address = io->memory + i * PAGE_BYTES;

		if (io->opcode == RING_COPY) {
			page_fill(verify, address, address / PAGE_BYTES, io->generation);
		} else if (io->opcode == RING_WRITE) {
			__u32 next = verify->generation[place + i] + 1;

			/* 0 is "never written"; the count may wrap after 2^32 writes. */
			verify->generation[place + i] = next == 0 ? 1 : next;
			page_fill(verify, address, place + i, verify->generation[place + i]);
		}
	}
	return true;
}

/* Whether page `i` of a finished I/O is what it should be. */
static bool page_right(const struct verify *verify, const struct workload_io *io, __u64 i)
{
	__u64 address = io->memory + i * PAGE_BYTES, place = io->target / PAGE_BYTES + i;
	__u32 generation;

	if (io->opcode == RING_COPY)
		return page_holds(verify, io->target + i * PAGE_BYTES, address / PAGE_BYTES,
				  io->generation);
	generation = verify->generation[place];
	if (io->opcode != RING_READ || generation == GENERATION_UNKNOWN)
		return true;
	if (generation)
		return page_holds(verify, address, place, generation);
	return !verify->zeroed || page_is_zero(verify, address);
}

__u64 verify_end(struct verify *verify, const struct workload_io *io, bool ok)
{
	__u64 pages = io->length / PAGE_BYTES, place = io->target / PAGE_BYTES, wrong = 0;

	for (__u64 i = 0; i < pages; i++) {
		if (ok)
			wrong += !page_right(verify, io, i);
		else if (io->opcode == RING_WRITE)
			verify->generation[place + i] = GENERATION_UNKNOWN;
	}
	give_back(target_users(verify, io), pages);
	give_back(data_users(verify, io), pages);
	return wrong;
}
