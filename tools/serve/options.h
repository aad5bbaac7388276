/* SPDX-License-Identifier: GPL-2.0 */
/* The options of faultline serve. */
#ifndef FAULTLINE_SERVE_OPTIONS_H
#define FAULTLINE_SERVE_OPTIONS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/analyze/slo.h"
#include "lib/capture/capture.h"
#include "lib/cli/hosts.h"

#define SERVE_FILTERS 16
#define ADDRESS_TEXT  (INET6_ADDRSTRLEN + 16)

struct listen_address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at;
	socklen_t length; /* 0: nobody is listened to */
	bool loopback;
};

struct serve_options {
	struct listen_address listen;
	const char *input; /* NULL: live */
	struct host_options hosts;
	const char *devices[SERVE_FILTERS];
	size_t device_count;
	const char *textfile, *state;
	bool no_state;
	const char *objectives_file;
	const struct slo_set *slos; /* NULL: none */
	size_t max_devices;
	unsigned int burst;
	__u64 interval_ns, keep_ns, keep_bytes;
	bool no_page, tcp, verbose;
};

/* The program ends with EXIT_USAGE where something is wrong; a negative errno for files that are. */
int serve_options_parse(struct serve_options *options, int argc, char **argv);
/* "127.0.0.1:9753", "[::1]:9753", ":9753" of this host alone, "none". -EINVAL with a sentence. */
int listen_parse(const char *text, struct listen_address *address);
const char *listen_text(const struct listen_address *address, char text[ADDRESS_TEXT]);

#endif
