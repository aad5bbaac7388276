// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/fake_qemu.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/vm/handover.h"
#include "tests/unit/child.h"

enum { WORDS_MOST = 16 };

static void become(const struct fake_qemu *qemu, const int in[2], const int out[2],
		   const char *socket, char **arguments)
{
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	dup2(qemu->errors, STDERR_FILENO);
	setenv(VM_SOCKET_VARIABLE, socket, 1);
	setenv("LD_PRELOAD", FAULTLINE_VM_LIBRARY, 1);
	/* Ours comes before the sanitizers' own library, which does not mind. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
	execv("/proc/self/exe", arguments);
	_exit(100);
}

void fake_qemu_start(struct fake_qemu *qemu, const char *socket, ...)
{
	char *arguments[WORDS_MOST] = {(char *)"qemu-system-fake", (char *)"fake-qemu"};
	int in[2], out[2], count = 2;
	va_list words;

	va_start(words, socket);
	while (count < WORDS_MOST - 1 && (arguments[count] = va_arg(words, char *)))
		count++;
	va_end(words);
	*qemu = (struct fake_qemu){.errors = memfd_create("stderr", MFD_CLOEXEC)};
	assert_true(qemu->errors >= 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	qemu->pid = child_fork();
	if (!qemu->pid)
		become(qemu, in, out, socket, arguments);
	close(in[0]);
	close(out[1]);
	qemu->in = in[1];
	qemu->out = out[0];
}

static void tell(struct fake_qemu *qemu, const char *format, va_list values)
{
	char line[4096];
	int length = vsnprintf(line, sizeof(line) - 1, format, values);

	line[length++] = '\n';
	assert_int_equal(write(qemu->in, line, (size_t)length), length);
}

void fake_qemu_tell(struct fake_qemu *qemu, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	tell(qemu, format, values);
	va_end(values);
}

/* "": it has ended. */
const char *fake_qemu_reply(struct fake_qemu *qemu)
{
	size_t got = 0;

	while (got < sizeof(qemu->reply) - 1 && read(qemu->out, qemu->reply + got, 1) == 1 &&
	       qemu->reply[got] != '\n')
		got++;
	qemu->reply[got] = '\0';
	return qemu->reply;
}

const char *fake_qemu_ask(struct fake_qemu *qemu, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	tell(qemu, format, values);
	va_end(values);
	return fake_qemu_reply(qemu);
}

int fake_qemu_is_ready(const struct fake_qemu *qemu)
{
	struct pollfd polled = {.fd = qemu->out, .events = POLLIN};

	return poll(&polled, 1, 0) > 0;
}

int fake_qemu_end(struct fake_qemu *qemu)
{
	int status = -1;
	ssize_t got;

	if (qemu->in >= 0)
		close(qemu->in);
	qemu->in = -1;
	assert_int_equal(waitpid(qemu->pid, &status, 0), qemu->pid);
	got = pread(qemu->errors, qemu->said, sizeof(qemu->said) - 1, 0);
	qemu->said[got > 0 ? got : 0] = '\0';
	close(qemu->out);
	close(qemu->errors);
	return status;
}
