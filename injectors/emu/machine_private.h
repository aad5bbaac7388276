/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the machine share: machine.c (life), machine_build.c (assembly),
 * machine_check.c (of what), machine_drivers.c, machine_service.c (what the fault service asks), evict.c, reclaim.c. */
#ifndef FAULTLINE_MACHINE_PRIVATE_H
#define FAULTLINE_MACHINE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/access_log.h"
#include "injectors/emu/hyv/quota.h"
#include "injectors/emu/idle_pages.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/memory_limit.h"
#include "injectors/emu/page_lock.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/port.h"
#include "injectors/emu/registry.h"
#include "injectors/emu/vm/handover.h"
#include "lib/base/random.h"

struct tenant {
	struct machine *machine; /* that it is in */
	struct tenant_config config;
	struct guest_memory *memory;
	struct page_locks *locks;     /* keep a resolve and an eviction apart */
	struct page_locks *evictions; /* keep two evictions apart, or one and a pin, all along */
	struct pins *pins;
	struct quota_account quota; /* of its guests, at all its devices with a mode */
	_Atomic unsigned char
		*touched; /* a byte a page, set by DMA; NULL: nobody asks (page_clock.h) */
	__u64 physical;
	__u32 *devices; /* indices in the machine */
	__u32 device_count;
	struct vm_handover *handover; /* of a virtual machine's memory; NULL: it is none */
	char vm_name[VM_QEMU_NAME];
	pid_t vm_pid; /* of its QEMU, as it was announced; 0: none */
};

struct machine_device {
	struct device_config config;
	void *model;
	void *driver; /* NULL: it has nothing to do */
	const struct device_driver *driver_ops;
	struct channel *channel;
	struct iommu_domain *domain;
	struct lookup *lookup;
	struct port *port;
	__u32 pasid;
	__u64 iova_offset;     /* IOVA = guest address + this */
	__u64 read_only_start; /* guest addresses, equal: nothing is */
	__u64 read_only_end;
	pthread_mutex_t next_lock; /* evictions of what comes next take turns */
	struct frame_totals frames;
	struct rdma_totals rdma;
	struct vhost_stats vhost; /* of a virtual machine's, as it stopped */
};

struct machine {
	struct machine_config config; /* arrays are copies of our own */
	struct tenant *tenants;
	struct machine_device *devices;
	struct inject_table *injections;
	struct service *service;
	struct iotlb *iotlb; /* one IOMMU's, NULL: none */
	struct emq *emq;     /* one PA manager for all devices */
	struct access_log *access_log;
	struct registry *registry;
	atomic_ullong next_token;   /* of invalidations */
	atomic_ullong upgrades;	    /* read-only pages made writable */
	struct histogram latencies; /* of I/Os of virtual machines' disks, which have stopped */
	atomic_ullong next_choice;  /* makes the random choices of one eviction unlike the next's */
	struct reclaimer *reclaimer;
	struct idle_pages *idle;     /* NULL: nothing goes by it */
	struct protector *protector; /* NULL: there is none */
	struct kvstores *kvstores;   /* NULL: there are none */
	struct memory_limit *limit;  /* NULL: there is none */
	bool listening, prepared, started, begun, stopped;
};

static inline const struct device_driver *driver_of(const struct machine_device *device)
{
	return device->driver_ops;
}

/* machine_check.c: refuses, with a sentence, what cannot be put together. */
int machine_check(const struct machine_config *config);
/* machine_build.c: everything but devices that run and their drivers. */
int machine_build(struct machine *machine, const struct machine_config *config);
void machine_dismantle(struct machine *machine);
/* machine_drivers.c, of a device that has started: only then is the size of a disk known. */
int machine_build_driver(struct machine *machine, __u32 index);
/* The [traffic] of a device, NULL if it has none. */
const struct traffic_config *machine_traffic(const struct machine *machine, __u32 device);

/* machine_direct.c: tells the devices of a virtual machine what their own accesses have met. */
struct memory_watch machine_watch(struct tenant *tenant);

/* machine_vms.c: what listens for a virtual machine's memory; 0 for other tenants. After their memory. */
int machine_build_vm(struct machine *machine, __u32 tenant);
/* Gives a virtual machine's device a socket if the job has none for it; before it starts. */
int machine_build_vm_socket(struct machine *machine, __u32 device);
/* What its vhost-user part has counted, before it stops. */
void machine_keep_vhost(struct machine_device *device);
/* What a virtual machine's device has come to, of which `port` is a part; of another nothing. */
void machine_add_vm_device(struct machine_totals *totals, const struct machine_device *device,
			   const struct port_stats *port);
/* Before memory goes and after nothing touches it any more. */
void machine_close_vms(struct machine *machine);
/* What observers are told of: a virtual machine by QEMU's name and process. */
void machine_tenant_text(const struct tenant *tenant, char *text, size_t size);

/* machine_service.c */
extern const struct service_ops machine_service_ops;
/*
 * Makes a page present and maps it for the device as a fault of its would (`write`: by a write), without one.
 * The caller keeps evictions of the page out, and tells the lookup.
 */
int machine_grant(struct machine *machine, __u32 device, __u64 guest_address, bool write);

/*
 * evict.c: takes one page of a tenant in the safe order. 0 once its absence is proven, EVICT_GONE if it
 * was absent already or another's eviction took it meanwhile, EVICT_PINNED if it stays because a device keeps
 * it, -EBUSY.
 */
#define EVICT_GONE   1
#define EVICT_PINNED 2
int evict_page(struct machine *machine, __u32 tenant, __u64 guest_address, enum evict_kind kind);
/* Major, and also of a page that has a frame which the guest's CPUs have not mapped. */
int evict_held_page(struct machine *machine, __u32 tenant, __u64 guest_address);
/* A sequence of random choices, from the machine's seed; below: 1 to 2^32. */
struct random choice_begin(struct machine *machine);
__u64 choose(struct random *random, __u64 below);

/* reclaim.c: evicts in a thread of its own until stopped. Nothing to do: *reclaimer is NULL. */
int reclaimer_start(struct reclaimer **reclaimer, struct machine *machine);
void reclaimer_stop(struct reclaimer *reclaimer);

#endif
