// SPDX-License-Identifier: GPL-2.0
/* The socket: made, listened on, and messages with the descriptors that come with them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/dead_socket.h"
#include "lib/base/pass_descriptors.h"

#define ANSWER_MS 1000

int vhost_listen(struct vhost *vhost)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	int error;

	if (strlen(vhost->path) >= sizeof(address.sun_path))
		return failed(-ENAMETOOLONG, "socket=%s: accepted: at most %zu characters",
			      vhost->path, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, vhost->path, strlen(vhost->path) + 1);
	vhost->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (vhost->listening < 0)
		return failed(-errno, "cannot make a socket: %s", strerror(errno));
	(void)dead_socket_remove(vhost->path);
	/* Of the socket, whose permissions its name gets: at no instant may others connect. */
	if (fchmod(vhost->listening, 0600) ||
	    bind(vhost->listening, (struct sockaddr *)&address, sizeof(address))) {
		error = -errno;
		return failed(error, "socket=%s: cannot be made: %s", vhost->path,
			      strerror(-error));
	}
	if (!lstat(vhost->path, &status))
		vhost->socket_inode = status.st_ino;
	if (listen(vhost->listening, 1))
		return failed(-errno, "socket=%s: cannot be listened on: %s", vhost->path,
			      strerror(errno));
	return 0;
}

void vhost_unlisten(struct vhost *vhost)
{
	struct stat status;

	if (vhost->listening < 0)
		return;
	close(vhost->listening);
	vhost->listening = -1;
	if (vhost->socket_inode && !lstat(vhost->path, &status) &&
	    status.st_ino == vhost->socket_inode)
		unlink(vhost->path);
}

void vhost_files_close(struct vhost_files *files)
{
	for (__u32 i = 0; i < files->count; i++)
		if (files->file[i] >= 0)
			close(files->file[i]);
	files->count = 0;
}

int vhost_files_take(struct vhost_files *files, __u32 index)
{
	int file = index < files->count ? files->file[index] : -1;

	if (file >= 0)
		files->file[index] = -1;
	return file;
}

static void take_files(struct vhost_files *files, struct msghdr *header)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int file;

			memcpy(&file, CMSG_DATA(c) + i * sizeof(file), sizeof(file));
			if (files->count < VHOST_MESSAGE_FILES)
				files->file[files->count++] = file;
			else
				close(file);
		}
	}
}

/*
 * Whether we hang up, as a device does whose process is killed. Else how long nobody needs to ask again, for poll(). Not while a driver
 * sets the device up: QEMU (7.2) then has lost it for good.
 */
static bool restarts(struct vhost *vhost, int *timeout_ms)
{
	__u64 now = monotonic_ns();

	if (now >= vhost->restart_look_ns) {
		vhost->restart_look_ns = now + VHOST_RESTART_LOOK_NS;
		if (vhost->queue[0].started && port_restarts(vhost->config.port))
			return true;
	}
	*timeout_ms = (int)((vhost->restart_look_ns - now) / NSEC_PER_MSEC) + 1;
	return false;
}

/* 1: something can be read, or the other side is gone; 0: we hang up; -ECANCELED: the device stops. */
static int wait_readable(struct vhost *vhost)
{
	struct pollfd polled[] = {{.fd = vhost->stop, .events = POLLIN},
				  {.fd = vhost->connected, .events = POLLIN},
				  {.fd = vhost->backend, .events = POLLIN}};
	int error, timeout_ms;

	for (;;) {
		if (restarts(vhost, &timeout_ms))
			return 0;
		if (poll(polled, 3, timeout_ms) < 0 && errno != EINTR)
			return failed(-EPROTO, "cannot wait for its front-end: %s",
				      strerror(errno));
		if (atomic_load(&vhost->stopping) || polled[0].revents)
			return -ECANCELED;
		/* First, as an UPDATE comes before the answer to its miss. */
		if (polled[1].revents)
			return 1;
		error = polled[2].revents ? vhost_iotlb_answer(vhost) : 0;
		if (error)
			return error;
		polled[2].fd = vhost->backend;
	}
}

/* All of so many bytes, and what comes with them. 1, or as of vhost_receive(). */
static int receive_all(struct vhost *vhost, void *buffer, size_t bytes, struct vhost_files *files)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(VHOST_MESSAGE_FILES * sizeof(int))];
	size_t done = 0;

	while (done < bytes) {
		struct iovec iov = {(char *)buffer + done, bytes - done};
		struct msghdr header = {.msg_iov = &iov,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof(control)};
		int waited = wait_readable(vhost);
		ssize_t got;

		if (waited <= 0)
			return waited;
		got = recvmsg(vhost->connected, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return 0;
		take_files(files, &header);
		if (header.msg_flags & MSG_CTRUNC)
			return failed(-EPROTO, "more than %d descriptors with a message",
				      VHOST_MESSAGE_FILES);
		done += (size_t)got;
	}
	return 1;
}

int vhost_receive(struct vhost *vhost, struct vhost_user_message *message,
		  struct vhost_files *files)
{
	struct vhost_user_header *header = &message->header;
	int got;

	files->count = 0;
	memset(message, 0, sizeof(*message));
	got = receive_all(vhost, header, sizeof(*header), files);
	if (got <= 0)
		return got;
	if ((header->flags & VHOST_USER_VERSION_MASK) != VHOST_USER_VERSION ||
	    header->flags & VHOST_USER_FLAG_REPLY)
		return failed(-EPROTO,
			      "message %u with flags 0x%x: accepted: requests of version %u",
			      header->request, header->flags, VHOST_USER_VERSION);
	if (header->bytes > sizeof(message->payload))
		return failed(-EPROTO, "message %u of %u bytes: accepted: at most %zu",
			      header->request, header->bytes, sizeof(message->payload));
	return header->bytes ? receive_all(vhost, &message->payload, header->bytes, files) : 1;
}

/* The payload follows the header at once, as it does not in memory. */
static int message_parts(const struct vhost_user_message *message, size_t done, struct iovec *iov)
{
	const size_t head = sizeof(message->header);
	size_t behind = done > head ? done - head : 0;

	iov[0] = (struct iovec){(char *)&message->header + (done < head ? done : head),
				done < head ? head - done : 0};
	iov[1] = (struct iovec){(char *)&message->payload + behind, message->header.bytes - behind};
	return 2;
}

int vhost_send(int socket, const struct vhost_user_message *message, int file)
{
	DESCRIPTOR_ROOM(control, 1);
	size_t bytes = sizeof(message->header) + message->header.bytes, done = 0;
	struct pollfd polled = {.fd = socket, .events = POLLOUT};

	while (done < bytes) {
		struct iovec iov[2];
		struct msghdr header = {.msg_iov = iov};
		ssize_t sent;

		header.msg_iovlen = (size_t)message_parts(message, done, iov);
		if (file >= 0 && !done)
			pass_descriptors(&header, control, &file, 1);
		sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0)
			done += (size_t)sent;
		/* Who does not read his answers is not waited for longer. */
		else if (errno == EAGAIN && poll(&polled, 1, ANSWER_MS) <= 0)
			return failed(-EPROTO, "its front-end reads no answers");
		else if (errno != EAGAIN && errno != EINTR)
			return failed(-EPROTO, "cannot answer its front-end: %s", strerror(errno));
	}
	return 0;
}
