// SPDX-License-Identifier: GPL-2.0
/*
 * A copy engine that takes user addresses (shared virtual addressing): the data passes through its
 * internal buffer, so that the pages of one side are never held while the other side waits for a
 * page. Source and destination may overlap.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/devices/engine.h"
#include "injectors/emu/workload_device.h"
#include "lib/base/fail.h"

#define ACCEL_ALIGN 64 /* of source, destination and length, bytes */

struct accel {
	struct engine *engine;
};

static enum ring_status accel_check(void *model, const struct engine_request *request)
{
	(void)model;
	if (request->opcode != RING_COPY || request->target % ACCEL_ALIGN)
		return RING_INVALID;
	return request->target < (1ull << 48) - request->bytes ? RING_OK : RING_INVALID;
}

/* Reads every piece of the source, then writes the destination in one. */
static int accel_execute(void *model, struct port *port, __u16 queue,
			 const struct engine_request *request, void *scratch,
			 enum ring_status *status)
{
	char *buffer = scratch;
	__u32 filled = 0;
	int err = 0;

	(void)model;
	for (unsigned int i = 0; !err && i < request->segments; i++) {
		const struct engine_segment *segment = &request->segment[i];

		err = port_dma_read(port, queue, request->pasid, segment->iova, buffer + filled,
				    segment->length);
		filled += segment->length;
	}
	if (!err)
		err = port_dma_write(port, queue, request->pasid, request->target, buffer, filled);
	if (err == -ESHUTDOWN)
		return err;
	*status = !err ? RING_OK : err == -EINVAL ? RING_INVALID : RING_IO_ERROR;
	return 0;
}

static void accel_report(void *model, struct port *port, __u16 queue,
			 const struct engine_request *request, __u8 code, __u64 start_ns,
			 __u64 end_ns)
{
	(void)model;
	for (unsigned int i = 0; i < request->segments; i++)
		port_io_done(port, queue, request->segment[i].iova, request->segment[i].length,
			     EVENT_READ, code | IO_PART | IO_SOURCE, start_ns, end_ns);
	port_io_done(port, queue, request->target, request->bytes, EVENT_WRITE, code, start_ns,
		     end_ns);
}

static const struct engine_model accel_model = {
	.class = &accel_class,
	.scratch_bytes = RING_BYTES_MAX,
	.check = accel_check,
	.execute = accel_execute,
	.report = accel_report,
};

static int accel_start(void **device, struct port *port, const struct device_setup *setup)
{
	struct accel *accel = calloc(1, sizeof(*accel));
	int err;

	if (!accel)
		return failed(-ENOMEM, "no memory for an accel device");
	err = engine_start(&accel->engine, &accel_model, accel, port, setup->channel);
	if (err) {
		free(accel);
		return err;
	}
	*device = accel;
	return 0;
}

static void accel_stop(void *device)
{
	struct accel *accel = device;

	engine_stop(accel->engine);
	free(accel);
}

const struct device_class accel_class = {
	.name = "accel",
	.meaning = "a copy engine",
	.depth_max = WORKLOAD_DEPTH_MAX,
	.data_align = ACCEL_ALIGN,
	.io = DEVICE_IO_COPY,
	.user_addresses = true,
	.start = accel_start,
	.stop = accel_stop,
	.driver = &workload_driver,
};
