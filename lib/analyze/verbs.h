/* SPDX-License-Identifier: GPL-2.0 */
/* Verbs of devices whose control goes through the hypervisor: how many, how long, in which stages. */
#ifndef FAULTLINE_ANALYZE_VERBS_H
#define FAULTLINE_ANALYZE_VERBS_H

#include "lib/analyze/histogram.h"
#include "lib/base/verb_names.h"

struct verbs;
/* Of a device, of all kinds. */
__u64 verbs_count(const struct verbs *verbs, __u32 device);
/* NULL: none has passed it; VERB_STAGES: from the call to the answer. */
const struct histogram *verbs_stage(const struct verbs *verbs, __u32 device, unsigned int kind,
				    unsigned int stage);

#endif
