// SPDX-License-Identifier: GPL-2.0
/*
 * As IMB's Allreduce: the sum of all ranks' vectors, for each of them. Recursive doubling; ranks beyond a power of two
 * give theirs to another before and get the result after (Thakur 2005).
 *
 * As in MPI libraries sums are made in buffers of the library's own, which are registered from the beginning: a program's vector is copied
 * into them and the result out of them, whatever `memory` is.
 */
#include <string.h>

#include "injectors/emu/ranks/rank_pattern.h"

enum { WORK_SUM, WORK_OTHER, WORKS };

static __u32 vector_element(const struct rank *rank, __u32 of, __u64 step, __u64 index)
{
	return (__u32)(rank->config->seed + step * 2654435761u + (__u64)of * 40503u + index * 97u);
}

static void fill_vector(struct rank *rank, __u64 address, __u64 step, __u64 elements)
{
	__u32 *vector = rank_cpu(rank, address);

	for (__u64 i = 0; i < elements; i++)
		vector[i] = vector_element(rank, rank->index, step, i);
}

static void check_vector(struct rank *rank, __u64 address, __u64 step, __u64 elements)
{
	const __u32 *vector = rank_cpu(rank, address);
	__u32 count = rank->config->count, others = 0;

	/* The elements of a place differ from rank to rank by what depends on the rank alone. */
	for (__u32 of = 0; of < count; of++)
		others += of * 40503u;
	for (__u64 i = 0; i < elements; i++)
		if (vector[i] != count * vector_element(rank, 0, step, i) + others) {
			rank->result.mismatches++;
			return;
		}
}

static void add_vector(struct rank *rank, __u64 elements)
{
	__u32 *sum = rank_cpu(rank, rank_work_buffer(rank, WORK_SUM));
	const __u32 *other = rank_cpu(rank, rank_work_buffer(rank, WORK_OTHER));

	for (__u64 i = 0; i < elements; i++)
		sum[i] += other[i];
}

static struct rank_part vector_part(const struct rank *rank, __u32 peer, int work, __u64 elements)
{
	return (struct rank_part){.peer = peer,
				  .address = rank_work_buffer(rank, (__u32)work),
				  .bytes = elements * sizeof(__u32),
				  .work = true};
}

static int vector_send(struct rank *rank, __u32 peer, __u64 elements)
{
	struct rank_part part = vector_part(rank, peer, WORK_SUM, elements);
	__u64 number;
	int err = rank_send(rank, &part, &number);

	return err ? err : rank_await_sent(rank, peer, number);
}

static int vector_receive(struct rank *rank, __u32 peer, int work, __u64 elements)
{
	struct rank_part part = vector_part(rank, peer, work, elements);
	__u64 number;
	int err = rank_receive(rank, &part, &number);

	return err ? err : rank_await_received(rank, peer, number);
}

static int vector_exchange(struct rank *rank, __u32 peer, __u64 elements)
{
	struct rank_part out = vector_part(rank, peer, WORK_SUM, elements);
	struct rank_part in = vector_part(rank, peer, WORK_OTHER, elements);
	__u64 sent, received;
	int err = rank_receive(rank, &in, &received);

	if (!err)
		err = rank_send(rank, &out, &sent);
	if (!err)
		err = rank_await_received(rank, peer, received);
	if (!err)
		err = rank_await_sent(rank, peer, sent);
	if (!err)
		add_vector(rank, elements);
	return err;
}

/* A rank with a partner beyond the power of two acts for both. */
static int reduce_for_both(struct rank *rank, __u32 power, __u64 elements)
{
	bool acts = rank->index + power < rank->config->count;
	int err = acts ? vector_receive(rank, rank->index + power, WORK_OTHER, elements) : 0;

	if (!err && acts)
		add_vector(rank, elements);
	for (__u32 bit = 1; !err && bit < power; bit <<= 1)
		err = vector_exchange(rank, rank->index ^ bit, elements);
	return !err && acts ? vector_send(rank, rank->index + power, elements) : err;
}

static int reduce_beyond(struct rank *rank, __u32 power, __u64 elements)
{
	int err = vector_send(rank, rank->index - power, elements);

	return err ? err : vector_receive(rank, rank->index - power, WORK_SUM, elements);
}

static int allreduce_step(struct rank *rank, __u64 step, __u64 bytes)
{
	__u64 elements = bytes < sizeof(__u32) ? 1 : bytes / sizeof(__u32);
	__u64 from = rank_next_buffer(rank), to = rank_next_buffer(rank);
	void *sum = rank_cpu(rank, rank_work_buffer(rank, WORK_SUM));
	__u32 power = 1;
	int err;

	while (power * 2 <= rank->config->count)
		power *= 2;
	if (rank->config->verify)
		fill_vector(rank, from, step, elements);
	memcpy(sum, rank_cpu(rank, from), elements * sizeof(__u32));
	err = rank->index < power ? reduce_for_both(rank, power, elements)
				  : reduce_beyond(rank, power, elements);
	if (err)
		return err;
	memcpy(rank_cpu(rank, to), sum, elements * sizeof(__u32));
	if (rank->config->verify)
		check_vector(rank, to, step, elements);
	return 0;
}

const struct rank_pattern allreduce_pattern = {
	.name = "allreduce",
	.talk = pattern_talks_to_all,
	.slots = 2,
	.work = WORKS,
	.step = allreduce_step,
};
