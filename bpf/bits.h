/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arithmetic that programs do for every event, without branches: the kernel's verifier walks all paths
 * through a program, so that six branches in a row cost a start of capture 64 walks through what comes
 * behind them. For kernel and user space.
 */
#ifndef FAULTLINE_BITS_H
#define FAULTLINE_BITS_H

#ifdef __bpf__
#define bits_inline static __always_inline
#else
#include <linux/types.h>
#define bits_inline static inline
#endif

/* Keeps the compiler from making a branch of what was computed here. */
#define bits_opaque(value) __asm__ volatile("" : "+r"(value))

/* Moves *rest down by so many bits if any lies above them; returns by how many it did. */
bits_inline __u64 bits_halve(__u64 *rest, __u32 bits)
{
	__u64 above = *rest >> bits, below_zero = -above, moved;

	bits_opaque(below_zero);
	moved = ((above | below_zero) >> 63) * bits;
	*rest >>= moved;
	return moved;
}

/* How many bits the value takes, 0 for 0. BPF of clang 14 has no clz instruction. */
bits_inline __u64 bits_of(__u64 value)
{
	__u64 count = bits_halve(&value, 32);

	count += bits_halve(&value, 16);
	count += bits_halve(&value, 8);
	count += bits_halve(&value, 4);
	count += bits_halve(&value, 2);
	count += bits_halve(&value, 1);
	return count + value;
}

#endif
