// SPDX-License-Identifier: GPL-2.0
#include "lib/cli/hosts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/usage.h"

#define NAMES_ROOM 400 /* of those that a sentence tells */

enum { KEY_HOST = 0x280 };

static const struct argp_option hosts_option_list[] = {
	{NULL, 0, NULL, 0, "Hosts:", 6},
	{"host", KEY_HOST, "NAME", 0,
	 "Of a merged recording only this host: name or shell pattern; repeatable", 0},
	{0},
};

static error_t hosts_parse(int key, char *argument, struct argp_state *state)
{
	struct host_options *options = state->input;

	if (key != KEY_HOST)
		return ARGP_ERR_UNKNOWN;
	if (!*argument)
		usage_error(state, "--host: '' is no host; accepted: a name or a shell pattern");
	if (options->count == HOST_PATTERNS)
		usage_error(state, "--host: more than %d are given", HOST_PATTERNS);
	options->patterns[options->count++] = argument;
	return 0;
}

const struct argp hosts_argp = {hosts_option_list, hosts_parse, NULL, NULL, NULL, NULL, NULL};

static bool host_fits(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

bool hosts_want(const struct host_options *options, const char *name)
{
	for (size_t i = 0; i < options->count; i++)
		if (host_fits(options->patterns[i], name))
			return true;
	return !options->count;
}

static int no_such_host(const char *pattern, const char *path, const char *const *names,
			size_t count)
{
	char text[NAMES_ROOM] = "";
	size_t used = 0, told = 0;

	while (told < count && used + strlen(names[told]) + 3 < sizeof(text)) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", told ? ", " : "",
					 names[told]);
		told++;
	}
	return failed(-EINVAL, "--host %s: %s has no such host; accepted: %s%s", pattern, path,
		      text, told < count ? ", ..." : "");
}

int hosts_check(const struct host_options *options, const char *path, const char *const *names,
		size_t count)
{
	for (size_t i = 0; i < options->count; i++) {
		size_t at = 0;

		while (at < count && !host_fits(options->patterns[i], names[at]))
			at++;
		if (at == count)
			return no_such_host(options->patterns[i], path, names, count);
	}
	return 0;
}

/* What is asked for of a recording of one host is that host. */
static int check_lone(const struct host_options *options, const char *path)
{
	struct trace_summary summary;
	const char *name = summary.host.hostname;
	int err = options->count ? trace_summarize(path, &summary) : 0;

	if (!err && options->count) {
		err = hosts_check(options, path, &name, 1);
		trace_summary_free(&summary);
	}
	return err;
}

int hosts_check_recording(const struct host_options *options, const char *path,
			  const struct trace_hosts *hosts)
{
	const char **names;
	int err;

	if (!hosts->count || !options->count)
		return check_lone(options, path);
	names = calloc(hosts->count, sizeof(*names));
	if (!names)
		return failed(-ENOMEM, "no memory for the names of hosts");
	for (size_t i = 0; i < hosts->count; i++)
		names[i] = hosts->all[i].name;
	err = hosts_check(options, path, names, hosts->count);
	free(names);
	return err;
}

int hosts_choose_one(const struct host_options *options, const char *path, __u32 *host)
{
	struct trace_hosts hosts;
	size_t wanted = 0;
	int err = failed_input(trace_hosts_read(path, &hosts));

	*host = 0;
	if (err)
		return err;
	err = hosts_check_recording(options, path, &hosts);
	for (size_t i = 0; !err && i < hosts.count; i++) {
		if (!hosts_want(options, hosts.all[i].name))
			continue;
		*host = (__u32)i + 1;
		wanted++;
	}
	trace_hosts_free(&hosts);
	return wanted > 1 ? trace_hosts_refuse(path) : err;
}
