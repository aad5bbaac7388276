// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/rdma/packets.h"

__u64 rnr_timer_ns(__u8 code)
{
	/* In units of 10 us. */
	static const __u16 timers[32] = {
		65535, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
		48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	/* 655.36 ms is one unit more than 16 bits hold. */
	return (timers[code % 32] + (code % 32 == 0)) * 10000ull;
}
