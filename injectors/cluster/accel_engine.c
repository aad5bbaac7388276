// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/accel_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

#define CONFIG_COMMAND	  0x04
#define CONFIG_BUS_MASTER 4u
#define MSIX_ENABLED	  0x8000u
#define MSIX_ENTRY_MASKED 1u

static __u32 accel_bar_read(const struct accel_function *function, __u64 offset)
{
	return __atomic_load_n((const __u32 *)(function->bar + offset), __ATOMIC_ACQUIRE);
}

static void accel_bar_write(struct accel_function *function, __u64 offset, __u32 value)
{
	__atomic_store_n((__u32 *)(function->bar + offset), value, __ATOMIC_RELEASE);
}

static void accel_function_reset(struct accel_function *function)
{
	function->head = 0;
	accel_bar_write(function, ACCEL_TAIL, 0);
	accel_bar_write(function, ACCEL_HEAD, 0);
	accel_bar_write(function, ACCEL_ID, ACCEL_MAGIC);
}

static __u32 accel_transfer(struct accel_function *function, struct accel_command *command)
{
	struct cluster *cluster = function->device->cluster;
	struct initiator initiator = function_initiator(cluster, function->function);
	enum path_purpose purpose = command->peer ? PURPOSE_PEER : PURPOSE_DATA;
	struct access_result result = {0};
	__u8 *memory = function->memory + command->local;

	if (command->opcode == ACCEL_TO_BUS)
		access_write(cluster, &initiator, purpose, command->bus, memory, command->bytes,
			     &result);
	else
		access_read(cluster, &initiator, purpose, command->bus, memory, command->bytes,
			    &result);
	command->model_ns = result.model_ns;
	command->pieces = result.pieces;
	/* Writes are posted: that one was lost is not known here. */
	return command->opcode == ACCEL_FROM_BUS && result.status != ACCESS_DONE
		       ? ACCEL_TRANSFER_ERROR
		       : ACCEL_OK;
}

static __u32 accel_run(struct accel_function *function, struct accel_command *command)
{
	if (command->opcode != ACCEL_TO_BUS && command->opcode != ACCEL_FROM_BUS)
		return ACCEL_INVALID;
	if (!command->bytes || command->bytes % 4 || command->bytes > ACCEL_COPY_BYTES)
		return ACCEL_INVALID;
	if (command->local >= function->memory_bytes ||
	    command->bytes > function->memory_bytes - command->local)
		return ACCEL_OUT_OF_RANGE;
	return accel_transfer(function, command);
}

static void accel_interrupt(struct accel_function *function)
{
	struct cluster *cluster = function->device->cluster;
	struct initiator initiator = function_initiator(cluster, function->function);
	__u32 control = function_config_read(cluster, function->function, FUNCTION_CAP_MSIX + 2, 2);
	__u32 words[4];

	if (!(control & MSIX_ENABLED))
		return;
	for (int i = 0; i < 4; i++)
		words[i] = accel_bar_read(function, FUNCTION_MSIX_TABLE + (__u64)i * 4);
	if (!(words[3] & MSIX_ENTRY_MASKED))
		access_write(cluster, &initiator, PURPOSE_INTERRUPT,
			     words[0] | (__u64)words[1] << 32, &words[2], sizeof(words[2]), NULL);
}

static bool accel_turn(struct accel_function *function)
{
	struct cluster *cluster = function->device->cluster;
	__u32 resets = function_resets(cluster, function->function);
	struct accel_command command;
	__u64 slot;

	if (resets != function->resets) {
		function->resets = resets;
		accel_function_reset(function);
	}
	if (!(function_config_read(cluster, function->function, CONFIG_COMMAND, 2) &
	      CONFIG_BUS_MASTER) ||
	    accel_bar_read(function, ACCEL_TAIL) % ACCEL_ENTRIES == function->head)
		return false;
	slot = ACCEL_QUEUE + function->head * sizeof(command);
	memcpy(&command, function->bar + slot, sizeof(command));
	command.status = accel_run(function, &command);
	memcpy(function->bar + slot, &command, sizeof(command));
	function->head = (function->head + 1) % ACCEL_ENTRIES;
	accel_bar_write(function, ACCEL_HEAD, function->head);
	accel_interrupt(function);
	return true;
}

bool accel_device_turn(struct accel_device *device)
{
	bool busy = false;

	for (__u32 i = 0; i < device->function_count; i++)
		busy |= accel_turn(&device->functions[i]);
	return busy;
}

int accel_device_open(struct accel_device **opened, struct cluster *cluster, __u32 index)
{
	const struct cluster_device_config *config = &cluster->config->devices[index];
	struct accel_device *device = calloc(1, sizeof(*device));

	if (!device)
		return failed(-ENOMEM, "no memory for the engine of device %s", config->name);
	*device = (struct accel_device){
		.cluster = cluster,
		.device = index,
		.function_count = config->functions ? config->functions : 1,
	};
	device->functions = calloc(device->function_count, sizeof(*device->functions));
	if (!device->functions) {
		accel_device_close(device);
		return failed(-ENOMEM, "no memory for the engine of device %s", config->name);
	}
	for (__u32 i = 0; i < device->function_count; i++) {
		struct accel_function *function = &device->functions[i];

		function->device = device;
		function->function = function_of(cluster, index, i);
		function->resets = function_resets(cluster, function->function);
		function->bar = function_bar(cluster, function->function, 0);
		function->memory = function_bar(cluster, function->function, ACCEL_MEMORY_BAR);
		function->memory_bytes =
			function_bar_bytes(cluster, function->function, ACCEL_MEMORY_BAR);
		if (!function->bar || !function->memory) {
			accel_device_close(device);
			return failed(-EINVAL, "device %s has no memory in BAR %u", config->name,
				      ACCEL_MEMORY_BAR);
		}
		accel_function_reset(function);
	}
	*opened = device;
	return 0;
}

void accel_device_close(struct accel_device *device)
{
	free(device->functions);
	free(device);
}
