// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/hello.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
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

int hello_connect(int directory, const char *file)
{
	int fd = connect_to(directory, file);

	if (fd == -ECONNREFUSED)
		reap(directory, file);
	return fd;
}

long hello_receive(int fd, char *text, int *ring)
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

/* A whole number within [0, maximum]; false if it is anything else. */
static bool get_number(const json_t *object, const char *key, __u64 maximum, __u64 *number)
{
	const json_t *value = json_object_get(object, key);
	json_int_t signed_value = json_integer_value(value);

	if (!json_is_integer(value) || signed_value < 0 || (__u64)signed_value > maximum)
		return false;
	*number = signed_value;
	return true;
}

/* A text that can be printed anywhere; longer ones are cut. */
static bool get_text(const json_t *object, const char *key, char text[NAME_TEXT])
{
	const char *value = json_string_value(json_object_get(object, key));
	size_t i;

	if (!value || !*value)
		return false;
	for (i = 0; value[i] && i < NAME_TEXT - 1; i++)
		text[i] = isprint((unsigned char)value[i]) ? value[i] : '?';
	text[i] = '\0';
	return true;
}

/* "networks": [guest, wire]; none is told of a device that is no NIC, or one without a network. */
static bool get_networks(const json_t *object, __u64 networks[HELLO_NETWORKS])
{
	const json_t *list = json_object_get(object, "networks");

	if (!list)
		return true;
	if (!json_is_array(list) || json_array_size(list) != HELLO_NETWORKS)
		return false;
	for (size_t i = 0; i < HELLO_NETWORKS; i++) {
		json_int_t inode = json_integer_value(json_array_get(list, i));

		if (inode <= 0 || inode > UINT32_MAX)
			return false;
		networks[i] = (__u64)inode;
	}
	return networks[0] != networks[1];
}

static int parse_device(const json_t *object, size_t index, struct hello_device *device)
{
	__u64 number, queues, pasid;

	if (!get_number(object, "index", HELLO_DEVICES_MAX, &number) || number != index)
		return failed(-EPROTO, "hello: device %zu has no index of that value", index);
	if (!get_text(object, "name", device->name) || !get_text(object, "model", device->model) ||
	    !get_text(object, "tenant", device->tenant))
		return failed(-EPROTO, "hello: device %zu needs a name, a model and a tenant",
			      index);
	if (!get_number(object, "queues", UINT16_MAX, &queues) ||
	    !get_number(object, "memory", INT64_MAX, &device->memory) ||
	    !get_number(object, "pasid", UINT32_MAX, &pasid))
		return failed(-EPROTO, "hello: device %s needs queues, memory and pasid",
			      device->name);
	if (json_object_get(object, "mapped_at") &&
	    !get_number(object, "mapped_at", INT64_MAX, &device->mapped_at))
		return failed(-EPROTO, "hello: device %s is mapped nowhere", device->name);
	if (!get_networks(object, device->networks))
		return failed(-EPROTO, "hello: networks of device %s are no two namespaces",
			      device->name);
	device->index = index;
	device->queues = queues;
	device->pasid = pasid;
	return 0;
}

static int parse_devices(const json_t *list, struct hello *hello)
{
	size_t count = json_array_size(list);
	int error = 0;

	if (!json_is_array(list) || count > HELLO_DEVICES_MAX)
		return failed(-EPROTO, "hello: needs an array of at most %d devices",
			      HELLO_DEVICES_MAX);
	hello->devices = calloc(count + 1, sizeof(hello->devices[0]));
	if (!hello->devices)
		return failed(-ENOMEM, "no memory for %zu devices", count);
	for (size_t i = 0; i < count && !error; i++)
		error = parse_device(json_array_get(list, i), i, &hello->devices[i]);
	hello->device_count = count;
	return error;
}

int hello_parse(const char *text, size_t bytes, struct hello *hello)
{
	json_error_t where;
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
	__u64 version, pid = 0;
	int error;

	memset(hello, 0, sizeof(*hello));
	if (!root)
		return failed(-EPROTO, "hello: %s", where.text);
	if (!get_number(root, "faultline", 1, &version) || version != 1)
		error = failed(-EPROTO, "hello: is not of version 1");
	else if (!get_number(root, "pid", INT32_MAX, &pid) ||
		 !get_number(root, "start_time", INT64_MAX, &hello->start_time))
		error = failed(-EPROTO, "hello: needs pid and start_time");
	else if (json_object_get(root, "id") && !get_number(root, "id", INT64_MAX, &hello->id))
		error = failed(-EPROTO, "hello: its id is not a number");
	else
		error = parse_devices(json_object_get(root, "devices"), hello);
	json_decref(root);
	if (error)
		hello_free(hello);
	else
		hello->pid = pid;
	return error;
}

void hello_free(struct hello *hello)
{
	free(hello->devices);
	hello->devices = NULL;
	hello->device_count = 0;
}
