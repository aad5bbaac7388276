// SPDX-License-Identifier: GPL-2.0
/* For how long queues had faults that were open, however many at once: what recordings call blocked. */
#include "injectors/emu/port_private.h"

#include "lib/base/clock.h"

/*
 * What is claimed late, as its thread had to wait for a CPU, may have been detected before another was open whose time is counted: what was
 * before that counts, too, back to the time before it; and the rest.
 */
void port_group_opens(struct port *port, __u16 queue, __u64 detect_ns)
{
	struct port_queue *q = &port->queues[queue];
	__u64 from = detect_ns > q->counted_before ? detect_ns : q->counted_before;

	if (from < q->counted_from) {
		q->open_ns += q->counted_from - from;
		q->counted_from = from;
	}
	if (detect_ns < q->counted_until)
		detect_ns = q->counted_until;
	if (!q->open++)
		q->open_since = q->open_until = detect_ns;
	else if (detect_ns < q->open_since)
		q->open_since = detect_ns;
}

/* Not in the order of `now`: threads that close groups of a queue stamp that first. */
void port_group_closes(struct port *port, __u16 queue, __u64 now)
{
	struct port_queue *q = &port->queues[queue];

	if (now > q->open_until)
		q->open_until = now;
	if (--q->open)
		return;
	q->counted_before = q->counted_until;
	q->counted_from = q->open_since;
	q->counted_until = q->open_until;
	q->open_ns += q->open_until - q->open_since;
}

__u64 port_open_ns(const struct port *port)
{
	__u64 until = port->stopped_ns ? port->stopped_ns : monotonic_ns(), sum = 0;

	for (__u16 i = 0; i < port->config.queues; i++) {
		const struct port_queue *q = &port->queues[i];

		sum += q->open_ns;
		if (q->open && until > q->open_since)
			sum += until - q->open_since;
	}
	return sum;
}
