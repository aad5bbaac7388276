// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/kvstores.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/kvstore/kv_load.h"
#include "injectors/emu/kvstore/kv_server.h"
#include "injectors/emu/machine_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

struct kvstore {
	struct kv_items *items;
	struct kv_server *server;
	struct kv_load *load;
	struct kvstore_result result;
};

struct kvstores {
	struct machine *machine;
	struct kv_start start;
	__u32 count;
	struct kvstore list[];
};

/* The last bytes of what its NIC has: rings and buffers are at the beginning (plan_kvstore.c sees to it). */
static __u64 first_address(const struct machine *machine, const struct kvstore_config *config)
{
	const struct channel *channel = machine->devices[config->device].channel;

	return (channel->data_address + channel->data_bytes - config->items * config->item_bytes) &
	       ~(PAGE_BYTES - 1);
}

/* The memory is registered with the NIC: with `pin` it is in its IOPT, and stays. */
static int open_store(struct kvstores *stores, __u32 index)
{
	struct machine *machine = stores->machine;
	const struct kvstore_config *config = &machine->config.kvstores[index];
	const struct tenant *tenant =
		&machine->tenants[machine->devices[config->device].config.tenant];
	__u64 address = first_address(machine, config);
	struct kvstore *store = &stores->list[index];
	int err = 0;

	if (config->pin)
		err = machine_pin(machine, config->device, address,
				  config->items * config->item_bytes, true);
	if (!err)
		err = kv_items_create(&store->items, guest_memory_cpu(tenant->memory, address),
				      config->items, config->item_bytes);
	if (!err)
		err = kv_server_start(&store->server, machine_network(machine, config->device),
				      store->items, config->item_bytes);
	return err;
}

static int start_servers(struct kvstores *stores)
{
	const struct machine_config *config = &stores->machine->config;
	int err = 0;

	for (__u32 i = 0; !err && i < stores->count; i++) {
		const struct device_config *device = &config->devices[config->kvstores[i].device];

		histogram_init(&stores->list[i].result.latency);
		err = open_store(stores, i);
		stores->list[i].result.started = !err;
		if (err != -ENOMEM)
			continue;
		fprintf(stderr, "%s/%s: store %s does not start: %s\n",
			config->tenants[device->tenant].name, device->name,
			config->kvstores[i].name, failure_text());
		err = 0;
	}
	return err;
}

static int start_loads(struct kvstores *stores)
{
	const struct machine_config *config = &stores->machine->config;
	int err = 0;

	for (__u32 i = 0; i < stores->count; i++)
		if (stores->list[i].result.started)
			stores->start.clients += config->kvstores[i].clients;
	for (__u32 i = 0; !err && i < stores->count; i++) {
		struct kvstore *store = &stores->list[i];

		if (store->result.started)
			err = kv_load_start(
				&store->load,
				machine_network(stores->machine, config->kvstores[i].device),
				&config->kvstores[i], &stores->start, &store->result);
	}
	return err;
}

int kvstores_start(struct kvstores **stores, struct machine *machine)
{
	__u32 count = machine->config.kvstore_count;
	struct kvstores *new;
	int err;

	if (!count)
		return 0;
	new = calloc(1, sizeof(*new) + count * sizeof(new->list[0]));
	if (!new)
		return failed(-ENOMEM, "no memory for %u stores", count);
	new->machine = machine;
	new->count = count;
	*stores = new; /* the machine's, to be stopped in any case */
	err = start_servers(new);
	return err ? err : start_loads(new);
}

int kvstores_wait(struct kvstores *stores, __u64 timeout_ns)
{
	__u64 until = monotonic_ns() + timeout_ns, now;
	int err = 0;

	for (__u32 i = 0; stores && !err && i < stores->count; i++) {
		now = monotonic_ns();
		if (stores->list[i].load)
			err = kv_load_wait(stores->list[i].load, until > now ? until - now : 0);
	}
	return err;
}

void kvstores_stop(struct kvstores *stores)
{
	if (!stores)
		return;
	atomic_store(&stores->start.stop, true);
	for (__u32 i = 0; i < stores->count; i++) {
		struct kvstore *store = &stores->list[i];

		kv_load_stop(store->load);
		kv_server_stop(store->server);
		if (store->items)
			store->result.replaced = kv_items_replaced(store->items);
		kv_items_destroy(store->items);
		store->load = NULL;
		store->server = NULL;
		store->items = NULL;
	}
}

void kvstores_destroy(struct kvstores *stores)
{
	for (__u32 i = 0; stores && i < stores->count; i++)
		free(stores->list[i].result.windows);
	free(stores);
}

const struct kvstore_result *kvstores_result(const struct kvstores *stores, __u32 store)
{
	return &stores->list[store].result;
}
