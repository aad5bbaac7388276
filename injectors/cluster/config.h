/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cluster, as one point of its job describes it: hosts, what joins them, devices, and who uses these.
 *
 * Filled and checked by injectors/cluster/options.c and plan.c from a job with [host] sections (docs/smartio.md);
 * read-only afterwards. Nodes of the fabric are those of `fabric`, which the same job describes (lib/fabric/topology.h).
 * Sizes in bytes, times in ns.
 */
#ifndef FAULTLINE_CLUSTER_CONFIG_H
#define FAULTLINE_CLUSTER_CONFIG_H

#include <sched.h>
#include <stdbool.h>

#include "lib/fabric/topology.h"
#include "injectors/cluster/inject_kind.h"

#define CLUSTER_HOSTS_MAX  62 /* capture allows 64 machines, a host is one */
#define CLUSTER_AGENTS_MAX 160
#define CLUSTER_LENT_MAX   64 /* devices of one host */
#define CLUSTER_NONE	   0xffffffffu

struct host_config {
	char name[64];
	__u64 memory;	/* RAM, from bus address 0 on; a multiple of 2 MiB, at most 3 GiB */
	cpu_set_t cpus; /* empty: all */
	bool iommu;
	__u32 root; /* node of its root complex */
};

enum cluster_model { MODEL_NVME, MODEL_ACCEL };
struct cluster_device_config {
	char name[64];
	enum cluster_model model;
	__u32 host;	    /* that it sits in: its lender */
	__u32 node;	    /* in the fabric */
	__u64 bytes;	    /* nvme: of its storage; accel: of its memory, which is a BAR */
	__u32 queue_pairs;  /* nvme: I/O queue pairs, without the admin pair */
	__u32 functions;    /* of one device, sharing its storage; 1: no virtual ones */
	__u32 address_bits; /* of the DMA addresses that it can make */
	bool intx;	    /* has a legacy interrupt only */
};

/* What asks for I/Os, the same for a stock driver, a guest, a client and a target's initiator. */
struct io_config {
	__u64 ios;   /* 0: until the run ends */
	__u32 depth; /* outstanding at most */
	__u64 block; /* bytes of one, a multiple of 512 */
	__u32 write_percent;
	bool sequential;
	__u64 rate;  /* a second, 0: as fast as it goes */
	bool verify; /* what is read is what this user has written, or the disk's beginning */
	__u64 region_start, region_bytes; /* of the disk; 0, 0: a share of its own */
};

/* [borrow NAME]: Device Lending to a host. host == the device's own: local use, no lending. */
struct borrow_config {
	char name[64];
	__u32 device, function, host;
	__u32 adapters[2];   /* nodes: of the borrower and the lender; CLUSTER_NONE: the shortest */
	__u64 window;	     /* bytes of the DMA window */
	__u64 at_ns, for_ns; /* since the run's begin; for_ns 0: until the end */
	__u64 retry_ns;	     /* refused or taken back: asks again after this; 0: never */
	struct io_config io;
	__u32 peer; /* accel: the accelerator of another borrow that it copies to; CLUSTER_NONE: host RAM */
	bool peer_bounce; /* through the borrower's RAM */
};

/* [vm NAME] */
struct vm_config {
	char name[64];
	__u32 host, device, function;
	__u64 low, high;       /* guest RAM from 0 and from 4 GiB on */
	__u64 added, added_ns; /* memory that is plugged in later, and when */
	bool intx;
	__u64 bus_master_ns; /* the guest sets Bus Master so long after its boot */
	struct io_config io;
};

/* Who touches a segment most (PV section 6.1): decides on whose memory it lies. */
enum segment_hint { HINT_CPU_READS, HINT_DEVICE_READS, HINT_PEER };
/* [client NAME]: processes that share a controller, a queue pair each. */
struct client_config {
	char name[64]; /* with `count` above 1: NAME0 ... */
	__u32 host, device;
	enum segment_hint queue_hint; /* of its submission queue */
	__u32 queue_peer;	      /* HINT_PEER: device index */
	__u32 adapters
		[2]; /* nodes, of its own host: primary and backup; CLUSTER_NONE: the shortest, none */
	__u64 io_timeout_ns;
	struct io_config io;
	bool multicast_identify; /* asks once for Identify by multicast to all hosts, before its I/O */
};
/* [manager] of a shared controller: on which host it runs, and over which other it can be reached again. */
struct manager_config {
	__u32 device, host;
};
/* [target NAME]: a process that mediates, as NVMe-oF does; its initiators are [client] with target=NAME. */
struct target_config {
	char name[64];
	__u32 host, device;
	__u32 initiator_host;
	__u64 stage_ns; /* model: what a stage of its software takes */
	struct io_config io;
};

struct cluster_injection {
	char name[64];
	enum cluster_inject_kind kind;
	__u64 at_ns, for_ns;		    /* since the run's begin */
	__u32 host, adapter, device, agent; /* what the kind aims at; else CLUSTER_NONE */
	bool wipe;			    /* link_flap: its tables go as well */
	__u64 delay_ns;			    /* irq_late */
	__u32 probability;		    /* percent */
	__u32 step; /* host_kill: at this step (enum cluster_step) instead of at_ns; CLUSTER_NONE */
	bool restart; /* host_kill: begin it anew afterwards */
	__u64 seed;
};

struct cluster_config {
	char name[64];
	struct fabric *fabric;
	__u32 host_count, device_count, borrow_count, vm_count, client_count, manager_count,
		target_count, injection_count;
	struct host_config *hosts;
	struct cluster_device_config *devices;
	struct borrow_config *borrows;
	struct vm_config *vms;
	struct client_config *clients;
	struct manager_config *managers;
	struct target_config *targets;
	struct cluster_injection *injections;
	__u64 timeout_ns; /* of the run; longer is a failure */
	__u64 dead_ns;	  /* who does not answer for so long is taken for dead */
	__u64 seed;
	char directory[256];
};

#endif
