/* SPDX-License-Identifier: GPL-2.0 */
/* A set of event kinds, a bit each, however many there are. For kernel and user space. */
#ifndef FAULTLINE_KIND_SET_H
#define FAULTLINE_KIND_SET_H

#include "bpf/event.h"

struct kind_set {
	__u64 words[(EVENT_KIND_MAX + 63) / 64];
};

/*
 * The filter is rodata, so the verifier knows the answer where a program's kind is a constant, and
 * drops the branch. Where the kind comes from a map the comparison bounds the index for it.
 */
static inline __attribute__((always_inline)) _Bool kind_set_has(const volatile struct kind_set *set,
								__u32 kind)
{
	return kind < EVENT_KIND_MAX && (set->words[kind / 64] >> (kind % 64) & 1);
}

static inline void kind_set_add(struct kind_set *set, __u32 kind)
{
	set->words[kind / 64] |= 1ull << (kind % 64);
}

static inline void kind_set_remove(struct kind_set *set, __u32 kind)
{
	set->words[kind / 64] &= ~(1ull << (kind % 64));
}

static inline _Bool kind_set_empty(const struct kind_set *set)
{
	__u64 any = 0;

	for (__u32 word = 0; word < sizeof(set->words) / sizeof(set->words[0]); word++)
		any |= set->words[word];
	return !any;
}

#endif
