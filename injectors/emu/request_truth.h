/* SPDX-License-Identifier: GPL-2.0 */
/* One request as the truth log shows it; time_ns is left for truth_log() to take. */
#ifndef FAULTLINE_REQUEST_TRUTH_H
#define FAULTLINE_REQUEST_TRUTH_H

#include "injectors/emu/service.h"
#include "injectors/emu/truth.h"

static inline struct truth_record request_truth(__u8 who, __u8 what,
						const struct page_request *request)
{
	return (struct truth_record){
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
