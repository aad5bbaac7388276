// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/vm/handover_private.h"
#include "lib/base/fail.h"
#include "lib/base/pass_descriptors.h"

#define DESCRIPTORS_MOST 8 /* that are looked at, to be closed: the kernel drops what is more */

/* The first of them, or -1; none but it stays open. */
static int take_descriptor(struct msghdr *message, unsigned int *count)
{
	int first = -1;

	*count = 0;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		size_t bytes = header->cmsg_len - CMSG_LEN(0);

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
			int descriptor;

			memcpy(&descriptor, CMSG_DATA(header) + at, sizeof(int));
			if (!(*count)++)
				first = descriptor;
			else
				close(descriptor);
		}
	}
	return first;
}

static size_t bytes_of(__u32 kind)
{
	switch (kind) {
	case VM_ASK:
		return sizeof(struct vm_ask);
	case VM_REGION:
		return sizeof(struct vm_region);
	default:
		return 0;
	}
}

static int message_check(const struct vm_message_header *header, size_t got, unsigned int count)
{
	if (got < sizeof(*header) || header->magic != VM_MAGIC)
		return failed(-EPROTO,
			      "%zu bytes that are no message: is %s what is preloaded there?", got,
			      VM_LIBRARY_NAME);
	if (header->version != VM_VERSION)
		return failed(-EPROTO, "%s of version %u: accepted: %u", VM_LIBRARY_NAME,
			      header->version, VM_VERSION);
	if (!bytes_of(header->kind))
		return failed(-EPROTO, "a message of kind %u: accepted: %d, %d", header->kind,
			      VM_ASK, VM_REGION);
	if (got != bytes_of(header->kind) || header->bytes != got)
		return failed(-EPROTO,
			      "a message of kind %u with %zu bytes that says %u: accepted: %zu",
			      header->kind, got, header->bytes, bytes_of(header->kind));
	if (count != (header->kind == VM_REGION))
		return failed(-EPROTO, "a message of kind %u with %u descriptors: accepted: %d",
			      header->kind, count, header->kind == VM_REGION);
	return 0;
}

int vm_message_receive(int socket, union vm_message *message, int *descriptor)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MOST * sizeof(int))];
	struct iovec data = {message, sizeof(*message)};
	struct msghdr whole = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	unsigned int count;
	ssize_t got;
	int error;

	*descriptor = -1;
	memset(message, 0, sizeof(*message));
	do
		got = recvmsg(socket, &whole, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	*descriptor = take_descriptor(&whole, &count);
	/* The end, or a message without a byte, which may have descriptors all the same. */
	if (!got)
		error = -EPIPE;
	else if (whole.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		error = failed(-EPROTO, "a message that is longer than any");
	else
		error = message_check(&message->header, (size_t)got, count);
	if (error && *descriptor >= 0)
		close(*descriptor);
	if (error)
		*descriptor = -1;
	return error;
}

int vm_message_answer(int socket, enum vm_message_kind kind, int error, __u64 offset,
		      int descriptor)
{
	DESCRIPTOR_ROOM(control, 1);
	struct vm_answer answer = {
		.header = {VM_MAGIC, VM_VERSION, kind, sizeof(answer)},
		.error = error,
		.offset = offset,
	};
	struct iovec data = {&answer, sizeof(answer)};
	struct msghdr whole = {.msg_iov = &data, .msg_iovlen = 1};

	if (error)
		snprintf(answer.sentence, sizeof(answer.sentence), "%s", failure_text());
	if (descriptor >= 0)
		pass_descriptors(&whole, control, &descriptor, 1);
	/* One that does not read what it has asked for is not waited for. */
	return sendmsg(socket, &whole, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(answer) ? 0 : -EPIPE;
}
