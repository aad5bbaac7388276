/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part that all queue-based device models share: one thread a queue fetches descriptors by DMA,
 * checks them, lets the model do the work, publishes the completion and interrupts.
 *
 * Everything in guest memory is untrusted: a request is copied once, then checked, then used.
 * The rings are reached through the same faulting DMA as the data.
 */
#ifndef FAULTLINE_ENGINE_H
#define FAULTLINE_ENGINE_H

#include "injectors/emu/device_class.h"

/* Each piece of a chain is a DMA of its own: none is held while another one waits for its page. */
struct engine_segment {
	__u64 iova;
	__u32 length;
};

struct engine_request {
	__u64 target;
	__u32 pasid;
	__u32 bytes; /* of all segments, at most RING_BYTES_MAX */
	__u16 id;
	__u16 opcode;
	__u16 segments;
	struct engine_segment *segment; /* room for as many as the queue is deep */
};

struct engine;

struct engine_model {
	const struct device_class *class;
	__u32 scratch_bytes; /* private memory of each queue thread */
	/* The opcode's own rules; the common ones (range, alignment, chain) hold already. */
	enum ring_status (*check)(void *model, const struct engine_request *request);
	/* Does it. 0 with RING_* in *status, or -ESHUTDOWN. */
	int (*execute)(void *model, struct port *port, __u16 queue,
		       const struct engine_request *request, void *scratch,
		       enum ring_status *status);
	/* Calls port_io_done() for each range that the request moved, IO_PART on all but the last. */
	void (*report)(void *model, struct port *port, __u16 queue,
		       const struct engine_request *request, __u8 code, __u64 start_ns,
		       __u64 end_ns);
};

/* Starts a thread for each queue of the channel. */
int engine_start(struct engine **engine, const struct engine_model *operations, void *model,
		 struct port *port, struct channel *channel);
void engine_stop(struct engine *engine);

#endif
