/* SPDX-License-Identifier: GPL-2.0 */
/* One request as its probes show it. */
#ifndef FAULTLINE_REQUEST_PROBE_H
#define FAULTLINE_REQUEST_PROBE_H

#include "injectors/emu/probes.h"
#include "injectors/emu/service.h"

static inline struct fault_probe request_probe(const struct page_request *request)
{
	return (struct fault_probe){
		.device = request->device,
		.queue = request->queue,
		.pasid = request->pasid,
		.group = request->group,
		.address = request->address,
		.length = PAGE_BYTES,
		.flags_code = request->flags,
	};
}

#endif
