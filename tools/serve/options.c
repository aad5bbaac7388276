// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/cli/cli.h"
#include "tools/common.h"
#include "tools/serve/ledger.h"

#define LISTEN_DEFAULT	"127.0.0.1:9753"
#define DEVICES_DEFAULT 200
#define KEEP_DEFAULT_NS (300 * NSEC_PER_SEC)
#define KEEP_DEFAULT	(64ull << 20)
#define BURST_MOST	1000000

static int listen_refuse(const char *text)
{
	return failed(
		-EINVAL,
		"'%s' is no address; accepted: ADDRESS:PORT with an address of this host in numbers, such as "
		"127.0.0.1:9753 or [::1]:9753, :PORT of this host alone, none",
		text);
}

static bool is_loopback(const struct listen_address *address)
{
	const struct in6_addr *v6 = &address->at.v6.sin6_addr;

	if (address->at.any.sa_family == AF_INET)
		return ntohl(address->at.v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

int listen_parse(const char *text, struct listen_address *address)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t length = colon ? (size_t)(colon - text) : 0;
	__u64 port;

	*address = (struct listen_address){0};
	if (!strcmp(text, "none"))
		return 0;
	if (!colon || length >= sizeof(host) || units_parse_count(colon + 1, 0, UINT16_MAX, &port))
		return listen_refuse(text);
	snprintf(host, sizeof(host), "%.*s", (int)length, length ? text : "127.0.0.1");
	if (!length)
		snprintf(host, sizeof(host), "127.0.0.1");
	length = strlen(host);
	if (inet_pton(AF_INET, host, &address->at.v4.sin_addr) == 1) {
		address->at.v4.sin_family = AF_INET;
		address->at.v4.sin_port = htons((__u16)port);
		address->length = sizeof(address->at.v4);
	} else if (host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &address->at.v6.sin6_addr) != 1)
			return listen_refuse(text);
		address->at.v6.sin6_family = AF_INET6;
		address->at.v6.sin6_port = htons((__u16)port);
		address->length = sizeof(address->at.v6);
	} else {
		return listen_refuse(text);
	}
	address->loopback = is_loopback(address);
	return 0;
}

const char *listen_text(const struct listen_address *address, char text[ADDRESS_TEXT])
{
	char host[INET6_ADDRSTRLEN];

	if (address->at.any.sa_family == AF_INET6)
		snprintf(text, ADDRESS_TEXT, "[%s]:%u",
			 inet_ntop(AF_INET6, &address->at.v6.sin6_addr, host, sizeof(host)),
			 ntohs(address->at.v6.sin6_port));
	else
		snprintf(text, ADDRESS_TEXT, "%s:%u",
			 inet_ntop(AF_INET, &address->at.v4.sin_addr, host, sizeof(host)),
			 ntohs(address->at.v4.sin_port));
	return text;
}

static int serve_parse_listen(const char *text, void *field)
{
	return listen_parse(text, field);
}

static int serve_check_pattern(const char *text, void *field)
{
	(void)field;
	return common_check_pattern(text);
}

static int serve_check(void *input)
{
	const struct serve_options *o = input;

	if (o->hosts.count && !o->input)
		return failed(-EINVAL, "--host needs a recording: -i FILE");
	if (o->input && !strcmp(o->input, "-"))
		return failed(-EINVAL,
			      "-i -: standard input is not read twice; accepted: a .flt file");
	if (o->input && o->device_count)
		return failed(-EINVAL,
			      "--device chooses what is captured; -i %s holds all that was",
			      o->input);
	if (o->input && o->state)
		return failed(-EINVAL,
			      "--state is of live counters; those of -i %s are what it says",
			      o->input);
	if (o->state && o->no_state)
		return failed(-EINVAL, "--state and --no-state exclude each other");
	if (!o->listen.length && !o->textfile)
		return failed(-EINVAL,
			      "--listen none leaves nobody to tell; accepted: with --textfile DIR");
	return 0;
}

#define SERVE(member) CLI_FIELD(struct serve_options, member)

static const struct cli_option serve_option_list[] = {
	{"listen", 'l', "ADDRESS:PORT",
	 "Where to listen (default: " LISTEN_DEFAULT "); none: nowhere, with --textfile", CLI_OWN,
	 SERVE(listen), .parse = serve_parse_listen},
	{"input", 'i', "FILE", "Serve what a recording says", CLI_TEXT, SERVE(input)},
	{"device", 'd', "NAME", "Only this device, or devices matching a pattern; repeatable",
	 CLI_LIST, SERVE(devices), .most = SERVE_FILTERS,
	 .count = offsetof(struct serve_options, device_count), .parse = serve_check_pattern},
	{"max-devices", 0, "N", "Devices told by name, the rest as \"other\" (default: 200)",
	 CLI_COUNT, SERVE(max_devices), 1, LEDGER_DEVICES_MOST},
	{"interval", 0, "TIME", "Take the numbers so often (default: 1s)", CLI_TIME,
	 SERVE(interval_ns), NSEC_PER_SEC / 10, 3600 * NSEC_PER_SEC},
	{"textfile", 0, "DIR", "Write the same into DIR/faultline.prom, for node_exporter",
	 CLI_TEXT, SERVE(textfile)},
	{"state", 0, "FILE",
	 "Counters go on from those in FILE, and are kept there (default: a file of this address in "
	 "/run/faultline)",
	 CLI_TEXT, SERVE(state)},
	{"no-state", 0, NULL, "Counters begin at 0", CLI_FLAG, SERVE(no_state)},
	{"config", 'c', "FILE", "Objectives to judge (SLO file)", CLI_TEXT, SERVE(objectives_file)},
	{"burst", 0, "N", "More faults than this within a second are a burst (default: 5)",
	 CLI_COUNT, SERVE(burst), 1, BURST_MOST},
	{"keep", 0, "TIME", "How much the page tells of (default: 5m)", CLI_TIME, SERVE(keep_ns),
	 10 * NSEC_PER_SEC, 86400 * NSEC_PER_SEC},
	{"max-size", 0, "SIZE", "Room in $TMPDIR for that (default: 64M)", CLI_SIZE,
	 SERVE(keep_bytes), TRACE_RING_MINIMUM, 1ull << 40},
	{"no-page", 0, NULL, "No page, and nothing kept for it", CLI_FLAG, SERVE(no_page)},
	{"tcp", 0, NULL, "TCP of all of the host, not only of emulated machines' networks",
	 CLI_FLAG, SERVE(tcp)},
	{"verbose", 'v', NULL, "Print what the kernel's verifier says of refused programs",
	 CLI_FLAG, SERVE(verbose)},
	{0},
};

static const struct cli serve_cli = {
	.tables = (const struct cli_table[]){{serve_option_list}, {0}},
	.children = (const struct cli_child[]){{&memory_argp, 0, true},
					       {&hosts_argp, offsetof(struct serve_options, hosts),
						true},
					       {0}},
	.check = serve_check,
	.about =
		"Serves what is observed, live or from a recording: /metrics for Prometheus, / a page of the "
		"last minutes for people.\v"
		"EXAMPLES:\n"
		"  sudo faultline serve\n"
		"  sudo faultline serve -l 0.0.0.0:9753 -c slo.ini\n"
		"  sudo faultline serve --listen none --textfile /var/lib/node_exporter\n"
		"  faultline serve -i run.flt\n"
		"  faultline serve -i run.flt --listen none --textfile .\n\n"
		"Metrics: docs/metrics.md. Who can reach the address reads all of it: docs/security.md.\n"
		"Exit status: 0 ended as asked; 1 the system refused; 2 wrong option; 3 missing or damaged input;\n"
		"4 privilege missing; 5 memory ran out, or the recording had lost events.",
};

int serve_options_parse(struct serve_options *options, int argc, char **argv)
{
	static struct slo_set slos;

	*options = (struct serve_options){.max_devices = DEVICES_DEFAULT,
					  .interval_ns = NSEC_PER_SEC,
					  .keep_ns = KEEP_DEFAULT_NS,
					  .keep_bytes = KEEP_DEFAULT};
	listen_parse(LISTEN_DEFAULT, &options->listen);
	if (cli_parse(&serve_cli, argc, argv, options))
		return -EINVAL;
	if (!options->objectives_file)
		return 0;
	if (slo_read(options->objectives_file, &slos))
		return -EBADMSG;
	options->slos = &slos;
	return 0;
}
