// SPDX-License-Identifier: GPL-2.0
/* A guest's handle of a device, its regions and protection domains. */
#include "injectors/emu/verbs/verbs_control.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/page.h"
#include "injectors/emu/verbs/verbs_handles.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* Of pages of its own: what shares a page with it may be mapped anew while it is used (guest_adopt.c). */
struct verbs_device *verbs_device_new(void)
{
	struct verbs_device *new = mmap(NULL, sizeof(*new), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		return NULL;
	pthread_mutex_init(&new->lock, NULL);
	return new;
}

void verbs_device_free(struct verbs_device *device)
{
	if (device->transport)
		device->transport->close(device);
	pthread_mutex_destroy(&device->lock);
	munmap(device, sizeof(*device));
}

int verbs_device_begin(struct verbs_device *device)
{
	struct verbs_command open = {.kind = VERBS_OPEN};
	int error = verbs_command_do(device, &open);

	if (!error)
		return 0;
	verbs_device_free(device);
	return failed(error, "the RDMA device does not open: %s", strerror(-error));
}

/* The guest has but a number; who reads the run's messages wants to know why, of a pin with its numbers. */
static int command_refused(const struct verbs_device *device, __u16 kind, int error)
{
	char why[256] = "";

	if (!error || error == -EPIPE)
		return error;
	if (error == -ENOMEM && device->refusal)
		device->refusal(device->refusal_of, why, sizeof(why));
	return *why ? failed(error, "%s", why)
		    : failed(error, "command %u of an RDMA device: %s", kind, strerror(-error));
}

int verbs_call_do(struct verbs_device *device, struct verbs_call *call)
{
	__u16 kind = call->command.kind;
	struct verbs_control_stats *stats = &device->stats[kind];
	int error;

	if (device->transport->gone(device))
		return -EPIPE;
	if (!call->called_ns)
		call->called_ns = monotonic_ns();
	error = device->transport->command(device, call);
	pthread_mutex_lock(&device->lock);
	stats->commands++;
	stats->refused += error < 0;
	stats->time_ns += monotonic_ns() - call->called_ns;
	pthread_mutex_unlock(&device->lock);
	return command_refused(device, kind, error);
}

int verbs_command_do(struct verbs_device *device, struct verbs_command *command)
{
	struct verbs_call call = {.command = *command};
	int error = verbs_call_do(device, &call);

	*command = call.command;
	return error;
}

void verbs_memory(const struct verbs_device *device, __u64 *guest_address, __u64 *bytes,
		  __u64 *iova_offset)
{
	*guest_address = device->start;
	*bytes = device->bytes;
	*iova_offset = device->iova_offset;
}

static bool within_share(const struct verbs_device *device, __u64 guest_address, __u64 bytes)
{
	return guest_address >= device->start && bytes <= device->bytes &&
	       guest_address - device->start <= device->bytes - bytes;
}

void *verbs_own_memory(const struct verbs_device *device, __u64 guest_address, __u64 bytes)
{
	if (guest_address % PAGE_BYTES || !within_share(device, guest_address, bytes))
		return NULL;
	return device->base + guest_address;
}

void *verbs_memory_at(const struct verbs_device *device, __u64 guest_address)
{
	return within_share(device, guest_address, 1) ? device->base + guest_address : NULL;
}

void verbs_shutdown(struct verbs_device *device)
{
	device->transport->stop(device);
}

void verbs_close(struct verbs_device *device)
{
	if (!device)
		return;
	verbs_queues_end(device);
	verbs_device_free(device);
}

int verbs_query_device(struct verbs_device *device, struct verbs_limits *limits)
{
	struct verbs_command query = {.kind = VERBS_QUERY_DEVICE};
	int error = verbs_command_do(device, &query);

	if (!error)
		*limits = verbs_unpack_limits(query.result);
	return error;
}

int verbs_alloc_pd(struct verbs_device *device, __u32 *domain)
{
	struct verbs_command alloc = {.kind = VERBS_ALLOC_PD};
	int error = verbs_command_do(device, &alloc);

	if (!error)
		*domain = (__u32)alloc.result[0];
	return error;
}

int verbs_dealloc_pd(struct verbs_device *device, __u32 domain)
{
	struct verbs_command dealloc = {.kind = VERBS_DEALLOC_PD, .argument = {domain}};

	return verbs_command_do(device, &dealloc);
}

/* The guest's own pin comes before the host's, and goes after it. */
static int region_begin(struct verbs_device *device, struct verbs_call *call, void *here,
			__u64 bytes, enum verbs_region kind, __u32 *pin)
{
	int error = 0;

	*pin = 0;
	call->called_ns = monotonic_ns();
	if (kind == VERBS_PINNED && device->transport->pin && here && bytes)
		error = device->transport->pin(device, here, bytes, pin);
	if (!error)
		error = verbs_call_do(device, call);
	if (error && *pin)
		device->transport->unpin(device, *pin);
	return error;
}

static int region_plain(struct verbs_device *device, struct verbs_mr *mr, __u32 domain,
			__u64 guest_address, __u64 bytes, enum verbs_region kind,
			unsigned int rights)
{
	struct verbs_call call = {
		.command = {.kind = VERBS_REGISTER,
			    .argument = {guest_address, bytes, kind, rights, domain}}};
	bool own = within_share(device, guest_address, bytes);
	__u32 pin;
	int error = region_begin(device, &call, own ? device->base + guest_address : NULL, bytes,
				 kind, &pin);

	if (error)
		return error;
	*mr = (struct verbs_mr){
		.key = (__u32)call.command.result[0],
		.address = (kind == VERBS_IMPLICIT ? device->start : guest_address) +
			   device->iova_offset,
		.bytes = kind == VERBS_IMPLICIT ? device->bytes : bytes,
		.kind = kind,
		.pin = pin,
	};
	return 0;
}

int verbs_reg_mr(struct verbs_device *device, struct verbs_mr *mr, __u64 guest_address, __u64 bytes,
		 enum verbs_region kind, unsigned int rights)
{
	return region_plain(device, mr, 0, guest_address, bytes, kind, rights);
}

/* In one piece of guest memory, and known by the addresses that the device has for it. */
static bool range_plain(const struct verbs_device *device, const struct verbs_range *range)
{
	for (__u32 i = 1; i < range->page_count; i++)
		if (range->pages[i] != range->pages[0] + i * PAGE_BYTES)
			return false;
	return range->address ==
	       range->pages[0] + range->address % PAGE_BYTES + device->iova_offset;
}

int verbs_reg_range(struct verbs_device *device, struct verbs_mr *mr, __u32 domain,
		    const struct verbs_range *range, enum verbs_region kind, unsigned int rights)
{
	struct verbs_call call = {
		.command = {.kind = VERBS_REGISTER_PAGES,
			    .argument = {range->address, range->bytes, kind | (__u64)rights << 8,
					 domain}},
		.pages = range->pages,
		.page_count = range->page_count,
	};
	__u64 inside = range->address % PAGE_BYTES;
	__u32 pin;
	int error;

	if (!range->bytes || kind == VERBS_IMPLICIT || range->bytes > ~0ull - 2 * PAGE_BYTES ||
	    (inside + range->bytes + PAGE_BYTES - 1) / PAGE_BYTES != range->page_count)
		return -EINVAL;
	if (range_plain(device, range))
		return region_plain(device, mr, domain, range->pages[0] + inside, range->bytes,
				    kind, rights);
	error = region_begin(device, &call, range->here, range->bytes, kind, &pin);
	if (error)
		return error;
	*mr = (struct verbs_mr){
		.key = (__u32)call.command.result[0],
		.address = range->address,
		.bytes = range->bytes,
		.kind = kind,
		.pin = pin,
	};
	return 0;
}

int verbs_dereg_mr(struct verbs_device *device, const struct verbs_mr *mr)
{
	struct verbs_command command = {.kind = VERBS_DEREGISTER, .argument = {mr->key}};
	int error = verbs_command_do(device, &command);

	if (mr->pin && (!error || error == -EPIPE))
		device->transport->unpin(device, mr->pin);
	return error;
}

int verbs_advise_mr(struct verbs_device *device, const struct verbs_mr *mr, __u64 guest_address,
		    __u64 bytes, bool write)
{
	struct verbs_command command = {
		.kind = VERBS_ADVISE,
		.argument = {mr->key, guest_address, bytes, write},
	};

	return verbs_command_do(device, &command);
}

void verbs_control_stats(struct verbs_device *device,
			 struct verbs_control_stats stats[VERBS_COMMAND_KINDS])
{
	pthread_mutex_lock(&device->lock);
	memcpy(stats, device->stats, sizeof(device->stats));
	pthread_mutex_unlock(&device->lock);
}
