// SPDX-License-Identifier: GPL-2.0
/*
 * A guest's interrupts: its device's, at the lender, are handled there and told to the borrower, who writes the guest's eventfd
 * (PV section 5.4). So a legacy interrupt can be relayed, which no window could carry; each costs a handler and a message.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/guest_private.h"
#include "injectors/cluster/inject.h"
#include "injectors/cluster/message.h"
#include "injectors/cluster/seen.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* How often a handler that has nothing to do looks whether it is to end. */
#define GUEST_LOOK_NS (100 * NSEC_PER_MSEC)

struct guest_handler {
	struct cluster *cluster;
	__u32 vm, vector;
	pthread_t thread;
};

static struct {
	struct guest_handler *handlers;
	__u32 count;
	bool stopping;
} guest_handlers;

/* Delayed or lost by an injection; true: it goes on. */
static bool guest_interrupt_injected(const struct guest_handler *handler,
				     struct guest_shared *guest)
{
	__u32 device = handler->cluster->config->vms[handler->vm].device;
	const struct cluster_injection *injection;

	if (cluster_inject(handler->cluster, CLUSTER_IRQ_LOST, device, &injection)) {
		__atomic_fetch_add(&guest->results.interrupts_lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (cluster_inject(handler->cluster, CLUSTER_IRQ_LATE, device, &injection)) {
		struct timespec delay = timespec_of_ns(injection->delay_ns);

		__atomic_fetch_add(&guest->results.interrupts_late, 1, __ATOMIC_RELAXED);
		nanosleep(&delay, NULL);
	}
	return true;
}

static void guest_interrupt_tell(const struct guest_handler *handler, __u32 borrow, __u64 begin_ns)
{
	struct message message = {.type = MESSAGE_GUEST_INTERRUPT};

	message.words[0] = handler->vm;
	message.words[1] = handler->vector;
	message.words[2] = borrow;
	message.words[3] = begin_ns;
	message_tell(handler->cluster, handler->cluster->config->vms[handler->vm].host, &message);
}

static void *guest_handler_run(void *argument)
{
	struct guest_handler *handler = argument;
	struct cluster *cluster = handler->cluster;
	const struct vm_config *vm = &cluster->config->vms[handler->vm];
	struct guest_shared *guest = guest_of(cluster, handler->vm);
	__u32 function = function_of(cluster, vm->device, vm->function);
	__u32 seen = interrupt_count(cluster, cluster->host, function, handler->vector);

	while (!__atomic_load_n(&guest_handlers.stopping, __ATOMIC_ACQUIRE)) {
		__u32 borrow;
		__u64 begin;

		if (interrupt_wait(cluster, cluster->host, function, handler->vector, seen,
				   GUEST_LOOK_NS))
			continue;
		begin = monotonic_ns();
		seen = interrupt_count(cluster, cluster->host, function, handler->vector);
		borrow = __atomic_load_n(&guest->relayed, __ATOMIC_ACQUIRE);
		/* Somebody else's of the same function, who takes them without us. */
		if (!borrow || !lend_lasts(cluster, borrow))
			continue;
		if (guest_interrupt_injected(handler, guest))
			guest_interrupt_tell(handler, borrow, begin);
	}
	return NULL;
}

static __u32 guest_handlers_wanted(const struct cluster *cluster)
{
	__u32 wanted = 0;

	for (__u32 i = 0; i < cluster->config->vm_count; i++)
		if (cluster->config->devices[cluster->config->vms[i].device].host == cluster->host)
			wanted += GUEST_VECTORS;
	return wanted;
}

static int guest_handler_start(struct cluster *cluster, __u32 vm, __u32 vector)
{
	struct guest_handler *handler = &guest_handlers.handlers[guest_handlers.count];
	int err;

	*handler = (struct guest_handler){.cluster = cluster, .vm = vm, .vector = vector};
	err = pthread_create(&handler->thread, NULL, guest_handler_run, handler);
	if (err)
		return failed(-err, "cannot start the handler of %s's interrupts",
			      cluster->config->vms[vm].name);
	guest_handlers.count++;
	return 0;
}

int guests_start(struct cluster *cluster)
{
	__u32 wanted = guest_handlers_wanted(cluster);
	int err = 0;

	guest_handlers.stopping = false;
	guest_handlers.count = 0;
	guest_handlers.handlers = calloc(wanted ? wanted : 1, sizeof(*guest_handlers.handlers));
	if (!guest_handlers.handlers)
		return failed(-ENOMEM, "no memory for handlers of guests' interrupts");
	for (__u32 i = 0; !err && i < cluster->config->vm_count; i++) {
		if (cluster->config->devices[cluster->config->vms[i].device].host != cluster->host)
			continue;
		for (__u32 vector = 0; !err && vector < GUEST_VECTORS; vector++)
			err = guest_handler_start(cluster, i, vector);
	}
	if (err)
		guests_stop(cluster);
	return err;
}

void guests_stop(struct cluster *cluster)
{
	(void)cluster;
	__atomic_store_n(&guest_handlers.stopping, true, __ATOMIC_RELEASE);
	for (__u32 i = 0; i < guest_handlers.count; i++)
		pthread_join(guest_handlers.handlers[i].thread, NULL);
	free(guest_handlers.handlers);
	guest_handlers.handlers = NULL;
	guest_handlers.count = 0;
}

/* Of the borrower's control thread. */
int guest_serve_interrupt(struct cluster *cluster, struct message *message)
{
	const struct agent_info *asker = agent_info(cluster, message->from);
	__u32 vm = (__u32)message->words[0], vector = (__u32)message->words[1];
	struct guest_shared *guest = guest_of(cluster, vm);
	__u64 one = 1, took_ns = monotonic_ns() - message->words[3];
	struct cluster_truth truth = {.what = "interrupt", .number = vector, .value = took_ns};

	if (!guest || vector >= GUEST_VECTORS || cluster->config->vms[vm].host != cluster->host ||
	    !asker || asker->host != cluster->config->devices[cluster->config->vms[vm].device].host)
		return failed(-EPERM, "no guest of this host has that interrupt");
	__atomic_fetch_add(&guest->interrupts[vector], 1, __ATOMIC_RELEASE);
	if (write(guest->eventfds[vector], &one, sizeof(one)) != sizeof(one))
		return failed(-errno, "cannot tell %s of its interrupt",
			      cluster->config->vms[vm].name);
	guest->results.interrupts++;
	guest->results.relay_ns += took_ns;
	if (took_ns > guest->results.relay_longest_ns)
		guest->results.relay_longest_ns = took_ns;
	truth.device = cluster->config->vms[vm].device;
	truth.borrow = (__u32)message->words[2];
	truth.agent = message->from;
	truth_cluster(cluster, &truth);
	seen_interrupt_relayed(cluster, truth.device, took_ns);
	return 0;
}
