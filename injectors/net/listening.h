/* SPDX-License-Identifier: GPL-2.0 */
/* Whether somebody listens at a port: looked up, not tried, as a connection is something that a server sees. */
#ifndef FAULTLINE_NET_LISTENING_H
#define FAULTLINE_NET_LISTENING_H

#include <linux/types.h>
#include <stdbool.h>

struct listening {
	bool udp;
	__u16 port;
};

/* "tcp:5201", "udp:11111". -EINVAL with a sentence that names what is accepted. */
int listening_parse(const char *text, struct listening *listening);

/* In the namespace: 1 if somebody listens there at any of its addresses, 0 if not, or a negative errno. */
int listening_look(int netns, const struct listening *listening);

#endif
