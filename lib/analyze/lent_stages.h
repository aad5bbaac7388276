/* SPDX-License-Identifier: GPL-2.0 */
/* Stages of I/Os on lent devices, in the virtual time of the fabric's model: never measured. */
#ifndef FAULTLINE_LENT_STAGES_H
#define FAULTLINE_LENT_STAGES_H

#include "lib/analyze/histogram.h"

#include "bpf/event.h"

struct lent_stages;
/* NULL: no I/O of this device has passed this stage. */
const struct histogram *lent_stage(const struct lent_stages *stages, __u32 device,
				   enum io_stage stage);

#endif
