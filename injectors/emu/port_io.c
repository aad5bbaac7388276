// SPDX-License-Identifier: GPL-2.0
/* A device reports the ranges of a finished I/O: counters, access log, truth. */
#include "injectors/emu/port_private.h"

#include "injectors/emu/truth.h"

static void io_truth(const struct port *port, __u16 queue, const struct io_range *io)
{
	truth_log((struct truth_record){
		.time_ns = io->end_ns,
		.address = io->address,
		.length = io->length,
		.value = io->end_ns - io->start_ns,
		.device = port->config.device,
		.pasid = port->config.pasid,
		.queue = queue,
		.who = TRUTH_DEVICE,
		.what = io->code & IO_PART ? TRUTH_IO_PART : TRUTH_IO,
		.code = io->code,
		.flags = io->flags,
	});
}

static void count_ios(struct port *port, const struct io_range *ios, __u32 count)
{
	__u64 done = 0, errors = 0, bytes = 0;

	for (__u32 i = 0; i < count; i++) {
		if (!(ios[i].code & IO_PART)) {
			done++;
			errors += !!(ios[i].code & IO_ERROR);
		}
		if (!(ios[i].code & IO_SOURCE))
			bytes += ios[i].length;
	}
	if (done)
		atomic_fetch_add_explicit(&port->ios, done, memory_order_relaxed);
	if (errors)
		atomic_fetch_add_explicit(&port->io_errors, errors, memory_order_relaxed);
	if (bytes)
		atomic_fetch_add_explicit(&port->io_bytes, bytes, memory_order_relaxed);
}

void port_ios_done(struct port *port, __u16 queue, const struct io_range *ios, __u32 count)
{
	count_ios(port, ios, count);
	if (port->config.access_log)
		access_log_add(port->config.access_log, port->config.device, queue, ios, count);
	if (truth_enabled())
		for (__u32 i = 0; i < count; i++)
			io_truth(port, queue, &ios[i]);
}

void port_io_done(struct port *port, __u16 queue, __u64 iova, __u32 length, __u8 flags, __u8 code,
		  __u64 start_ns, __u64 end_ns)
{
	const struct io_range io = {
		.address = iova,
		.length = length,
		.flags = flags,
		.code = code,
		.start_ns = start_ns,
		.end_ns = end_ns,
	};

	port_ios_done(port, queue, &io, 1);
}
