// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/vm_world.h"

#include "tests/unit/test.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/scratch.h"

struct vm_world vm;

static int setup(bool unprotected, __u64 plug_bytes, struct memory_watch watch)
{
	struct guest_memory_config memory = {
		.watch = watch,
		.bytes = VM_BYTES,
		.physical = 1ull << 30,
		.backend = MEMORY_VM,
		.unprotected = unprotected,
	};
	struct vm_handover_config config = {
		.socket = vm.socket, .tenant = "guest", .plug_bytes = plug_bytes};
	int error;

	snprintf(vm.socket, sizeof(vm.socket), "%s/memory", scratch);
	vm.qemu = (struct fake_qemu){0};
	error = guest_memory_create(&vm.memory, &memory);
	config.memory = vm.memory;
	return error ? error : vm_handover_create(&vm.handover, &config);
}

int vm_world_setup(void **state)
{
	return setup(false, 0, (struct memory_watch){0});
}

int vm_world_unprotected(void **state)
{
	return setup(true, 0, (struct memory_watch){0});
}

int vm_world_plug(void **state)
{
	return setup(false, HUGE_BYTES, (struct memory_watch){0});
}

int vm_world_watched(struct memory_watch watch)
{
	return setup(false, 0, watch);
}

/* Nothing of the socket is left. */
int vm_world_teardown(void **state)
{
	vm_handover_destroy(vm.handover);
	guest_memory_destroy(vm.memory);
	vm.handover = NULL;
	vm.memory = NULL;
	return access(vm.socket, F_OK) ? 0 : -1;
}

void vm_world_boot(void)
{
	struct vm_status status;

	fake_qemu_start(&vm.qemu, vm.socket, "-name", "guest=fake,process=other", NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "mapped");
	assert_int_equal(vm_handover_wait(vm.handover, 60 * SECOND), 0);
	vm_handover_status(vm.handover, &status);
	assert_int_equal(status.state, VM_RUNS);
	assert_int_equal(status.pid, vm.qemu.pid);
	assert_string_equal(status.name, "fake");
}

struct vm_status vm_world_turned(enum vm_state from)
{
	struct pollfd polled = {.fd = vm_handover_descriptor(vm.handover), .events = POLLIN};
	struct vm_status status;

	for (;;) {
		vm_handover_status(vm.handover, &status);
		if (status.state != from)
			return status;
		assert_true(poll(&polled, 1, 60000) > 0);
	}
}

void vm_world_power_down(void)
{
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_string_equal(vm.qemu.said, "");
	assert_int_equal(vm_world_turned(VM_RUNS).state, VM_ENDED);
}

struct guest_memory_stats vm_world_stats(void)
{
	struct guest_memory_stats stats;

	guest_memory_stats(vm.memory, &stats);
	return stats;
}
