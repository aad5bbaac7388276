// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/toeplitz.h"

static const __u8 well_known_key[TOEPLITZ_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* The 32 bits of the key from this one on: what a set bit of the input at that place adds. */
static __u32 window(const __u8 *key, unsigned int bit)
{
	__u64 bits = 0;

	for (unsigned int i = 0; i < 5; i++)
		bits = bits << 8 | key[bit / 8 + i];
	return (__u32)(bits >> (8 - bit % 8));
}

void toeplitz_init(struct toeplitz *toeplitz, const __u8 key[TOEPLITZ_KEY])
{
	if (!key)
		key = well_known_key;
	for (unsigned int byte = 0; byte < TOEPLITZ_INPUT; byte++) {
		__u32 *adds = toeplitz->adds[byte];

		adds[0] = 0;
		for (unsigned int bit = 0; bit < 8; bit++) {
			unsigned int value = 1u << bit;

			for (unsigned int rest = 0; rest < value; rest++)
				adds[value + rest] = adds[rest] ^ window(key, byte * 8 + 7 - bit);
		}
	}
}

void steering_init(struct steering *steering, unsigned int queues)
{
	toeplitz_init(&steering->toeplitz, NULL);
	for (unsigned int i = 0; i < STEERING_ENTRIES; i++)
		steering->queue[i] = (__u16)(i % queues);
}
