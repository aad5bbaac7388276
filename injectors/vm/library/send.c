// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's memory file goes to its host's devices only: another vhost-user back-end, which a monitor may add at any time, would
 * map it and write past the pager.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/vm/library/library.h"

static bool has_memory_file(const struct cmsghdr *header)
{
	size_t bytes = header->cmsg_len - CMSG_LEN(0);

	if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return false;
	for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
		int file;

		memcpy(&file, CMSG_DATA(header) + at, sizeof(file));
		if (vm_is_memory_file(file))
			return true;
	}
	return false;
}

static int refuse_message(int socket, const struct msghdr *message)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR((struct msghdr *)message, header))
		if (has_memory_file(header) && !vm_host_is_at(socket))
			return vm_say(-EACCES,
				      "QEMU gives its guest's memory to a back-end that is not the "
				      "job's, which would write past the pager: refused");
	return 0;
}

PUBLIC ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
	int error =
		vm_handed_over() && message->msg_controllen ? refuse_message(socket, message) : 0;

	if (!error)
		return syscall(SYS_sendmsg, socket, message, flags);
	errno = -error;
	return -1;
}
