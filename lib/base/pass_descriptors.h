/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptors beside a message over a UNIX socket (SCM_RIGHTS). A header and libc alone: libraries that are preloaded have it, too. */
#ifndef FAULTLINE_BASE_PASS_DESCRIPTORS_H
#define FAULTLINE_BASE_PASS_DESCRIPTORS_H

#include <string.h>
#include <sys/socket.h>

/* Declares the room for as many, which has to last until the message is sent. */
#define DESCRIPTOR_ROOM(name, count) \
	_Alignas(struct cmsghdr) char name[CMSG_SPACE((count) * sizeof(int))] = {0}

/* `count`: at least 1, at most what `room` was declared for. They stay the caller's. */
static inline void pass_descriptors(struct msghdr *message, void *room, const int *descriptors,
				    size_t count)
{
	struct cmsghdr *header = room;

	message->msg_control = room;
	message->msg_controllen = CMSG_SPACE(count * sizeof(int));
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
}

#endif
