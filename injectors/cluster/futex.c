// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"

void shared_counter_add(__u32 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, counter, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

__u32 shared_counter(const __u32 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

int shared_counter_wait(const __u32 *counter, __u32 seen, __u64 timeout_ns)
{
	const __u64 end = monotonic_ns() + timeout_ns;

	while (shared_counter(counter) == seen) {
		const __u64 now = monotonic_ns();
		const struct timespec left = timespec_of_ns(now < end ? end - now : 0);

		if (now >= end)
			return -ETIMEDOUT;
		syscall(SYS_futex, counter, FUTEX_WAIT, seen, &left, NULL, 0);
	}
	return 0;
}

void shared_futex_wait(const __u32 *word, __u32 value, __u64 timeout_ns)
{
	const struct timespec timeout = timespec_of_ns(timeout_ns);

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

void shared_futex_wake(const __u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
