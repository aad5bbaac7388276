// SPDX-License-Identifier: GPL-2.0
/* What objects keep of guest memory: admitted, pinned as the device's mode says, accounted for, given back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/pins.h"
#include "injectors/emu/verbs/verbs_backend_objects.h"
#include "lib/base/fail.h"

bool backend_within(const struct backend_range *share, __u64 address, __u64 bytes)
{
	return address >= share->address && bytes <= share->bytes &&
	       address - share->address <= share->bytes - bytes;
}

__u64 backend_pages(__u64 address, __u64 bytes)
{
	return whole_pages(address + bytes) - (address & ~(PAGE_BYTES - 1));
}

__u64 verbs_memory_bytes(const struct verbs_memory *memory)
{
	if (!memory->bytes)
		return 0;
	return memory->pages ? (__u64)memory->page_count << PAGE_BITS
			     : backend_pages(memory->address, memory->bytes);
}

/* Pages of the list from `first` on that follow each other in guest memory. */
static __u32 run_of(const struct verbs_memory *memory, __u32 first)
{
	__u32 pages = 1;

	while (first + pages < memory->page_count &&
	       memory->pages[first + pages] == memory->pages[first] + pages * PAGE_BYTES)
		pages++;
	return pages;
}

static int unpin_list(struct machine *machine, __u32 device, const struct verbs_memory *memory,
		      __u32 end)
{
	int error = 0;

	for (__u32 i = 0, run; i < end; i += run) {
		int result;

		run = run_of(memory, i);
		result = machine_unpin(machine, device, memory->pages[i], run * PAGE_BYTES);
		error = error ? error : result;
	}
	return error;
}

int backend_machine_pin(struct machine *machine, __u32 device, const struct verbs_memory *memory,
			bool write)
{
	int error = 0;

	if (!memory->pages)
		return machine_pin(machine, device, memory->address, memory->bytes, write);
	for (__u32 i = 0, run; i < memory->page_count; i += run) {
		run = run_of(memory, i);
		error = machine_pin(machine, device, memory->pages[i], run * PAGE_BYTES, write);
		if (!error)
			continue;
		(void)unpin_list(machine, device, memory, i);
		return error;
	}
	return 0;
}

int backend_machine_unpin(struct machine *machine, __u32 device, const struct verbs_memory *memory)
{
	if (!memory->pages)
		return machine_unpin(machine, device, memory->address, memory->bytes);
	return unpin_list(machine, device, memory, memory->page_count);
}

static void count_pinned(struct verbs_backend *backend, __s64 bytes)
{
	pthread_mutex_lock(&backend->lock);
	backend->stats.pinned += (__u64)bytes;
	pthread_mutex_unlock(&backend->lock);
	if (backend->config.ops->pinned)
		backend->config.ops->pinned(backend->config.device, bytes);
}

/* Whether objects pin anything by themselves: in mode passthrough all is. */
static bool pins_objects(const struct verbs_backend *backend)
{
	return !backend->config.host_ops || backend->config.host_ops->pin;
}

static int verbs_pin(struct verbs_backend *backend, struct verbs_memory *memory, bool write)
{
	const struct verbs_backend_config *config = &backend->config;
	int error;

	if (!memory->bytes || memory->owned || !pins_objects(backend))
		return 0;
	error = config->host_ops
			? config->host_ops->pin(config->host, memory, write)
			: backend_machine_pin(config->machine, config->index, memory, write);
	if (!error) {
		memory->held = true;
		count_pinned(backend, (__s64)verbs_memory_bytes(memory));
		return 0;
	}
	pthread_mutex_lock(&backend->lock);
	snprintf(backend->refusal, sizeof(backend->refusal), "%s", failure_text());
	pthread_mutex_unlock(&backend->lock);
	return error;
}

static void verbs_unpin(struct verbs_backend *backend, struct verbs_memory *memory)
{
	const struct verbs_backend_config *config = &backend->config;

	if (!memory->held)
		return;
	memory->held = false;
	if (config->host_ops)
		config->host_ops->unpin(config->host, memory);
	else if (backend_machine_unpin(config->machine, config->index, memory))
		return;
	count_pinned(backend, -(__s64)verbs_memory_bytes(memory));
}

/* What its quota is asked for. */
static __u64 pinned_bytes(const struct verbs_backend *backend, const struct verbs_memory *memory)
{
	return memory->owned || !pins_objects(backend) ? 0 : verbs_memory_bytes(memory);
}

static void verbs_pins_leave(struct verbs_backend *backend, enum verbs_object object,
			     const struct verbs_memory *memory)
{
	const struct verbs_host_ops *host = backend->config.host_ops;

	if (host && host->leave)
		host->leave(backend->config.host, object, pinned_bytes(backend, memory));
}

int backend_keep(struct verbs_backend *backend, enum verbs_object object,
		 struct verbs_memory *memory, bool write)
{
	const struct verbs_host_ops *host = backend->config.host_ops;
	int error = 0;

	memory->remap_pin = memory->driver_pin = VERBS_NO_PIN;
	if (host && host->admit)
		error = host->admit(backend->config.host, object, pinned_bytes(backend, memory));
	if (error)
		return error;
	error = verbs_pin(backend, memory, write);
	if (error)
		verbs_pins_leave(backend, object, memory);
	return error;
}

static void verbs_registered_now(struct verbs_backend *backend, __s64 bytes)
{
	const struct verbs_host_ops *host = backend->config.host_ops;

	if (bytes && host && host->registered)
		host->registered(backend->config.host, bytes);
}

int backend_kept(struct verbs_backend *backend, enum verbs_object object,
		 struct verbs_memory *memory, int error)
{
	const struct verbs_host_ops *host = backend->config.host_ops;

	if (host && host->installed)
		host->installed(backend->config.host);
	if (error) {
		verbs_unpin(backend, memory);
		verbs_pins_leave(backend, object, memory);
	} else if (memory->held) {
		verbs_registered_now(backend, (__s64)verbs_memory_bytes(memory));
	}
	return error;
}

void backend_release(struct verbs_backend *backend, enum verbs_object object,
		     struct verbs_memory *memory)
{
	const struct verbs_host_ops *host = backend->config.host_ops;
	__s64 bytes = memory->held ? (__s64)verbs_memory_bytes(memory) : 0;

	if (host && host->installed)
		host->installed(backend->config.host);
	verbs_unpin(backend, memory);
	verbs_pins_leave(backend, object, memory);
	verbs_registered_now(backend, -bytes);
	free(memory->pages);
	*memory = (struct verbs_memory){};
}
