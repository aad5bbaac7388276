/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a device model sees of the machine: its port.
 *
 * A device knows its engine and its policy on a fault, nothing of the host. Its queues live in
 * guest memory and are reached by DMA like everything else.
 */
#ifndef FAULTLINE_DEVICE_H
#define FAULTLINE_DEVICE_H

#include <pthread.h>
#include <sys/uio.h>

#include "injectors/emu/access_log.h"
#include "injectors/emu/channel.h"
#include "injectors/emu/service.h"

struct frame_totals;
struct guest_memory;
struct histogram;
struct rdma_totals;
struct machine;
struct traffic_config;
struct port; /* one device's connection to machine, IOMMU and host */

/* One DMA in progress: references held, nothing to allocate. */
#define DMA_SEGMENTS 513 /* pages of 2 MiB that do not begin with a page */
struct dma {
	__u64 iova;
	__u64 length;
	__u32 pasid;
	__u32 segments;
	bool faulted;			/* it had to wait for at least one page */
	struct iovec iov[DMA_SEGMENTS]; /* in the DMA mapping; merged where contiguous */
};

/*
 * Checks the range. 0 with references held until port_dma_end() by the same thread; > 0: so many of
 * its pages are absent, named in absent[], ascending, at most `room` (1 or more), and nothing is held; -EINVAL
 * (outside the device's window, of another PASID, longer than 2 MiB), -ENOBUFS (the thread holds as
 * many references as it can, LOOKUP_DMA_MAX). Never waits, allocates nothing; any thread, several at once.
 */
int port_dma_try(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length, bool write,
		 struct dma *dma, __u64 *absent, unsigned int room);

/*
 * Pause policy: tries and, if pages are absent, raises one page request group for all of
 * them (at most GROUP_PAGES_MAX a group, `group_pages` of the device's configuration), waits for the response,
 * tries again. Returns 0 with references held until port_dma_end(); -EFAULT (response INVALID),
 * -EIO (FAILURE), -ESHUTDOWN (machine stops), -EINVAL (outside the device's window). While it waits
 * the queue is blocked: that is the policy. A response that does not come within the device's
 * response timeout is given up: the group is abandoned and the request raised anew. A queue's own thread.
 */
int port_dma_begin(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length,
		   bool write, struct dma *dma);
void port_dma_end(struct port *port, struct dma *dma);
/* Small guarded copies (descriptors, completions): begin, copy, end. 2, 4 or 8 bytes that are
 * aligned on both sides are moved in one access: an index is never seen half written. */
int port_dma_read(struct port *port, __u16 queue, __u32 pasid, __u64 iova, void *to, size_t bytes);
int port_dma_write(struct port *port, __u16 queue, __u32 pasid, __u64 iova, const void *from,
		   size_t bytes);

/* The port's own part of a request, and of a DMA that waits: groups raised for pages at once. */
struct port_fault {
	struct port_request *request; /* NULL: a DMA waits, at `answered` */
	pthread_cond_t *answered;     /* `unanswered` became 0 */
	const __u64 *pages;
	__u16 *groups; /* indices raised in this round, `raised` of them */
	__u32 count, raised;
	__u32 unanswered;  /* of these; of a request one more as long as it is being raised */
	__u32 group_pages; /* per group, and ... */
	__u32 group_limit; /* ... groups at once */
	__u64 found_ns;	   /* when the pages were found absent */
	__u64 held_ns; /* of this round: since when it waits, or waited, for page requests; 0: never */
	__u64 logged_held_ns; /* the same for the truth log */
	int error;	      /* of a request, beside what its responses say */
	__u16 queue;
	__u8 access;	 /* EVENT_READ or EVENT_WRITE */
	bool overflowed; /* a group of this round was answered automatically */
	bool claim;	 /* its groups are taken and told of, and their requests not sent */
};

/*
 * Page requests for absent pages, raised by a device that does not wait. The caller's memory; what
 * comes after done() is the port's and needs no initialization.
 */
#define PORT_REQUEST_PAGES 64
/* With arrays of the caller's, in which the groups of a whole work request fit. */
#define PORT_REQUEST_OWN_PAGES 4096
struct port_request_own {
	const __u64 *pages; /* in place of request->pages, request->count of them */
	__u16 *groups;	    /* room for GROUP_INDEX_MAX */
	__u64 found_ns; /* when they were found absent, if the device held the request back; 0: now */
};

struct port_request {
	/* NULL, or what the caller keeps: then its faults stay open after done() until port_request_resume(),
	 * up to when the request and all of this is the port's. */
	const struct port_request_own *own;
	__u16 queue;
	__u8 access; /* EVENT_READ or EVENT_WRITE */
	__u32 count; /* of pages, 1 to PORT_REQUEST_PAGES (of the caller's own: PORT_REQUEST_OWN_PAGES) */
	__u64 pages[PORT_REQUEST_PAGES];
	/*
	 * All of its groups are answered or given up. Called once for each port_request() that
	 * returned 0, by a thread of the fault service, its timer's, or the one in port_stop();
	 * never from inside port_request(). It holds none of the port's locks and may not block: others
	 * wait for the same thread. Its faults are open still: they resume, or are abandoned, once it has
	 * returned, and no group's index or page request is free before. The port does not touch the
	 * request from the call on: it may be freed, and raised again from inside as any other.
	 * error, the first that holds:
	 *	-ESHUTDOWN	the port was stopped
	 *	-EFAULT		a response was INVALID
	 *	-EIO		a response was FAILURE, or one that came while this was being raised
	 *			disabled page requests, so that parts were not
	 *	-ETIMEDOUT	not all responses came within the response timeout
	 *	-EAGAIN		a group overflowed the page request queue and the IOMMU answered it: none
	 *			of its pages came. Ask for fewer at once, and later.
	 *	0		try the DMA again; pages may be absent: gone again, dropped by an
	 *			overflow, or not asked for, for want of indices or page requests
	 */
	void (*done)(struct port_request *request, int error);

	struct port_fault fault;
	struct port *port;
	struct port_request *next, *previous; /* of its list */
	__u64 deadline_ns;
	__u16 groups[PORT_REQUEST_PAGES + 1]; /* one a page, and an injected duplicate */
};

/*
 * Raises page request groups for request->pages (`group_pages` each) and returns. 0: done() will be
 * called, or has been. Else it will not: -EAGAIN (no index or page request is left, or the queue
 * overflowed and the IOMMU answered all groups at once; nothing tells when to try again, so wait a
 * while), -EIO (page requests are disabled), -ESHUTDOWN, -EINVAL (no or too many pages, not the start of one,
 * no such queue or access). Never waits for a response, allocates nothing; any thread, several at once.
 * Neither blocked time nor port_fault_end_ns() know of it.
 */
int port_request(struct port *port, struct port_request *request);
/*
 * The same in two steps, for a device that knows what is absent a while before it can ask. The claim takes the groups and tells
 * of the detection, so that port_request_group() knows them; own->found_ns is 0. 0, or what port_request() returns, but for
 * an overflow: then nothing is claimed. After 0 either of the others follows, once, also when the port has stopped.
 *
 * port_request_send() does and returns what port_request() does; if not 0, the claim is over, and the next one has other groups.
 * port_request_drop(): nothing is asked for, the groups are abandoned.
 */
int port_request_claim(struct port *port, struct port_request *request);
int port_request_send(struct port_request *request);
void port_request_drop(struct port_request *request);
/*
 * After done() of a request with `own`, whatever it was told: the device goes on, its faults resume or are abandoned, and
 * the request is the caller's. Any thread, also from inside done(); before the port is destroyed. Once.
 */
void port_request_resume(struct port_request *request);
/* The index of the group that asks for request->pages[page], and the truth log's number of that fault. From
 * the return of port_request() or port_request_claim() until done() returns, with `own` until port_request_resume()
 * is called (the caller sees to that); -ENOENT: of no group.
 * Not with a lock held that done() takes while it calls this. */
int port_request_group(struct port_request *request, __u32 page, __u16 *group, __u64 *truth_fault);

/* Reports a range that a finished I/O touched to the access log (lib/capture/access_log.h) and to
 * the truth log. code: enum io_code; all but the last range of an I/O with IO_PART. */
void port_io_done(struct port *port, __u16 queue, __u64 iova, __u32 length, __u8 flags, __u8 code,
		  __u64 start_ns, __u64 end_ns);

/* Likewise several of one queue, in their order: shared counters and locks are taken once for all. */
void port_ios_done(struct port *port, __u16 queue, const struct io_range *ios, __u32 count);

/* Whether an injected restart of the device comes now (INJECT_DEVICE_RESTART): each call is a candidate. */
bool port_restarts(struct port *port);

/*
 * After an EFAULT of a DMA that is still begun: 0 if that was for pages that a virtual machine has given back, which are zeroes and there now,
 * for another try (guest_memory_undiscard()). -EFAULT: it was not, which is a violation.
 */
int port_dma_undiscard(struct port *port, const struct dma *dma);
/* The DMA mapping of referenced pages was found absent: an invariant is broken, the machine counts. */
void port_dma_violation(struct port *port, __u64 iova);

/* The calling thread does the DMA of this queue from now on, without lookups (lookup=uffd): what it finds absent is a fault of the queue's. */
void port_direct_thread(struct port *port, __u16 queue);

/* Time this queue has been paused on faults so far, over all DMA calls. Any thread. */
__u64 port_blocked_ns(const struct port *port, __u16 queue);
/* When the last fault of this queue was over for which a page was requested; 0: none yet. For the queue's
 * own thread. */
__u64 port_fault_end_ns(const struct port *port, __u16 queue);

/* What a model is started with. */
struct device_setup {
	struct channel *channel; /* outlives the device */
	const void *settings;	 /* the model's own struct (device_class.h); outlives it too */
	const void *
		peer_settings; /* those of the device at the other end of its link; NULL: it has no peer */
	const char *directory;	     /* for files of its own; NULL or "": $TMPDIR or /var/tmp */
	struct machine *machine;     /* for pins (pins.h) */
	__u32 index;		     /* of the device in it */
	struct guest_memory *memory; /* of its tenant */
	bool direct;		     /* it accesses that as it is mapped (lookup=uffd) */
	bool iommu;	    /* its tenant is a virtual machine that has an IOMMU of its own */
	const char *tenant; /* its tenant's name */
	const char *name;   /* the device's, within its tenant */
	const struct traffic_config *traffic; /* frames to be made up for it; NULL: none */
	struct histogram *
		latencies; /* a virtual machine's disk adds its I/Os', ns, as it stops; NULL: nobody asks */
	struct frame_totals *frames; /* filled as it stops, by a model that has frames */
	struct rdma_totals *rdma;    /* likewise, by one that has packets */
};

#endif
