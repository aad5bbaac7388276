/* SPDX-License-Identifier: GPL-2.0 */
/* A virtual machine's memory, its host in this process, and a fake QEMU: cmocka's setup and teardown of a test. */
#ifndef FAULTLINE_TEST_VM_WORLD_H
#define FAULTLINE_TEST_VM_WORLD_H

#include "injectors/emu/memory.h"
#include "injectors/emu/vm/handover.h"
#include "tests/unit/fake_qemu.h"

#define VM_BYTES	(2 * HUGE_BYTES)
#define VM_PAGE(number) ((__u64)(number) << PAGE_BITS)

struct vm_world {
	struct guest_memory *memory;
	struct vm_handover *handover;
	struct fake_qemu qemu;
	char socket[64];
};

extern struct vm_world vm;

int vm_world_setup(void **state);
/* With memory that is evicted without protection; with 2 MiB of all that are for memory plugged in. */
int vm_world_unprotected(void **state);
int vm_world_plug(void **state);
/* For a setup of the test's own: with who wants to know of accesses of this process. */
int vm_world_watched(struct memory_watch watch);
int vm_world_teardown(void **state);

/* A fake QEMU whose memory, all but what is for plugging in, is mapped and served. */
void vm_world_boot(void);
/* Its end as a process that was asked to end, and that the host has seen it. */
void vm_world_power_down(void);
/* Waits for a state that is another than `from`. */
struct vm_status vm_world_turned(enum vm_state from);
struct guest_memory_stats vm_world_stats(void);

#endif
