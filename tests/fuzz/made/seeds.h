/* SPDX-License-Identifier: GPL-2.0 */
/* First inputs, which a target writes for itself: PROGRAM --seeds DIRECTORY. None is kept. */
#ifndef FAULTLINE_FUZZ_SEEDS_H
#define FAULTLINE_FUZZ_SEEDS_H

#include <stddef.h>
#include <stdint.h>

/* The directory of `--seeds DIRECTORY`; NULL where the command line has none. */
const char *seeds_directory(int argc, char *const *argv);
/* One of `size` bytes behind `first`, which most targets choose by. */
void seed_write(const char *directory, const char *name, uint8_t first, const void *bytes,
		size_t size);
/* Random ones, the same for the same state. */
void seed_bytes(unsigned int *state, uint8_t *bytes, size_t size);
/* `count` of random bytes, always the same: long enough for all that a maker makes of them. */
void seeds_write_random(const char *directory, uint8_t first, unsigned int count);

#endif
