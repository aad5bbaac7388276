/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who owns an IOVA: a bounded table of mappings that are live, or were unmapped not long ago.
 *
 * A mapping of any length, from 64 bytes of a network packet to the gigabytes of a guest's memory,
 * takes one slot. Its place follows from the power-of-two block of its length's class that holds
 * its start: an address inside it lies in that block or in the next, so that a search looks at two
 * blocks for each class in use and never walks pages. A block hashes to two sets of slots; a set's
 * words are one cache line and tell all but whether a match is real.
 *
 * An unmapped slot stays until its set needs it: first the one that held the same address before,
 * then one never used, then the one unmapped longest ago. So a fault that comes after the unmap
 * still finds its last owner. Nothing is ever evicted while it lives: then entering fails, and the
 * caller counts it.
 *
 * Pure code on plain memory: BPF programs and user space (on the mapped array) run the same.
 */
#ifndef FAULTLINE_MAPPINGS_H
#define FAULTLINE_MAPPINGS_H

#ifdef __bpf__
#define mapping_inline static __always_inline
#else
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#define mapping_inline static inline
#endif

#define MAPPING_SLOTS	  8	/* of a set */
#define MAPPING_SETS	  16384 /* a power of two */
#define MAPPING_CLASS_MIN 6	/* shorter mappings count as 64 bytes long */
#define MAPPING_CLASS_MAX 47
#define MAPPING_CLASSES	  (MAPPING_CLASS_MAX - MAPPING_CLASS_MIN + 1)
#define MAPPING_PROBES	  (MAPPING_CLASSES * 4) /* of a search: two blocks in two sets each */

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
 * slot; a reader takes a slot for read only if its word is the same before and after.
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

/* Exponent of the least power of two that is not below the length, within the classes. */
mapping_inline __u32 mapping_class(__u64 length)
{
	__u64 rest = length ? (length - 1) >> MAPPING_CLASS_MIN : 0;
	__u32 size_class = MAPPING_CLASS_MIN;

	if (rest >> 32) {
		size_class += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		size_class += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		size_class += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		size_class += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		size_class += 2;
		rest >>= 2;
	}
	if (rest >> 1) {
		size_class += 1;
		rest >>= 1;
	}
	size_class += rest;
	return size_class < MAPPING_CLASS_MAX ? size_class : MAPPING_CLASS_MAX;
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
mapping_inline __u32 mapping_offer(__u64 word, __u32 tag, __u32 now_ticks)
{
	if (MAPPING_PHASE(word) == MAPPING_FREE)
		return 0xfffffffe;
	if (MAPPING_PHASE(word) != MAPPING_GONE)
		return 0;
	if (MAPPING_TAG(word) == tag)
		return 0xffffffff;
	return 1 + ((now_ticks - MAPPING_TICKS(word)) & 0x3fffff);
}

/* The slot of a set that a new mapping should take, or MAPPING_SLOTS. */
mapping_inline __u32 mapping_choose(const struct mapping_set *set, __u32 tag, __u64 now_ns)
{
	__u32 best = 0, chosen = MAPPING_SLOTS, ticks = (now_ns >> 26) & 0x3fffff;

	for (__u32 i = 0; i < MAPPING_SLOTS; i++) {
		__u32 offer = mapping_offer(*(const volatile __u64 *)&set->words[i], tag, ticks);

		if (offer > best) {
			best = offer;
			chosen = i;
		}
	}
	return chosen;
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
 * Holds the live mapping of just this range; false if the set has none. Of several it is the oldest:
 * an address that was given out again may be entered before its former unmap is told.
 */
mapping_inline bool mapping_find(struct mapping_hold *hold, struct mapping_set *set, __u32 tag,
				 __u32 device, __u64 address, __u64 length)
{
	hold->slot = MAPPING_SLOTS;
	for (__u32 i = 0; i < MAPPING_SLOTS; i++) {
		__u64 word = *(volatile __u64 *)&set->words[i];
		struct mapping *slot = &set->slots[i];

		if (MAPPING_TAG(word) != tag || MAPPING_PHASE(word) != MAPPING_LIVE ||
		    slot->device != device || slot->address != address || slot->length != length ||
		    (hold->slot < MAPPING_SLOTS &&
		     slot->mapped_ns >= set->slots[hold->slot & (MAPPING_SLOTS - 1)].mapped_ns))
			continue;
		hold->set = set;
		hold->slot = i;
		hold->word = word;
	}
	return hold->slot < MAPPING_SLOTS && mapping_claim(set, hold->slot, hold->word);
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

/* The set of the n-th step of a search for an address, n below MAPPING_PROBES. */
mapping_inline __u32 mapping_probe_set(__u32 device, __u64 address, __u32 step)
{
	__u32 size_class = MAPPING_CLASS_MIN + step / 4;

	return mapping_set_of(device, size_class, (address >> size_class) - ((step >> 1) & 1),
			      step & 1);
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

/*
 * Keeps in *best (length 0: none yet) the mapping of this set that holds the address: a live one
 * if there is, else the one unmapped last.
 */
mapping_inline void mapping_probe(const struct mapping_set *set, __u32 device, __u64 address,
				  struct mapping *best)
{
	for (__u32 i = 0; i < MAPPING_SLOTS; i++) {
		__u64 word = *(const volatile __u64 *)&set->words[i];
		const struct mapping *slot = &set->slots[i];

		if (MAPPING_PHASE(word) != MAPPING_LIVE && MAPPING_PHASE(word) != MAPPING_GONE)
			continue;
		if (slot->device != device || address < slot->address ||
		    address - slot->address >= slot->length || !mapping_better(slot, best))
			continue;
		*best = *slot;
		/* Changed meanwhile: rather none than a mixture of two. */
		if (*(const volatile __u64 *)&set->words[i] != word)
			best->length = 0;
	}
}

#endif
