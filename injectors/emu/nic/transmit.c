// SPDX-License-Identifier: GPL-2.0
/* Sending: the engine that all queue-based models have. A fault pauses the transmit ring that met it, no other. */
#include <errno.h>
#include <stdatomic.h>

#include "injectors/emu/devices/engine.h"
#include "injectors/emu/nic/nic_private.h"

static void count_tx(__u64 *counter, __u64 by)
{
	__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static enum ring_status transmit_check(void *model, const struct engine_request *request)
{
	const struct nic *nic = model;

	return request->opcode == RING_SEND && request->bytes <= nic->frame_bytes ? RING_OK
										  : RING_INVALID;
}

static int transmit_execute(void *model, struct port *port, __u16 queue,
			    const struct engine_request *request, void *scratch,
			    enum ring_status *status)
{
	struct nic *nic = model;
	char *frame = scratch;
	__u32 filled = 0;
	int err = 0;

	for (unsigned int i = 0; !err && i < request->segments; i++) {
		const struct engine_segment *segment = &request->segment[i];

		err = port_dma_read(port, queue, request->pasid, segment->iova, frame + filled,
				    segment->length);
		filled += segment->length;
	}
	if (err == -ESHUTDOWN)
		return err;
	*status = !err ? RING_OK : err == -EINVAL ? RING_INVALID : RING_IO_ERROR;
	if (err) {
		count_tx(&nic->tx[queue].lost[LOSS_FAULT], 1);
		return 0;
	}
	nic->wire->ops->send(nic->wire, &(struct iovec){frame, filled}, 1);
	count_tx(&nic->tx[queue].frames, 1);
	count_tx(&nic->tx[queue].bytes, filled);
	return 0;
}

static void transmit_report(void *model, struct port *port, __u16 queue,
			    const struct engine_request *request, __u8 code, __u64 start_ns,
			    __u64 end_ns)
{
	struct nic *nic = model;

	for (unsigned int i = 0; i < request->segments; i++)
		port_io_done(port, queue, request->segment[i].iova, request->segment[i].length,
			     EVENT_READ, i + 1 < request->segments ? code | IO_PART : code,
			     start_ns, end_ns);
	/* The port's own interrupt is one for all queues; here each has its own. */
	doorbell_ring(&nic->ring[queue].registers->sent);
}

int transmit_start(struct nic *nic)
{
	nic->sender = (struct engine_model){
		.class = &nic_class,
		.scratch_bytes = (nic->frame_bytes + PAGE_BYTES - 1) & ~(__u32)(PAGE_BYTES - 1),
		.check = transmit_check,
		.execute = transmit_execute,
		.report = transmit_report,
	};
	return engine_start(&nic->engine, &nic->sender, nic, nic->port, nic->channel);
}

void transmit_stop(struct nic *nic)
{
	if (nic->engine)
		engine_stop(nic->engine);
	nic->engine = NULL;
}
