/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who owns an IOVA: a bounded table of mappings that are live, or were unmapped not long ago.
 *
 * A mapping of any length, from 64 bytes of a network packet to the gigabytes of a guest's memory,
 * takes one slot. Its place follows from the power-of-two block of its length's class that holds
 * its start: an address inside it lies in that block or in the next, so that a search looks at two
 * blocks for each class in use and never walks pages. A block hashes to two sets of slots; a set's
 * words are one cache line and decide all but whether a match is real.
 *
 * An unmapped slot stays until its set needs it: first the one that held the same address before,
 * then one never used, then the one unmapped longest ago. So a fault that comes after the unmap
 * still finds its last owner. Nothing is ever evicted while it lives: then entering fails, and the
 * caller counts it.
 *
 * Pure code on plain memory: BPF programs and user space (on the mapped array) run the same.
 *
 * Why not BPF's hash maps: a pair of map and unmap takes 1.4 to 1.7 times as long with one of live
 * mappings and one, LRU, of those unmapped last (docs/performance.md, "Where the time goes"), and
 * that is before an address inside a mapping is found, for which hashing whole ranges is no use.
 */
#ifndef FAULTLINE_MAPPINGS_H
#define FAULTLINE_MAPPINGS_H

#include "bpf/bits.h"
#include "bpf/page.h"

#ifdef __bpf__
#define mapping_inline static __always_inline
/* Verified once a program, however often it is called. */
#define mapping_function __attribute__((noinline))
/* Of loops that are not hot: what is unrolled takes the verifier longer. */
#define mapping_rolled _Pragma("clang loop unroll(disable)")
#else
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#define mapping_inline	 static inline
#define mapping_function static inline
#define mapping_rolled
#endif

#define MAPPING_SLOTS	  8	/* of a set */
#define MAPPING_SETS	  16384 /* a power of two */
#define MAPPING_CLASS_MIN 6	/* shorter mappings count as 64 bytes long */
#define MAPPING_CLASS_MAX 47
#define STACK_FRAMES	  32   /* kept of each kernel stack */
#define STACKS_MAX	  8192 /* different ones; a mapping's stack id is 1 to this */

/*
 * Steps of a search, each a set: faults name pages, and many mappings may begin in one of them. So
 * classes below a page look at all blocks of the page and the one before, others at two blocks.
 */
#define MAPPING_PAGE	    (1u << PAGE_BITS)
#define MAPPING_PAGE_STEPS  ((MAPPING_PAGE / 64 + 1) * 2)
#define MAPPING_SMALL_STEPS ((PAGE_BITS - MAPPING_CLASS_MIN) * MAPPING_PAGE_STEPS)
#define MAPPING_PROBES	    (MAPPING_SMALL_STEPS + (MAPPING_CLASS_MAX - PAGE_BITS + 1) * 4)

struct mapping {
	__u64 address;
	__u64 length;
	__u64 mapped_ns;
	__u64 unmapped_ns; /* 0 while it lives */
	__u32 device;	   /* device_state.id of whose address space it is: device or container */
	__u32 pid;	   /* who mapped it: thread group, thread */
	__u32 tid;
	__u32 stack; /* id in `stacks` plus one; 0: not taken */
	__u32 unmapper;
	__u16 kind; /* enum event_kind of its mapping: DMA_MAP, DMA_ALLOC, VFIO_MAP */
	__u8 flags; /* EVENT_READ, EVENT_WRITE: what the device may do */
	__u8 reserved;
	char comm[16];
	char unmapper_comm[16];
	__u64 bytes; /* mapped of it: less than length where an IOVA range is filled piece by piece */
};

/*
 * A slot's word: phase in bits 0-1, count of changes in 2-9, time of the last change in units of
 * 67 ms in 10-31, tag of device and start address in 32-63. Whoever turns the word to BUSY owns the
 * slot; a reader takes a slot for read only if its word is the same before and after. Programs may
 * not wait for each other, so there is no lock: who finds a word changed looks elsewhere or gives up.
 *
 * Both atomic operations on a word are full barriers: nothing of the slot is written before the word
 * is BUSY, or after it is settled. Readers have none, which BPF does not have for loads: x86 keeps
 * these in order, `volatile` keeps the compiler from turning them round. User space on other machines
 * needs fences of its own, as owners_measure() has them. The count of changes distinguishes a slot
 * that was given up and taken again from one untouched, unless that happened 256 times during one copy.
 */
enum mapping_phase { MAPPING_FREE, MAPPING_BUSY, MAPPING_LIVE, MAPPING_GONE };

struct mapping_set {
	__u64 words[MAPPING_SLOTS];
	struct mapping slots[MAPPING_SLOTS];
};

#define MAPPING_PHASE(word) ((word)&3)
#define MAPPING_TAG(word)   ((word) >> 32)
#define MAPPING_TICKS(word) (((word) >> 10) & 0x3fffff)

struct mapping_place {
	__u32 sets[2];
	__u32 tag;
	__u32 size_class;
};

/* 1 if the 32-bit numbers are equal, else 0. */
mapping_inline __u64 mapping_equal(__u64 a, __u64 b)
{
	__u64 differ = ((a ^ b) + 0xffffffffull) >> 32;

	bits_opaque(differ);
	return differ ^ 1;
}

mapping_inline __u64 mapping_greater(__u64 a, __u64 b)
{
	__s64 distance = (__s64)(a - b), below = distance >> 63;

	bits_opaque(below);
	return a - (distance & below);
}

/* Exponent of the least power of two that is not below the length, within the classes. */
mapping_inline __u32 mapping_class(__u64 length)
{
	__u64 rest = length ? (length - 1) >> MAPPING_CLASS_MIN : 0;
	__u64 size_class = MAPPING_CLASS_MIN + bits_of(rest);

	return size_class + MAPPING_CLASS_MAX - mapping_greater(size_class, MAPPING_CLASS_MAX);
}

mapping_inline __u64 mapping_mix(__u64 value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ull;
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ull;
	return value ^ value >> 32;
}

/* The set of a block: `choice` 0 or 1. */
mapping_inline __u32 mapping_set_of(__u32 device, __u32 size_class, __u64 block, __u32 choice)
{
	__u64 hash = mapping_mix(block * 64 + size_class + (__u64)device * 0x9e3779b97f4a7c15ull);

	return (choice ? hash >> 24 : hash) & (MAPPING_SETS - 1);
}

mapping_inline void mapping_place(struct mapping_place *place, __u32 device, __u64 address,
				  __u64 length)
{
	place->size_class = mapping_class(length);
	place->sets[0] = mapping_set_of(device, place->size_class, address >> place->size_class, 0);
	place->sets[1] = mapping_set_of(device, place->size_class, address >> place->size_class, 1);
	place->tag = mapping_mix(address ^ (__u64)device << 48) >> 32;
}

mapping_inline __u64 mapping_word(__u64 before, __u32 tag, __u32 phase, __u64 now_ns)
{
	return (__u64)tag << 32 | ((now_ns >> 26) & 0x3fffff) << 10 |
	       ((before + (1 << 2)) & 0x3fc) | phase;
}

/* How willingly a slot is given to a new mapping; 0: not at all. */
mapping_inline __u64 mapping_offer(__u64 word, __u32 tag, __u32 now_ticks)
{
	__u64 is_free = ((word | word >> 1) & 1) ^ 1, is_gone = word & (word >> 1) & 1;
	__u64 same = mapping_equal(MAPPING_TAG(word), tag);
	__u64 age = 1 + ((now_ticks - MAPPING_TICKS(word)) & 0x3fffff);

	return is_free * 0xfffffffe + is_gone * (age + same * 0xf0000000);
}

/* How well a slot matches a search for a live mapping: the older the better; 0: not at all. */
mapping_inline __u64 mapping_match(__u64 word, __u32 tag, __u32 now_ticks)
{
	__u64 is_live = (word >> 1) & ~word & 1;
	__u64 same = mapping_equal(MAPPING_TAG(word), tag);
	__u64 age = 1 + ((now_ticks - MAPPING_TICKS(word)) & 0x3fffff);

	return is_live * same * age;
}

/* From the greatest of values times eight plus seven minus the slot's number to the slot. */
mapping_inline __u32 mapping_slot_of(__u64 best)
{
	return best >> 3 ? MAPPING_SLOTS - 1 - (best & (MAPPING_SLOTS - 1)) : MAPPING_SLOTS;
}

/*
 * The slot of a set that a new mapping should take, or MAPPING_SLOTS. Words change meanwhile: what is
 * chosen here is a hint that mapping_claim() makes sure of.
 */
mapping_function int mapping_choose(const struct mapping_set *set, __u32 tag, __u64 now_ns)
{
	__u32 ticks = (now_ns >> 26) & 0x3fffff;
	__u64 best = 0;

	if (!set)
		return MAPPING_SLOTS;
	for (__u32 i = 0; i < MAPPING_SLOTS; i++) {
		__u64 word = *(const volatile __u64 *)&set->words[i];

		best = mapping_greater(
			mapping_offer(word, tag, ticks) << 3 | (MAPPING_SLOTS - 1 - i), best);
	}
	return mapping_slot_of(best);
}

/* The slot of a set that may hold the live mapping, leaving out `but`; or MAPPING_SLOTS. */
mapping_function int mapping_candidate(const struct mapping_set *set, __u32 tag, __u32 ticks,
				       __u32 but)
{
	__u64 best = 0;

	if (!set)
		return MAPPING_SLOTS;
	for (__u32 i = 0; i < MAPPING_SLOTS; i++) {
		__u64 word = *(const volatile __u64 *)&set->words[i];
		__u64 other = mapping_equal(i, but) ^ 1;

		best = mapping_greater((other * mapping_match(word, tag, ticks)) << 3 |
					       (MAPPING_SLOTS - 1 - i),
				       best);
	}
	return mapping_slot_of(best);
}

mapping_inline bool mapping_claim(struct mapping_set *set, __u32 slot, __u64 word)
{
	__u64 busy = (word & ~3ull) | MAPPING_BUSY;

	return __sync_val_compare_and_swap(&set->words[slot & (MAPPING_SLOTS - 1)], word, busy) ==
	       word;
}

/* A slot that its holder fills: `word` is what it was before. */
struct mapping_hold {
	struct mapping_set *set;
	__u64 word;
	__u32 slot;
};

/* Holds a slot of the set for a new mapping; false: all live, or another CPU took it just now. */
mapping_inline bool mapping_take(struct mapping_hold *hold, struct mapping_set *set, __u32 tag,
				 __u64 now_ns)
{
	__u32 slot = mapping_choose(set, tag, now_ns);

	if (slot >= MAPPING_SLOTS)
		return false;
	hold->set = set;
	hold->slot = slot;
	hold->word = *(volatile __u64 *)&set->words[slot];
	return (MAPPING_PHASE(hold->word) == MAPPING_FREE ||
		MAPPING_PHASE(hold->word) == MAPPING_GONE) &&
	       mapping_claim(set, slot, hold->word);
}

/*
 * Holds the live mapping of just this range; false if the set has none. Of several it is an old one:
 * an address that was given out again may be entered before its former unmap is seen.
 */
mapping_inline bool mapping_find(struct mapping_hold *hold, struct mapping_set *set, __u32 tag,
				 __u32 device, __u64 address, __u64 length, __u64 now_ns)
{
	__u32 but = MAPPING_SLOTS, ticks = (now_ns >> 26) & 0x3fffff;

	/* Twice: another mapping may have the same tag, once in an hour at a million a second. */
	for (int attempt = 0; attempt < 2; attempt++) {
		__u32 i = mapping_candidate(set, tag, ticks, but);
		const struct mapping *slot;

		if (i >= MAPPING_SLOTS)
			return false;
		slot = &set->slots[i];
		hold->set = set;
		hold->slot = i;
		hold->word = *(volatile __u64 *)&set->words[i];
		if (slot->device == device && slot->address == address && slot->length == length &&
		    MAPPING_PHASE(hold->word) == MAPPING_LIVE && mapping_claim(set, i, hold->word))
			return true;
		but = i;
	}
	return false;
}

mapping_inline struct mapping *mapping_held(const struct mapping_hold *hold)
{
	return &hold->set->slots[hold->slot & (MAPPING_SLOTS - 1)];
}

/* Lets go of a slot that is all written; its phase becomes MAPPING_LIVE or MAPPING_GONE. */
mapping_inline void mapping_settle(const struct mapping_hold *hold, __u32 tag, __u32 phase,
				   __u64 now_ns)
{
	__sync_lock_test_and_set(&hold->set->words[hold->slot & (MAPPING_SLOTS - 1)],
				 mapping_word(hold->word, tag, phase, now_ns));
}

/* Where the n-th step of a search looks, n below MAPPING_PROBES. */
struct mapping_step {
	__u32 size_class;
	__u32 choice;
	__u64 block;
};

mapping_inline void mapping_step(struct mapping_step *at, __u64 address, __u32 step)
{
	__u32 block;

	if (step < MAPPING_SMALL_STEPS) {
		at->size_class = MAPPING_CLASS_MIN + step / MAPPING_PAGE_STEPS;
		block = step % MAPPING_PAGE_STEPS / 2;
	} else {
		at->size_class = PAGE_BITS + (step - MAPPING_SMALL_STEPS) / 4;
		block = ((step - MAPPING_SMALL_STEPS) >> 1) & 1;
	}
	at->choice = step & 1;
	at->block = (address >> at->size_class) + block - 1;
}

/* Whether a mapping answers a search better than the best found before. */
mapping_inline bool mapping_better(const struct mapping *mapping, const struct mapping *best)
{
	if (!best->length)
		return true;
	if (!mapping->unmapped_ns != !best->unmapped_ns)
		return !mapping->unmapped_ns;
	if (mapping->unmapped_ns)
		return mapping->unmapped_ns > best->unmapped_ns;
	return mapping->mapped_ns > best->mapped_ns;
}

/* Keeps the slot's mapping in *best if it meets the span and is better; false: it does not. */
mapping_function int mapping_keep(const struct mapping_set *set, __u32 slot_number, __u64 address,
				  __u32 span, struct mapping *best)
{
	__u32 i = slot_number & (MAPPING_SLOTS - 1);
	const struct mapping *slot;
	__u64 word;

	if (!set || !best)
		return false;
	slot = &set->slots[i];
	word = *(const volatile __u64 *)&set->words[i];
	if (MAPPING_PHASE(word) < MAPPING_LIVE || address + span <= slot->address ||
	    (address > slot->address && address - slot->address >= slot->length) ||
	    !mapping_better(slot, best))
		return false;
	*best = *slot;
	/* Changed meanwhile: rather none than a mixture of two. */
	if (*(const volatile __u64 *)&set->words[i] != word)
		best->length = 0;
	return true;
}

/*
 * Keeps in *best (length 0: none yet) the mapping of this set that meets the span of bytes from the
 * address on: a live one if there is, else the one unmapped last. The span lies within one page.
 */
mapping_inline void mapping_probe(const struct mapping_set *set, __u32 device, __u64 address,
				  __u32 span, struct mapping *best)
{
	mapping_rolled for (__u32 i = 0; i < MAPPING_SLOTS; i++)
	{
		if (*(const volatile __u32 *)&set->slots[i].device == device)
			mapping_keep(set, i, address, span, best);
	}
}

#endif
