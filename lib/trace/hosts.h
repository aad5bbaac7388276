/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: who is in a merged recording. */
#ifndef FAULTLINE_TRACE_HOSTS_H
#define FAULTLINE_TRACE_HOSTS_H

#include "lib/trace/buffer.h"
#include "lib/trace/trace.h"

/* The payload of an ORIGIN frame. */
void trace_put_origin(struct trace_buffer *out, const struct trace_origin *origin, size_t hosts);
void trace_get_origin(struct trace_cursor *in, struct trace_origin *origin, size_t *hosts);

#endif
