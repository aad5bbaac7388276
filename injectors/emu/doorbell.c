// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/doorbell.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define POLL_START_NS 5000  /* first, after a short wait; doubled by each that was longer */
#define POLL_MAX_NS   50000 /* a wait that was longer than this turns polling off */

static long futex(__u32 *word, int operation, __u32 value, const struct timespec *deadline)
{
	return syscall(SYS_futex, word, operation, value, deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* `scope`: FUTEX_PRIVATE_FLAG, 0: the word is shared with another process. */
static void ring(struct doorbell *bell, int scope)
{
	__atomic_store_n(&bell->cpu, sched_getcpu(), __ATOMIC_RELAXED);
	/* Both sequentially consistent: either we see the sleeper or it sees the new count. */
	__atomic_add_fetch(&bell->count, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&bell->sleeping, __ATOMIC_SEQ_CST))
		futex(&bell->count, FUTEX_WAKE_BITSET | scope, 1, NULL);
}

void doorbell_ring(struct doorbell *bell)
{
	ring(bell, FUTEX_PRIVATE_FLAG);
}

void doorbell_ring_shared(struct doorbell *bell)
{
	ring(bell, 0);
}

void doorbell_wake_shared(struct doorbell *bell)
{
	__atomic_add_fetch(&bell->count, 1, __ATOMIC_SEQ_CST);
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

/* True: it was rung meanwhile. */
static bool wait_polling(struct doorbell *bell, __u32 seen, __u64 start_ns, __u64 deadline_ns)
{
	__u64 poll_ns = __atomic_load_n(&bell->poll_ns, __ATOMIC_RELAXED), until;

	if (doorbell_count(bell) != seen)
		return true;
	until = start_ns + (poll_ns < POLL_MAX_NS ? poll_ns : POLL_MAX_NS);
	if (deadline_ns && until > deadline_ns)
		until = deadline_ns;
	return poll_ns && __atomic_load_n(&bell->cpu, __ATOMIC_RELAXED) != sched_getcpu() &&
	       doorbell_poll(bell, seen, until);
}

__u32 doorbell_wait(struct doorbell *bell, __u32 seen, __u64 deadline_ns)
{
	struct timespec deadline = timespec_of_ns(deadline_ns);
	__u64 start = monotonic_ns();
	__u32 count;

	if (wait_polling(bell, seen, start, deadline_ns))
		return doorbell_count(bell);

	/* Told before the count is looked at again: the other half of doorbell_ring(). */
	__atomic_store_n(&bell->sleeping, 1, __ATOMIC_SEQ_CST);
	while ((count = __atomic_load_n(&bell->count, __ATOMIC_SEQ_CST)) == seen) {
		if (deadline_ns && monotonic_ns() >= deadline_ns)
			break;
		futex(&bell->count, FUTEX_WAIT_BITSET_PRIVATE, seen,
		      deadline_ns ? &deadline : NULL);
	}
	__atomic_store_n(&bell->sleeping, 0, __ATOMIC_RELAXED);
	doorbell_adapt(bell, monotonic_ns() - start);
	return count;
}

void doorbell_wait_shared(struct doorbell *bell, __u32 seen, __u64 deadline_ns)
{
	struct timespec deadline = timespec_of_ns(deadline_ns);
	__u64 start = monotonic_ns();

	if (wait_polling(bell, seen, start, deadline_ns))
		return;
	__atomic_store_n(&bell->sleeping, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&bell->count, __ATOMIC_SEQ_CST) == seen)
		futex(&bell->count, FUTEX_WAIT_BITSET, seen, deadline_ns ? &deadline : NULL);
	__atomic_store_n(&bell->sleeping, 0, __ATOMIC_RELAXED);
	doorbell_adapt(bell, monotonic_ns() - start);
}
