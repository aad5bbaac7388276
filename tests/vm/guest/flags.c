// SPDX-License-Identifier: GPL-2.0
/*
 * Whether cmpxchg16b leaves the flags as they were, but for ZF (docs/vm.md, Traps). What it spoils is no byte of the guest's, and told apart.
 */
#include "load.h"

#include <cpuid.h>
#include <errno.h>

#define ARITHMETIC 0x8d5u /* OF, SF, ZF, AF, PF, CF */
#define ZERO	   0x40u
#define PLAIN	   "0x202" /* IF, and the bit that is always set */

struct flags_pair {
	uint64_t before, after; /* of cmpxchg16b */
};

static uint64_t flags_threads(const struct load_options *options)
{
	return options->flags_operations != 0;
}

/* The flags of `cmp` are known in two ways: an emulator that has not brought them up to date behind popf has the last one's. */
static struct flags_pair flags_around(unsigned __int128 *memory, uint64_t low, uint64_t operand)
{
	struct flags_pair flags;
	uint64_t high = 0;

	asm volatile("cmpq %[operand], %[low]\n\t"
		     "pushfq\n\t"
		     "popq %[before]\n\t"
		     "pushq %[before]\n\t"
		     "popfq\n\t"
		     "cmpq %[operand], %[low]\n\t"
		     "lock cmpxchg16b %[memory]\n\t"
		     "pushfq\n\t"
		     "popq %[after]\n\t"
		     "pushq $" PLAIN "\n\t"
		     "popfq\n"
		     : [before] "=&r"(flags.before), [after] "=&r"(flags.after),
		       [memory] "+m"(*memory), [low] "+a"(low), "+d"(high)
		     : "b"(low + 1), "c"(high), [operand] "r"(operand)
		     : "cc", "memory");
	return flags;
}

static bool has_cmpxchg16b(void)
{
	unsigned int a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_CMPXCHG16B;
}

static void flags_thread(struct load *load, uint64_t number)
{
	uint64_t random = load->options->seed + number, spoiled = 0, wrong = 0;
	_Alignas(16) unsigned __int128 memory = 0;

	if (!has_cmpxchg16b()) {
		load_error(load, "flags: no cmpxchg16b", ENODEV);
		return;
	}
	for (uint64_t i = 0; i < load->options->flags_operations; i++) {
		/* Below TF: none of these is more than a flag of arithmetic. Each second time it has to fail. */
		uint64_t operand = random_below(&random, 0x100), expected = (uint64_t)memory;
		bool hit = i % 2;
		struct flags_pair flags = flags_around(&memory, expected + !hit, operand);

		spoiled += ((flags.before ^ flags.after) & ARITHMETIC & ~ZERO) != 0;
		wrong += !(flags.after & ZERO) == hit || memory != expected + hit;
	}
	pthread_mutex_lock(&load->result.lock);
	load->result.flags_tried += load->options->flags_operations;
	load->result.flags_spoiled += spoiled;
	pthread_mutex_unlock(&load->result.lock);
	if (wrong)
		load_wrong(load, "cmpxchg16b", 0, wrong * sizeof(memory));
}

const struct work flags_work = {"flags", flags_threads, flags_thread};
