// SPDX-License-Identifier: GPL-2.0
/* How control of a guest in a process of its own reaches its host: virtqueue or mailbox, its own pins, the host's pages. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/guest/guest_private.h"
#include "lib/base/fail.h"

_Thread_local bool guest_commands_held;

bool guest_gone(struct verbs_device *device)
{
	struct guest_device *guest = guest_device_of(device);

	return atomic_load(&guest->gone) || atomic_load(&guest->shared->registers.stopping);
}

/* A list goes by the mailbox as the guest address of a copy, for which there is one place. */
static int mailbox_listed(struct guest_device *guest, struct verbs_call *call)
{
	__u64 *list = (void *)(guest->device->base + guest->hello.control_address + PAGE_BYTES);
	int error;

	if (call->page_count > (HYV_CONTROL_BYTES - PAGE_BYTES) / sizeof(*list))
		return -E2BIG;
	pthread_mutex_lock(&guest->list_lock);
	memcpy(list, call->pages, call->page_count * sizeof(*list));
	call->command.argument[4] = guest->hello.control_address + PAGE_BYTES;
	error = verbs_ring_command(&guest->ring, &call->command);
	pthread_mutex_unlock(&guest->list_lock);
	return error;
}

static int guest_command(struct verbs_device *device, struct verbs_call *call)
{
	struct guest_device *guest = guest_device_of(device);
	int error;

	/* Queue and mailbox are the parent's. */
	if (guest->child)
		return -EPIPE;
	if (!guest_commands_held)
		pthread_rwlock_rdlock(&guest->commands);
	if (!guest_by_mailbox(guest))
		error = virtqueue_guest_call(&guest->queue, call);
	else if (call->page_count)
		error = mailbox_listed(guest, call);
	else
		error = verbs_ring_command(&guest->ring, &call->command);
	if (!guest_commands_held)
		pthread_rwlock_unlock(&guest->commands);
	if (error == -EPIPE)
		atomic_store(&guest->gone, true);
	return error;
}

static int guest_own_pin(struct verbs_device *device, void *here, __u64 bytes, __u32 *pin)
{
	struct guest_device *guest = guest_device_of(device);
	int error = 0;

	*pin = 0;
	if (guest->pinner)
		error = pinner_pin(guest->pinner, here, bytes, pin);
	/* 0 is one of the pinner's. */
	*pin += guest->pinner && !error;
	return error;
}

static void guest_own_unpin(struct verbs_device *device, __u32 pin)
{
	if (pin)
		(void)pinner_unpin(guest_device_of(device)->pinner, pin - 1);
}

int guest_restore(struct guest_device *guest, __u64 guest_address, __u64 bytes)
{
	unsigned char *at = guest->device->base + guest_address;
	struct uffdio_register range = {
		.range = {(__u64)at, bytes},
		.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
	};

	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 guest->descriptor[HYV_MEMORY], (off_t)guest_address) == MAP_FAILED ||
	    madvise(at, bytes, MADV_DONTFORK) ||
	    (guest->faults >= 0 && ioctl(guest->faults, UFFDIO_REGISTER, &range)))
		return failed(-errno, "mapping %llu bytes of guest memory again: %s", bytes,
			      strerror(errno));
	return 0;
}

int guest_overlay(struct guest_device *guest, __u64 guest_address, __u64 bytes,
		  enum verbs_resource resource, __u64 offset)
{
	struct verbs_command command = {.kind = VERBS_MAP_RESOURCE,
					.argument = {guest_address, bytes, resource, offset}};
	__u64 start = resource == VERBS_DOORBELLS ? HYV_DOORBELL_START : HYV_OWNED_START;
	unsigned char *at = guest->device->base + guest_address;
	int error;

	/* Before the host is asked: once it has answered, nobody here sees the old pages any more. */
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 guest->descriptor[HYV_RESOURCES], (off_t)(start + offset)) == MAP_FAILED)
		return failed(-errno, "mapping %llu bytes of the host's pages: %s", bytes,
			      strerror(errno));
	(void)madvise(at, bytes, MADV_DONTFORK);
	error = verbs_command_do(guest->device, &command);
	if (error)
		(void)guest_restore(guest, guest_address, bytes);
	return error;
}

/* Queues that are the host's: some of its pages are mapped where the guest wants the queue. */
static int back_owned(struct guest_device *guest, struct verbs_backing *backing)
{
	__u64 bytes = whole_pages(backing->bytes);
	__s64 page = page_runs_take(&guest->owned, bytes >> PAGE_BITS);
	int error;

	if (page < 0)
		return failed(-ENOMEM, "the host has no %llu bytes left for a queue", bytes);
	error = guest_overlay(guest, backing->guest_address, bytes, VERBS_OWNED,
			      (__u64)page << PAGE_BITS);
	if (error) {
		page_runs_give(&guest->owned, (__u64)page, bytes >> PAGE_BITS);
		return error;
	}
	backing->page = (__u32)page;
	backing->owned = (__u32)(bytes >> PAGE_BITS);
	return 0;
}

static int guest_back(struct verbs_device *device, struct verbs_backing *backing)
{
	struct guest_device *guest = guest_device_of(device);
	int error;

	backing->at = verbs_own_memory(device, backing->guest_address, whole_pages(backing->bytes));
	if (!backing->at)
		return 0;
	error = guest->hello.host_queues && !guest_by_mailbox(guest)
			? back_owned(guest, backing)
			: guest_own_pin(device, backing->at, backing->bytes, &backing->pin);
	if (error)
		backing->at = NULL;
	return error;
}

static void guest_unback(struct verbs_device *device, struct verbs_backing *backing)
{
	struct guest_device *guest = guest_device_of(device);
	struct verbs_command command = {
		.kind = VERBS_UNMAP_RESOURCE,
		.argument = {backing->guest_address, (__u64)backing->owned << PAGE_BITS},
	};

	guest_own_unpin(device, backing->pin);
	if (!backing->owned)
		return;
	/* While they are pinned: the host may take them again once it has answered. */
	(void)guest_restore(guest, backing->guest_address, command.argument[1]);
	if (verbs_command_do(device, &command) != -EPIPE)
		page_runs_give(&guest->owned, backing->page, backing->owned);
	backing->owned = 0;
}

static void guest_stop(struct verbs_device *device)
{
	struct guest_device *guest = guest_device_of(device);

	atomic_store(&guest->gone, true);
	if (guest_by_mailbox(guest))
		verbs_interrupt(&guest->shared->registers);
	else
		virtqueue_guest_end(&guest->queue);
	guest_events_end(guest);
}

const struct verbs_transport guest_transport = {
	.command = guest_command,
	.pin = guest_own_pin,
	.unpin = guest_own_unpin,
	.back = guest_back,
	.unback = guest_unback,
	.gone = guest_gone,
	.stop = guest_stop,
	.close = guest_end,
	.queue_begin = guest_queue_begin,
	.queue_end = guest_queue_end,
	.queue_wait = guest_queue_wait,
	.channel_begin = guest_channel_begin,
	.channel_end = guest_channel_end,
	.channel_add = guest_channel_add,
	.channel_descriptor = guest_channel_descriptor,
	.channel_wait = guest_channel_wait,
};
