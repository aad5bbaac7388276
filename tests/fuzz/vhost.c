// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes a disk that is driven over vhost-user, from both sides that nobody trusts: the front-end's messages, descriptors and answers, and
 * the guest's rings, chains and headers, while pages leave. Whatever comes, the half of the tenant's memory that no memory table names
 * stays as it is, and when the front-end has hung up, the next one is listened to. `vhost --seeds DIR` writes first inputs.
 */
#include <linux/virtio_blk.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/emu/devices/block_private.h"
#include "injectors/emu/machine_private.h"
#include "tests/fuzz/made/front.h"
#include "tests/fuzz/made/seeds.h"

#define STEPS 48
#define SEEDS 16

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One machine for all inputs, a front-end for each. */
static struct front front = {
	.queues = 2,
	.lengths = {16, 1, 512, 4096, 17, 32, 64, 0},
};

static void world_make(void)
{
	struct device_config device = {.name = "disk",
				       .class = &block_class,
				       .queues = front.queues,
				       .queue_depth = FRONT_SIZE,
				       .group_pages = 4,
				       .msi_cpu = -1};
	struct block_settings *settings = (struct block_settings *)device.settings.bytes;

	snprintf(front.socket, sizeof(front.socket), "/tmp/faultline-fuzz-vhost-%d", getpid());
	snprintf(settings->vhost.socket, sizeof(settings->vhost.socket), "%s", front.socket);
	settings->file_bytes = HUGE_BYTES;
	front.vhost = ((struct block *)front_init(&front, &device))->vhost;
}

static void world_end(void)
{
	machine_stop(front.machine);
	machine_destroy(front.machine);
}

static void any_header(struct bytes *in)
{
	const struct virtio_blk_outhdr header = {.type = take_below(in, 16),
						 .sector = take_below(in, 4) ? take_byte(in)
									     : take_number(in)};

	memcpy(front.memory + FRONT_HEADERS + take_below(in, 8) * 16, &header, sizeof(header));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};

	if (!front.machine)
		world_make();
	front_begin(&front, &in);
	front_steps(&front, &in, STEPS, any_header);
	front_end(&front);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory) {
		atexit(world_end);
		return 0;
	}
	seeds_write_random(directory, 0, SEEDS);
	exit(0);
}
