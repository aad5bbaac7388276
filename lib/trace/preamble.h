/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: what every segment of a flight recorder begins with. */
#ifndef FAULTLINE_TRACE_PREAMBLE_H
#define FAULTLINE_TRACE_PREAMBLE_H

#include "lib/base/stream.h"
#include "lib/trace/buffer.h"

/* The newest host, clock, probes and loss, kept only in ring mode. */
struct trace_preamble {
	struct host_info host;
	struct clock_anchor anchor;
	struct loss_info loss;
	bool has_host, has_anchor, has_loss;
	struct trace_buffer probes; /* array of struct probe_info, one a name */
};

int trace_preamble_probe(struct trace_preamble *preamble, const struct probe_info *probe);
void trace_preamble_free(struct trace_preamble *preamble);

/* Calls `put` for each frame with its type and payload. First error wins. */
typedef int (*trace_preamble_put)(void *self, __u8 type, const struct trace_buffer *payload);
int trace_preamble_each(const struct trace_preamble *preamble, struct trace_buffer *payload,
			trace_preamble_put put, void *self);

#endif
