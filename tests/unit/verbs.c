// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/child.h"
#include "tools/verbs.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{"report", verb_report},     {"slo", verb_slo},
	{"timeline", verb_timeline}, {"footprint", verb_footprint},
	{"top", verb_top},	     {"accesses", verb_accesses},
	{"sim", verb_sim},	     {"doctor", verb_doctor},
	{"merge", verb_merge},	     {"diff", verb_diff},
};

static char *take(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)size + 1);

	if (!text || pread(fd, text, (size_t)size, 0) != size)
		abort();
	close(fd);
	return text;
}

static void run_here(const char *line, int out, int err)
{
	char *argv[VERB_ARGUMENTS + 1] = {NULL}, *words = strdup(line), *word;
	int argc = 0, status = -1;

	for (word = strtok(words, " "); word && argc < VERB_ARGUMENTS; word = strtok(NULL, " "))
		argv[argc++] = word;
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].name, argv[0]))
			status = verbs[i].run(argc, argv);
	fflush(NULL);
	_exit(status);
}

struct verb_run verb_run(const char *line)
{
	int out = memfd_create("out", 0), err = memfd_create("err", 0), status = 0;
	struct verb_run run;
	pid_t pid;

	fflush(NULL);
	pid = child_fork();
	if (!pid)
		run_here(line, out, err);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	run.out = take(out);
	run.err = take(err);
	return run;
}

void verb_run_free(struct verb_run *run)
{
	free(run->out);
	free(run->err);
}
