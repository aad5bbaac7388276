// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/channel.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/page.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define DATA_BYTES_MIN 65536
#define POLL_START_NS  5000  /* first, after a short wait; doubled by each that was longer */
#define POLL_MAX_NS    50000 /* a wait that was longer than this turns polling off */

static long futex(__u32 *word, int operation, __u32 value, const struct timespec *deadline)
{
	return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, deadline, NULL,
		       FUTEX_BITSET_MATCH_ANY);
}

void doorbell_ring(struct doorbell *bell)
{
	__atomic_store_n(&bell->cpu, sched_getcpu(), __ATOMIC_RELAXED);
	/* Both sequentially consistent: either we see the sleeper or it sees the new count. */
	__atomic_add_fetch(&bell->count, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&bell->sleeping, __ATOMIC_SEQ_CST))
		futex(&bell->count, FUTEX_WAKE_BITSET, 1, NULL);
}

__u32 doorbell_count(const struct doorbell *bell)
{
	return __atomic_load_n(&bell->count, __ATOMIC_ACQUIRE);
}

/* Polls until the count changes or `until`. */
static bool doorbell_poll(const struct doorbell *bell, __u32 seen, __u64 until)
{
	do {
		/* To read the clock takes as long as some pauses. */
		for (int i = 0; i < 32; i++) {
			if (doorbell_count(bell) != seen)
				return true;
			__builtin_ia32_pause();
		}
	} while (monotonic_ns() < until);
	return false;
}

/* A wait that was short would have been worth polling for; a long one was not. */
static void doorbell_adapt(struct doorbell *bell, __u64 waited_ns)
{
	if (waited_ns > POLL_MAX_NS)
		bell->poll_ns = 0;
	else if (waited_ns > bell->poll_ns)
		bell->poll_ns = bell->poll_ns ? bell->poll_ns * 2 : POLL_START_NS;
	if (bell->poll_ns > POLL_MAX_NS)
		bell->poll_ns = POLL_MAX_NS;
}

__u32 doorbell_wait(struct doorbell *bell, __u32 seen, __u64 deadline_ns)
{
	__u64 start = monotonic_ns(), until = start + bell->poll_ns;
	struct timespec deadline = timespec_of_ns(deadline_ns);
	__u32 count = doorbell_count(bell);

	if (count != seen)
		return count;
	if (deadline_ns && until > deadline_ns)
		until = deadline_ns;
	if (bell->poll_ns && __atomic_load_n(&bell->cpu, __ATOMIC_RELAXED) != sched_getcpu() &&
	    doorbell_poll(bell, seen, until))
		return doorbell_count(bell);

	/* Told before the count is looked at again: the other half of doorbell_ring(). */
	__atomic_store_n(&bell->sleeping, 1, __ATOMIC_SEQ_CST);
	while ((count = __atomic_load_n(&bell->count, __ATOMIC_SEQ_CST)) == seen) {
		if (deadline_ns && monotonic_ns() >= deadline_ns)
			break;
		futex(&bell->count, FUTEX_WAIT_BITSET, seen, deadline_ns ? &deadline : NULL);
	}
	__atomic_store_n(&bell->sleeping, 0, __ATOMIC_RELAXED);
	doorbell_adapt(bell, monotonic_ns() - start);
	return count;
}

static int channel_check(const struct channel_config *config)
{
	unsigned int depth = config->queue_depth;
	__u64 rings;

	if (config->queues < 1 || config->queues > RING_QUEUES_MAX)
		return failed(-EINVAL, "queues=%u: accepted: 1 to %d", config->queues,
			      RING_QUEUES_MAX);
	if (depth < 2 || depth > config->depth_max || (depth & (depth - 1)))
		return failed(-EINVAL, "queue_depth=%u: accepted: powers of two from 2 to %d",
			      depth, config->depth_max);
	if (config->guest_address % PAGE_BYTES || config->bytes % PAGE_BYTES)
		return failed(-EINVAL, "device memory at 0x%llx, %llu bytes: not whole pages",
			      config->guest_address, config->bytes);
	rings = config->queues * ring_bytes(depth);
	if (config->bytes < rings + DATA_BYTES_MIN)
		return failed(
			-EINVAL,
			"a device with %u queues of depth %u needs at least %llu bytes of its "
			"tenant's memory, its share is %llu: give the tenant more memory",
			config->queues, depth, rings + DATA_BYTES_MIN, config->bytes);
	return 0;
}

int channel_create(struct channel **channel, const struct channel_config *config)
{
	struct channel *new;
	__u64 rings, *submitted_ns;
	size_t bytes, stamps;
	int err;

	err = channel_check(config);
	if (err)
		return err;
	bytes = sizeof(*new) + config->queues * sizeof(new->queue[0]);
	stamps = (size_t)config->queues * config->queue_depth * sizeof(*submitted_ns);
	new = aligned_alloc(64, (bytes + stamps + 63) & ~63ul);
	if (!new)
		return failed(-ENOMEM, "no memory for a channel of %u queues", config->queues);
	*new = (struct channel){.config = *config};
	submitted_ns = (__u64 *)((char *)new + bytes);
	memset(submitted_ns, 0, stamps);
	for (unsigned int q = 0; q < config->queues; q++)
		new->queue[q] = (struct channel_queue){
			.ring = config->guest_address + q * ring_bytes(config->queue_depth),
			.submitted_ns = submitted_ns + (size_t)q * config->queue_depth,
		};
	rings = config->queues * ring_bytes(config->queue_depth);
	new->data_address = config->guest_address + rings;
	new->data_bytes = config->bytes - rings;
	*channel = new;
	return 0;
}

void channel_destroy(struct channel *channel)
{
	free(channel);
}
