// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/program_host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/pass_descriptors.h"
#include "lib/base/proc.h"

enum { HOST_CHANNEL, HOST_OUTPUT, HOST_NETNS, HOST_DESCRIPTORS };

struct host_request {
	uid_t uid;
	gid_t gid;
	__u64 output_most;
	char path[PATH_MAX];
	char group[256];
	struct program_words words;
};

/* A message with descriptors; they are sent in `fds` or arrive there, -1 where there are fewer. */
struct host_message {
	struct iovec part;
	struct msghdr header;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(HOST_DESCRIPTORS * sizeof(int))];
	} control;
};

static struct msghdr *host_message(struct host_message *message, void *bytes, size_t size)
{
	memset(message, 0, sizeof(*message));
	message->part = (struct iovec){bytes, size};
	message->header.msg_iov = &message->part;
	message->header.msg_iovlen = 1;
	message->header.msg_control = &message->control;
	message->header.msg_controllen = sizeof(message->control);
	return &message->header;
}

static ssize_t host_send(int channel, const void *bytes, size_t size, const int *fds, size_t count)
{
	struct host_message message;
	struct msghdr *header = host_message(&message, (void *)bytes, size);

	header->msg_controllen = 0;
	if (count)
		pass_descriptors(header, &message.control, fds, count);
	return sendmsg(channel, header, MSG_NOSIGNAL);
}

static ssize_t host_receive(int channel, void *bytes, size_t size, int *fds, size_t most)
{
	struct host_message message;
	struct msghdr *header = host_message(&message, bytes, size);
	const struct cmsghdr *control;
	ssize_t got;

	for (size_t i = 0; i < most; i++)
		fds[i] = -1;
	do
		got = recvmsg(channel, header, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	control = got < 0 ? NULL : CMSG_FIRSTHDR(header);
	if (control && control->cmsg_type == SCM_RIGHTS) {
		size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		memcpy(fds, CMSG_DATA(control), (count < most ? count : most) * sizeof(int));
	}
	return got;
}

/* In the host: 0 in the new process. */
static pid_t clone_first(int *pidfd)
{
	struct clone_args arguments = {.flags = CLONE_NEWPID | CLONE_PIDFD,
				       .pidfd = (__u64)(unsigned long)pidfd,
				       .exit_signal = SIGCHLD};

	return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
}

static void host_answer(int channel, int machine)
{
	static struct host_request request;
	int fds[HOST_DESCRIPTORS], pidfd = -1, error = 0;
	pid_t first;

	if (host_receive(channel, &request, sizeof(request), fds, HOST_DESCRIPTORS) !=
	    sizeof(request))
		_exit(0);
	first = clone_first(&pidfd);
	if (!first) {
		const struct program_task task = {
			.machine = machine,
			.channel = fds[HOST_CHANNEL],
			.output = fds[HOST_OUTPUT],
			.output_most = request.output_most,
			.netns = fds[HOST_NETNS],
			.uid = request.uid,
			.gid = request.gid,
			.path = request.path,
			.group = request.group,
			.words = &request.words,
		};

		close(channel);
		program_init(&task);
	}
	if (first < 0)
		error = errno;
	host_send(channel, &error, sizeof(error), &pidfd, first > 0);
	for (unsigned int i = 0; i < HOST_DESCRIPTORS; i++)
		close(fds[i]);
	if (first > 0)
		close(pidfd);
}

/* What is open in the machine stays open in nobody else. */
static void host_keep_only(int channel, int machine)
{
	int low = channel < machine ? channel : machine,
	    high = channel < machine ? machine : channel;
	int null = open("/dev/null", O_RDWR);

	for (int standard = STDIN_FILENO; null >= 0 && standard <= STDERR_FILENO; standard++)
		dup2(null, standard);
	close_range(STDERR_FILENO + 1, (unsigned int)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned int)low + 1, (unsigned int)high - 1, 0);
	close_range((unsigned int)high + 1, ~0u, 0);
	proc_forget();
}

static _Noreturn void host_main(int channel, int machine)
{
	struct pollfd polled[] = {{.fd = channel, .events = POLLIN},
				  {.fd = machine, .events = POLLIN}};

	setsid();
	/* Who asks the machine to end asks its programs through it. */
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_NAME, "program-host");
	host_keep_only(channel, machine);
	for (;;) {
		if (poll(polled, 2, -1) < 0)
			continue;
		if (polled[1].revents || polled[0].revents & ~POLLIN)
			_exit(0);
		if (polled[0].revents)
			host_answer(channel, machine);
	}
}

static int host_failed(const char *step)
{
	return failed(-errno, "a process for programs: %s: %s", step, strerror(errno));
}

int program_host_open(struct program_host *host)
{
	int ends[2], machine, err = 0;

	*host = (struct program_host){.channel = -1};
	machine = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (machine < 0)
		return host_failed("pidfd_open()");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		err = host_failed("socketpair()");
		close(machine);
		return err;
	}
	host->pid = fork();
	if (!host->pid)
		host_main(ends[1], machine);
	if (host->pid < 0)
		err = host_failed("fork()");
	close(machine);
	close(ends[1]);
	host->channel = ends[0];
	if (err)
		program_host_close(host);
	return err;
}

void program_host_close(struct program_host *host)
{
	if (host->channel >= 0)
		close(host->channel);
	while (host->pid > 0 && waitpid(host->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*host = (struct program_host){.channel = -1};
}

int program_host_start(struct program_host *host, const struct program_task *task)
{
	const int fds[HOST_DESCRIPTORS] = {task->channel, task->output, task->netns};
	static struct host_request request;
	int error = 0, pidfd = -1;

	request.uid = task->uid;
	request.gid = task->gid;
	request.output_most = task->output_most;
	request.words = *task->words;
	snprintf(request.group, sizeof(request.group), "%s", task->group);
	snprintf(request.path, sizeof(request.path), "%s", task->path);
	if (host_send(host->channel, &request, sizeof(request), fds, HOST_DESCRIPTORS) < 0 ||
	    host_receive(host->channel, &error, sizeof(error), &pidfd, 1) != sizeof(error))
		return failed(-EPIPE, "starting %s: the process that starts programs has ended",
			      task->path);
	if (error)
		return failed(-error, "starting %s: a PID namespace: %s", task->path,
			      strerror(error));
	return pidfd;
}
