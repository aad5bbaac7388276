/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests of devices with a mode: how many, how long, in which stages. */
#ifndef FAULTLINE_WORK_REQUESTS_H
#define FAULTLINE_WORK_REQUESTS_H

#include <linux/types.h>

struct work_requests;
/* Of a device, of all opcodes, in windows of a second that have a part in the period. */
__u64 work_requests_count(const struct work_requests *requests, __u32 device);

#endif
