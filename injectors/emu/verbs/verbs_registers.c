// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs/verbs_registers.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	if (__atomic_load_n(&registers->waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &registers->interrupts, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL,
			0);
}

void verbs_interrupt_wait(struct verbs_registers *registers, __u32 seen)
{
	__atomic_add_fetch(&registers->waiting, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&registers->interrupts, __ATOMIC_SEQ_CST) == seen)
		syscall(SYS_futex, &registers->interrupts, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	__atomic_sub_fetch(&registers->waiting, 1, __ATOMIC_SEQ_CST);
}

void verbs_registers_stop(struct verbs_registers *registers)
{
	atomic_store(&registers->stopping, true);
	verbs_interrupt(registers);
	for (int i = 0; i < VERBS_QUEUES_MAX; i++) {
		int descriptor = atomic_load(&registers->eventfd[i]);

		if (descriptor >= 0)
			(void)eventfd_write(descriptor, 1);
	}
}
