// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/devices.h"
#include "injectors/guest/library/library.h"
#include "injectors/guest/static_memory.h"
#include "lib/base/fail.h"

#define VARIABLE    "FAULTLINE_VERBS"
#define DEVICES_MAX 8
#define HELLO_MS    5000

static struct library_device *devices[DEVICES_MAX];
static int device_count;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

/* Is it a socket at which a host says hello? The host does so at once. */
static int socket_check(int socket)
{
	struct pollfd waiting = {.fd = socket, .events = POLLIN};
	socklen_t size = sizeof(int);
	int type = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size))
		return failed(-errno, "descriptor %d is no socket of a device: %s", socket,
			      strerror(errno));
	if (type != SOCK_SEQPACKET)
		return failed(-EPROTOTYPE, "descriptor %d is a socket of another type", socket);
	if (poll(&waiting, 1, HELLO_MS) != 1)
		return failed(
			-ETIMEDOUT,
			"the host says nothing at descriptor %d: is another program its guest?",
			socket);
	return 0;
}

static void device_fill(struct library_device *device, int number)
{
	struct ibv_device *out = &device->device;

	out->node_type = IBV_NODE_CA;
	out->transport_type = IBV_TRANSPORT_IB;
	snprintf(out->name, sizeof(out->name), "faultline%d", number);
	snprintf(out->dev_name, sizeof(out->dev_name), "faultline%d", number);
	/* There is nothing of it there, which is how programs that look find it. */
	snprintf(out->ibdev_path, sizeof(out->ibdev_path), "/sys/class/infiniband/faultline%d",
		 number);
	snprintf(out->dev_path, sizeof(out->dev_path), "/sys/class/infiniband_verbs/faultline%d",
		 number);
}

static int device_start(struct library_device *device, int socket)
{
	int error = socket_check(socket);

	if (error)
		return error;
	device->socket = socket;
	pthread_mutex_init(&device->lock, NULL);
	error = guest_open(&device->verbs, socket);
	if (error)
		return error;
	/* What the program starts is no guest of this device. */
	(void)fcntl(socket, F_SETFD, FD_CLOEXEC);
	device->hello = guest_hello(device->verbs);
	error = verbs_query_device(device->verbs, &device->limits);
	if (error) {
		guest_close(device->verbs);
		return failed(error, "the host does not say what its device has: %s",
			      strerror(-error));
	}
	device_fill(device, device_count);
	return 0;
}

static int device_add(int socket)
{
	struct library_device *device = calloc(1, sizeof(*device));
	int error;

	if (!device)
		return failed(-ENOMEM, "no memory for a device");
	error = device_start(device, socket);
	if (error)
		free(device);
	else
		devices[device_count++] = device;
	return error;
}

static void no_device(const char *value)
{
	fprintf(stderr, "faultline-verbs: no device of %s=%s: %s\n", VARIABLE, value,
		failure_text());
}

/* Before the program runs, which is alone then. */
__attribute__((constructor)) static void memory_prepare(void)
{
	if (getenv(VARIABLE) && static_memory_begin())
		fprintf(stderr, "faultline-verbs: static memory cannot be registered: %s\n",
			failure_text());
}

static void devices_open(void)
{
	const char *value = getenv(VARIABLE), *at = value;
	int sockets[DEVICES_MAX], count;

	if (!value) {
		fprintf(stderr,
			"faultline-verbs: no device: %s is not set; faultline-inject sets it for a "
			"[tenant]'s program\n",
			VARIABLE);
		return;
	}
	count = sockets_of(at, sockets, DEVICES_MAX);
	if (count < 0) {
		no_device(value);
		return;
	}
	for (int i = 0; i < count; i++)
		if (device_add(sockets[i]))
			no_device(value);
}

int sockets_of(const char *text, int *sockets, int most)
{
	const char *at = text;
	char *end;
	int count = 0;

	do {
		long number = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;

		if (number < 0 || number > 1 << 20 || (*end && *end != ','))
			return failed(-EINVAL,
				      "wanted: numbers of descriptors, with commas between");
		if (count == most)
			return failed(-E2BIG, "a program has %d devices at most", most);
		for (int i = 0; i < count; i++)
			if (sockets[i] == number)
				return failed(-EINVAL, "descriptor %ld is named twice", number);
		sockets[count++] = (int)number;
		at = end + 1;
	} while (*end);
	return count;
}

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list;

	pthread_once(&opened, devices_open);
	list = calloc((size_t)device_count + 1, sizeof(struct ibv_device *));
	if (!list) {
		errno = ENOMEM;
		return NULL;
	}
	for (int i = 0; i < device_count; i++)
		list[i] = &devices[i]->device;
	if (count)
		*count = device_count;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)((struct library_device *)device)->hello->device + 1;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(((struct library_device *)device)->hello->guid);
}

bool library_host_gone(const struct library_device *device)
{
	struct pollfd one = {.fd = device->socket, .events = POLLRDHUP};

	return poll(&one, 1, 0) > 0;
}

int host_end_descriptor(const struct library_device *device)
{
	struct epoll_event event = {.events = EPOLLRDHUP};
	int descriptor = epoll_create1(EPOLL_CLOEXEC);

	if (descriptor < 0)
		return -errno;
	if (epoll_ctl(descriptor, EPOLL_CTL_ADD, device->socket, &event)) {
		int error = -errno;

		close(descriptor);
		return error;
	}
	return descriptor;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct library_context *context = calloc(1, sizeof(*context));
	int gone = context ? async_descriptor((struct library_device *)device) : -ENOMEM;

	if (gone < 0) {
		free(context);
		errno = -gone;
		return NULL;
	}
	context->device = (struct library_device *)device;
	context->verbs.sz = sizeof(context->verbs);
	context->verbs.query_port = library_query_port;
	context->verbs.create_qp_ex = library_create_qp_ex;
	context->verbs.context = (struct ibv_context){
		.device = device,
		.cmd_fd = -1,
		.async_fd = gone,
		.num_comp_vectors = 1,
		.abi_compat = __VERBS_ABI_IS_EXTENDED,
	};
	library_data_ops(&context->verbs.context.ops);
	pthread_mutex_init(&context->verbs.context.mutex, NULL);
	return &context->verbs.context;
}

int ibv_close_device(struct ibv_context *context)
{
	close(context->async_fd);
	pthread_mutex_destroy(&context->mutex);
	free(context_of(context));
	return 0;
}

/* Refusals that its operator has set, not mistakes of the program. */
static bool refused_by_host(int error)
{
	return error == -EDQUOT || error == -EPERM || error == -EACCES || error == -ENOMEM ||
	       error == -ENOSPC;
}

int library_error(struct library_device *device, const char *what, int error)
{
	bool say = false;

	if (refused_by_host(error)) {
		pthread_mutex_lock(&device->lock);
		say = !device->refusal_said;
		device->refusal_said = true;
		pthread_mutex_unlock(&device->lock);
	}
	if (say)
		fprintf(stderr,
			"faultline-verbs: %s: %s was refused: %s; [tenant]'s quotas, memlock and "
			"memory say what it may have\n",
			device->device.name, what, strerror(-error));
	return -error;
}

void *library_refused(struct library_device *device, const char *what, int error)
{
	errno = library_error(device, what, error);
	return NULL;
}

void *library_memory(struct library_device *device, __u64 *bytes, __u64 *guest_address)
{
	void *memory;

	*bytes = whole_pages(*bytes);
	memory = guest_allocate(device->verbs, *bytes, guest_address);
	return memory ? memory : library_refused(device, "memory for a queue", -ENOMEM);
}
