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

/* Loads and stores a whole word of the given operand size; 0 or -EFAULT. */
#define GUARDED_WORD(size)                                            \
	asm volatile("1: mov (%[from]), %" size "[word]\n"            \
		     "2: mov %" size "[word], (%[to])\n\t"            \
		     "xorl %[error], %[error]\n"                      \
		     "3:\n\t" GUARDED("1b", "3b") GUARDED("2b", "3b") \
		     : [error] "+r"(error), [word] "=&r"(word)        \
		     : [to] "r"(to), [from] "r"(from)                 \
		     : "memory", "cc")

/*
 * Rings have indices that one side writes while the other reads: a naturally aligned word goes over
 * PCIe in one piece, never half old and half new.
 */
static int copy_word(void *to, const void *from, size_t bytes)
{
	int error = -EFAULT;
	uint64_t word;

	if (bytes == 8)
		GUARDED_WORD("q");
	else if (bytes == 4)
		GUARDED_WORD("k");
	else
		GUARDED_WORD("w");
	return error;
}

int dma_guard_copy(void *to, const void *from, size_t bytes)
{
	bool word = bytes == 2 || bytes == 4 || bytes == 8;

	if (word && !(((uintptr_t)to | (uintptr_t)from) & (bytes - 1)))
		return copy_word(to, from, bytes);
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
