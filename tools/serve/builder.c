// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/builder.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/child.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "tools/page/page.h"

#define PAGE_MOST (256u << 20)
#define LOOK_MS	  20

static int page_part(const struct builder *builder, const char *recording, FILE *out)
{
	const struct page_options options = {builder->slos, builder->live ? BUILDER_REFRESH : 0};
	size_t count = builder->host ?: 1;
	struct trace_summary *all = calloc(count, sizeof(*all)),
			     *summary = all ? &all[count - 1] : NULL;
	struct export_part part = {recording, summary, NULL, builder->host, NULL};
	int err;

	if (!all)
		return failed(-ENOMEM, "no memory for %zu hosts", count);
	err = builder->host ? trace_summarize_hosts(recording, all, count)
			    : trace_summarize(recording, all);
	if (!err) {
		part.host = &summary->host;
		part.name = summary->host.hostname;
		err = page_write(&part, &options, out);
	}
	for (size_t i = 0; i < count; i++)
		trace_summary_free(&all[i]);
	free(all);
	return err == -EBADMSG ? 0 : err; /* the page says so */
}

/* A flight recorder lets go of what is being read: a copy does not. */
static int page_make(const struct builder *builder)
{
	char copy[PATH_MAX];
	FILE *out;
	int err = 0;

	if (snprintf(copy, sizeof(copy), "%s/copy.flt", builder->folder) >= (int)sizeof(copy))
		return failed(-ENAMETOOLONG, "%s: is too long a name", builder->folder);
	if (builder->live)
		err = trace_snapshot(builder->recording, copy, true, 0, 0);
	if (err)
		return err;
	out = fopen(builder->page, "we");
	if (!out)
		return failed(-errno, "%s: cannot be made: %s", builder->page, strerror(errno));
	err = page_part(builder, builder->live ? copy : builder->recording, out);
	if (fclose(out) && !err)
		err = failed(-errno, "%s: cannot be written: %s", builder->page, strerror(errno));
	unlink(copy);
	return err;
}

/* Whatever it needs, it takes behind capture, and neither all memory nor all time. */
static void page_process(const struct builder *builder, struct builder_answer *answer)
{
	const struct rlimit seconds = {BUILDER_SECONDS, BUILDER_SECONDS},
			    size = {PAGE_MOST, PAGE_MOST};

	setrlimit(RLIMIT_CPU, &seconds);
	setrlimit(RLIMIT_FSIZE, &size);
	if (nice(10) < 0)
		errno = 0;
	answer->error = page_make(builder);
	snprintf(answer->sentence, sizeof(answer->sentence), "%s", failure_text());
	_exit(EXIT_OK);
}

static bool is_hung_up(int socket, int timeout_ms)
{
	struct pollfd poll_fd = {socket, 0, 0};

	return poll(&poll_fd, 1, timeout_ms) > 0 && poll_fd.revents;
}

/* False: nobody waits for it any more. */
static bool page_await(pid_t child, int socket, int *status)
{
	__u64 until = monotonic_ns() + BUILDER_SECONDS * NSEC_PER_SEC;
	bool left = false;

	while (waitpid(child, status, WNOHANG) == 0) {
		left = is_hung_up(socket, LOOK_MS);
		if (!left && monotonic_ns() < until)
			continue;
		kill(child, SIGKILL);
		*status = child_await(child);
		break;
	}
	return !left;
}

static bool build_one(const struct builder *builder, int socket, struct builder_answer *answer)
{
	pid_t child;
	int status = 0;

	*answer = (struct builder_answer){.error = -EIO};
	child = child_start(SIGKILL);
	if (!child)
		page_process(builder, answer);
	if (child < 0)
		snprintf(answer->sentence, sizeof(answer->sentence), "no process for a page: %s",
			 strerror(errno));
	else if (!page_await(child, socket, &status))
		return false;
	if (child > 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_OK)) {
		answer->error = -EIO;
		snprintf(answer->sentence, sizeof(answer->sentence),
			 "the page was not made: its process ended by signal %d within %d s",
			 WIFSIGNALED(status) ? WTERMSIG(status) : 0, BUILDER_SECONDS);
	}
	return send(socket, answer, sizeof(*answer), MSG_NOSIGNAL) == sizeof(*answer);
}

static void remove_folder(const char *folder)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(folder);
}

/* Whoever ends us all at once ends the server, and that is our end. */
static void builder_run(const struct builder *builder, int socket)
{
	static const int theirs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct builder_answer *answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char byte;

	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		signal(theirs[i], SIG_IGN);
	while (answer != MAP_FAILED && recv(socket, &byte, 1, 0) == 1)
		if (!build_one(builder, socket, answer))
			break;
	remove_folder(builder->folder);
	_exit(EXIT_OK);
}

int builder_start(const struct builder *builder, int *socket, pid_t *process)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return failed(-errno, "no socket for the page: %s", strerror(errno));
	*process = fork();
	if (!*process) {
		close(ends[0]);
		builder_run(builder, ends[1]);
	}
	close(ends[1]);
	*socket = ends[0];
	if (*process > 0)
		return 0;
	close(ends[0]);
	return failed(-EAGAIN, "no process for the page: %s", strerror(errno));
}
