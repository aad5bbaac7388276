// SPDX-License-Identifier: GPL-2.0
/* A device reports the ranges of a finished I/O: counters, access log, truth. */
#include "injectors/emu/port_private.h"

#include "injectors/emu/truth.h"

void port_io_done(struct port *port, __u16 queue, __u64 iova, __u32 length, __u8 flags, __u8 code,
		  __u64 start_ns, __u64 end_ns)
{
	struct truth_record truth = {
		.time_ns = end_ns,
		.address = iova,
		.length = length,
		.value = end_ns - start_ns,
		.device = port->config.device,
		.pasid = port->config.pasid,
		.queue = queue,
		.who = TRUTH_DEVICE,
		.what = code & IO_PART ? TRUTH_IO_PART : TRUTH_IO,
		.code = code,
		.flags = flags,
	};

	if (!(code & IO_PART)) {
		atomic_fetch_add_explicit(&port->ios, 1, memory_order_relaxed);
		if (code & IO_ERROR)
			atomic_fetch_add_explicit(&port->io_errors, 1, memory_order_relaxed);
	}
	if (!(code & IO_SOURCE))
		atomic_fetch_add_explicit(&port->io_bytes, length, memory_order_relaxed);
	if (port->config.access_log)
		access_log_add(port->config.access_log, port->config.device, queue, iova, length,
			       flags, code, start_ns, end_ns);
	truth_log(truth);
}
