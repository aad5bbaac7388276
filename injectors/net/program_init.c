// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/program_init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/files.h"
#include "lib/base/limits.h"
#include "lib/base/signals.h"
#include "lib/base/user.h"

enum { OUT, ERRORS, PIPES };

struct init {
	const struct program_task *task;
	int pipes[PIPES][2];
	int told[2];  /* closed by exec, or why there was none */
	int children; /* signalfd */
	pid_t program;
	bool ended;
	__u64 read; /* bytes of all pipes */
	struct program_word word;
};

/* How the program could not be started: by the first process or by the program's own before exec. */
struct init_refusal {
	char step[32];
	int error;
};

static _Noreturn void init_refuse(struct init *init, const char *step, int error)
{
	struct program_word word = {.what = PROGRAM_REFUSED, .value = error};

	snprintf(word.step, sizeof(word.step), "%s", step);
	(void)!send(init->task->channel, &word, sizeof(word), MSG_NOSIGNAL);
	_exit(0);
}

static _Noreturn void program_refuse(const struct init *init, const char *step)
{
	struct init_refusal refusal = {.error = errno};

	snprintf(refusal.step, sizeof(refusal.step), "%s", step);
	(void)!write(init->told[1], &refusal, sizeof(refusal));
	_exit(1);
}

/* As if started from a shell of that user: default signals, limits, a session of its own, no descriptors of ours. */
static _Noreturn void become_program(struct init *init)
{
	const struct program_task *task = init->task;
	char *argv[PROGRAM_WORDS + 1];
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	setsid();
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(init->pipes[OUT][1], STDOUT_FILENO) < 0 ||
	    dup2(init->pipes[ERRORS][1], STDERR_FILENO) < 0)
		program_refuse(init, "its standard descriptors");
	close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	limits_restore();
	files_restore_umask();
	sigemptyset(&none);
	signals_restore();
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	if (!user_become(task->uid, task->gid))
		program_refuse(init, "becoming its user");
	setenv("HOME", "/tmp", 1);
	unsetenv("TMPDIR");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		program_refuse(init, "giving up rights");
	program_argv(task->words, argv);
	execv(task->path, argv);
	program_refuse(init, "being run");
}

/*
 * What it writes to its home or leaves in /tmp goes with it. The processes that it sees are those that it can signal;
 * a container may forbid that mount, and the host's are seen then.
 */
static void init_mount(struct init *init)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
	    mount("faultline-program", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m"))
		init_refuse(init, "a /tmp of its own", errno);
	(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* Before anything is charged to it: all that the program will be inherits it. */
static void init_enter_group(struct init *init)
{
	char path[320];
	int file;

	if (!*init->task->group)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", init->task->group);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, "0", 1) != 1)
		init_refuse(init, "entering its memory cgroup", errno);
	close(file);
}

static void init_start(struct init *init)
{
	struct init_refusal refusal;
	sigset_t child;
	ssize_t size;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &child, NULL);
	init->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init->children < 0 || pipe2(init->pipes[OUT], O_CLOEXEC) ||
	    pipe2(init->pipes[ERRORS], O_CLOEXEC) || pipe2(init->told, O_CLOEXEC))
		init_refuse(init, "its descriptors", errno);
	init_enter_group(init);
	if (setns(init->task->netns, CLONE_NEWNET))
		init_refuse(init, "entering its namespace", errno);
	init_mount(init);
	init->program = fork();
	if (init->program < 0)
		init_refuse(init, "its process", errno);
	if (!init->program)
		become_program(init);
	for (unsigned int i = 0; i < PIPES; i++) {
		close(init->pipes[i][1]);
		/* Only our end: it is no file that both have open. */
		fcntl(init->pipes[i][0], F_SETFL, O_NONBLOCK);
	}
	close(init->told[1]);
	do
		size = read(init->told[0], &refusal, sizeof(refusal));
	while (size < 0 && errno == EINTR);
	if (size == sizeof(refusal))
		init_refuse(init, refusal.step, refusal.error);
	close(init->told[0]);
	close(init->task->netns);
}

/* The first bytes are kept, the others are counted. */
static void keep_output(struct init *init, const char *bytes, size_t size)
{
	__u64 kept = init->word.printed, room = init->task->output_most;

	room = room > kept ? room - kept : 0;
	if (room)
		(void)!pwrite(init->task->output, bytes, size < room ? size : room, (off_t)kept);
	init->word.printed += size;
}

/* The last bytes are kept. */
static void keep_errors(struct init *init, const char *bytes, size_t size)
{
	struct program_word *word = &init->word;
	size_t out;

	if (size > PROGRAM_ERRORS) {
		bytes += size - PROGRAM_ERRORS;
		size = PROGRAM_ERRORS;
	}
	out = word->errors + size > PROGRAM_ERRORS ? word->errors + size - PROGRAM_ERRORS : 0;
	memmove(word->error_text, word->error_text + out, word->errors - out);
	memcpy(word->error_text + word->errors - out, bytes, size);
	word->errors += (__u32)(size - out);
}

/* False at its end, or if it is empty for now. */
static bool init_read(struct init *init, unsigned int which)
{
	char bytes[16 << 10];
	ssize_t size = read(init->pipes[which][0], bytes, sizeof(bytes));

	if (size < 0)
		return errno == EINTR;
	init->read += (__u64)size;
	if (which == OUT)
		keep_output(init, bytes, (size_t)size);
	else
		keep_errors(init, bytes, (size_t)size);
	return size > 0;
}

/* Orphans of the namespace are ours, too. */
static void init_reap(struct init *init)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)!read(init->children, &info, sizeof(info));
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != init->program)
			continue;
		init->ended = true;
		init->word.value = status;
	}
}

static void init_listen(struct init *init, short events)
{
	char word;

	/* Nobody listens any more: the machine has let it go. */
	if (!(events & POLLIN) || recv(init->task->channel, &word, 1, 0) != 1)
		_exit(0);
	if (word == PROGRAM_TERMINATE)
		kill(-init->program, SIGTERM);
}

static void init_watch(struct init *init)
{
	struct pollfd polled[] = {
		{.fd = init->pipes[OUT][0], .events = POLLIN},
		{.fd = init->pipes[ERRORS][0], .events = POLLIN},
		{.fd = init->children, .events = POLLIN},
		{.fd = init->task->channel, .events = POLLIN},
		{.fd = init->task->machine, .events = POLLIN},
	};

	while (!init->ended) {
		if (poll(polled, sizeof(polled) / sizeof(polled[0]), -1) < 0)
			continue;
		if (polled[4].revents)
			_exit(0);
		for (unsigned int i = 0; i < PIPES; i++)
			if (polled[i].revents && !init_read(init, i) && polled[i].revents & POLLHUP)
				polled[i].fd = -1;
		if (polled[2].revents)
			init_reap(init);
		if (polled[3].revents)
			init_listen(init, polled[3].revents);
	}
}

/*
 * What there is, once the program has ended. Others that it leaves behind may go on printing, which nobody waits
 * for: they end with us.
 */
static void init_drain(struct init *init, unsigned int which)
{
	int left = 0;

	if (ioctl(init->pipes[which][0], FIONREAD, &left))
		return;
	for (__u64 before; left > 0; left -= (int)(init->read - before)) {
		before = init->read;
		if (!init_read(init, which))
			return;
	}
}

_Noreturn void program_init(const struct program_task *task)
{
	struct init init = {.task = task, .word.what = PROGRAM_STARTED};

	/* All that follows counts on it: our end is then the end of all others, and of nobody else. */
	if (getpid() != 1)
		init_refuse(&init, "a PID namespace of its own", ESRCH);
	setsid();
	init_start(&init);
	(void)!send(task->channel, &init.word, sizeof(init.word), MSG_NOSIGNAL);
	init_watch(&init);
	for (unsigned int i = 0; i < PIPES; i++)
		init_drain(&init, i);
	init.word.what = PROGRAM_ENDED;
	(void)!send(task->channel, &init.word, sizeof(init.word), MSG_NOSIGNAL);
	_exit(0);
}
