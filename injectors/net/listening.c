// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/listening.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/net/netns.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

/* As /proc/net/tcp and udp number them (enum of TCP states): one that listens, one bound and not connected. */
#define STATE_LISTEN 10
#define STATE_BOUND  7

int listening_parse(const char *text, struct listening *listening)
{
	__u64 port;

	listening->udp = !strncmp(text, "udp:", 4);
	if ((!listening->udp && strncmp(text, "tcp:", 4) != 0) ||
	    units_parse_count(text + 4, 1, 65535, &port))
		return failed(-EINVAL,
			      "'%s' is no port; accepted: tcp:1 to tcp:65535, or udp:", text);
	listening->port = (__u16)port;
	return 0;
}

static bool listening_in(const char *path, const struct listening *listening)
{
	unsigned int port, state, wanted = listening->udp ? STATE_BOUND : STATE_LISTEN;
	FILE *file = fopen(path, "re");
	char line[512];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &port,
			       &state) == 2 &&
			port == listening->port && state == wanted;
	if (file)
		fclose(file);
	return found;
}

static int listening_body(void *argument)
{
	const struct listening *listening = argument;
	bool found;

	/* A server of IPv6 has the port of IPv4, too; without IPv6 there is no such file. */
	if (listening->udp)
		found = listening_in("/proc/thread-self/net/udp", listening) ||
			listening_in("/proc/thread-self/net/udp6", listening);
	else
		found = listening_in("/proc/thread-self/net/tcp", listening) ||
			listening_in("/proc/thread-self/net/tcp6", listening);
	return found;
}

int listening_look(int netns, const struct listening *listening)
{
	return netns_run(netns, listening_body, (void *)listening);
}
