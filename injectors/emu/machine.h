/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulated machine: tenants with memory and CPUs, devices behind an IOMMU, one host service.
 *
 * machine_create() from a plain description (injectors/job fills it from a job file),
 * machine_start() runs it, injections act on it, machine_stop() ends every thread;
 * machine_destroy() frees. All sizes in bytes, all times in ns.
 */
#ifndef FAULTLINE_MACHINE_H
#define FAULTLINE_MACHINE_H

#include <signal.h>

#include "injectors/emu/device_class.h"
#include "injectors/emu/frame_totals.h"
#include "injectors/emu/rdma_totals.h"
#include "injectors/emu/round_trip.h"
#include "injectors/emu/ranks/ranks.h"
#include "injectors/emu/verbs_load/verbs_load.h"
#include "injectors/emu/kvstore.h"
#include "injectors/emu/memory_limit.h"
#include "injectors/emu/protector.h"
#include "injectors/emu/traffic.h"
#include "injectors/emu/vhost/vhost.h"
#include "injectors/emu/vm/qemu_config.h"
#include "injectors/emu/workload.h"

/* Which pages the reclaimer takes first. */
enum reclaim_order { RECLAIM_RANDOM, RECLAIM_IDLE };

#define MACHINE_TENANTS_MAX 1000
#define MACHINE_DEVICES_MAX 4096

/* What a tenant's guests may have of devices with a mode, 0: no limit; and what they may ask for. */
struct tenant_quota {
	__u64 pinned_bytes; /* registered, whole pages */
	__u32 regions, queue_pairs, completion_queues;
	unsigned int rights; /* enum verbs_right bits that a region may have */
};

struct tenant_config {
	char name[64];
	__u64 memory;
	__u64 memlock; /* bytes that devices may pin of it (pins.h), 0: no limit */
	enum memory_backend backend;
	bool unprotected;  /* MEMORY_VM: as of struct guest_memory_config (write_protect = no) */
	cpu_set_t cpus;	   /* empty: all CPUs of the machine */
	bool own_process;  /* its guest runs in a process of its own (process = own) */
	char program[512]; /* the command that it runs; empty: what the job says of its devices */
	char program_ready[16]; /* where it listens before the next one begins; "": nowhere */
	struct tenant_quota quota;
	struct qemu_config vm; /* with backend MEMORY_VM */
};

struct device_config {
	char name[64]; /* within its tenant */
	__u32 tenant;  /* index */
	const struct device_class *class;
	__u16 queues;	     /* 1 to 64 */
	__u16 queue_depth;   /* descriptors per queue, power of two, 2 to the class's depth_max */
	__u32 group_pages;   /* requests per page request group, 1 to GROUP_PAGES_MAX */
	__u32 page_requests; /* unanswered ones at most, 0: no limit (struct port_config) */
	enum lookup_kind lookup;
	struct cache_config
		devtlb; /* as of struct lookup_config; the seed is made of the machine's */
	__u64 lookup_delay_ns;
	bool huge;		   /* the IOPT has 2 MiB entries where they fit (premap) */
	__u32 read_only_percent;   /* of its data pages, from the first on, are mapped read-only */
	bool refuse_writes;	   /* to them: INVALID; else they become writable */
	__s64 msi_cpu;		   /* where its MSI is registered, -1: its driver polls */
	__u64 response_timeout_ns; /* give a group up after this, 0: 1 s */
	__u64 reenable_ns;	   /* page requests are disabled so long after a FAILURE */
	bool pasid;		   /* addresses are user addresses under a PASID (SVA) */
	struct device_settings settings; /* what only its class knows */
};

/* The file that the device is given, NULL if it has none. */
static inline struct device_file *device_given_file(struct device_config *device)
{
	struct device_file *file =
		device->class->file ? device->class->file(&device->settings) : NULL;

	return file && *file->path ? file : NULL;
}

struct machine_config {
	char name[64];
	__u32 tenant_count, device_count, workload_count, traffic_count, ranks_count;
	struct tenant_config *tenants;
	struct device_config *devices;
	struct workload_config *workloads; /* injectors/emu/workload.h */
	struct traffic_config *traffics;   /* injectors/emu/traffic.h */
	struct ranks_config *ranks;	   /* injectors/emu/ranks/ranks.h */
	struct kvstore_config *kvstores;   /* injectors/emu/kvstore.h */
	struct verbs_load_config *verbs;   /* injectors/emu/verbs_load/verbs_load.h */
	__u32 kvstore_count, verbs_count;
	enum scheduler_kind scheduler;
	__u32 request_queue_entries;
	__u32 event_queue_entries; /* 0: EMQ_ENTRIES */
	__u32 handler_backlog;	   /* as of struct service_config */
	char directory[256];	   /* for backing files; empty: $TMPDIR or /var/tmp */
	struct cache_config
		iotlb; /* of the IOMMU, for devices with an ats lookup; 0 entries: none */
	__u64 seed;
	bool premap; /* IOPT and lookup filled for present pages at start */
	/* reclaimer: keeps `reclaim_percent` of each tenant's memory out, 0: off */
	__u32 reclaim_percent;
	enum evict_kind reclaim_kind;
	enum reclaim_order reclaim_order;
	__u64 reclaim_interval_ns;
	__u64 reclaim_scan_ns; /* idle: between two looks at the accessed bits; 0: 100 ms */
	/* As of struct access_log_config, whose defaults 0 stands for. */
	__u32 access_log_buffers, access_log_records;
	__u64 access_log_interval_ns;
	bool access_log_punctual;
	struct protector_options protector;
	__u64 memory_limit; /* of all tenants together, bytes (memory_limit.h), 0: none; premap is off then */
	char memory_group
		[256]; /* directory of the memory cgroup that this process is in; "": none */
};

struct machine;
struct network;

/* Of a virtual machine (vm/handover.h). */
struct vm_status;

/* Copies what it needs of the configuration. -EINVAL with a sentence for what cannot be built. */
int machine_create(struct machine **machine, const struct machine_config *config);
/*
 * Devices run and virtual machines find them and their memory, but observers do not find the machine yet: machine_prepare() does
 * that, and this first. On failure machine_stop() is the caller's.
 */
int machine_listen(struct machine *machine);
/* Where a virtual machine's memory is handed over, and where a device of one speaks vhost-user; as long as the machine. */
const char *machine_vm_socket(const struct machine *machine, __u32 tenant);
const char *machine_device_socket(struct machine *machine, __u32 device);
/* What has become of a virtual machine; of another tenant nothing may be asked. Any thread, after machine_listen(). */
void machine_vm_status(const struct machine *machine, __u32 tenant, struct vm_status *status);
/* Its QEMU's name and process, which observers are told of: before machine_prepare(). */
void machine_vm_process(struct machine *machine, __u32 tenant, const char *name, pid_t pid);
/*
 * Once in a machine's life: devices run, observers find them. machine_start() does it, too, and has drivers and their loads begin;
 * in between injections are armed that no load shall escape. On failure everything that had been started is stopped again.
 */
int machine_prepare(struct machine *machine);
int machine_start(struct machine *machine);
/* After machine_start(), once injections are armed: frames that are made up begin. machine_wait() does it, too. */
int machine_begin(struct machine *machine);
/* 0 when every driver that ends by itself is done; -EINTR once `*stop` is nonzero; -ETIMEDOUT after `timeout_ns`. */
int machine_wait(struct machine *machine, __u64 timeout_ns, const volatile sig_atomic_t *stop);
/* Ends every thread, injected delays and waits included; no machine_evict() may be under way. The
 * totals and the workloads' results stay until machine_destroy(). */
void machine_stop(struct machine *machine);
void machine_destroy(struct machine *machine);

struct inject_table *machine_injections(struct machine *machine);

/*
 * Eviction for injections, in the safe order (device, IOPT, frame) with every step probed.
 *   EVICT_NEXT    pages that the next I/Os of the device's driver will touch, before these are sent
 *   EVICT_RANDOM  uniformly over the pages of the device's driver
 *   EVICT_IDLE    of those what was not used for longest (idle_pages.h); with reclaim_order RECLAIM_IDLE
 *   EVICT_RING    what the device's driver has posted at this instant, of the sides asked for
 *   EVICT_ALL     every page of the device's tenant that its devices can reach
 * Returns pages evicted and proven absent, or a negative errno. From several threads at once, for one device
 * too.
 */
enum evict_choice { EVICT_NEXT, EVICT_RANDOM, EVICT_ALL, EVICT_RING, EVICT_IDLE };
struct evict_order {
	enum evict_choice choice;
	enum evict_kind kind;
	__u32 pages;	    /* next, random, idle: how many */
	unsigned int sides; /* ring: a RING_SIDE() for each */
	__u64 seed; /* of what is chosen at random; 0: the machine's, unlike the time before */
};
struct evict_outcome {
	__u32 asked;   /* pages aimed at: they were present */
	__u32 skipped; /* pages that were not, as they are pinned (pins.h) */
};
long machine_evict(struct machine *machine, __u32 device, const struct evict_order *order,
		   struct evict_outcome *outcome);

/* Whether a share of its memory is kept out (reclaim_percent). */
bool machine_reclaims(const struct machine *machine);
/* A pass of the reclaimer's in the caller's thread, beside its own: then that share is out, or `*stopping`. */
void machine_reclaim(struct machine *machine, const _Atomic bool *stopping);

struct machine_totals {
	struct service_stats service;
	struct guest_memory_stats memory; /* summed */
	struct lookup_stats lookup;	  /* summed */
	struct emq_stats emq;
	__u64 ios, io_errors, io_bytes;
	__u64 faults;				       /* page requests raised */
	__u64 groups;				       /* page request groups raised */
	__u64 automatic, disabled, refused, held_back; /* as of struct port_stats */
	__u64 violations; /* of the invariants: DMA to an absent frame, a PAE ahead of its IOPT entry,
			     a response nobody waits for; 0 or there is a bug */
	__u64 upgrades;	  /* read-only pages made writable */
	__u64 pinned;	  /* pages of guests that devices keep (pins.h), now */
	struct memory_limit_stats limit;   /* of memory_limit */
	__u64 pinned_most, pinned_skipped; /* at once at most; evictions that passed over one */
	__u64 pins_refused;		   /* for a tenant's memlock */
	struct protector_stats protector;
	struct access_log_stats accesses;
	__u64 memory_bytes;	   /* of all tenants */
	__u64 huge, splits;	   /* 2 MiB entries that IOPTs got, and that were split */
	double best_round_trip_ns; /* mean of the tenant whose is shortest; 0: nobody faulted */
	/* Of virtual machines' devices, summed; of some after machine_stop() alone. */
	struct vhost_stats vhost;
	__u32 vm_queues;
	__u64 vm_open_ns;	       /* over their queues, the time in which a fault was open */
	struct histogram vm_latencies; /* ns, of their disks' I/Os: seen to be available to used */
	struct histogram lookup_time;  /* ns, of one DMA in LOOKUP_TIMED (port.h) */
	struct histogram
		round_trip; /* ns, detect (or held back) to resume of a group, as its port measured it */
	struct round_trip_parts parts;
};
void machine_totals(const struct machine *machine, struct machine_totals *totals);
/* Of a device that has frames, else NULL. Valid after machine_stop(). */
const struct frame_totals *machine_frames(const struct machine *machine, __u32 device);
/* Likewise of one that has packets. */
const struct rdma_totals *machine_rdma(const struct machine *machine, __u32 device);
/* Bytes of its tenant's memory that are in the device's IOPT, now and at most. Any thread. */
void machine_mapped(const struct machine *machine, __u32 device, __u64 *now, __u64 *most);
/* The network between whose namespaces a device carries frames, while the machine runs; NULL: it has none. */
const struct network *machine_network(const struct machine *machine, __u32 device);
/* The guest's ends of new sockets of a tenant's devices whose guests are processes, in the devices' order. Returns how many. */
int machine_invite_guest(struct machine *machine, __u32 tenant, int *sockets, __u32 most);
/* Valid after machine_stop(). */
const struct kvstore_result *machine_kvstore(const struct machine *machine, __u32 kvstore);
/* Valid after machine_wait() has returned 0, or machine_stop(). */
const struct workload_result *machine_workload(const struct machine *machine, __u32 workload);
/* Adds what the ranks of a section have come to, on both of its devices; likewise. Returns what went wrong first, "": nothing. */
const char *machine_ranks(const struct machine *machine, __u32 ranks, struct ranks_result *sum);
/* Likewise of a [verbs], after machine_stop(). */
const char *machine_verbs(const struct machine *machine, __u32 verbs,
			  struct verbs_load_result *sum);

#endif
