// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "injectors/emu/ranks/rank.h"

static __u64 content_word(__u64 seed, __u64 index)
{
	__u64 mixed = (seed + index) * 0x9e3779b97f4a7c15ull;

	return mixed ^ mixed >> 29;
}

void content_fill(void *to, __u64 bytes, __u64 seed)
{
	char *at = to;
	__u64 word, i = 0;

	for (; (i + 1) * sizeof(word) <= bytes; i++) {
		word = content_word(seed, i);
		memcpy(at + i * sizeof(word), &word, sizeof(word));
	}
	word = content_word(seed, i);
	memcpy(at + i * sizeof(word), &word, bytes % sizeof(word));
}

bool content_is(const void *what, __u64 bytes, __u64 seed)
{
	const char *at = what;
	__u64 word, i = 0;

	for (; (i + 1) * sizeof(word) <= bytes; i++) {
		word = content_word(seed, i);
		if (memcmp(at + i * sizeof(word), &word, sizeof(word)) != 0)
			return false;
	}
	word = content_word(seed, i);
	return memcmp(at + i * sizeof(word), &word, bytes % sizeof(word)) == 0;
}
