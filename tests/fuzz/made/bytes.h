/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a fuzzer's bytes are turned into: numbers that are small, or on some edge, or anything; texts. Where
 * the bytes have ended all is 0 and empty, so that every input is one.
 */
#ifndef FAULTLINE_FUZZ_BYTES_H
#define FAULTLINE_FUZZ_BYTES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *next;
	size_t left;
};

static inline void take_bytes(struct bytes *in, void *to, size_t size)
{
	size_t some = size < in->left ? size : in->left;

	memcpy(to, in->next, some);
	memset((char *)to + some, 0, size - some);
	in->next += some;
	in->left -= some;
}

static inline uint8_t take_byte(struct bytes *in)
{
	uint8_t byte;

	take_bytes(in, &byte, 1);
	return byte;
}

static inline unsigned int take_below(struct bytes *in, unsigned int limit)
{
	return take_byte(in) % limit;
}

static inline __u64 take_number(struct bytes *in)
{
	static const __u64 edges[] = {~0ull,	  ~0ull - 1,
				      1ull << 63, (1ull << 63) - 1,
				      1ull << 32, (1ull << 32) - 1,
				      1ull << 31, 1ull << 20,
				      1ull << 52, 4096,
				      1000000000, 1000000000000};
	__u8 how = take_byte(in);
	__u64 number = 0;

	if (how < 160)
		return how & 31;
	if (how < 160 + sizeof(edges) / sizeof(edges[0]))
		return edges[how - 160];
	take_bytes(in, &number, how < 200 ? 2 : how < 240 ? 4 : 8);
	return number;
}

/* Up to `size` - 1 bytes of any kind but NUL. */
static inline void take_text(struct bytes *in, char *text, size_t size)
{
	size_t length = take_byte(in);

	if (length > size - 1)
		length = size - 1;
	take_bytes(in, text, length);
	text[length] = '\0';
}

#endif
