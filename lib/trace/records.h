/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: the payloads of all frames but EVENTS and INDEX, field by field in the order
 * of their structs. Later versions may add fields at the end of the first five.
 */
#ifndef FAULTLINE_TRACE_RECORDS_H
#define FAULTLINE_TRACE_RECORDS_H

#include "lib/base/stream.h"
#include "lib/trace/buffer.h"

void trace_put_host(struct trace_buffer *out, const struct host_info *host);
void trace_put_clock(struct trace_buffer *out, const struct clock_anchor *anchor);
void trace_put_probe(struct trace_buffer *out, const struct probe_info *probe);
void trace_put_device(struct trace_buffer *out, const struct device_info *device);
void trace_put_stack(struct trace_buffer *out, const struct stack_info *stack);
void trace_get_stack(struct trace_cursor *in, struct stack_info *stack);
void trace_put_process(struct trace_buffer *out, const struct process_info *process);
void trace_get_process(struct trace_cursor *in, struct process_info *process);
void trace_put_flow(struct trace_buffer *out, const struct flow_info *flow);
void trace_get_flow(struct trace_cursor *in, struct flow_info *flow);
void trace_put_loss(struct trace_buffer *out, const struct loss_info *loss);
void trace_put_kept(struct trace_buffer *out, const struct kept_info *kept);
void trace_get_kept(struct trace_cursor *in, struct kept_info *kept);
/* 0, or -E2BIG for a frame beyond what a reader accepts. `scratch` grows as needed. */
int trace_put_aggregate(struct trace_buffer *out, const struct aggregate_frame *frame,
			struct trace_buffer *scratch);

void trace_get_host(struct trace_cursor *in, struct host_info *host);
void trace_get_clock(struct trace_cursor *in, struct clock_anchor *anchor);
void trace_get_probe(struct trace_cursor *in, struct probe_info *probe);
void trace_get_device(struct trace_cursor *in, struct device_info *device);
void trace_get_loss(struct trace_cursor *in, struct loss_info *loss);
/* The frame points into `memory`. 0, -ENOMEM, or -EBADMSG for impossible counts or indices. */
int trace_get_aggregate(struct trace_cursor *in, struct aggregate_frame *frame,
			struct trace_buffer *memory);

#endif
