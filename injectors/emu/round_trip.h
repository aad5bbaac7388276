/* SPDX-License-Identifier: GPL-2.0 */
/* What a fault's time was spent on, as a port measures it. */
#ifndef FAULTLINE_ROUND_TRIP_H
#define FAULTLINE_ROUND_TRIP_H

#include <linux/types.h>

/* Of a group's round trip the host's part is from its first request to the response to the last of the groups that were
 * raised together; what is before and after is the device's. */
struct round_trip_parts {
	__u64 host_ns;			      /* of all together */
	__u64 host_least_ns, device_least_ns; /* of one; 0: there was none */
};

#endif
