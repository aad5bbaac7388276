// SPDX-License-Identifier: GPL-2.0
/* What is asked of a [program] before anything starts. */
#include <errno.h>
#include <string.h>

#include "injectors/job/job_private.h"
#include "injectors/net/program_check.h"
#include "lib/base/fail.h"

/* Debian's, of the programs that the shipped jobs run. */
static const struct {
	const char *program, *package;
} packages[] = {
	{"iperf3", "iperf3"},
	{"memcached", "memcached"},
	{"memcaslap", "libmemcached-tools"},
	{"redis-server", "redis-server"},
	{"redis-benchmark", "redis-tools"},
	{"sockperf", "sockperf"},
};

static const char *package_of(const char *run)
{
	struct program_words words;

	if (program_split(run, &words))
		return NULL;
	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
		if (!strcmp(words.text, packages[i].program))
			return packages[i].package;
	return NULL;
}

int job_check_program(const struct job_program *program)
{
	int err = program_check(&program->config);
	const char *package;

	if (!err)
		return 0;
	package = err == -ENOENT ? package_of(program->config.run) : NULL;
	failed_in(-EBADMSG, "%s", program->where);
	return package ? failed(-EBADMSG, "%s; Debian's package %s has it", failure_text(), package)
		       : -EBADMSG;
}
