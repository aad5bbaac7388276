// SPDX-License-Identifier: GPL-2.0
/*
 * A manager's life: borrows the controller, resets it, and looks whether it still has it.
 *
 * A manager that is begun anew cannot go on with its former life's admin queue: the whole controller is reset, of which clients
 * learn by the epoch when they ask. Numbers of pairs stay their owners' until these have asked what became of their commands.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/share_manager.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define MANAGER_LOOK_NS (20 * NSEC_PER_MSEC)
#define MANAGER_WINDOW	(2u << 20)
#define MANAGERS_MAX	64

/* Of this process: entries come and go under the lock, in tests for several hosts. */
static struct manager *managers[MANAGERS_MAX];
static pthread_mutex_t managers_lock = PTHREAD_MUTEX_INITIALIZER;

struct manager *manager_of(const struct cluster *cluster, __u32 device)
{
	struct manager *found = NULL;

	pthread_mutex_lock(&managers_lock);
	for (__u32 i = 0; !found && i < MANAGERS_MAX; i++)
		if (managers[i] && managers[i]->cluster == cluster && managers[i]->device == device)
			found = managers[i];
	pthread_mutex_unlock(&managers_lock);
	return found;
}

static void manager_list(struct manager *manager, bool listed)
{
	struct manager *from = listed ? NULL : manager, *to = listed ? manager : NULL;

	pthread_mutex_lock(&managers_lock);
	for (__u32 i = 0; i < MANAGERS_MAX; i++)
		if (managers[i] == from) {
			managers[i] = to;
			break;
		}
	pthread_mutex_unlock(&managers_lock);
}

static bool manager_stops(const struct manager *manager)
{
	return __atomic_load_n(&manager->stop, __ATOMIC_ACQUIRE);
}

static void manager_step(struct manager *manager, enum cluster_step step, __u64 took_ns, int error)
{
	cluster_step(
		manager->cluster,
		&(struct step){.step = step,
			       .device = manager->device,
			       .borrow = manager->borrowed ? manager->borrow.number : CLUSTER_NONE,
			       .other_host = function_host(manager->cluster, manager->function),
			       .took_ns = took_ns,
			       .error = -error});
}

static int manager_memory(struct manager *manager)
{
	struct bus *bus = &manager->bus;
	void *memory;
	int err = bus->ops->dma_alloc(bus, HOST_PAGE, &memory, &manager->commands_address);

	if (err)
		return err;
	manager->commands = memory;
	err = bus->ops->dma_alloc(bus, HOST_PAGE, &memory, &manager->completions_address);
	if (err)
		return err;
	manager->completions = memory;
	err = bus->ops->dma_alloc(bus, HOST_PAGE, &manager->page, &manager->page_address);
	return err;
}

static void manager_memory_free(struct manager *manager)
{
	struct bus *bus = &manager->bus;

	if (manager->commands)
		bus->ops->dma_free(bus, HOST_PAGE, manager->commands, manager->commands_address);
	if (manager->completions)
		bus->ops->dma_free(bus, HOST_PAGE, (void *)manager->completions,
				   manager->completions_address);
	if (manager->page)
		bus->ops->dma_free(bus, HOST_PAGE, manager->page, manager->page_address);
	manager->commands = NULL;
	manager->completions = NULL;
	manager->page = NULL;
}

static bool manager_is_local(const struct manager *manager)
{
	return function_host(manager->cluster, manager->function) == manager->cluster->host;
}

/* Under its lock. */
static void manager_close(struct manager *manager)
{
	struct share_controller *controller = share_controller(manager->cluster, manager->device);

	if (controller->manager == manager->cluster->self)
		__atomic_store_n(&controller->state, SHARE_ENDED, __ATOMIC_RELEASE);
	if (manager->open) {
		manager_memory_free(manager);
		if (!manager_is_local(manager))
			bus_lent_close(&manager->bus);
	}
	manager->open = false;
	if (manager->borrowed)
		lend_return(manager->cluster, &manager->borrow);
	manager->borrowed = false;
}

static int manager_bus_open(struct manager *manager)
{
	struct lend_wish wish = {.function = manager->function,
				 .adapters = {CLUSTER_NONE, CLUSTER_NONE},
				 .window = MANAGER_WINDOW,
				 .shared = true};
	const struct host_config *host = &manager->cluster->config->hosts[manager->cluster->host];
	int err;

	manager->detour = false;
	if (!host->iommu && host->memory > wish.window)
		wish.window = host->memory; /* what lend_borrow() asks for there */
	err = lend_borrow(manager->cluster, &wish, &manager->borrow);
	if (err)
		return err;
	manager->borrowed = true;
	if (manager_is_local(manager))
		manager_bus_local(manager);
	else
		err = bus_lent_open(&manager->bus, manager->cluster, &manager->borrow);
	if (err)
		return err;
	manager->open = true;
	manager->bus.ops->config_write(&manager->bus, 4, 2, 6); /* memory, bus master */
	return manager_memory(manager);
}

/* What clients ask for is told before they may ask: `state` comes last. */
static int manager_reset_shared(struct manager *manager)
{
	struct cluster *cluster = manager->cluster;
	struct share_controller *controller = share_controller(cluster, manager->device);
	__u64 begin = monotonic_ns();
	int err;

	__atomic_store_n(&controller->state, SHARE_NONE, __ATOMIC_RELEASE);
	controller->manager = cluster->self;
	controller->life = agent_life(cluster, cluster->self);
	controller->function = manager->function;
	controller->borrow = manager->borrow.number;
	controller->lender_domain = manager->borrow.lender_domain;
	controller->borrower_domain = manager->borrow.borrower_domain;
	/* Who sees the epoch maps in its domains. */
	__atomic_store_n(&controller->epoch, controller->epoch + 1, __ATOMIC_RELEASE);
	access_user_set(cluster, manager->device, cluster->self, true);
	err = manager_reset_controller(manager);
	manager_step(manager, STEP_MANAGER_RESET, monotonic_ns() - begin, err);
	if (!err)
		__atomic_store_n(&controller->state, SHARE_READY, __ATOMIC_RELEASE);
	return err;
}

/* Gets it, or gets it again; what of it fails is tried again by the next look. */
static void manager_look(struct manager *manager)
{
	struct cluster *cluster = manager->cluster;

	pthread_mutex_lock(&manager->lock);
	if (manager->open && (manager->detour || lend_check(cluster, &manager->borrow)))
		manager_close(manager);
	if (!manager->open && !manager_stops(manager)) {
		if (manager_bus_open(manager) || manager_reset_shared(manager))
			manager_close(manager);
	} else if (manager->open && manager->lost && !manager->bus.ops->state(&manager->bus)) {
		if (manager_reset_shared(manager))
			manager->lost = true;
	}
	pthread_mutex_unlock(&manager->lock);
}

static void *manager_thread(void *of)
{
	struct manager *manager = of;
	struct cluster *cluster = manager->cluster;

	while (!manager_stops(manager)) {
		__u32 seen = agent_events(cluster);

		manager_look(manager);
		if (!manager_stops(manager))
			agent_wait(cluster, seen, MANAGER_LOOK_NS);
	}
	return NULL;
}

static int manager_start(struct cluster *cluster, __u32 device)
{
	struct manager *manager = calloc(1, sizeof(*manager));

	if (!manager)
		return failed(-ENOMEM, "no memory for a manager");
	manager->cluster = cluster;
	manager->device = device;
	manager->function = function_of(cluster, device, 0);
	pthread_mutex_init(&manager->lock, NULL);
	if (pthread_create(&manager->thread, NULL, manager_thread, manager)) {
		free(manager);
		return failed(-EAGAIN, "no thread for a manager");
	}
	manager_list(manager, true);
	return 0;
}

int managers_start(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	int err = 0;

	for (__u32 i = 0; !err && i < config->manager_count; i++)
		if (config->managers[i].host == cluster->host)
			err = manager_start(cluster, config->managers[i].device);
	return err;
}

static void manager_stop(struct manager *manager)
{
	struct cluster *cluster = manager->cluster;

	__atomic_store_n(&manager->stop, 1, __ATOMIC_RELEASE);
	pthread_join(manager->thread, NULL);
	pthread_mutex_lock(&manager->lock);
	manager_disable(manager);
	for (__u32 i = 0; manager->open && i <= SHARE_QUEUES; i++)
		share_controller(cluster, manager->device)->pairs[i] = (struct share_pair){0};
	manager_close(manager);
	pthread_mutex_unlock(&manager->lock);
	manager_list(manager, false);
	pthread_mutex_destroy(&manager->lock);
	free(manager);
}

void managers_stop(struct cluster *cluster)
{
	for (__u32 device = 0; device < cluster->config->device_count; device++) {
		struct manager *manager = manager_of(cluster, device);

		if (manager)
			manager_stop(manager);
	}
}
