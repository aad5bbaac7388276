/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel prints of an unrecoverable VT-d fault, as numbers:
 *
 *   DMAR: [DMA Write NO_PASID] Request device [00:02.0] fault addr 0x800000 [fault reason 0x05] ...
 *   DMAR: [DMA Read PASID 0x12] Request device [0000:00:02.0] fault addr 0x... [fault reason 0x..] ...
 *   DMAR: [INTR-REMAP] Request device [00:02.0] fault index 0x0 [fault reason 0x22] ...
 *
 * Since 7.2 the device has its segment. One code for BPF, where it runs within the line's printing,
 * and for user space, where it is tested.
 */
#ifndef FAULTLINE_DMAR_TEXT_H
#define FAULTLINE_DMAR_TEXT_H

#include "bpf/bits.h"

#ifdef __bpf__
#define dmar_function __attribute__((noinline))
#else
#include <linux/types.h>
#include <stdbool.h>
#define dmar_function static inline
#endif

#define DMAR_TEXT 128 /* of a line; a power of two. What follows the reason is prose. */
#define DMAR_GAP  32  /* more than lies between two things that are looked for */

/* A line and where reading it has come to. */
struct dmar_scan {
	union {
		char text[DMAR_TEXT]; /* ends with 0 */
		__u64 words[DMAR_TEXT / 8];
	};
	__u64 number; /* the last one read */
	__u32 at;
	__u32 digits; /* it had */
};

struct dmar_fault {
	__u64 address; /* index of the interrupt entry if is_interrupt */
	__u32 pasid;   /* PASID_NONE if the line has none */
	__u32 rid;     /* segment, bus, device and function: 16, 8, 5 and 3 bits */
	__u8 reason;
	__u8 is_interrupt;
	__u8 is_write;
	__u8 is_exec; /* this and the next are not in the text */
	__u8 is_privileged;
	__u8 reserved[3];
};

/* Goes to the next place of this character; false if there is none near. */
dmar_function int dmar_find(struct dmar_scan *scan, char wanted)
{
	if (!scan)
		return 0;
	for (int i = 0; i < DMAR_GAP; i++) {
		char c = scan->text[scan->at & (DMAR_TEXT - 1)];

		if (c == wanted)
			return 1;
		if (!c || scan->at >= DMAR_TEXT)
			return 0;
		scan->at++;
	}
	return 0;
}

/* What the character is worth as a hexadecimal digit, 16 if it is none. */
static inline __u32 dmar_digit(__u8 c)
{
	__u64 is_decimal = ((__u64)(__u32)(c - '0') - 10) >> 63;
	__u64 is_letter = ((__u64)(__u32)(c - 'a') - 6) >> 63;

	bits_opaque(is_decimal);
	bits_opaque(is_letter);
	return 16 + is_decimal * (c - '0' - 16) + is_letter * (c - 'a' + 10 - 16);
}

/* Reads the hexadecimal digits that stand here; false if there is none. */
dmar_function int dmar_number(struct dmar_scan *scan)
{
	if (!scan)
		return 0;
	scan->number = 0;
	scan->digits = 0;
	for (int i = 0; i < 16; i++) {
		__u32 digit = dmar_digit(scan->text[scan->at & (DMAR_TEXT - 1)]);

		if (digit >= 16)
			break;
		scan->number = scan->number << 4 | digit;
		scan->digits++;
		scan->at++;
	}
	return scan->digits > 0;
}

/* Whether the character stands here; then goes past it. */
dmar_function int dmar_take(struct dmar_scan *scan, char wanted)
{
	if (!scan || scan->text[scan->at & (DMAR_TEXT - 1)] != wanted)
		return 0;
	scan->at++;
	return 1;
}

/* "00:02.0" or "0000:00:02.0" as one number; a segment of its own if it has none. */
dmar_function int dmar_device(struct dmar_scan *scan, __u32 *rid)
{
	__u32 numbers[3] = {0, 0, 0};

	if (!scan || !rid || !dmar_number(scan) || scan->number > 0xffff)
		return 0;
	numbers[0] = scan->number;
	if (!dmar_take(scan, ':') || !dmar_number(scan))
		return 0;
	numbers[1] = scan->number;
	if (dmar_take(scan, ':')) {
		if (!dmar_number(scan))
			return 0;
		numbers[2] = scan->number;
	} else {
		numbers[2] = numbers[1];
		numbers[1] = numbers[0];
		numbers[0] = 0;
	}
	if (!dmar_take(scan, '.') || !dmar_number(scan) || numbers[1] > 0xff || numbers[2] > 31 ||
	    scan->number > 7)
		return 0;
	*rid = numbers[0] << 16 | numbers[1] << 8 | numbers[2] << 3 | (__u32)scan->number;
	return 1;
}

/* Eight characters at once: BPF has no memcmp(). */
#define DMAR_8(a, b, c, d, e, f, g, h)                                                           \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define DMAR_DMA       DMAR_8('D', 'M', 'A', 'R', ':', ' ', '[', 'D')
#define DMAR_READ      DMAR_8('M', 'A', ' ', 'R', 'e', 'a', 'd', ' ')
#define DMAR_WRITE     DMAR_8('M', 'A', ' ', 'W', 'r', 'i', 't', 'e')
#define DMAR_INTERRUPT DMAR_8('D', 'M', 'A', 'R', ':', ' ', '[', 'I')
#define DMAR_REMAP     DMAR_8('N', 'T', 'R', '-', 'R', 'E', 'M', 'A')

/* False if the line is about something else. */
dmar_function int dmar_parse(struct dmar_scan *scan, struct dmar_fault *fault)
{
	if (!scan || !fault)
		return 0;
	fault->pasid = 1u << 31; /* PASID_NONE */
	fault->is_interrupt = scan->words[0] == DMAR_INTERRUPT && scan->words[1] == DMAR_REMAP;
	fault->is_write = scan->words[0] == DMAR_DMA && scan->words[1] == DMAR_WRITE;
	if (!fault->is_interrupt && !fault->is_write &&
	    (scan->words[0] != DMAR_DMA || scan->words[1] != DMAR_READ))
		return 0;
	scan->at = fault->is_write ? 17 : 16;
	if (!fault->is_interrupt && dmar_take(scan, 'P')) {
		if (!dmar_find(scan, 'x'))
			return 0;
		scan->at++;
		if (!dmar_number(scan) || scan->number > 0xfffff)
			return 0;
		fault->pasid = scan->number;
	}
	if (!dmar_find(scan, '['))
		return 0;
	scan->at++;
	if (!dmar_device(scan, &fault->rid) || !dmar_take(scan, ']') || !dmar_find(scan, '0'))
		return 0;
	scan->at++;
	if (!dmar_take(scan, 'x') || !dmar_number(scan))
		return 0;
	fault->address = scan->number;
	if (!dmar_find(scan, 'x'))
		return 0;
	scan->at++;
	if (!dmar_number(scan) || scan->number > 0xff)
		return 0;
	fault->reason = scan->number;
	return dmar_take(scan, ']');
}

#endif
