/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctl interface of /dev/faultline_device: accelerators behind an IOMMU, both emulated, whose
 * page requests, DMA mappings and faults go through the kernel's own code.
 *
 * Every ioctl returns 0, or -1 with errno set. These apply to all that name a device:
 *   EINVAL   an unknown flag or a reserved field that is not 0, or a value out of its range
 *   ENODEV   no such device, or it is unplugged
 *   EFAULT   an address of the caller's is not valid
 * Times are nanoseconds of CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns(). 0 is "did not happen".
 * What an open file configured, bound or mapped is undone when it is closed, unless said otherwise.
 * Devices have numbers from 0. Addresses of buffers are 64 bits wide, whatever the caller's width.
 */
#ifndef FAULTLINE_DEVICE_H
#define FAULTLINE_DEVICE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FAULTLINE_DEVICE_ABI  1
#define FAULTLINE_DEVICE_PATH "/dev/faultline_device"

enum {
	FAULTLINE_DEVICES_MAX = 8,
	FAULTLINE_GROUP_NUMBERS = 512,	 /* a PRI group number has 9 bits */
	FAULTLINE_PASID_LIMIT = 1 << 16, /* PASIDs are below */
	FAULTLINE_BATCH_MAX = 65536,	 /* of requests or mappings in one call */
	FAULTLINE_PRQ_MIN = 2,
	FAULTLINE_PRQ_MAX = 65536,
	FAULTLINE_HOLD_MAX_US = 10 * 1000 * 1000,
	FAULTLINE_DMA_SIZE_MAX = 4 << 20, /* bytes of one mapping */
	FAULTLINE_DMA_SEGMENTS_MAX = 64,
};

/* A request's group: the device takes a free number below its group_limit. */
#define FAULTLINE_GROUP_ANY 0xffffffffu

/* Whose code resolves the page requests: see docs/kmod.md. */
enum faultline_consumer {
	FAULTLINE_CONSUMER_KERNEL = 1, /* iommu_sva_bind_device() and its handler */
	FAULTLINE_CONSUMER_QUEUE = 2,  /* 6.1: the kernel's iommu_queue_iopf(), registered by us */
	FAULTLINE_CONSUMER_MODULE =
		3, /* 6.12: this module's handler, as the kernel's is not built */
};

enum faultline_feature {
	FAULTLINE_FEATURE_DMA = 1 << 0,	    /* the DMA API goes through the emulated IOMMU */
	FAULTLINE_FEATURE_IOMMUFD = 1 << 1, /* built for iommufd */
};

struct faultline_info {
	__u32 abi;			       /* FAULTLINE_DEVICE_ABI */
	__u32 devices;			       /* numbers 0 to devices - 1 exist */
	__u32 plugged;			       /* bit N: device N is plugged in */
	__u32 consumer;			       /* enum faultline_consumer */
	__u32 features;			       /* enum faultline_feature */
	__u32 prq_size;			       /* requests that the page request queue holds */
	__u64 log_size;			       /* entries that the log holds */
	__u64 log_used;			       /* entries in it now */
	__u64 log_first;		       /* id of the first one */
	char names[FAULTLINE_DEVICES_MAX][32]; /* as in /sys/bus/platform/devices */
};

struct faultline_bind {
	__u32 device;
	__u32 pasid; /* out */
};

enum faultline_permission {
	FAULTLINE_READ = 1 << 0,
	FAULTLINE_WRITE = 1 << 1,
	FAULTLINE_EXECUTE = 1 << 2,
	FAULTLINE_PRIVILEGED = 1 << 3,
};

enum faultline_request_flag {
	FAULTLINE_LAST = 1 << 0,     /* closes its group */
	FAULTLINE_NO_PASID = 1 << 1, /* pasid is ignored: for the device as a whole */
};

struct faultline_request {
	__u64 address;	   /* virtual, of any byte in the page */
	__u32 pasid;	   /* any value below 2^20: also one that nobody has */
	__u32 group;	   /* 0 to FAULTLINE_GROUP_NUMBERS - 1, or FAULTLINE_GROUP_ANY */
	__u32 permissions; /* enum faultline_permission, at least one of the first three */
	__u32 flags;	   /* enum faultline_request_flag */
	__u64 id;	   /* out: its entry in the log */
};

enum faultline_raise_flag {
	FAULTLINE_FLOOD = 1 << 0,    /* do not wait for room in the queue: overflow it */
	FAULTLINE_NONBLOCK = 1 << 1, /* EAGAIN instead of waiting for a number or for room */
};

struct faultline_raise {
	__u32 device;
	__u32 flags;	/* enum faultline_raise_flag */
	__u32 count;	/* of requests, 1 to FAULTLINE_BATCH_MAX */
	__u32 raised;	/* out, also when the call fails: that many are in the log */
	__u64 requests; /* address of struct faultline_request[count] */
};

struct faultline_wait {
	__u32 device;
	__u32 reserved;
	__u64 timeout_ns; /* 0: for ever */
	__u32 waiting;	  /* out: groups that are closed and not answered, 0 on success */
	__u32 reserved2;
};

enum faultline_setting {
	FAULTLINE_SET_GROUP_LIMIT = 1 << 0,
	FAULTLINE_SET_TIMEOUT = 1 << 1,
	FAULTLINE_SET_DELAY = 1 << 2,
	FAULTLINE_SET_WITHHOLD = 1 << 3,
	FAULTLINE_SET_PRQ_SIZE = 1 << 4,
	FAULTLINE_SET_PRQ_PAUSED = 1 << 5,
};

/* Withhold every response, until changed. */
#define FAULTLINE_WITHHOLD_ALL 0xffffffffu

struct faultline_configure {
	__u32 device;
	__u32 set;	   /* enum faultline_setting: which of the fields below to change */
	__u32 group_limit; /* 1 to FAULTLINE_GROUP_NUMBERS: GROUP_ANY picks numbers below */
	__u32 timeout_ms;  /* the device gives a group up that long after its last; 0: never */
	__u32 delay_ms;	   /* the IOMMU gives the device a response that much later */
	__u32 withhold;	   /* that many responses from now never reach the device */
	__u32 prq_size;	   /* of the queue that all devices share; EBUSY unless it is empty */
	__u32 prq_paused;  /* 1: the queue is not read, as if its interrupt did not come */
};

/* One device's, since load or FAULTLINE_IOC_CLEAR. */
struct faultline_counters {
	__u32 device; /* in */
	__u32 reserved;
	__u64 requests;	       /* raised: every one ends in one of dropped to ended below */
	__u64 last;	       /* of them with FAULTLINE_LAST */
	__u64 reported;	       /* given to iommu_report_device_fault() */
	__u64 report_failed;   /* that returned an error */
	__u64 responses[3];    /* calls of page_response: success, invalid, failure */
	__u64 stray_responses; /* calls for which the device had no group open */
	__u64 answered;	       /* requests that a response of the kernel's ended */
	__u64 dropped;	       /* requests lost as the queue was full, not the last of a group */
	__u64 automatic;       /* last requests lost likewise: the IOMMU answered success itself */
	__u64 discarded;       /* partial requests that iopf_queue_discard_partial() threw away */
	__u64 refused;	       /* answered invalid by the IOMMU: their PASID was being removed */
	__u64 aborted;	       /* ended by the removal of the device */
	__u64 pending;	       /* requests that have no end yet */
	__u64 delivered;       /* group responses that reached the device */
	__u64 withheld;	       /* group responses that did not */
	__u64 timeouts;	       /* groups that the device gave up */
	__u64 late;	       /* of them, answered afterwards */
	__u64 overflows;       /* of the queue while this device raised */
	__u64 binds, unbinds;
	__u64 dma_maps; /* mappings made through the DMA API; one for a whole list */
	__u64 dma_unmaps;
	__u64 dma_bytes_mapped, dma_bytes_unmapped;
	__u64 dma_failures; /* mappings that the DMA API refused */
	__u64 dma_syncs;
	__u64 iommu_maps; /* calls of the IOMMU's map_pages */
	__u64 iommu_unmaps;
	__u64 iommu_pages_mapped, iommu_pages_unmapped;
	__u64 accesses;	      /* DMA accesses tried */
	__u64 io_page_faults; /* of them reported by report_iommu_fault() */
};

enum faultline_log_kind {
	FAULTLINE_LOG_REQUEST = 1,
	FAULTLINE_LOG_DMA_MAP = 2,
	FAULTLINE_LOG_DMA_UNMAP = 3,
	FAULTLINE_LOG_IO_PAGE_FAULT = 4,
};

/* Where a request's life is, or how it ended. */
enum faultline_request_state {
	FAULTLINE_QUEUED = 1,	/* in the page request queue */
	FAULTLINE_REPORTED = 2, /* the kernel has it */
	FAULTLINE_ANSWERED = 3, /* the kernel answered: code says what */
	FAULTLINE_DROPPED = 4,	/* see struct faultline_counters */
	FAULTLINE_AUTOMATIC = 5,
	FAULTLINE_DISCARDED = 6,
	FAULTLINE_REFUSED = 7,
	FAULTLINE_ABORTED = 8,
};

enum faultline_log_flag {
	FAULTLINE_LOG_LAST = 1 << 0,
	FAULTLINE_LOG_NO_PASID = 1 << 1,
	FAULTLINE_LOG_TIMED_OUT = 1 << 2,
	FAULTLINE_LOG_WITHHELD = 1 << 3,
	FAULTLINE_LOG_LATE = 1 << 4, /* answered after the device had given up */
};

struct faultline_log_entry {
	__u64 id;   /* from 1, in the order of what happened */
	__u32 kind; /* enum faultline_log_kind */
	__u32 device;
	__u32 pasid;	    /* requests only, as are the fields to code */
	__u32 group;	    /* its number */
	__u64 instance;	    /* of the group: unique where numbers are used again, from 1 */
	__u32 permissions;  /* also of an I/O page fault: FAULTLINE_READ or FAULTLINE_WRITE */
	__u32 flags;	    /* enum faultline_log_flag */
	__u32 state;	    /* enum faultline_request_state */
	__u32 code;	    /* of the response: 0 success, 1 invalid, 2 failure */
	__s32 result;	    /* of iommu_report_device_fault(), or of the DMA mapping */
	__s32 pid, tid;	    /* the caller of the ioctl, in the initial namespace */
	__u32 handle;	    /* of a DMA mapping */
	__u64 address;	    /* virtual address, or IOVA */
	__u64 size;	    /* bytes of a DMA mapping */
	__u64 raised_ns;    /* the device sent it, or the DMA call began */
	__u64 reported_ns;  /* just before iommu_report_device_fault(), or the DMA call's end */
	__u64 returned_ns;  /* just after */
	__u64 responded_ns; /* the kernel called page_response */
	__u64 delivered_ns; /* the device got it */
	__u64 timed_out_ns; /* the device gave up */
};

struct faultline_log {
	__u64 first;   /* id to begin with */
	__u64 entries; /* address of struct faultline_log_entry[count] */
	__u32 count;   /* in: room; out: entries copied, fewer at the end of the log */
	__u32 reserved;
};

enum faultline_dma_kind {
	FAULTLINE_DMA_PAGE = 1,	    /* dma_map_page() of fresh memory */
	FAULTLINE_DMA_COHERENT = 2, /* dma_alloc_coherent() */
	FAULTLINE_DMA_LIST = 3,	    /* dma_map_sg() of `segments` pieces of `size` bytes each */
};

enum faultline_dma_direction {
	FAULTLINE_DMA_BOTH = 0, /* as in enum dma_data_direction */
	FAULTLINE_DMA_TO_DEVICE = 1,
	FAULTLINE_DMA_FROM_DEVICE = 2,
};

enum faultline_dma_flag {
	/* Not unmapped when the file is closed, but with the device: a leak. */
	FAULTLINE_DMA_KEEP = 1 << 0,
};

struct faultline_dma_mapping {
	__u64 iova; /* of the first byte */
	__u64 size; /* bytes in all */
	__u32 handle;
	__u32 segments; /* of a list, as the DMA API merged them */
};

struct faultline_dma_map {
	__u32 device;
	__u32 kind;	 /* enum faultline_dma_kind */
	__u32 direction; /* enum faultline_dma_direction; ignored for coherent memory */
	__u32 segments;	 /* 1 to FAULTLINE_DMA_SEGMENTS_MAX for a list, else 0 */
	__u64 size;	 /* bytes of a mapping or segment, 1 to FAULTLINE_DMA_SIZE_MAX */
	__u32 count;	 /* mappings to make, 1 to FAULTLINE_BATCH_MAX */
	__u32 mapped;	 /* out, also when the call fails */
	__u64 mappings;	 /* address of struct faultline_dma_mapping[count], filled */
	__u32 flags;	 /* enum faultline_dma_flag */
	__u32 reserved;
};

struct faultline_dma_unmap {
	__u32 device;
	__u32 count;	/* of handles; 0: all mappings of the device */
	__u64 handles;	/* address of __u32[count] */
	__u32 unmapped; /* out; ENOENT when a handle is not one */
	__u32 reserved;
};

enum faultline_sync {
	FAULTLINE_SYNC_FOR_CPU = 0,
	FAULTLINE_SYNC_FOR_DEVICE = 1,
};

/* dma_sync_single_for_*() of a mapping of kind page, or dma_sync_sg_for_*() of a list. */
struct faultline_dma_sync {
	__u32 device;
	__u32 handle;
	__u32 to;    /* enum faultline_sync */
	__u32 count; /* times, 1 to FAULTLINE_BATCH_MAX */
};

/*
 * The device reads or writes 8 bytes at `count` IOVAs, `stride` bytes apart, through its domain.
 * What is not mapped, or not with that permission, is one report_iommu_fault() each.
 */
struct faultline_access {
	__u32 device;
	__u32 write;  /* 0 or 1 */
	__u64 iova;   /* multiple of 8 */
	__u64 stride; /* multiple of 8 */
	__u32 count;  /* 1 to FAULTLINE_BATCH_MAX */
	__u32 faults; /* out */
	__u64 value;  /* in: what is written; out: what was read last */
};

/* Holds the caller's mmap_lock for writing: its page requests cannot be resolved meanwhile. */
struct faultline_hold {
	__u64 microseconds; /* 1 to FAULTLINE_HOLD_MAX_US; a fatal signal ends it, EINTR */
};

enum faultline_unplug_flag {
	/* What the queue still holds is not reported: the device vanished. */
	FAULTLINE_UNPLUG_SURPRISE = 1 << 0,
};

struct faultline_unplug {
	__u32 device;
	__u32 flags; /* enum faultline_unplug_flag */
};

/* Delivers what was withheld from the device. */
struct faultline_release {
	__u32 device;
	__u32 released; /* out: groups */
};

/* Where the module was built for iommufd; EOPNOTSUPP otherwise. */
struct faultline_iommufd_bind {
	__u32 device;
	__s32 iommufd; /* descriptor of /dev/iommu */
	__u32 id;      /* out: the device's id there */
	__u32 reserved;
};

struct faultline_iommufd_attach {
	__u32 device;
	__u32 page_table; /* id of an IOAS or HWPT; out: of the HWPT it came to */
};

#define FAULTLINE_IOC 0xfa

#define FAULTLINE_IOC_INFO _IOR(FAULTLINE_IOC, 0, struct faultline_info)
/*
 * Binds the caller's address space to a device; unbound by UNBIND or when the file is closed.
 * EEXIST: this file has bound it already. ESRCH: the caller has none (a kernel thread).
 */
#define FAULTLINE_IOC_BIND   _IOWR(FAULTLINE_IOC, 1, struct faultline_bind)
#define FAULTLINE_IOC_UNBIND _IOW(FAULTLINE_IOC, 2, struct faultline_bind)
/*
 * Raises page requests in the order given. EBUSY: a group's number is taken by another group.
 * EAGAIN: see FAULTLINE_NONBLOCK. EINTR: a signal came. ENOSPC: the log is full, CLEAR it.
 * A group of GROUP_ANY must be closed within the call, its requests one behind the other; a caller
 * that is killed within it has one more request raised that closes it.
 */
#define FAULTLINE_IOC_RAISE _IOWR(FAULTLINE_IOC, 3, struct faultline_raise)
/*
 * Waits until every closed group of the device was answered and that answer delivered, withheld or
 * given up, and the host has dealt with an overflow. ETIME: not within the time.
 */
#define FAULTLINE_IOC_WAIT	_IOWR(FAULTLINE_IOC, 4, struct faultline_wait)
#define FAULTLINE_IOC_CONFIGURE _IOW(FAULTLINE_IOC, 5, struct faultline_configure)
#define FAULTLINE_IOC_COUNTERS	_IOWR(FAULTLINE_IOC, 6, struct faultline_counters)
#define FAULTLINE_IOC_LOG	_IOWR(FAULTLINE_IOC, 7, struct faultline_log)
/* Empties the log, zeroes the counters of all devices. EBUSY: requests are pending. */
#define FAULTLINE_IOC_CLEAR	_IO(FAULTLINE_IOC, 8)
#define FAULTLINE_IOC_DMA_MAP	_IOWR(FAULTLINE_IOC, 9, struct faultline_dma_map)
#define FAULTLINE_IOC_DMA_UNMAP _IOWR(FAULTLINE_IOC, 10, struct faultline_dma_unmap)
#define FAULTLINE_IOC_DMA_SYNC	_IOW(FAULTLINE_IOC, 11, struct faultline_dma_sync)
#define FAULTLINE_IOC_ACCESS	_IOWR(FAULTLINE_IOC, 12, struct faultline_access)
#define FAULTLINE_IOC_HOLD	_IOW(FAULTLINE_IOC, 13, struct faultline_hold)
/* Removes a device, its bonds and mappings; the module can be unloaded once all are removed. */
#define FAULTLINE_IOC_UNPLUG _IOW(FAULTLINE_IOC, 14, struct faultline_unplug)
/* Puts it back, with a new life in sysfs. EEXIST: it is plugged in. */
#define FAULTLINE_IOC_PLUG    _IOW(FAULTLINE_IOC, 15, struct faultline_unplug)
#define FAULTLINE_IOC_RELEASE _IOWR(FAULTLINE_IOC, 16, struct faultline_release)
/*
 * Hands a device to iommufd, attaches it to a page table there, detaches it; undone when the file is
 * closed. EBUSY: it is bound or attached already. ENOTCONN: it is not. Other errors are iommufd's.
 */
#define FAULTLINE_IOC_IOMMUFD_BIND   _IOWR(FAULTLINE_IOC, 17, struct faultline_iommufd_bind)
#define FAULTLINE_IOC_IOMMUFD_ATTACH _IOWR(FAULTLINE_IOC, 18, struct faultline_iommufd_attach)
#define FAULTLINE_IOC_IOMMUFD_DETACH _IOW(FAULTLINE_IOC, 19, struct faultline_iommufd_attach)

#endif
