// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/vm_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "injectors/job/vm_console.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/limits.h"
#include "lib/base/signals.h"

#define READ_BYTES  4096
#define ENVIRONMENT 2 /* entries of ours */
#define HELD_GO	    3 /* descriptors of one that is held */
#define HELD_TOLD   4

struct vm_process {
	struct vm_process_config config;
	char **environment;
	char *preload, *handover;
	pid_t pid; /* 0: none */
	int pidfd;
	int go;			   /* write end of the pipe that holds it */
	int told;		   /* read end of what says why it could not be run */
	int output[VM_STREAMS][2]; /* pipes */
	pthread_t reader;
	bool reading, ended, stopped;
	int status;
	pthread_mutex_t lock; /* of the console while the reader runs */
};

static _Noreturn void qemu_refused(int told)
{
	int error = errno;

	(void)!write(told, &error, sizeof(error));
	_exit(127);
}

/* Closes all but standard descriptors, these two and QEMU's monitor, at once: it may be held for long. */
static void keep_alone(int *go, int *told, int monitor)
{
	const int above = VM_PROCESS_MONITOR + 1;
	int high[] = {fcntl(*go, F_DUPFD, above), fcntl(*told, F_DUPFD, above)};

	/* First: it may be where the others go. */
	if (monitor)
		monitor = fcntl(monitor, F_DUPFD, above);
	dup3(high[0], HELD_GO, O_CLOEXEC);
	dup3(high[1], HELD_TOLD, O_CLOEXEC);
	if (monitor)
		dup2(monitor, VM_PROCESS_MONITOR);
	close_range(monitor ? above : VM_PROCESS_MONITOR, ~0u, 0);
	*go = HELD_GO;
	*told = HELD_TOLD;
}

/* In the child, which allocates nothing: nothing is shared with us but what it prints. */
static _Noreturn void qemu_child(const struct vm_process *process, int go, int told, pid_t machine)
{
	const struct vm_process_config *config = &process->config;
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;
	char byte;

	/* Not a session: busy hosts schedule by sessions (autogroup), and it and its devices wait for each other all the time. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != machine)
		_exit(EXIT_INTERRUPTED);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(process->output[VM_STREAM_CONSOLE][1], STDOUT_FILENO) < 0 ||
	    dup2(process->output[VM_STREAM_ERRORS][1], STDERR_FILENO) < 0)
		qemu_refused(told);
	keep_alone(&go, &told, config->monitor);
	signals_restore();
	sigprocmask(SIG_SETMASK, &none, NULL);
	limits_restore();
	files_restore_umask();
	if (CPU_COUNT(&config->cpus))
		(void)sched_setaffinity(0, sizeof(config->cpus), &config->cpus);
	if (read(go, &byte, 1) != 1)
		_exit(EXIT_INTERRUPTED);
	execve(config->path, config->argv, process->environment);
	qemu_refused(told);
}

static void *read_output(void *argument)
{
	struct vm_process *process = argument;
	struct pollfd polled[VM_STREAMS];
	int open_ends = VM_STREAMS;
	char bytes[READ_BYTES];

	for (int i = 0; i < VM_STREAMS; i++)
		polled[i] = (struct pollfd){.fd = process->output[i][0], .events = POLLIN};
	while (open_ends) {
		if (poll(polled, VM_STREAMS, -1) < 0 && errno != EINTR)
			break;
		for (int i = 0; i < VM_STREAMS; i++) {
			ssize_t got;

			if (polled[i].fd < 0 || !polled[i].revents)
				continue;
			got = read(polled[i].fd, bytes, sizeof(bytes));
			if (got < 0 && (errno == EINTR || errno == EAGAIN))
				continue;
			pthread_mutex_lock(&process->lock);
			vm_console_take(process->config.console, (enum vm_stream)i, bytes,
					got > 0 ? (size_t)got : 0);
			pthread_mutex_unlock(&process->lock);
			if (got <= 0) {
				polled[i].fd = -1;
				open_ends--;
			}
		}
	}
	return NULL;
}

static int qemu_environment(struct vm_process *process)
{
	static const char *const ours[] = {"LD_PRELOAD=", "FAULTLINE_VM="};
	size_t entries = 0, count = 0;

	while (environ[entries])
		entries++;
	process->environment = calloc(entries + ENVIRONMENT + 1, sizeof(char *));
	if (!process->environment ||
	    asprintf(&process->preload, "%s%s", ours[0], process->config.library) < 0 ||
	    asprintf(&process->handover, "%s%s", ours[1], process->config.socket) < 0)
		return failed(-ENOMEM, "no memory for an environment");
	process->environment[count++] = process->preload;
	process->environment[count++] = process->handover;
	for (size_t i = 0; i < entries; i++)
		if (strncmp(environ[i], ours[0], strlen(ours[0])) != 0 &&
		    strncmp(environ[i], ours[1], strlen(ours[1])) != 0)
			process->environment[count++] = environ[i];
	return 0;
}

static void close_descriptor(int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

static int launch_held(struct vm_process *process)
{
	int go[2] = {-1, -1}, told[2] = {-1, -1};
	pid_t machine = getpid();
	int error = 0;

	for (int i = 0; !error && i < VM_STREAMS; i++)
		error = pipe2(process->output[i], O_CLOEXEC) ? -errno : 0;
	if (!error && (pipe2(go, O_CLOEXEC) || pipe2(told, O_CLOEXEC)))
		error = -errno;
	process->go = go[1];
	process->told = told[0];
	if (!error)
		process->pid = fork();
	if (!error && !process->pid)
		qemu_child(process, go[0], told[1], machine);
	if (!error && process->pid < 0) {
		error = -errno;
		process->pid = 0;
	}
	close_descriptor(&go[0]);
	close_descriptor(&told[1]);
	for (int i = 0; i < VM_STREAMS; i++)
		close_descriptor(&process->output[i][1]);
	if (!error) {
		process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
		error = process->pidfd < 0 ? -errno : 0;
	}
	return error ? failed(error, "its process: %s", strerror(-error)) : 0;
}

int vm_process_hold(struct vm_process **process, const struct vm_process_config *config)
{
	struct vm_process *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return failed(-ENOMEM, "virtual machine %s: no memory for its process",
			      config->name);
	new->config = *config;
	new->pidfd = new->go = new->told = -1;
	for (int i = 0; i < VM_STREAMS; i++)
		new->output[i][0] = new->output[i][1] = -1;
	pthread_mutex_init(&new->lock, NULL);
	error = qemu_environment(new) ?: launch_held(new);
	if (!error) {
		error = thread_start(&new->reader, NULL, read_output, new, "console");
		new->reading = !error;
	}
	if (error) {
		failed_in(error, "virtual machine %s", config->name);
		vm_process_free(new);
		return error;
	}
	*process = new;
	return 0;
}

pid_t vm_process_pid(const struct vm_process *process)
{
	return process->pid;
}

int vm_process_go(struct vm_process *process)
{
	int error = 0;
	ssize_t size;

	if (write(process->go, "", 1) != 1)
		return failed(-EIO, "virtual machine %s: its process has ended before it began",
			      process->config.name);
	close_descriptor(&process->go);
	do
		size = read(process->told, &error, sizeof(error));
	while (size < 0 && errno == EINTR);
	close_descriptor(&process->told);
	if (size != sizeof(error))
		return 0;
	return failed(-EIO, "virtual machine %s: %s cannot be run: %s", process->config.name,
		      process->config.path, strerror(error));
}

static void qemu_reap(struct vm_process *process)
{
	/* What it has started, before its number can be another's. */
	kill(-process->pid, SIGKILL);
	while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR)
		;
	process->ended = true;
	if (process->reading)
		pthread_join(process->reader, NULL);
	process->reading = false;
}

int vm_process_wait(struct vm_process *process, __u64 timeout_ns, int *status)
{
	__u64 end_ns = monotonic_ns() + timeout_ns;
	struct pollfd polled = {.fd = process->pidfd, .events = POLLIN};

	while (!process->ended) {
		__u64 now = monotonic_ns();
		const struct timespec left = timespec_of_ns(now < end_ns ? end_ns - now : 0);

		if (ppoll(&polled, 1, &left, NULL) > 0)
			qemu_reap(process);
		else if (monotonic_ns() >= end_ns)
			return -ETIMEDOUT;
	}
	if (status)
		*status = process->status;
	return 0;
}

void vm_process_stop(struct vm_process *process, __u64 grace_ns)
{
	if (!process->pid || process->ended)
		return;
	process->stopped = true;
	/* One that is held ends by this. */
	close_descriptor(&process->go);
	kill(process->pid, SIGTERM);
	kill(process->pid, SIGCONT);
	if (vm_process_wait(process, grace_ns, NULL) == -ETIMEDOUT) {
		kill(-process->pid, SIGKILL);
		kill(process->pid, SIGKILL);
		qemu_reap(process);
	}
}

bool vm_process_was_stopped(const struct vm_process *process)
{
	return process->stopped;
}

bool vm_process_panicked(struct vm_process *process)
{
	bool panicked;

	pthread_mutex_lock(&process->lock);
	panicked = vm_console_panicked(process->config.console);
	pthread_mutex_unlock(&process->lock);
	return panicked;
}

bool vm_process_begun(struct vm_process *process)
{
	bool begun;

	pthread_mutex_lock(&process->lock);
	begun = vm_console_begun(process->config.console);
	pthread_mutex_unlock(&process->lock);
	return begun;
}

void vm_process_free(struct vm_process *process)
{
	if (!process)
		return;
	vm_process_stop(process, 0);
	close_descriptor(&process->pidfd);
	close_descriptor(&process->go);
	close_descriptor(&process->told);
	for (int i = 0; i < VM_STREAMS; i++)
		for (int end = 0; end < 2; end++)
			close_descriptor(&process->output[i][end]);
	pthread_mutex_destroy(&process->lock);
	free(process->environment);
	free(process->preload);
	free(process->handover);
	free(process);
}
