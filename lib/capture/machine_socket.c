// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/machine_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/access_log.h"

static void socket_address(int directory, const char *file, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	/* Through the descriptor: the directory that was checked, however long its path. */
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", directory,
		 file);
}

static int connect_to(int directory, const char *file)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int error;

	if (fd < 0)
		return -errno;
	socket_address(directory, file, &address);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* Removes a socket that nobody listens on; under the lock that its maker holds as well. */
static void reap(int directory, const char *file)
{
	int fd;

	if (flock(directory, LOCK_EX | LOCK_NB))
		return;
	fd = connect_to(directory, file);
	if (fd == -ECONNREFUSED)
		unlinkat(directory, file, 0);
	else if (fd >= 0)
		close(fd);
	flock(directory, LOCK_UN);
}

int machine_socket_connect(int directory, const char *file)
{
	int fd = connect_to(directory, file);

	if (fd == -ECONNREFUSED)
		reap(directory, file);
	return fd;
}

long machine_socket_receive(int fd, char *text, int *ring)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {text, HELLO_MAX};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buffer,
		.msg_controllen = sizeof(control.buffer),
	};
	ssize_t bytes = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *header;

	*ring = -1;
	if (bytes < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : failed(-errno, "its hello cannot be read: %s", strerror(errno));
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ring, CMSG_DATA(header), sizeof(int));
	if (!bytes)
		return failed(-EPROTO, "it ended before its hello");
	if (message.msg_flags & MSG_TRUNC)
		return failed(-EPROTO, "its hello is longer than %u bytes", HELLO_MAX);
	/* The kernel says so if we may have no more descriptors. */
	if (message.msg_flags & MSG_CTRUNC)
		return failed(-EPROTO, "its access log cannot be taken over: too many open files");
	return bytes;
}
