/* SPDX-License-Identifier: GPL-2.0 */
/* One request as probes and truth log show it. Kept apart: neither is made from the other. */
#ifndef FAULTLINE_REQUEST_RECORD_H
#define FAULTLINE_REQUEST_RECORD_H

#include "injectors/emu/probes.h"
#include "injectors/emu/service.h"
#include "injectors/emu/truth.h"

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

static inline struct truth_record request_truth(__u8 who, __u8 what, __u64 time_ns,
						const struct page_request *request)
{
	return (struct truth_record){
		.time_ns = time_ns,
		.fault = request->fault,
		.address = request->address,
		.length = PAGE_BYTES,
		.device = request->device,
		.pasid = request->pasid,
		.group = request->group,
		.queue = request->queue,
		.who = who,
		.what = what,
		.flags = request->flags,
	};
}

#endif
