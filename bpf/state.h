/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What BPF programs and lib/capture share besides events: probe ids with their counters, the
 * filter, and the kernel-side state of devices and open page request groups.
 *
 * All of it is bounded: hash maps have a fixed size, a failed insert is counted, and what nobody
 * removes in time is swept from user space.
 */
#ifndef FAULTLINE_STATE_H
#define FAULTLINE_STATE_H

#include "bpf/aggregate.h"
#include "bpf/device_kind.h"
#include "bpf/kind_set.h"

/* One per row of the probe table; alternatives of a row (renamed tracepoints) share the id. */
enum probe_id {
#define PATH(NAME, name, probes) probes
#define PROBE(ID)		 PROBE_##ID,
#include "bpf/paths.def"
#undef PROBE
#undef PATH
	PROBE_COUNT,
};

/* Per CPU and probe. Events wanted but without room are `lost`, so that
 * produced = emitted + lost + (runs the kernel skipped) holds exactly. */
struct probe_counter {
	__u64 hits;
	__u64 emitted;
	__u64 lost;
	__u64 turned_away; /* calls by processes that may not be emulated machines: no hits */
};

/* What the kernel side leaves out, constant while attached (rodata). */
struct capture_filter {
	struct kind_set kinds;	 /* kinds to emit */
	struct kind_set singles; /* kinds to emit one by one although they are counted by default */
	__u64 slow_block_ns;
	__u64 iommu_registers;	 /* nonzero: fault records may be read from VT-d's registers */
	__u64 stacks_per_second; /* stacks of mappings taken per CPU; 0: none */
	__u64 vfio_entries;	 /* dma_entry_limit, for containers older than we; 0: not known */
	__u64 machine_user;	 /* beside root: whose processes may be emulated machines */
	__u64 all_networks;	 /* nonzero: TCP of the host, too, not only of emulated machines */
	__u64 jiffy_ns;		 /* what the kernel's timeouts are counted in */
};

#define DEVICES_MAX	  16384
#define DEVICES_GONE_MAX  4096
#define OWNERS_MAX	  4096
#define OWNER_DEVICES_MAX 2048 /* at once, of those that the kernel side enters for one process */
#define DEVICE_TEXT	  48

/* Who a device is to the kernel side. Owner and its start distinguish a reused pid or machine index. */
struct device_key {
	__u32 kind;	   /* enum device_kind */
	__u32 owner;	   /* thread group id of the emulating process, 0 if the kernel */
	__u64 owner_start; /* its start in clock ticks since boot (/proc/PID/stat field 22) */
	/* Index in its machine, dev_t, place on the PCI bus, number of its name, or address of struct device. */
	__u64 source;
};

/*
 * Source of a device that is known by name, which user space has, too, when it reads an RDMA device's counters:
 * FNV-1a of as many characters as are kept of a name.
 */
static inline __attribute__((always_inline)) __u64 device_name_number(const char *name)
{
	__u64 hash = 0xcbf29ce484222325ull;

	for (int i = 0; i < DEVICE_TEXT - 1 && name[i]; i++)
		hash = (hash ^ (__u8)name[i]) * 0x100000001b3ull;
	return hash;
}

/* A process that has devices: their owner in device_key. */
struct owner_key {
	__u32 pid;
	__u32 reserved;
	__u64 start;
};

struct owner_share {
	__u32 devices; /* slots it has */
	__u32 entered; /* slots it ever had: what user space has to have met */
};

#define DEVICE_BY_ADDRESS 0x100 /* source is a struct device, its kind is in device_state */

struct container_limit {
	__u64 used;
	__u64 limit;
	__u64 peak;
	__u64 emitted_ns; /* 0: never */
};

/* A container of VFIO or an address space of iommufd, by its address until it is closed or destroyed. */
struct container {
	__u32 id; /* device_state.id */
	__u32 reserved;
	struct device_key device; /* owner: who used it first */
	__u64 entries;		  /* what dma_avail began with, 0 if it was not seen */
	struct container_limit limits[2];
};

/* Of a process that may be gone before user space could ask. */
struct process_name {
	char comm[16];
};

#define PROCESS_NAMES_MAX 4096

/* An IOMMU domain: one of the devices attached to it. */
struct domain_state {
	__u32 device; /* device_state.id */
	__u32 number; /* in the order of appearance */
};

/* A PCI function by what the bus calls it: segment, bus, device, function. */
struct pci_function {
	__u32 device; /* device_state.id */
	__u32 reserved;
	__u64 group; /* its struct iommu_group */
};

#define DOMAINS_MAX	  4096
#define PCI_FUNCTIONS_MAX 8192

enum device_verdict {
	DEVICE_PASS, /* also while user space has not yet judged its name */
	DEVICE_DROP, /* the device filter leaves it out */
};

struct device_state {
	__u32 id;      /* kernel-side number; user space turns it into the dense handle */
	__u32 verdict; /* enum device_verdict, written by user space */
	char bus[16];  /* of a VFIO container: its owner's comm */
	char name[DEVICE_TEXT];
	char driver[DEVICE_TEXT];
};

/* A device that has given its slot back, for who has not asked for its name yet. */
struct device_past {
	struct device_key key;
	struct device_state state;
};

/* A network namespace of an emulated NIC, by its inode. */
struct network_owner {
	__u32 device;  /* device_state.id */
	__u32 dropped; /* the device filter leaves it out */
};

/*
 * Who talks to whom, in one direction. Of a NIC the same on the wire and in its machine's namespaces, so
 * that what the NIC lost and what TCP sent again are of one flow.
 */
struct flow_key {
	__u32 device;	 /* device_state.id, DEVICE_NONE: the host's own network */
	__u32 network;	 /* of these: inode of the namespace; else 0 */
	__u8 family;	 /* AF_INET, AF_INET6; 0: no IP */
	__u8 protocol;	 /* IPPROTO_* */
	__u16 ethertype; /* without IP */
	__u16 source_port, destination_port; /* host order */
	__u32 source[4], destination[4];     /* network order, of IPv4 the first word */
};

struct flow_state {
	__u32 id;
	__u32 reserved;
	__u64 last_ns; /* of its newest event: user space takes back what is old */
};

#define NETWORKS_MAX 4096
#define FLOWS_MAX    16384

#define GROUPS_MAX 65536

struct group_key {
	__u32 device; /* device_state.id */
	__u32 pasid;
	__u32 group;
	__u32 use; /* 0: the number identifies it; else its instance: the kernel has an object for it */
};

/* An open page request group: first stage seen, not yet resumed. */
struct group_state {
	__u64 first_ns;
	__u64 address;	   /* of its first request */
	__u64 fault_queue; /* address of the kernel's struct iopf_queue, 0: none */
	__u32 instance;
	__u32 stages; /* bit per stage seen, GROUP_LAST when its last request was seen */
	__u32 owner;  /* thread group id */
	__u16 queue;
	__u16 latest; /* kind of the newest stage */
	__u32 queued; /* emulated: requests in the queue or with the host, not thrown away */
	__u32 unused;
};

#define GROUP_STAGE(kind) (1u << ((kind)-EVENT_FAULT_DETECT))
#define GROUP_LAST	  (1u << 31)
#define GROUP_ABANDONED	  (1u << 30) /* its device has given it up */
#define GROUP_TOLD \
	(1u << 29) /* reported as unfinished: kept, so that later stages have its instance */

enum resolving_source {
	RESOLVING_NONE,
	RESOLVING_EMULATED, /* emits itself when a page is there */
	RESOLVING_IOPF, /* handle_mm_fault() shows it: mmfault.bpf.c emits EVENT_FAULT_RESOLVED */
	RESOLVING_ODP,	/* emits itself; reads what handle_mm_fault() did from here */
};

/*
 * Carried by a task while it resolves a fault: names the fault in the task's CPU faults. What
 * handle_mm_fault() did since it became active is summed up for whoever set it; he clears it.
 */
struct resolving {
	struct group_key key;
	__u32 active; /* enum resolving_source */
	__u32 instance;
	__u32 mm_faults; /* calls that have returned */
	__u64 mm_ns;	 /* in them */
	__u16 mm_cause;	 /* worst enum mm_cause of them */
	__u16 mm_major;
};

/* A task that resolves or was asked for, and its handle_mm_fault(): mmfault.bpf.c's own. */
struct mm_task {
	__u64 since_ns;	 /* 0: it is in none */
	__u64 before_ns; /* spent before it let the lock go and came back for the same page */
	__u64 wait_ns;	 /* since when it waits for userfaultfd */
	__u64 address;
	__u32 met; /* bit per enum mm_cause */
	__u16 anonymous;
	__u16 major;
};

/* What a task is doing in the kernel's I/O page fault core. */
enum iopf_task_state {
	IOPF_REPORTS = 1 << 0, /* is in iommu_report_device_fault() */
	IOPF_ANSWERS = 1 << 1, /* is in the response */
	IOPF_REMOVES = 1 << 2, /* takes the device from its fault queue */
};

struct iopf_task {
	struct group_key key;
	__u32 instance;
	__u32 state;
	__u64 address;	    /* of the request it reports */
	__u64 device;	    /* struct device of that request */
	__u64 interrupt_ns; /* it drains a hardware queue that interrupted then; 0: unknown */
	__u64 submitted_ns; /* it has handed the response to the IOMMU then; 0: it has not */
};

/* A group that the kernel's core has built; its key in `iopf_objects` is the struct's address. */
struct iopf_object {
	struct group_key key;
	__u32 instance;
	__u32 reserved;
};

/* What a PASID of a device means; device DEVICE_NONE: on every device. */
struct pasid_key {
	__u32 device;
	__u32 pasid;
};

struct pasid_meaning {
	__u64 memory; /* struct mm_struct */
	__u32 pid;
	__u32 reserved;
};

#define PASIDS_MAX 4096

/* Carried by a registered fault handler thread. */
struct handler_thread {
	__u64 woken_ns; /* 0 while it runs */
};

/* Shared numbers, updated atomically from both sides (memory-mapped by user space). */
struct capture_state {
	__u32 devices;	      /* kernel-side device numbers given out */
	__u32 instances;      /* fault instances given out */
	__u32 handlers;	      /* nonzero once a fault handler was seen: tasks may carry state */
	__u32 running;	      /* all probes are in place; until then none counts or emits */
	__u32 pid;	      /* the latest of `pids`, found without looking there; 0: none */
	__u32 iopf;	      /* nonzero once the kernel has reported a page request */
	__u32 reporting;      /* tasks in iommu_report_device_fault() */
	__u32 resolvers;      /* tasks that resolve a fault of the kernel's */
	__u32 sees_anonymous; /* the probe on do_anonymous_page() is on */
	__u32 domains;	      /* IOMMU domains numbered */
	__u32 slots;	      /* of the map of devices that are taken */
	__u32 gone;	      /* devices that have given theirs back by themselves */
	__u32 flows;	      /* flows numbered */
	__u32 reserved;
	__u64 state_failed;	/* inserts that failed: group, device, flow, domain or task state */
	__u64 aggregate_failed; /* counts that found their map full */
	__u64 calls_aside;	/* calls that no task could note when they began (bpf/call.bpf.h) */
	__u64 mapping_classes;	/* bit per size class that some mapping had (bpf/mappings.h) */
	__u64 started_ns; /* when the kernel began it, which then ends it, too; 0: it has not */
	__u64 stopped_ns; /* when the kernel ended it by itself, 0: it has not */
};

/* Histogram bin of an aggregate: sparse, because few of the buckets are ever hit. */
struct aggregate_bin_key {
	struct aggregate_key aggregate;
	__u32 bucket;
	__u32 reserved;
};

/*
 * A place in an emulator's code where a USDT probe stands, and where its arguments are: what its ELF
 * note says, for the BPF program to follow. The attach cookie is the number of the site.
 */
#define USDT_SITES_MAX 1024
#define USDT_ARGUMENTS 8

enum usdt_place {
	USDT_CONSTANT, /* value */
	USDT_REGISTER, /* the register */
};

struct usdt_argument {
	__u64 value;
	__u16 reg;   /* offset in struct pt_regs */
	__u16 place; /* enum usdt_place */
	__u32 reserved;
};

struct usdt_site {
	__u32 probe; /* enum probe_id */
	__u32 kind;  /* enum event_kind */
	struct usdt_argument arguments[USDT_ARGUMENTS];
};

#define AGGREGATES_MAX	   16384
#define AGGREGATE_BINS_MAX 32768
#define BLOCK_REQUESTS_MAX 16384
#define PIDS_MAX	   1024

#endif
