// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/quiet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define LOOK_NS (2 * NSEC_PER_MSEC)

/* As /proc/net/tcp numbers them: a state, and timers that send something again. */
#define STATE_LISTEN 10
#define TIMER_SEND   1 /* retransmission, loss probe, reordering */
#define TIMER_WINDOW 4 /* probe of a window of zero */

static bool has_something_left(const char *line)
{
	unsigned int state, timer;
	unsigned long unacknowledged;

	return sscanf(line, " %*u: %*[0-9A-Fa-f]:%*x %*[0-9A-Fa-f]:%*x %x %lx:%*x %x:", &state,
		      &unacknowledged, &timer) == 3 &&
	       state != STATE_LISTEN &&
	       (unacknowledged || timer == TIMER_SEND || timer == TIMER_WINDOW);
}

int quiet_count(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512];
	int count = 0;

	if (!file)
		return failed(-errno, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file))
		count += has_something_left(line);
	fclose(file);
	return count;
}

/* A server for both families has its connections of IPv4 in the other file; without IPv6 there is none. */
static int count_side(void *argument)
{
	static const char both[] = "/proc/thread-self/net/tcp6";
	int count = quiet_count("/proc/thread-self/net/tcp");
	int more = count < 0 || access(both, F_OK) ? 0 : quiet_count(both);

	(void)argument;
	return count < 0 || more < 0 ? (count < 0 ? count : more) : count + more;
}

int network_await_quiet(const struct network *network, __u64 timeout_ns)
{
	__u64 begin = monotonic_ns();

	for (;;) {
		int count = 0;

		for (int side = 0; side < NETWORK_SIDES; side++) {
			int found = network_run(network, side, count_side, NULL);

			if (found < 0)
				return found;
			count += found;
		}
		if (!count || monotonic_ns() - begin >= timeout_ns)
			return count;
		usleep(LOOK_NS / 1000);
	}
}
