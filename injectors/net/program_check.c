// SPDX-License-Identifier: GPL-2.0
/* What of a program can be known before anything runs. */
#include "injectors/net/program_check.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/command.h"
#include "lib/base/fail.h"
#include "lib/base/user.h"

int program_split(const char *run, struct program_words *words)
{
	static const struct program_place places[] = {
		{"{guest}", NETWORK_GUEST_ADDRESS}, {"{wire}", NETWORK_WIRE_ADDRESS}, {NULL, NULL}};

	return program_words_split(run, places, words);
}

/* A script without its interpreter, or none at all, would be refused only once the machine runs. */
static int program_check_format(const struct program_config *config, const char *path)
{
	char head[PATH_MAX] = "", *interpreter = head + 2;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, head, sizeof(head) - 1);

	if (fd >= 0)
		close(fd);
	/* What may be run need not be readable. */
	if (fd < 0 || (size >= 4 && !memcmp(head, "\177ELF", 4)))
		return 0;
	if (strncmp(head, "#!", 2) != 0)
		return failed(-ENOEXEC,
			      "program %s: %s: the kernel does not execute it; accepted: a binary, "
			      "or a script that begins with #! and its interpreter",
			      config->name, path);
	interpreter += strspn(interpreter, " \t");
	interpreter[strcspn(interpreter, " \t\n")] = '\0';
	if (access(interpreter, X_OK))
		return failed(-ENOEXEC, "program %s: %s: its interpreter '%s' cannot be run: %s",
			      config->name, path, interpreter, strerror(errno));
	return 0;
}

/* 0, or why that user may not run it. Only root can ask, and only root runs programs. */
static int refused_to(uid_t uid, gid_t gid, const char *path)
{
	pid_t child;
	int status = 0;

	if (geteuid() || !uid)
		return 0;
	child = fork();
	if (!child)
		_exit(setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ||
				      !access(path, X_OK)
			      ? 0
			      : errno);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static int program_check_user(const struct program_config *config, const char *path)
{
	uid_t uid;
	gid_t gid;
	int error;

	user_of_programs(&uid, &gid);
	error = refused_to(uid, gid, path);
	if (!error)
		return 0;
	return failed(-EACCES, "program %s: %s: %s; accepted: a program that user %u may run",
		      config->name, path, strerror(error), uid);
}

int program_prepare(const struct program_config *config, struct program_words *words,
		    char path[PATH_MAX], struct listening *listening)
{
	struct stat status;
	int err = program_split(config->run, words);

	if (!err && *config->ready) {
		err = listening_parse(config->ready, listening);
		if (err)
			failed_in(err, "ready");
	}
	if (err)
		return failed_in(err, "program %s", config->name);
	if (!command_search(words->text, path, &status) || !S_ISREG(status.st_mode))
		return failed(-ENOENT,
			      "program %s: %s: no such program; install it, or give its path",
			      config->name, words->text);
	if (!strncmp(path, "/tmp/", 5))
		return failed(-ENOENT,
			      "program %s: %s: programs have a /tmp of their own; accepted: one in "
			      "another folder",
			      config->name, path);
	if (access(path, X_OK))
		return failed(-EACCES, "program %s: %s: cannot be run: %s", config->name, path,
			      strerror(errno));
	return program_check_user(config, path) ?: program_check_format(config, path);
}

int program_check(const struct program_config *config)
{
	struct listening listening;
	struct program_words words;
	char path[PATH_MAX];

	return program_prepare(config, &words, path, &listening);
}
