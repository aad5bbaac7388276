// SPDX-License-Identifier: GPL-2.0
/* The device `rdma` behind the commands, and its guest's way to them. */
#include "injectors/emu/device_driver.h"
#include "injectors/emu/hyv/hyv_host.h"
#include "injectors/emu/inject.h"
#include "injectors/emu/machine_private.h"
#include "injectors/emu/rdma/observe.h"
#include "injectors/emu/rdma/rdma.h"
#include "injectors/emu/rdma/regions.h"
#include "injectors/emu/verbs/verbs_backend.h"
#include "injectors/emu/verbs/verbs_handles.h"

static void rdma_limits(void *device, struct verbs_limits *limits)
{
	const struct rdma_settings *settings = rdma_place(device)->settings;

	limits->queue_pairs = settings->queue_pairs;
	limits->mtu = settings->mtu;
}

static void tell_region(const struct rdma *device, __u32 key, const struct region *region,
			enum odp_region_state state)
{
	const struct rdma_place *place = rdma_place(device);
	__u64 iova;

	/* Of scattered pages the first is told: observers know of no other addresses than those that the device faults on. */
	(void)region_run(region, region->address, 1, &iova);
	observe_region(place->index, place->channel->config.pasid, key, iova, region->bytes,
		       region->kind, state);
}

/*
 * The device's own time for what it has created, which is set, and what is injected. What it created is there already: an
 * error needs no time. No other command of the device is carried out meanwhile; the machine's end cuts it short.
 */
static void install(const struct rdma *device, __u64 own_ns)
{
	const struct rdma_place *place = rdma_place(device);
	struct inject_table *injections = machine_injections(place->machine);

	inject_sleep(injections,
		     own_ns + inject_delay(injections, INJECT_INSTALL_STALL, place->index));
}

static int rdma_create_region(void *device, const struct verbs_region_setup *setup, __u32 *key)
{
	const struct region region = {
		.address = setup->iova,
		.bytes = setup->bytes,
		.kind = setup->kind,
		.rights = setup->rights,
		.domain = setup->domain,
		.pages = setup->pages,
		.page_count = setup->page_count,
	};
	int error = region_register(rdma_regions(device), &region, key);
	__u64 pages =
		((setup->iova & (PAGE_BYTES - 1)) + setup->bytes + PAGE_BYTES - 1) >> PAGE_BITS;

	if (error)
		return error;
	install(device, pages * rdma_place(device)->settings->register_page_ns);
	tell_region(device, *key, &region, ODP_REGION_NEW);
	return 0;
}

static int rdma_destroy_region(void *device, __u32 key)
{
	struct region region;
	int error = region_query(rdma_regions(device), key, &region);

	if (!error)
		error = region_retire(rdma_regions(device), key);
	if (error)
		return error;
	rdma_quiesce(device);
	region_free(rdma_regions(device), key);
	tell_region(device, key, &region, ODP_REGION_GONE);
	return 0;
}

static void rdma_advised(void *device, __u32 key, __u64 iova, __u64 bytes, __u32 pages,
			 __u64 took_ns, int error)
{
	const struct rdma_place *place = rdma_place(device);

	observe_advised(place->index, place->channel->config.pasid, key, iova, bytes, pages,
			took_ns, error);
}

static int rdma_create_queue(void *device, const struct verbs_queue_setup *setup, __u32 *number)
{
	int error = rdma_queue_create(device, setup, number);

	if (!error)
		install(device, 0);
	return error;
}

static int rdma_destroy_queue(void *device, __u32 number)
{
	return rdma_queue_destroy(device, number);
}

static int rdma_create_pair(void *device, const struct verbs_pair_setup *setup, __u32 *number)
{
	const struct rdma_settings *settings = rdma_place(device)->settings;
	__u64 entries = setup->send_depth + setup->receive_depth;
	int error = rdma_pair_create(device, setup, number);

	if (!error)
		install(device, settings->install_ns + entries * settings->install_entry_ns);
	return error;
}

static int rdma_modify_pair(void *device, __u32 number, enum verbs_pair_state state, __u32 peer,
			    bool loopback)
{
	return rdma_pair_modify(device, number, state, peer, loopback);
}

static int rdma_query_pair(void *device, __u32 number, enum verbs_pair_state *state, __u32 *peer)
{
	return rdma_pair_query(device, number, state, peer);
}

static int rdma_destroy_pair(void *device, __u32 number)
{
	return rdma_pair_destroy(device, number);
}

static int rdma_create_shared(void *device, const struct verbs_shared_setup *setup, __u32 *number)
{
	int error = rdma_shared_create(device, setup, number);

	if (!error)
		install(device, 0);
	return error;
}

static int rdma_destroy_shared(void *device, __u32 number)
{
	return rdma_shared_destroy(device, number);
}

static int rdma_posted(void *device, __u32 pair)
{
	return rdma_pair_posted(device, pair);
}

static void rdma_pinned(void *device, __s64 bytes)
{
	rdma_count_pinned(device, bytes);
}

static void rdma_commanded(void *device, enum verbs_command_kind kind, int error, __u64 took_ns)
{
	rdma_count_command(device, kind, error < 0, took_ns);
}

static const struct verbs_backend_ops rdma_backend_ops = {
	.limits = rdma_limits,
	.create_region = rdma_create_region,
	.destroy_region = rdma_destroy_region,
	.create_queue = rdma_create_queue,
	.destroy_queue = rdma_destroy_queue,
	.create_pair = rdma_create_pair,
	.modify_pair = rdma_modify_pair,
	.query_pair = rdma_query_pair,
	.destroy_pair = rdma_destroy_pair,
	.create_shared = rdma_create_shared,
	.destroy_shared = rdma_destroy_shared,
	.posted = rdma_posted,
	.advised = rdma_advised,
	.pinned = rdma_pinned,
	.commanded = rdma_commanded,
};

static struct verbs_backend_config backend_config(struct rdma *device)
{
	const struct rdma_place *place = rdma_place(device);

	return (struct verbs_backend_config){
		.machine = place->machine,
		.port = place->machine->devices[place->index].port,
		.channel = place->channel,
		.index = place->index,
		.name = place->name,
		.ops = &rdma_backend_ops,
		.device = device,
	};
}

int verbs_backend_start(struct verbs_backend **backend, struct rdma *device)
{
	const struct verbs_backend_config config = backend_config(device);

	return verbs_backend_create(backend, &config);
}

int verbs_host_start(struct hyv_host **host, struct rdma *device)
{
	const struct rdma_place *place = rdma_place(device);
	const struct hyv_host_config config = {
		.backend = backend_config(device),
		.mode = (enum rdma_mode)place->settings->mode,
		.settings = place->settings,
		.tenant = place->machine->devices[place->index].config.tenant,
	};

	return hyv_host_create(host, &config);
}

void verbs_refusal(const struct driver_setup *setup, char *text, size_t size)
{
	verbs_backend_refusal(rdma_backend(setup->model), text, size);
}

static void backend_refusal(void *backend, char *text, size_t size)
{
	verbs_backend_refusal(backend, text, size);
}

int verbs_open(struct verbs_device **device, const struct driver_setup *setup)
{
	struct verbs_backend *backend = rdma_backend(setup->model);
	int error = verbs_attach(device, verbs_backend_registers(backend), setup->channel,
				 setup->memory);

	if (!error) {
		(*device)->timed = rdma_place(setup->model)->settings->mode != RDMA_MODE_NONE;
		(*device)->refusal_of = backend;
		(*device)->refusal = backend_refusal;
	}
	return error;
}
