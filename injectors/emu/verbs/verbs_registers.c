// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs/verbs_registers.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"

void verbs_registers_init(struct verbs_registers *registers)
{
	memset(registers, 0, sizeof(*registers));
	for (int i = 0; i < VERBS_QUEUES_MAX; i++)
		atomic_init(&registers->eventfd[i], -1);
}

void verbs_interrupt(struct verbs_registers *registers)
{
	/* Both sequentially consistent: either we see the sleeper or it sees the new count. */
	__atomic_add_fetch(&registers->interrupts, 1, __ATOMIC_SEQ_CST);
	/* The guest may be another process. */
	if (__atomic_load_n(&registers->waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &registers->interrupts, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool verbs_interrupt_wait(struct verbs_registers *registers, __u32 seen, __u64 most_ns)
{
	const struct timespec most = timespec_of_ns(most_ns);
	bool told;

	__atomic_add_fetch(&registers->waiting, 1, __ATOMIC_SEQ_CST);
	while (!(told = __atomic_load_n(&registers->interrupts, __ATOMIC_SEQ_CST) != seen))
		if (syscall(SYS_futex, &registers->interrupts, FUTEX_WAIT, seen,
			    most_ns ? &most : NULL, NULL, 0) &&
		    errno == ETIMEDOUT)
			break;
	__atomic_sub_fetch(&registers->waiting, 1, __ATOMIC_SEQ_CST);
	return told;
}

void verbs_registers_stop(struct verbs_registers *registers)
{
	atomic_store(&registers->stopping, true);
	doorbell_wake_shared(&registers->commands);
	verbs_interrupt(registers);
	for (int i = 0; i < VERBS_QUEUES_MAX; i++) {
		int descriptor = atomic_load(&registers->eventfd[i]);

		if (descriptor >= 0)
			(void)eventfd_write(descriptor, 1);
	}
}

static _Atomic __u64 *failed_word(struct verbs_registers *registers, enum verbs_failing what,
				  __u32 number, __u64 *bit)
{
	*bit = 1ull << number % 64;
	return &registers->failed[what][number % VERBS_QUEUES_MAX / 64];
}

void verbs_registers_fail(struct verbs_registers *registers, enum verbs_failing what, __u32 number)
{
	__u64 bit;
	_Atomic __u64 *word = failed_word(registers, what, number, &bit);

	atomic_fetch_or(word, bit);
}

bool verbs_registers_take_failure(struct verbs_registers *registers, enum verbs_failing what,
				  __u32 number)
{
	__u64 bit;
	_Atomic __u64 *word = failed_word(registers, what, number, &bit);

	return atomic_load(word) & bit && atomic_fetch_and(word, ~bit) & bit;
}
