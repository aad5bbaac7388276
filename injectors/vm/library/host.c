// SPDX-License-Identifier: GPL-2.0
/* The host of the guest's memory: what is said to it, and what its end is to QEMU. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "injectors/vm/library/library.h"
#include "lib/base/pass_descriptors.h"

#define WATCH_STACK (64u << 10)

static int host = -1;

int vm_say(int error, const char *format, ...)
{
	char text[VM_SENTENCE + 64] = "faultline: ";
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, sizeof(text) - used - 1, format, arguments);
	va_end(arguments);
	used = strlen(text);
	text[used++] = '\n';
	if (write(STDERR_FILENO, text, used) < 0)
		return error;
	return error;
}

int vm_host_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv(VM_SOCKET_VARIABLE);
	int created, error;

	if (host >= 0)
		return 0;
	if (strlen(path) >= sizeof(address.sun_path))
		return vm_say(-ENAMETOOLONG, "%s=%s: accepted: up to %zu bytes", VM_SOCKET_VARIABLE,
			      path, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	created = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (created < 0 || connect(created, (struct sockaddr *)&address, sizeof(address))) {
		error = -errno;
		if (created >= 0)
			close(created);
		return vm_say(error,
			      "nobody hosts this machine's memory at %s: %s; faultline-inject "
			      "has to be running first",
			      path, strerror(-error));
	}
	host = created;
	return 0;
}

bool vm_host_is_at(int socket)
{
	struct ucred ours, theirs;
	socklen_t bytes = sizeof(ours), other_bytes = sizeof(theirs);

	return !getsockopt(host, SOL_SOCKET, SO_PEERCRED, &ours, &bytes) &&
	       !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &theirs, &other_bytes) &&
	       ours.pid == theirs.pid && ours.uid == theirs.uid;
}

/* `descriptor`: -1: none. */
static int send_message(const void *message, size_t bytes, int descriptor)
{
	DESCRIPTOR_ROOM(control, 1);
	struct iovec data = {(void *)message, bytes};
	struct msghdr whole = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t sent;

	if (descriptor >= 0)
		pass_descriptors(&whole, control, &descriptor, 1);
	do
		sent = sendmsg(host, &whole, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)bytes
		       ? 0
		       : vm_say(-EPIPE, "the host of this machine's memory does not listen: %s",
				sent < 0 ? strerror(errno) : "short message");
}

/* `*descriptor` -1: none came; NULL: none is wanted. */
static int receive_answer(struct vm_answer *answer, __u32 kind, int *descriptor)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec data = {answer, sizeof(*answer)};
	struct msghdr whole = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *header;
	int received = -1;
	ssize_t got;

	do
		got = recvmsg(host, &whole, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return vm_say(-EPIPE, "the host of this machine's memory has gone");
	header = CMSG_FIRSTHDR(&whole);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(&received, CMSG_DATA(header), sizeof(int));
	if (got != sizeof(*answer) || answer->header.magic != VM_MAGIC ||
	    answer->header.version != VM_VERSION || answer->header.kind != kind ||
	    (!descriptor && received >= 0)) {
		if (received >= 0)
			close(received);
		return vm_say(-EPROTO,
			      "the host of this machine's memory speaks another language: message "
			      "%u, version %u, where %u, version %u was due",
			      answer->header.kind, answer->header.version, kind, VM_VERSION);
	}
	if (descriptor)
		*descriptor = received;
	answer->sentence[VM_SENTENCE - 1] = '\0';
	if (answer->error && received >= 0)
		close(received);
	return answer->error
		       ? vm_say(answer->error < 0 ? answer->error : -EPROTO, "%s", answer->sentence)
		       : 0;
}

static struct vm_message_header vm_header(__u32 kind, size_t bytes)
{
	return (struct vm_message_header){VM_MAGIC, VM_VERSION, kind, (__u32)bytes};
}

int vm_host_ask(size_t bytes, __u64 *offset, int *memory_file)
{
	struct vm_ask ask = {.header = vm_header(VM_ASK, sizeof(ask)), .bytes = bytes};
	struct vm_answer answer = {0};
	int error = send_message(&ask, sizeof(ask), -1);

	if (!error)
		error = receive_answer(&answer, VM_OFFER, memory_file);
	if (!error && *memory_file < 0)
		error = vm_say(-EPROTO, "the host has offered no memory file");
	*offset = answer.offset;
	return error;
}

int vm_host_hand_over(int faults, const void *base, size_t bytes, __u64 offset)
{
	struct vm_region region = {
		.header = vm_header(VM_REGION, sizeof(region)),
		.base = (__u64)base,
		.bytes = bytes,
		.offset = offset,
	};
	struct vm_answer answer = {0};
	int error = send_message(&region, sizeof(region), faults);

	return error ? error : receive_answer(&answer, VM_SERVED, NULL);
}

/* Answers are for who has asked: here nothing is read. */
static void *watch_host(void *argument)
{
	struct pollfd polled = {.fd = host, .events = 0};

	(void)argument;
	do
		polled.revents = 0;
	while (poll(&polled, 1, -1) < 0 || !(polled.revents & (POLLHUP | POLLERR | POLLNVAL)));
	vm_say(0,
	       "the host of this machine's memory has gone, and with it who brings its missing "
	       "pages: QEMU (process %d) is killed",
	       (int)getpid());
	kill(getpid(), SIGKILL);
	return NULL;
}

int vm_host_watch(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, WATCH_STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, watch_host, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error ? vm_say(-error, "a thread that watches the host: %s", strerror(error)) : 0;
}
