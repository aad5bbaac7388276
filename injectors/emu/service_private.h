/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the service share: service.c (queue, ISR), scheduler.c, handler.c. */
#ifndef FAULTLINE_SERVICE_PRIVATE_H
#define FAULTLINE_SERVICE_PRIVATE_H

#include <stdatomic.h>

#include "injectors/emu/page_group.h"
#include "injectors/emu/request_queue.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/timed_queue.h"

/* One thread that runs bottom halves. */
struct handler {
	int cpu;	  /* where it is bound to, -1: nowhere */
	atomic_uint load; /* groups given to it and not yet answered */
	struct service *service;
	struct timed_queue *groups; /* of struct page_group * */
	pthread_t thread;
	bool running;
};

/* How the scheduler sees a tenant. */
struct service_tenant {
	__u32 first, count; /* its handlers; of SCHEDULER_SERIAL none */
	__u32 turn;	    /* ISR thread: where to begin among equals */
	atomic_uint load;   /* groups of it with any handler */
};

struct service {
	struct service_config config;
	struct service_ops ops;
	void *machine;
	struct request_queue *queue;
	struct group_table *table;
	cpu_set_t *tenant_cpus;
	__s32 *device_msi; /* NULL: every device is polled */
	struct service_tenant *tenants;
	struct handler *handlers;
	__u32 handler_count;
	pthread_t isr;
	bool isr_running;
	struct timed_queue *calls; /* service_timer.c */
	pthread_t timer;
	bool timer_running;
	/* per device and group index: requests accepted and not yet answered or discarded */
	_Atomic __u32 *pending;

	_Atomic __u64 interrupts, groups, discarded, off_tenant, at_msi, off_msi, behind_others;
	_Atomic __u64 responses[16];
};

/* scheduler.c */
int scheduler_start(struct service *service);
void scheduler_stop(struct service *service);
/* Gives a complete group to the handler thread that the policy names. */
void scheduler_dispatch(struct service *service, struct page_group *group);

/* service_timer.c */
int timer_start(struct service *service);
void timer_stop(struct service *service);

/* handler.c: the bottom half, in a handler thread; consumes the group. */
void handle_group(struct service *service, struct page_group *group);

/* service.c: the service is done with `count` requests of this group. */
void service_done(struct service *service, const struct page_group_key *key, __u32 count);
/* Nobody will answer what is there of this group. */
void service_discard(struct service *service, const struct page_group *group);

#endif
