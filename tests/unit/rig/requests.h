/* SPDX-License-Identifier: GPL-2.0 */
/* Page requests of a test that is a device which does not wait, on the rig's first device. */
#ifndef FAULTLINE_TEST_REQUESTS_H
#define FAULTLINE_TEST_REQUESTS_H

#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/port_private.h"
#include "tests/unit/rig/rig.h"

/* In threads that are not the test's own. */
#define ALWAYS(condition)                                                       \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			abort();                                                \
		}                                                               \
	} while (0)

/* The thread is inside port_request(). */
static _Thread_local bool raising;

static inline int raise_it(struct port_request *request)
{
	int error;

	raising = true;
	error = port_request(rig->devices[0].port, request);
	raising = false;
	return error;
}

/* Until all that were told are closed; none may be left that was not. */
static inline void wait_closed(void)
{
	struct port *port = rig->devices[0].port;

	pthread_mutex_lock(&port->lock);
	while (port->finishing)
		pthread_cond_wait(&port->finished, &port->lock);
	assert_null(port->open.first);
	assert_null(port->answered.first);
	pthread_mutex_unlock(&port->lock);
}

static inline struct port_stats stats_now(void)
{
	struct port_stats stats;

	port_stats(rig->devices[0].port, &stats);
	return stats;
}

static inline __u64 trips_now(void)
{
	struct histogram trips;

	histogram_init(&trips);
	port_round_trips(rig->devices[0].port, &trips, NULL);
	return trips.count;
}

#endif
