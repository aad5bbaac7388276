// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/hyv/guest_process.h"

#include <errno.h>
#include <linux/capability.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/program_words.h"
#include "lib/base/clock.h"
#include "lib/base/command.h"
#include "lib/base/fail.h"
#include "lib/base/user.h"

#define ENDED_MAX 256

#define FIRST_SOCKET 3
#define OUTPUT_MOST  (4u << 20) /* bytes that are kept of what it prints */
#define ENVIRONMENT  2		/* entries of ours */

struct guest_process {
	char name[64];
	pid_t pid;
	int pidfd, output;
	bool ended;
	int status;
	char *text;
};

/* What the child is told before the fork: it allocates nothing. */
struct guest_start {
	const struct guest_process_config *config;
	struct program_words words;
	char path[PATH_MAX];
	char *argv[PROGRAM_WORDS + 1];
	char **environment;
	char preload[PATH_MAX + 16], sockets[64];
	int output;
	int told[2]; /* closed by exec, or why there was none */
	pid_t machine;
	uid_t uid;
	gid_t gid;
};

struct guest_refused {
	int error;
	char step[64];
};

static _Noreturn void child_refused(const struct guest_start *start, const char *step)
{
	struct guest_refused refused = {.error = errno};

	strncpy(refused.step, step, sizeof(refused.step) - 1);
	(void)!write(start->told[1], &refused, sizeof(refused));
	_exit(127);
}

/* Standard descriptors, the sockets from FIRST_SOCKET on, and how to tell that it was refused; nothing else. */
static void child_descriptors(struct guest_start *start)
{
	const struct guest_process_config *config = start->config;
	int keep[GUEST_SOCKETS_MAX + 2], count = (int)config->socket_count;
	int null = open("/dev/null", O_RDONLY), above = FIRST_SOCKET + GUEST_SOCKETS_MAX + 1;

	/* First out of the way of each other. */
	for (int i = 0; i < count; i++)
		keep[i] = fcntl(config->sockets[i], F_DUPFD, above);
	keep[count] = fcntl(start->told[1], F_DUPFD, above);
	keep[count + 1] = config->network < 0 ? -1 : fcntl(config->network, F_DUPFD, above);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(start->output, STDOUT_FILENO) < 0 ||
	    dup2(start->output, STDERR_FILENO) < 0)
		child_refused(start, "its standard descriptors");
	for (int i = 0; i < count; i++)
		dup2(keep[i], FIRST_SOCKET + i);
	dup3(keep[count], FIRST_SOCKET + count, O_CLOEXEC);
	start->told[1] = FIRST_SOCKET + count;
	if (config->network >= 0 && setns(keep[count + 1], CLONE_NEWNET))
		child_refused(start, "its network");
	close_range((unsigned int)(FIRST_SOCKET + count + 1), ~0u, 0);
}

static void child_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	/* What prints too much has a write refused. */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Where root itself may not raise the limit on pins (no CAP_SYS_RESOURCE, as in containers) the one capability stays that pins need
 * none with: also for a program that it becomes. */
static int keep_lock_right(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	data[0].effective = data[0].permitted = data[0].inheritable = CAP_TO_MASK(CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, data))
		return -errno;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_IPC_LOCK, 0, 0) ? -errno : 0;
}

/* Not root: its pins are no privilege, and what it writes is nobody's. Whoever is not root is so already. */
static void child_user(struct guest_start *start)
{
	const struct rlimit printed = {OUTPUT_MOST, OUTPUT_MOST};
	const struct rlimit locked = {RLIM_INFINITY, RLIM_INFINITY};

	/* The tenant's quota is what limits pins. */
	bool limited = setrlimit(RLIMIT_MEMLOCK, &locked) && !geteuid();

	if (limited)
		prctl(PR_SET_KEEPCAPS, 1);
	(void)setrlimit(RLIMIT_FSIZE, &printed);
	if (!geteuid() && (setgroups(0, NULL) || setresgid(start->gid, start->gid, start->gid) ||
			   setresuid(start->uid, start->uid, start->uid)))
		child_refused(start, "another user than root");
	/* Without it pins above the limit are refused, which is told then. */
	if (limited)
		(void)keep_lock_right();
	/* Only now: another user forgets it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1);
	if (getppid() != start->machine)
		_exit(EXIT_INTERRUPTED);
}

static _Noreturn void guest_child_main(struct guest_start *start)
{
	const struct guest_process_config *config = start->config;
	int sockets[GUEST_SOCKETS_MAX];

	setsid();
	child_signals();
	prctl(PR_SET_NAME, config->name);
	child_descriptors(start);
	child_user(start);
	for (__u32 i = 0; i < config->socket_count; i++)
		sockets[i] = FIRST_SOCKET + (int)i;
	if (config->run) {
		int status;

		close(start->told[1]);
		/* What the machine has not written yet is the machine's to write. */
		__fpurge(stdout);
		status = config->run(config->argument, sockets, config->socket_count);
		fflush(stdout);
		_exit(status);
	}
	if (config->library && access(config->library, R_OK))
		child_refused(start, config->library);
	execve(start->path, start->argv, start->environment);
	child_refused(start, start->path);
}

static int start_program(struct guest_start *start)
{
	const struct guest_process_config *config = start->config;
	struct stat status;
	size_t length = 0, entries = 0, ours = 0;
	int error = program_words_split(config->program, NULL, &start->words);

	if (error)
		return error;
	if (!command_search(start->words.text, start->path, &status) || !S_ISREG(status.st_mode))
		return failed(-ENOENT, "%s: no such program; install it, or give its path",
			      start->words.text);
	program_argv(&start->words, start->argv);
	while (environ[entries])
		entries++;
	start->environment = calloc(entries + ENVIRONMENT + 1, sizeof(char *));
	if (!start->environment)
		return failed(-ENOMEM, "no memory for an environment");
	for (__u32 i = 0; i < config->socket_count; i++)
		length += (size_t)snprintf(start->sockets + length, sizeof(start->sockets) - length,
					   "%s%d",
					   i ? "," : "FAULTLINE_VERBS=", FIRST_SOCKET + (int)i);
	if (config->socket_count)
		start->environment[ours++] = start->sockets;
	snprintf(start->preload, sizeof(start->preload), "LD_PRELOAD=%s", config->library ?: "");
	if (config->library)
		start->environment[ours++] = start->preload;
	for (size_t i = 0; i < entries; i++)
		if (strncmp(environ[i], "FAULTLINE_VERBS=", 16) != 0 &&
		    strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			start->environment[ours++] = environ[i];
	return 0;
}

/* Until it runs what it is to run. */
static int await_exec(struct guest_process *process, const struct guest_start *start)
{
	struct guest_refused refused;
	ssize_t size;

	do
		size = read(start->told[0], &refused, sizeof(refused));
	while (size < 0 && errno == EINTR);
	if (size != sizeof(refused))
		return 0;
	refused.step[sizeof(refused.step) - 1] = '\0';
	(void)guest_process_wait(process, ~0ull, NULL);
	if (refused.error == EACCES)
		return failed(-EACCES, "%s: %s; accepted: what user %u may read and run",
			      refused.step, strerror(EACCES), start->uid);
	return failed(-refused.error, "%s: %s", refused.step, strerror(refused.error));
}

static int process_launch(struct guest_process *process, struct guest_start *start)
{
	int error = 0;

	process->output = memfd_create("faultline-guest", MFD_CLOEXEC);
	if (process->output < 0 || pipe2(start->told, O_CLOEXEC))
		return failed(-errno, "its descriptors: %s", strerror(errno));
	start->output = process->output;
	start->machine = getpid();
	user_of_programs(&start->uid, &start->gid);
	process->pid = fork();
	if (!process->pid)
		guest_child_main(start);
	close(start->told[1]);
	if (process->pid < 0) {
		error = failed(-errno, "fork(): %s", strerror(errno));
	} else {
		process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
		error = await_exec(process, start);
	}
	close(start->told[0]);
	return error;
}

static void close_sockets(const struct guest_process_config *config)
{
	for (__u32 i = 0; i < config->socket_count; i++)
		close(config->sockets[i]);
}

int guest_process_start(struct guest_process **process, const struct guest_process_config *config)
{
	struct guest_process *new = calloc(1, sizeof(*new));
	struct guest_start *start = calloc(1, sizeof(*start));
	int error = 0;

	if (!new || !start || config->socket_count > GUEST_SOCKETS_MAX)
		error = failed(new &&start ? -E2BIG : -ENOMEM, "%u sockets; accepted: %d at most",
			       config->socket_count, GUEST_SOCKETS_MAX);
	if (!error) {
		*new = (struct guest_process){.pidfd = -1, .output = -1};
		snprintf(new->name, sizeof(new->name), "%s", config->name);
		start->config = config;
		if (!config->run)
			error = start_program(start);
	}
	if (!error)
		error = process_launch(new, start);
	close_sockets(config);
	if (start)
		free(start->environment);
	free(start);
	if (error) {
		failed_in(error, "guest %s", config->name);
		guest_process_free(new);
		return error;
	}
	*process = new;
	return 0;
}

pid_t guest_process_pid(const struct guest_process *process)
{
	return process->pid;
}

/* The last that ended, for who asks once they have been waited for. */
static struct {
	pthread_mutex_t lock;
	struct {
		pid_t pid;
		int status;
	} ended[ENDED_MAX];
	__u32 next;
} ends = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void process_reap(struct guest_process *process)
{
	pthread_mutex_lock(&ends.lock);
	waitpid(process->pid, &process->status, 0);
	ends.ended[ends.next].pid = process->pid;
	ends.ended[ends.next].status = process->status;
	ends.next = (ends.next + 1) % ENDED_MAX;
	pthread_mutex_unlock(&ends.lock);
	process->ended = true;
}

/* The newest of that number; under the lock. */
static int ended_status(pid_t pid, int *status)
{
	for (__u32 i = 1; i <= ENDED_MAX; i++) {
		__u32 at = (ends.next + ENDED_MAX - i) % ENDED_MAX;

		if (ends.ended[at].pid == pid) {
			*status = ends.ended[at].status;
			return 0;
		}
	}
	return -ECHILD;
}

int guest_process_status(pid_t pid, int pidfd, __u64 timeout_ns, int *status)
{
	const struct timespec most = timespec_of_ns(timeout_ns);
	struct pollfd polled = {.fd = pidfd, .events = POLLIN};
	siginfo_t told = {};
	int error = 0;

	if (ppoll(&polled, 1, &most, NULL) <= 0)
		return -ETIMEDOUT;
	/* Not both reaped and unknown. */
	pthread_mutex_lock(&ends.lock);
	if (waitid(P_PIDFD, (id_t)pidfd, &told, WEXITED | WNOHANG | WNOWAIT) || !told.si_pid)
		error = ended_status(pid, status);
	else if (told.si_code == CLD_EXITED)
		*status = W_EXITCODE(told.si_status, 0);
	else
		*status = told.si_status | (told.si_code == CLD_DUMPED ? WCOREFLAG : 0);
	pthread_mutex_unlock(&ends.lock);
	return error;
}

int guest_process_wait(struct guest_process *process, __u64 timeout_ns, int *status)
{
	struct pollfd polled = {.fd = process->pidfd, .events = POLLIN};
	__u64 start_ns = monotonic_ns(), passed_ns = 0;

	while (!process->ended) {
		struct timespec left = timespec_of_ns(timeout_ns - passed_ns);
		int found = ppoll(&polled, 1, timeout_ns == ~0ull ? NULL : &left, NULL);

		if (found > 0) {
			/* What it has started, before its number can be another's. */
			kill(-process->pid, SIGKILL);
			process_reap(process);
		}
		passed_ns = monotonic_ns() - start_ns;
		if (!process->ended && timeout_ns != ~0ull && passed_ns >= timeout_ns)
			return -ETIMEDOUT;
	}
	if (status)
		*status = process->status;
	return 0;
}

void guest_process_stop(struct guest_process *process)
{
	if (process->pid <= 0 || process->ended)
		return;
	kill(process->pid, SIGKILL);
	(void)guest_process_wait(process, ~0ull, NULL);
}

const char *guest_process_output(const struct guest_process *process, size_t *size)
{
	struct guest_process *kept = (struct guest_process *)process;
	struct stat status;
	ssize_t got = -1;

	free(kept->text);
	kept->text = fstat(process->output, &status) ? NULL : malloc((size_t)status.st_size + 1);
	if (kept->text)
		got = pread(process->output, kept->text, (size_t)status.st_size, 0);
	*size = got < 0 ? 0 : (size_t)got;
	if (!kept->text)
		return "";
	kept->text[*size] = '\0';
	return kept->text;
}

void guest_process_free(struct guest_process *process)
{
	if (!process)
		return;
	guest_process_stop(process);
	if (process->pidfd >= 0)
		close(process->pidfd);
	if (process->output >= 0)
		close(process->output);
	free(process->text);
	free(process);
}
