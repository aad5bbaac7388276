// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes a NIC's receive rings: the bytes draw a device's rings and then its steps, which the model
 * (tests/unit/rx_model.h) holds them to; in the end nothing may be held. `rx_ring --seeds DIR` writes
 * first inputs.
 */
#include <stdlib.h>

#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"
#include "tests/unit/rx_world.h"

#define RING_SIZE_MAX 64 /* of more buffers a few thousand steps see the first only */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static __u64 draw_bytes(void *self, __u64 bound)
{
	unsigned int high = bound > 256 ? take_byte(self) : 0;

	return (high << 8 | take_byte(self)) % bound;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct rx_world world = {.draw = draw_bytes, .self = &in};
	unsigned int policies = 0;

	while (rx_policies[policies])
		policies++;
	rx_world_create(&world, rx_policies[take_below(&in, policies)], RING_SIZE_MAX);
	while (in.left)
		rx_world_step(&world);
	rx_world_finish(&world);
	rx_world_destroy(&world);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	for (uint8_t policy = 0; rx_policies[policy]; policy++)
		seeds_write_random(directory, policy, 3);
	exit(0);
}
