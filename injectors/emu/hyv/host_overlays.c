// SPDX-License-Identifier: GPL-2.0
/* Bottom-up mappings: pages of the host's under guest addresses, for doorbells and queues that the host owns. */
#include <errno.h>
#include <string.h>

#include "injectors/emu/hyv/hyv_host_private.h"
#include "injectors/emu/memory_views.h"
#include "injectors/emu/pins.h"
#include "lib/base/fail.h"

static const struct {
	__u64 start, bytes; /* in the resource file */
} resources[VERBS_RESOURCES] = {
	[VERBS_DOORBELLS] = {HYV_DOORBELL_START, HYV_DOORBELL_BYTES},
	[VERBS_OWNED] = {HYV_OWNED_START, HYV_OWNED_BYTES},
};

static __u64 page_of(const struct hyv_host *host, __u64 address)
{
	return (address - host->backend->share.address) >> PAGE_BITS;
}

void overlay_hold(struct hyv_host *host, const struct verbs_memory *memory, __u32 more)
{
	__u64 pages = verbs_memory_bytes(memory) >> PAGE_BITS;

	for (__u64 i = 0; i < pages; i++) {
		__u64 address = memory->pages ? memory->pages[i] : memory->address + i * PAGE_BYTES;

		host->holds[page_of(host, address)] += more;
	}
}

/* The one that has a page of the range; NULL. */
static struct hyv_overlay *overlay_at(struct hyv_host *host, __u64 address, __u64 bytes)
{
	for (__u32 i = 0; i < HYV_OVERLAYS; i++) {
		struct hyv_overlay *overlay = &host->overlays[i];

		if (overlay->bytes && overlay->address < address + bytes &&
		    address < overlay->address + overlay->bytes)
			return overlay;
	}
	return NULL;
}

static int find_pages(struct hyv_host *host, const struct verbs_memory *memory)
{
	for (__u32 i = 0; i < memory->page_count; i++)
		if (overlay_at(host, memory->pages[i], PAGE_BYTES))
			return -EFAULT;
	return 0;
}

int overlay_find(void *argument, const struct verbs_memory *memory, unsigned char **owned)
{
	struct hyv_host *host = argument;
	struct hyv_overlay *overlay;
	__u64 start, bytes = verbs_memory_bytes(memory);

	if (memory->pages)
		return host->stats.overlays ? find_pages(host, memory) : 0;
	start = memory->address & ~(PAGE_BYTES - 1);
	overlay = overlay_at(host, start, bytes);
	if (!overlay)
		return 0;
	/* A part of one, or doorbells, are nobody's queue. */
	if (overlay->resource != VERBS_OWNED || start < overlay->address ||
	    start + bytes > overlay->address + overlay->bytes)
		return -EFAULT;
	*owned = (unsigned char *)host->guest.shared + overlay->offset +
		 (memory->address - overlay->address);
	return 0;
}

struct verbs_pair_words *overlay_doorbells(void *argument)
{
	struct hyv_host *host = argument;

	for (__u32 i = 0; i < HYV_OVERLAYS; i++)
		if (host->overlays[i].bytes && host->overlays[i].resource == VERBS_DOORBELLS)
			return (void *)((char *)host->guest.shared + HYV_DOORBELL_START);
	return NULL;
}

static bool held(const struct hyv_host *host, __u64 address, __u64 bytes)
{
	for (__u64 at = address; at < address + bytes; at += PAGE_BYTES)
		if (host->holds[page_of(host, at)])
			return true;
	return false;
}

static struct hyv_overlay *overlay_free(struct hyv_host *host)
{
	for (__u32 i = 0; i < HYV_OVERLAYS; i++)
		if (!host->overlays[i].bytes)
			return &host->overlays[i];
	return NULL;
}

/* The guest's pages stay, kept from being evicted, under the host's. */
static int overlay_make(struct hyv_host *host, const struct hyv_overlay *overlay)
{
	const struct verbs_backend_config *config = &host->config.backend;
	int error;

	error = machine_pin(config->machine, config->index, overlay->address, overlay->bytes, true);
	if (error)
		return error;
	host_stage(host, VERB_PIN);
	error = guest_memory_overlay(host->memory, overlay->address, overlay->bytes,
				     host->guest.resources, overlay->offset);
	if (error)
		(void)machine_unpin(config->machine, config->index, overlay->address,
				    overlay->bytes);
	host_stage(host, VERB_REMAP);
	return error;
}

int overlay_map(void *argument, __u64 address, __u64 bytes, enum verbs_resource resource,
		__u64 offset)
{
	struct hyv_host *host = argument;
	const struct hyv_overlay overlay = {address, bytes, resource,
					    resources[resource].start + offset};
	struct hyv_overlay *place = overlay_free(host);
	int error;

	if (bytes > resources[resource].bytes || offset > resources[resource].bytes - bytes)
		return -EINVAL;
	if (held(host, address, bytes) || overlay_at(host, address, bytes))
		return -EBUSY;
	if (!place)
		return -ENOSPC;
	host->current.bytes = bytes;
	error = overlay_make(host, &overlay);
	if (error)
		return error;
	*place = overlay;
	host_count(host, &host->stats.overlays, 1);
	return 0;
}

static int overlay_end(struct hyv_host *host, struct hyv_overlay *overlay)
{
	const struct verbs_backend_config *config = &host->config.backend;
	int error = guest_memory_overlay_end(host->memory, overlay->address, overlay->bytes);

	if (error)
		return error;
	(void)machine_unpin(config->machine, config->index, overlay->address, overlay->bytes);
	overlay->bytes = 0;
	host_count(host, &host->stats.overlays, -1ull);
	host_stage(host, VERB_REMAP);
	return 0;
}

int overlay_unmap(void *argument, __u64 address, __u64 bytes)
{
	struct hyv_host *host = argument;
	const struct backend_range range = {address, bytes};
	struct hyv_overlay *overlay = NULL;

	for (__u32 i = 0; i < HYV_OVERLAYS && !overlay; i++)
		if (host->overlays[i].bytes && host->overlays[i].address == address &&
		    host->overlays[i].bytes == bytes)
			overlay = &host->overlays[i];
	if (!overlay)
		return -ENOENT;
	if (overlay->resource == VERBS_DOORBELLS ? backend_lines_used(host->backend)
						 : backend_owned_used(host->backend, &range))
		return -EBUSY;
	host->current.bytes = bytes;
	return overlay_end(host, overlay);
}

void overlays_end(struct hyv_host *host)
{
	for (__u32 i = 0; i < HYV_OVERLAYS; i++)
		if (host->overlays[i].bytes)
			(void)overlay_end(host, &host->overlays[i]);
}
