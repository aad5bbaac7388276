// SPDX-License-Identifier: GPL-2.0
#include "tests/fuzz/made/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_BYTES 600

const char *seeds_directory(int argc, char *const *argv)
{
	return argc == 3 && !strcmp(argv[1], "--seeds") ? argv[2] : NULL;
}

void seed_write(const char *directory, const char *name, uint8_t first, const void *bytes,
		size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file || putc(first, file) == EOF || fwrite(bytes, 1, size, file) != size ||
	    fclose(file))
		abort();
}

void seed_bytes(unsigned int *state, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(rand_r(state) >> 8);
}

void seeds_write_random(const char *directory, uint8_t first, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		unsigned int seed = first * 4099u + i;
		uint8_t bytes[RANDOM_BYTES];
		char name[32];

		seed_bytes(&seed, bytes, sizeof(bytes));
		snprintf(name, sizeof(name), "random%03u.%u", first, i);
		seed_write(directory, name, first, bytes, sizeof(bytes));
	}
}
