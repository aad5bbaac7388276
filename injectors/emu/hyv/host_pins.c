// SPDX-License-Identifier: GPL-2.0
/*
 * What a mode does for the memory of an object, in the paper's steps (HyV, 4.2, top-down): admitted; the machine's pin, which brings the
 * pages in and maps them for the device; the host's pin of the guest's pages; the scratch mapping; the host driver's pin. Each
 * step that fails undoes those before it.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/hyv/hyv_host_private.h"
#include "injectors/emu/hyv/quota.h"
#include "injectors/emu/memory_views.h"
#include "lib/base/fail.h"

static void host_account(struct hyv_host *host, enum pin_role role, __s64 bytes)
{
	struct hyv_stats *stats = &host->stats;
	__u64 now;

	pthread_mutex_lock(&host->lock);
	stats->pinned[role] += (__u64)bytes;
	now = stats->pinned[role];
	if (now > stats->pinned_most[role])
		stats->pinned_most[role] = now;
	pthread_mutex_unlock(&host->lock);
	observe_pinned(host->config.backend.index, host->config.tenant, role, bytes, now,
		       host->tenant->config.quota.pinned_bytes, 0);
}

static int refused(struct hyv_host *host, enum pin_role role, __u64 bytes, __u64 *counter,
		   int error)
{
	__u64 now;

	pthread_mutex_lock(&host->lock);
	(*counter)++;
	now = host->stats.pinned[role];
	pthread_mutex_unlock(&host->lock);
	observe_pinned(host->config.backend.index, host->config.tenant, role, (__s64)bytes, now,
		       host->tenant->config.quota.pinned_bytes, error);
	return error;
}

static int admit(void *argument, enum verbs_object object, __u64 bytes)
{
	struct hyv_host *host = argument;
	int error = quota_take(&host->tenant->quota, &host->tenant->config.quota, object, bytes);

	host_stage(host, VERB_FILTER);
	if (!error)
		return 0;
	return refused(host, PIN_GUEST, bytes, &host->stats.refused_quota,
		       failed_in(error, "%s of tenant %s", host->config.backend.name,
				 host->tenant->config.name));
}

static void host_pins_leave(void *argument, enum verbs_object object, __u64 bytes)
{
	struct hyv_host *host = argument;

	quota_return(&host->tenant->quota, object, bytes);
}

static int kernel_pin(struct hyv_host *host, enum pin_role role, void *at, __u64 bytes, __u32 *pin)
{
	int error;

	if (inject_fire(host->injections, INJECT_PIN_ENOMEM, host->config.backend.index))
		error = failed(-ENOMEM, "injected: no memory to pin %llu bytes", bytes);
	else
		error = pinner_pin(role == PIN_REMAP ? host->remap : host->driver, at, bytes, pin);
	if (error)
		return refused(host, role, bytes, &host->stats.refused_pins, error);
	host_account(host, role, (__s64)bytes);
	return 0;
}

static void kernel_unpin(struct hyv_host *host, enum pin_role role, __u32 *pin, __u64 bytes)
{
	if (*pin == VERBS_NO_PIN)
		return;
	(void)pinner_unpin(role == PIN_REMAP ? host->remap : host->driver, *pin);
	*pin = VERBS_NO_PIN;
	host_account(host, role, -(__s64)bytes);
}

static __u32 runs_of(const struct verbs_memory *memory)
{
	return memory->pages ? scratch_runs(memory->pages, memory->page_count) : 1;
}

/* Where this process has memory that is one piece. */
static unsigned char *own_view(struct hyv_host *host, const struct verbs_memory *memory)
{
	__u64 address = memory->pages ? memory->pages[0] : memory->address;

	return guest_memory_cpu(host->memory, address & ~(PAGE_BYTES - 1));
}

/* A list of one piece's pages, for who takes lists alone. */
static __u64 *host_pages_of(const struct verbs_memory *memory, __u64 count)
{
	__u64 *pages = memory->pages ? NULL : malloc(count * sizeof(*pages));

	for (__u64 i = 0; pages && i < count; i++)
		pages[i] = (memory->address & ~(PAGE_BYTES - 1)) + i * PAGE_BYTES;
	return pages;
}

static int map_scratch(struct hyv_host *host, const struct verbs_memory *memory)
{
	__u64 count = verbs_memory_bytes(memory) >> PAGE_BITS;
	__u64 *pages = host_pages_of(memory, count);
	int error;

	if (!memory->pages && !pages)
		return failed(-ENOMEM, "no memory for a list of %llu pages", count);
	error = scratch_map(&host->scratch, guest_memory_file(host->memory),
			    pages ? pages : memory->pages, (__u32)count);
	free(pages);
	return error;
}

/* The paper skips it for one page alone; `skip_contiguous` for each region that is in one piece. */
static bool remap_needed(const struct hyv_host *host, const struct verbs_memory *memory, __u32 runs)
{
	return verbs_memory_bytes(memory) > PAGE_BYTES &&
	       !(runs == 1 && host->config.settings->skip_contiguous);
}

static int remap(struct hyv_host *host, const struct verbs_memory *memory, __u32 runs)
{
	int error;

	if (!remap_needed(host, memory, runs)) {
		host_count(host, &host->stats.remap_skipped, 1);
		return 0;
	}
	inject_sleep(host->injections,
		     inject_delay(host->injections, INJECT_SLOW_REMAP, host->config.backend.index));
	error = map_scratch(host, memory);
	host_stage(host, VERB_REMAP);
	if (error)
		return refused(host, PIN_REMAP, verbs_memory_bytes(memory),
			       &host->stats.refused_mappings, error);
	host->current.runs = host->scratch.runs;
	host_count(host, &host->stats.remaps, 1);
	host_count(host, &host->stats.runs, host->scratch.runs);
	return 0;
}

static int pin_remap(struct hyv_host *host, struct verbs_memory *memory, unsigned char *at)
{
	int error = kernel_pin(host, PIN_REMAP, at, verbs_memory_bytes(memory), &memory->remap_pin);

	host_stage(host, VERB_PIN);
	return error;
}

/* The two pins of the host's, with the scratch mapping between them, or before both of pages in more than one piece. */
static int pin_twice(struct hyv_host *host, struct verbs_memory *memory)
{
	__u32 runs = runs_of(memory);
	unsigned char *view = runs == 1 ? own_view(host, memory) : NULL;
	int error = view ? pin_remap(host, memory, view) : 0;

	if (!error)
		error = remap(host, memory, runs);
	if (!error && !view)
		error = pin_remap(host, memory, host->scratch.at);
	if (!error)
		error = kernel_pin(host, PIN_DRIVER, host->scratch.at ? host->scratch.at : view,
				   verbs_memory_bytes(memory), &memory->driver_pin);
	host_stage(host, VERB_DRIVER);
	return error;
}

static void unpin_kernel(struct hyv_host *host, struct verbs_memory *memory)
{
	__u64 bytes = verbs_memory_bytes(memory);

	kernel_unpin(host, PIN_DRIVER, &memory->driver_pin, bytes);
	host_stage(host, VERB_DRIVER);
	kernel_unpin(host, PIN_REMAP, &memory->remap_pin, bytes);
	host_stage(host, VERB_PIN);
}

static void unmap_scratch(struct hyv_host *host)
{
	if (!host->scratch.at)
		return;
	scratch_unmap(&host->scratch);
	host_stage(host, VERB_REMAP);
}

static void host_unpin(void *argument, struct verbs_memory *memory)
{
	struct hyv_host *host = argument;
	const struct verbs_backend_config *config = &host->config.backend;

	host->current.bytes = verbs_memory_bytes(memory);
	unpin_kernel(host, memory);
	(void)backend_machine_unpin(config->machine, config->index, memory);
	if (host_has_queue(host)) {
		overlay_hold(host, memory, -1u);
		host_account(host, PIN_GUEST, -(__s64)verbs_memory_bytes(memory));
	}
	host_stage(host, VERB_PIN);
}

static int pin_machine(struct hyv_host *host, struct verbs_memory *memory, bool write)
{
	const struct verbs_backend_config *config = &host->config.backend;
	int error = backend_machine_pin(config->machine, config->index, memory, write);

	host->current.bytes = verbs_memory_bytes(memory);
	host_stage(host, VERB_PIN);
	return error ? refused(host, PIN_REMAP, verbs_memory_bytes(memory),
			       &host->stats.refused_pins, error)
		     : 0;
}

static int host_pin(void *argument, struct verbs_memory *memory, bool write)
{
	struct hyv_host *host = argument;
	int error = pin_machine(host, memory, write);

	if (error)
		return error;
	overlay_hold(host, memory, 1);
	/* It has asked, so it has pinned them itself. */
	host_account(host, PIN_GUEST, (__s64)verbs_memory_bytes(memory));
	error = pin_twice(host, memory);
	if (error) {
		unmap_scratch(host);
		host_unpin(host, memory);
	}
	return error;
}

/* The application's own mapping is contiguous; here it is the machine's, or one that is made for a list. */
static int pin_native(void *argument, struct verbs_memory *memory, bool write)
{
	struct hyv_host *host = argument;
	__u64 bytes = verbs_memory_bytes(memory);
	int error = pin_machine(host, memory, write);

	if (error)
		return error;
	if (runs_of(memory) > 1)
		error = map_scratch(host, memory);
	if (!error)
		error = kernel_pin(host, PIN_DRIVER,
				   host->scratch.at ? host->scratch.at : own_view(host, memory),
				   bytes, &memory->driver_pin);
	host_stage(host, VERB_DRIVER);
	if (error) {
		unmap_scratch(host);
		host_unpin(host, memory);
	}
	return error;
}

static void host_installed(void *argument)
{
	struct hyv_host *host = argument;

	host_stage(host, VERB_INSTALL);
	unmap_scratch(host);
}

/* Every pinned byte is registered, in each role that the mode has. */
static void host_registered(void *argument, __s64 bytes)
{
	struct hyv_host *host = argument;
	struct hyv_stats *stats = &host->stats;
	__u64 now;

	pthread_mutex_lock(&host->lock);
	stats->registered += (__u64)bytes;
	now = stats->registered;
	if (now > stats->registered_most)
		stats->registered_most = now;
	for (int role = 0; role < PIN_ROLES; role++)
		if (host_has_queue(host) || role == PIN_DRIVER)
			stats->unequal += stats->pinned[role] != now;
	pthread_mutex_unlock(&host->lock);
	observe_registered(host->config.backend.index, host->config.tenant, now);
}

void host_tell_pins(struct hyv_host *host)
{
	const __u32 device = host->config.backend.index, tenant = host->config.tenant;
	struct hyv_stats stats;

	hyv_host_stats(host, &stats);
	for (int role = 0; role < PIN_ROLES; role++)
		if (host_has_queue(host) || role == PIN_DRIVER)
			observe_pinned(device, tenant, (enum pin_role)role, 0, stats.pinned[role],
				       host->tenant->config.quota.pinned_bytes, 0);
	observe_registered(device, tenant, stats.registered);
}

static void notify(void *argument, __u32 number)
{
	struct hyv_host *host = argument;

	event_ring_raise(&host->events, number);
}

static void host_alarm(void *argument, enum verbs_failing what, __u32 number)
{
	struct hyv_host *host = argument;

	event_ring_alarm(&host->events, what, number);
}

static void host_forget(void *argument, __u32 number)
{
	struct hyv_host *host = argument;

	event_ring_forget(&host->events, number);
}

const struct verbs_host_ops hyv_host_ops = {
	.admit = admit,
	.leave = host_pins_leave,
	.pin = host_pin,
	.unpin = host_unpin,
	.installed = host_installed,
	.find = overlay_find,
	.doorbells = overlay_doorbells,
	.map = overlay_map,
	.unmap = overlay_unmap,
	.notify = notify,
	.failed = host_alarm,
	.forget = host_forget,
	.registered = host_registered,
};

const struct verbs_host_ops hyv_native_ops = {
	.pin = pin_native,
	.unpin = host_unpin,
	.installed = host_installed,
	.registered = host_registered,
	.stepped = host_stepped,
};

const struct verbs_host_ops hyv_passthrough_ops = {
	.notify = notify,
	.failed = host_alarm,
	.forget = host_forget,
	.stepped = host_stepped,
};

int host_pin_all(struct hyv_host *host)
{
	const struct verbs_backend_config *config = &host->config.backend;
	const struct channel_config *channel = &config->channel->config;
	__u64 quota = host->tenant->config.quota.pinned_bytes;
	int error;

	host->all = (struct verbs_memory){.address = channel->guest_address,
					  .bytes = channel->bytes,
					  .remap_pin = VERBS_NO_PIN,
					  .driver_pin = VERBS_NO_PIN};
	if (quota && channel->bytes > quota)
		return failed(-ENOMEM,
			      "mode=passthrough pins its %llu KiB of tenant %s, and "
			      "quota_pinned=%lluK",
			      channel->bytes >> 10, host->tenant->config.name, quota >> 10);
	error = backend_machine_pin(config->machine, config->index, &host->all, true);
	if (error)
		return error;
	host->all.held = true;
	error = kernel_pin(host, PIN_DRIVER, own_view(host, &host->all), host->all.bytes,
			   &host->all.driver_pin);
	if (error)
		return error;
	if (config->ops->pinned)
		config->ops->pinned(config->device, (__s64)host->all.bytes);
	host_registered(host, (__s64)host->all.bytes);
	return 0;
}

void host_unpin_all(struct hyv_host *host)
{
	const struct verbs_backend_config *config = &host->config.backend;
	__s64 bytes = (__s64)host->all.bytes;

	if (!host->all.held)
		return;
	host->all.held = false;
	if (host->all.driver_pin != VERBS_NO_PIN) {
		kernel_unpin(host, PIN_DRIVER, &host->all.driver_pin, host->all.bytes);
		if (config->ops->pinned)
			config->ops->pinned(config->device, -bytes);
		host_registered(host, -bytes);
	}
	(void)backend_machine_unpin(config->machine, config->index, &host->all);
}
