/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a device model sees of the machine: its port.
 *
 * A device knows its engine and its policy on a fault, nothing of the host. Its queues live in
 * guest memory and are reached by DMA like everything else.
 */
#ifndef FAULTLINE_DEVICE_H
#define FAULTLINE_DEVICE_H

#include <sys/uio.h>

#include "injectors/emu/channel.h"
#include "injectors/emu/service.h"

struct machine;
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
 * Pause policy: checks the range and, if pages are absent, raises one page request group for all of
 * them (at most GROUP_PAGES_MAX a group, `group_pages` of the device's configuration), waits for the response,
 * checks again. Returns 0 with references held until port_dma_end(); -EFAULT (response INVALID),
 * -EIO (FAILURE), -ESHUTDOWN (machine stops), -EINVAL (outside the device's window). While it waits
 * the queue is blocked: that is the policy. A response that does not come within the device's
 * response timeout is given up: the group is abandoned and the request raised anew.
 */
int port_dma_begin(struct port *port, __u16 queue, __u32 pasid, __u64 iova, __u64 length,
		   bool write, struct dma *dma);
void port_dma_end(struct port *port, struct dma *dma);
/* Small guarded copies (descriptors, completions): begin, copy, end. 2, 4 or 8 bytes that are
 * aligned on both sides are moved in one access: an index is never seen half written. */
int port_dma_read(struct port *port, __u16 queue, __u32 pasid, __u64 iova, void *to, size_t bytes);
int port_dma_write(struct port *port, __u16 queue, __u32 pasid, __u64 iova, const void *from,
		   size_t bytes);

/* Reports a range that a finished I/O touched to the access log (lib/capture/access_log.h) and to
 * the truth log. code: enum io_code; all but the last range of an I/O with IO_PART. */
void port_io_done(struct port *port, __u16 queue, __u64 iova, __u32 length, __u8 flags, __u8 code,
		  __u64 start_ns, __u64 end_ns);

/* The DMA mapping of referenced pages was found absent: an invariant is broken, the machine counts. */
void port_dma_violation(struct port *port, __u64 iova);

/* Time this queue has been paused on faults so far, over all DMA calls. Any thread. */
__u64 port_blocked_ns(const struct port *port, __u16 queue);
/* When the last fault of this queue was over for which a page was requested; 0: none yet. For the queue's
 * own thread. */
__u64 port_fault_end_ns(const struct port *port, __u16 queue);

/* What a model is started with. */
struct device_setup {
	struct channel *channel; /* outlives the device */
	const void *settings;	 /* the model's own struct (device_class.h); outlives it too */
	const char *directory;	 /* for files of its own; NULL or "": $TMPDIR or /var/tmp */
	struct machine *machine; /* for pins (pins.h) */
	__u32 index;		 /* of the device in it */
};

#endif
