/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users of lent and shared devices: what each got, and who starved beside the others.
 *
 * Those of one device in one run are compared: who waited longer than CLIENTS_WAITS times the median of their longest waits, or
 * got less than one CLIENTS_SHARE-th of their mean, has starved.
 */
#ifndef FAULTLINE_CLIENTS_H
#define FAULTLINE_CLIENTS_H

#include "lib/analyze/lent.h"

#define CLIENTS_WAITS 10
#define CLIENTS_SHARE 4

enum client_lack { LACK_NONE, LACK_WAIT, LACK_SHARE, LACKS };

struct client_totals {
	__u32 device, run;
	bool over;
	__u64 ios, bytes, errors;
	__u64 longest_ns, idle_ns, watched_ns;
	double rate; /* I/Os a second; NAN: it was told of once only */
};

struct clients;
/* False: nothing was told of it. */
bool client_totals_of(const struct clients *clients, __u32 device, struct client_totals *totals);

#endif
