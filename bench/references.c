// SPDX-License-Identifier: GPL-2.0
/* So many loads from random places of 1 MiB: work for a cache simulator. references LOADS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint32_t memory[1 << 18]; /* else loads of what is always 0 are none */

int main(int argc, char **argv)
{
	uint64_t loads = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t seed = 1;
	uint32_t sum = 0;

	while (loads--) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		sum += memory[seed >> 46];
	}
	printf("%u\n", sum);
	return 0;
}
