// SPDX-License-Identifier: GPL-2.0
#include "lib/base/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "lib/base/fail.h"

#define STACK_BYTES (256ul << 10) /* several times what any verb was seen to use */

static struct {
	struct rlimit limit;
	bool changed;
} before[RLIM_NLIMITS];

/* Sets the soft limit to `soft`, both to `need` where the hard one is lower; false if they stay lower. */
static bool raise_limit(int resource, rlim_t soft, rlim_t need)
{
	struct rlimit limit = before[resource].limit;

	if (!before[resource].changed && getrlimit(resource, &limit))
		return true; /* nothing is known of it: what it forbids will say so */
	before[resource].limit = limit;
	before[resource].changed = true;
	limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
	setrlimit(resource, &limit);
	if (limit.rlim_max >= need)
		return true;
	limit.rlim_cur = limit.rlim_max = need;
	return !setrlimit(resource, &limit);
}

int limits_need_files(const char *what, unsigned long count)
{
	if (raise_limit(RLIMIT_NOFILE, RLIM_INFINITY, count))
		return 0;
	return failed(
		-EMFILE,
		"%s takes up to %lu open files, and %lu are allowed (RLIMIT_NOFILE); raise it: "
		"ulimit -n %lu",
		what, count, (unsigned long)before[RLIMIT_NOFILE].limit.rlim_max, count);
}

int limits_need_stack(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_BYTES ||
	    raise_limit(RLIMIT_STACK, STACK_BYTES, STACK_BYTES))
		return 0;
	return failed(
		-ENOMEM,
		"a stack of %lu bytes is needed, and %lu are allowed (RLIMIT_STACK); raise it: "
		"ulimit -s %lu",
		STACK_BYTES, (unsigned long)limit.rlim_max, STACK_BYTES >> 10);
}

void limits_warn_of_cpu(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_CPU, &limit) && limit.rlim_max != RLIM_INFINITY &&
	    limit.rlim_max > 1 && limit.rlim_cur == limit.rlim_max)
		raise_limit(RLIMIT_CPU, limit.rlim_max - 1, 0);
}

void limits_restore(void)
{
	for (int resource = 0; resource < RLIM_NLIMITS; resource++)
		if (before[resource].changed)
			setrlimit(resource, &before[resource].limit);
}
