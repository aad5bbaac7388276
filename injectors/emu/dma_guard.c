// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/dma_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "lib/base/fail.h"

#ifndef __x86_64__
#error "the guarded copy is written for x86-64"
#endif

/* Offsets from themselves, so that the table needs no relocation. */
struct guarded {
	int32_t fault;
	int32_t resume;
};

/* The linker names the ends of the section. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
extern const struct guarded __start_dma_guard[], __stop_dma_guard[];

#define GUARDED(from, to)                    \
	".pushsection dma_guard, \"a\"\n\t"  \
	".balign 4\n\t"                      \
	".long " from " - ., " to " - .\n\t" \
	".popsection\n\t"

static struct sigaction previous;

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)info;
	for (const struct guarded *entry = __start_dma_guard; entry < __stop_dma_guard; entry++) {
		if (*ip == (greg_t)&entry->fault + entry->fault) {
			*ip = (greg_t)&entry->resume + entry->resume;
			return;
		}
	}
	/* Not ours: the instruction runs again and meets the previous action. */
	sigaction(signal, &previous, NULL);
}

int dma_guard_install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction current;
	int error = 0;

	sigemptyset(&action.sa_mask);
	pthread_mutex_lock(&lock);
	if (sigaction(SIGBUS, NULL, &current) ||
	    (current.sa_sigaction != on_sigbus && sigaction(SIGBUS, &action, &previous)))
		error = -errno;
	pthread_mutex_unlock(&lock);
	return error ? failed(error, "cannot install a handler for SIGBUS") : 0;
}

int dma_guard_copy(void *to, const void *from, size_t bytes)
{
	/* A fault leaves what is not copied yet in the count register. */
	asm volatile("1: rep movsb\n"
		     "2:\n\t" GUARDED("1b", "2b")
		     : "+D"(to), "+S"(from), "+c"(bytes)
		     :
		     : "memory");
	return bytes ? -EFAULT : 0;
}

int dma_guard_touch(void *address, bool write)
{
	int error = -EFAULT;

	if (write)
		asm volatile("1: lock orb $0, (%[address])\n\t"
			     "xorl %[error], %[error]\n"
			     "2:\n\t" GUARDED("1b", "2b")
			     : [error] "+r"(error)
			     : [address] "r"(address)
			     : "memory", "cc");
	else
		asm volatile("1: testb $0, (%[address])\n\t"
			     "xorl %[error], %[error]\n"
			     "2:\n\t" GUARDED("1b", "2b")
			     : [error] "+r"(error)
			     : [address] "r"(address)
			     : "memory", "cc");
	return error;
}
