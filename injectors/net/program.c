// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/program_check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"
#include "lib/base/user.h"

#define READY_PAUSE_NS	(5 * NSEC_PER_MSEC)
#define PROGRAM_FOREVER (~0ull)

struct network_program {
	struct program_config config;
	struct listening listening;
	const struct network *network;
	int channel, first, output; /* first: pidfd of the namespace's first process */
	__u64 begin_ns;
	uid_t uid;
	__u64 kill_ns; /* it has been asked to end, and has until then; 0: it has not */
	bool stopped;  /* by us */
	bool ended;
	bool lost; /* its first process was killed: nobody knows how it ended */
	struct program_word word;
};

static __u64 program_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (__u64)now.tv_sec * NSEC_PER_SEC + (__u64)now.tv_nsec;
}

/* A word of the first process; false if nothing came in time. */
static bool program_hear(struct network_program *program, __u64 timeout_ns)
{
	struct pollfd polled = {.fd = program->channel, .events = POLLIN};
	__u64 end = timeout_ns == PROGRAM_FOREVER ? PROGRAM_FOREVER : program_now() + timeout_ns;
	ssize_t size;
	int found;

	if (program->ended)
		return true;
	do {
		__u64 now = program_now(), left = end > now ? end - now : 0;
		const struct timespec wait = {(time_t)(left / NSEC_PER_SEC),
					      (long)(left % NSEC_PER_SEC)};

		found = ppoll(&polled, 1, end == PROGRAM_FOREVER ? NULL : &wait, NULL);
	} while (found < 0 && errno == EINTR);
	if (found <= 0)
		return false;
	size = recv(program->channel, &program->word, sizeof(program->word), 0);
	if (size == sizeof(program->word) && program->word.what == PROGRAM_STARTED)
		return true;
	program->lost = size != sizeof(program->word);
	program->ended = true;
	return true;
}

/* Once it has ended the whole namespace is gone. */
static void program_await_end(const struct network_program *program)
{
	struct pollfd polled = {.fd = program->first, .events = POLLIN};

	while (poll(&polled, 1, -1) < 0 && errno == EINTR)
		;
}

/* ": the last line of its stderr", or "". */
static const char *last_words(const struct network_program *program, char text[PROGRAM_ERRORS + 4])
{
	size_t end = program->lost ? 0 : program->word.errors, begin;

	while (end && strchr(" \t\r\n", program->word.error_text[end - 1]))
		end--;
	for (begin = end; begin && program->word.error_text[begin - 1] != '\n';)
		begin--;
	snprintf(text, PROGRAM_ERRORS + 4, end ? ": %.*s" : "", (int)(end - begin),
		 program->word.error_text + begin);
	return text;
}

static int program_failed(const struct network_program *program, const char *when)
{
	const struct program_config *config = &program->config;
	char words[PROGRAM_ERRORS + 4];
	int status = program->word.value;

	last_words(program, words);
	if (program->lost)
		return failed(-EIO, "program %s (%s) was killed from outside%s", config->name,
			      config->run, when);
	if (WIFSIGNALED(status))
		return failed(-EIO, "program %s (%s) ended by SIG%s%s%s", config->name, config->run,
			      sigabbrev_np(WTERMSIG(status)) ?: "RT", when, words);
	return failed(-EIO, "program %s (%s) ended with status %d%s%s", config->name, config->run,
		      WEXITSTATUS(status), when, words);
}

/* How it was begun, as its first process tells. */
static int program_await_start(struct network_program *program)
{
	program_hear(program, PROGRAM_FOREVER);
	if (!program->ended)
		return 0;
	program_await_end(program);
	if (program->lost)
		return program_failed(program, " as it began");
	if (program->word.value == EACCES)
		return failed(-EACCES,
			      "program %s (%s): %s: %s; accepted: a program that user %u may run",
			      program->config.name, program->config.run, program->word.step,
			      strerror(EACCES), program->uid);
	return failed(-program->word.value, "program %s (%s): %s: %s", program->config.name,
		      program->config.run, program->word.step, strerror(program->word.value));
}

static int program_launch(struct network_program *program, struct program_host *host,
			  struct program_words *words, const char *path)
{
	struct program_task task = {
		.output_most = PROGRAM_OUTPUT,
		.netns = program->network->ends[program->config.side].netns,
		.path = path,
		.group = program->config.side == NETWORK_GUEST ? host->group : "",
		.words = words,
	};
	int ends[2];

	program->output = memfd_create("faultline-program", MFD_CLOEXEC);
	if (program->output < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return failed(-errno, "program %s: its descriptors: %s", program->config.name,
			      strerror(errno));
	program->channel = ends[0];
	task.channel = ends[1];
	task.output = program->output;
	user_of_programs(&task.uid, &task.gid);
	program->uid = task.uid;
	program->begin_ns = program_now();
	program->first = program_host_start(host, &task);
	close(ends[1]);
	if (program->first < 0)
		return failed_in(program->first, "program %s", program->config.name);
	return program_await_start(program);
}

int program_start(struct network_program **program, struct program_host *host,
		  const struct network *network, const struct program_config *config)
{
	struct network_program *started = calloc(1, sizeof(*started));
	struct program_words words;
	char path[PATH_MAX];
	int err;

	*program = NULL;
	if (!started)
		return failed(-ENOMEM, "program %s: no memory", config->name);
	started->config = *config;
	started->network = network;
	started->channel = started->first = started->output = -1;
	err = program_prepare(config, &words, path, &started->listening)
		      ?: program_launch(started, host, &words, path);
	if (err)
		program_free(started);
	else
		*program = started;
	return err;
}

int program_await_ready(struct network_program *program, const volatile sig_atomic_t *stop)
{
	__u64 end = program_now() + program->config.ready_timeout_ns;
	int netns = program->network->ends[program->config.side].netns;
	char text[UNITS_TEXT];

	while (*program->config.ready) {
		int found = listening_look(netns, &program->listening);

		if (found)
			return found < 0 ? found : 0;
		if (stop && *stop)
			return -EINTR;
		if (program_now() >= end)
			return failed(
				-ETIMEDOUT,
				"program %s (%s) is not ready: nobody listens at %s on its "
				"side after %s; accepted: the port that it listens at",
				program->config.name, program->config.run, program->config.ready,
				units_format_duration(program->config.ready_timeout_ns, text));
		if (program_hear(program, READY_PAUSE_NS) && program->ended)
			return program_failed(program, " before it was ready");
	}
	return 0;
}

static int program_judge(const struct network_program *program)
{
	program_await_end(program);
	if (program->stopped)
		return 0;
	if (program->config.role == PROGRAM_SERVER)
		return program_failed(program, " before it was stopped");
	return program->lost || program->word.value ? program_failed(program, "") : 0;
}

/* Waits for so long at most, and not beyond the end of its grace. */
static bool program_hear_end(struct network_program *program, __u64 timeout_ns)
{
	__u64 now = program_now();

	if (program->kill_ns && now + timeout_ns > program->kill_ns)
		timeout_ns = now < program->kill_ns ? program->kill_ns - now : 0;
	if (program_hear(program, timeout_ns))
		return true;
	if (!program->kill_ns || program_now() < program->kill_ns)
		return false;
	syscall(SYS_pidfd_send_signal, program->first, SIGKILL, NULL, 0);
	program->ended = program->lost = true;
	return true;
}

int program_wait(struct network_program *program, __u64 timeout_ns)
{
	__u64 now = program_now(), until = now + timeout_ns;
	__u64 end = program->begin_ns + program->config.duration_ns;

	if (program->config.duration_ns && !program->stopped && until >= end) {
		if (!program_hear(program, now < end ? end - now : 0))
			program_end(program);
		now = program_now();
		timeout_ns = now < until ? until - now : 0;
	}
	return program_hear_end(program, timeout_ns) ? program_judge(program) : -ETIMEDOUT;
}

bool program_has_failed(struct network_program *program)
{
	(void)program_hear(program, 0);
	return program->ended && !program->stopped && (program->lost || program->word.value);
}

void program_end(struct network_program *program)
{
	const char word = PROGRAM_TERMINATE;

	/* What has ended before has not been stopped. */
	if (program->kill_ns || program_hear(program, 0))
		return;
	program->stopped = true;
	program->kill_ns = program_now() + PROGRAM_GRACE;
	(void)!send(program->channel, &word, 1, MSG_NOSIGNAL);
}

void program_stop(struct network_program *program)
{
	program_end(program);
	(void)program_hear_end(program, PROGRAM_GRACE);
	program_await_end(program);
}

char *program_output(const struct network_program *program, size_t *size, __u64 *discarded)
{
	struct stat status;
	char *text = NULL;
	ssize_t got = -1;

	if (!fstat(program->output, &status))
		text = malloc((size_t)status.st_size + 1);
	if (text)
		got = pread(program->output, text, (size_t)status.st_size, 0);
	if (got < 0) {
		failed(-ENOMEM, "program %s: no memory for what it has printed",
		       program->config.name);
		free(text);
		return NULL;
	}
	text[got] = '\0';
	*size = (size_t)got;
	*discarded = program->word.printed > *size ? program->word.printed - *size : 0;
	return text;
}

void program_free(struct network_program *program)
{
	if (!program)
		return;
	if (program->first >= 0) {
		program_stop(program);
		close(program->first);
	}
	if (program->channel >= 0)
		close(program->channel);
	if (program->output >= 0)
		close(program->output);
	free(program);
}
