// SPDX-License-Identifier: GPL-2.0
/* The device's life, and how other threads have its engine do something. */
#include "injectors/emu/rdma/rdma.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/hyv/hyv_host.h"
#include "injectors/emu/machine_private.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_backend.h"
#include "lib/base/fail.h"

#define WAIT_YIELDS 64			 /* for a round to end, then ... */
#define WAIT_NS	    (20 * NSEC_PER_USEC) /* ... sleeps of this */

static void wait_a_little(__u32 tries)
{
	if (tries < WAIT_YIELDS)
		sched_yield();
	else
		sleep_until(monotonic_ns() + WAIT_NS);
}

int engine_do(struct rdma *device, int (*run)(struct rdma *device, void *argument), void *argument)
{
	struct engine_call call = {.run = run, .argument = argument};

	pthread_mutex_lock(&device->callers);
	if (!device->running) {
		pthread_mutex_unlock(&device->callers);
		return -ESHUTDOWN;
	}
	atomic_store_explicit(&device->call, &call, memory_order_release);
	doorbell_ring(device->bell);
	for (__u32 i = 0; !__atomic_load_n(&call.done, __ATOMIC_ACQUIRE); i++)
		wait_a_little(i);
	pthread_mutex_unlock(&device->callers);
	return call.result;
}

void rdma_quiesce(struct rdma *device)
{
	__u64 epoch;

	/* A full barrier: the engine's next round sees what was retired. */
	atomic_thread_fence(memory_order_seq_cst);
	epoch = atomic_load(&device->epoch);
	for (__u32 i = 0; epoch % 2 && atomic_load(&device->epoch) == epoch; i++)
		wait_a_little(i);
}

const struct rdma_place *rdma_place(const struct rdma *device)
{
	return &device->place;
}

struct verbs_backend *rdma_backend(const struct rdma *device)
{
	return device->backend;
}

struct hyv_host *rdma_host(const struct rdma *device)
{
	return device->host;
}

struct region_table *rdma_regions(struct rdma *device)
{
	return device->regions;
}

__u64 rdma_engine_ns(const struct rdma *device)
{
	struct timespec now;
	clockid_t clock;

	if (pthread_getcpuclockid(device->thread, &clock) || clock_gettime(clock, &now))
		return 0;
	return (__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec;
}

static int read_totals(struct rdma *device, void *totals)
{
	account_totals(device, totals);
	return 0;
}

void rdma_totals_now(struct rdma *device, struct rdma_totals *totals)
{
	if (engine_do(device, read_totals, totals))
		account_totals(device, totals);
}

/* Of an extension both ends must know, or the peer drops what it says and both wait for a timeout. */
static void set_transport(struct rdma *device, const struct rdma_settings *peer)
{
	const struct rdma_settings *settings = device->settings;

	device->transport = (struct transport_settings){
		.mtu = settings->mtu,
		.timeout_ns = settings->timeout_ns,
		.retries = (__u8)settings->retries,
		.rnr_retries = (__u8)settings->rnr_retries,
		.rnr_timer = (__u8)settings->rnr_timer,
		.read_rnr = settings->read_rnr && peer->read_rnr,
		.policy = fault_policies[settings->fault],
	};
}

static int rdma_create_parts(struct rdma *device, const struct device_setup *setup)
{
	const struct rdma_link_config link = {
		.machine = setup->machine,
		.device = setup->index,
		.peer = device->settings->peer_device,
		.settings = device->settings,
		.injections = machine_injections(setup->machine),
		.totals = setup->rdma,
	};
	int error = region_table_create(&device->regions, VERBS_REGIONS_MAX);

	if (!error)
		error = accesses_create(device) || fault_unit_create(device)
				? failed(-ENOMEM, "no memory for page requests")
				: 0;
	if (!error)
		error = observe_create(&device->observe, setup->index, device->pasid,
				       device->settings->queue_pairs);
	if (!error)
		error = rdma_link_open(&device->link, &link);
	if (!error)
		device->bell = rdma_link_doorbell(device->link);
	return error;
}

/* The engine has ended: what is left is the caller's. */
static void rdma_destroy(struct rdma *device)
{
	if (device->link)
		faults_end(device);
	for (__u32 i = 0; i < VERBS_QUEUE_PAIRS_MAX; i++)
		if (device->pairs[i])
			pair_release(device, device->pairs[i]);
	if (device->observe)
		observe_counters(device->observe, monotonic_ns());
	for (__u32 i = 0; i < VERBS_QUEUES_MAX; i++)
		queue_free(device->completion_queues[i]);
	for (__u32 i = 0; i < VERBS_SRQS_MAX; i++)
		free(device->shared[i]);
	if (device->link && device->result)
		account_totals(device, device->result);
	rdma_link_close(device->link);
	observe_destroy(device->observe);
	fault_unit_destroy(device);
	free(device->accesses);
	region_table_destroy(device->regions);
	pthread_mutex_destroy(&device->callers);
	pthread_mutex_destroy(&device->counting);
	free(device);
}

static int rdma_run(struct rdma *device)
{
	int error = dma_guard_install();

	if (!error)
		error = thread_start(&device->thread, &device->settings->engine_cpus, rdma_engine,
				     device, "rdma %s", device->place.name);
	device->running = !error;
	return error;
}

static void rdma_end(struct rdma *device)
{
	pthread_mutex_lock(&device->callers);
	atomic_store_explicit(&device->stopping, true, memory_order_release);
	doorbell_ring(device->bell);
	pthread_join(device->thread, NULL);
	device->running = false;
	pthread_mutex_unlock(&device->callers);
}

static int control_start(struct rdma *device)
{
	int error;

	if (device->settings->mode == RDMA_MODE_NONE)
		return verbs_backend_start(&device->backend, device);
	error = verbs_host_start(&device->host, device);
	if (!error)
		device->backend = hyv_host_backend(device->host);
	return error;
}

/* It destroys what its guest has left, for which it needs the engine. */
static void control_stop(struct rdma *device)
{
	if (device->host)
		hyv_host_destroy(device->host);
	else
		verbs_backend_destroy(device->backend);
}

int rdma_start(void **model, struct port *port, const struct device_setup *setup)
{
	struct rdma *device = calloc(1, sizeof(*device));
	int error;

	if (!device)
		return failed(-ENOMEM, "no memory for an RDMA device");
	device->settings = setup->settings;
	device->place = (struct rdma_place){setup->machine, setup->channel, setup->index,
					    setup->name, setup->settings};
	device->port = port;
	device->pasid = setup->channel->config.pasid;
	device->queues = setup->channel->config.queues;
	device->result = setup->rdma;
	device->injections = machine_injections(setup->machine);
	device->tenant = setup->machine->config.devices[setup->index].tenant;
	for (int step = 0; step < RDMA_STEPS; step++)
		atomic_init(&device->least_ns[step], UINT64_MAX);
	pthread_mutex_init(&device->callers, NULL);
	pthread_mutex_init(&device->counting, NULL);
	set_transport(device, setup->peer_settings);
	error = rdma_create_parts(device, setup);
	if (!error)
		error = rdma_run(device);
	if (!error)
		error = control_start(device);
	if (error) {
		if (device->running)
			rdma_end(device);
		rdma_destroy(device);
		return error;
	}
	*model = device;
	return 0;
}

void rdma_stop(void *model)
{
	struct rdma *device = model;

	control_stop(device);
	rdma_end(device);
	rdma_destroy(device);
}
