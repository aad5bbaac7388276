// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/vm/handover.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "injectors/emu/memory_views.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/vm/arguments.h"
#include "injectors/emu/vm/handover_private.h"
#include "lib/base/clock.h"
#include "lib/base/dead_socket.h"
#include "lib/base/fail.h"

#define BACKLOG 4
#define KILL_MS 2000 /* for a library to kill its QEMU; then it is done from here */

void vm_handover_turn(struct vm_handover *handover, enum vm_state state, const char *sentence)
{
	const __u64 one = 1;

	pthread_mutex_lock(&handover->lock);
	handover->status.state = state;
	snprintf(handover->status.sentence, sizeof(handover->status.sentence), "%s", sentence);
	pthread_cond_broadcast(&handover->turned);
	pthread_mutex_unlock(&handover->lock);
	if (write(handover->changed, &one, sizeof(one)) < 0)
		return; /* it can be read already */
}

static int listen_at(struct vm_handover *handover, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int bound;

	if (strlen(path) >= sizeof(address.sun_path))
		return failed(-ENAMETOOLONG, "socket %s: accepted: up to %zu bytes", path,
			      sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	handover->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (handover->listening < 0)
		return failed(-errno, "cannot make a socket: %s", strerror(errno));
	bound = bind(handover->listening, (struct sockaddr *)&address, sizeof(address));
	if (bound && errno == EADDRINUSE && dead_socket_remove(path))
		bound = bind(handover->listening, (struct sockaddr *)&address, sizeof(address));
	if (bound)
		return failed(-errno, "socket %s: %s", path, strerror(errno));
	memcpy(handover->socket, path, strlen(path) + 1);
	if (chmod(path, 0600) || listen(handover->listening, BACKLOG))
		return failed(-errno, "socket %s: %s", path, strerror(errno));
	return 0;
}

static int bytes_check(const struct vm_handover *handover)
{
	__u64 plug = handover->config.plug_bytes;

	if (guest_memory_file(handover->config.memory) < 0)
		return failed(-EINVAL, "only memory of backend vm is handed over");
	if (plug >= handover->bytes || plug & (HUGE_BYTES - 1))
		return failed(
			-EINVAL,
			"%llu bytes to be plugged in: accepted: multiples of 2 MiB below %llu",
			plug, handover->bytes);
	return 0;
}

static int handover_start(struct vm_handover *handover)
{
	int error = vm_host_check();

	if (!error)
		error = bytes_check(handover);
	if (error)
		return error;
	handover->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	handover->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (handover->stop < 0 || handover->changed < 0)
		return failed(-errno, "cannot create an eventfd: %s", strerror(errno));
	error = listen_at(handover, handover->config.socket);
	if (!error)
		error = thread_start(&handover->thread, NULL, vm_handover_main, handover,
				     "vm-handover");
	handover->running = !error;
	return error;
}

int vm_handover_create(struct vm_handover **handover, const struct vm_handover_config *config)
{
	struct vm_handover *created = calloc(1, sizeof(*created));
	int error;

	if (!created)
		return failed(-ENOMEM, "no memory for a virtual machine");
	created->config = *config;
	created->bytes = guest_memory_bytes(config->memory);
	created->listening = created->stop = created->changed = -1;
	created->connection = created->process = created->second = -1;
	pthread_mutex_init(&created->lock, NULL);
	monotonic_cond_init(&created->turned);
	error = handover_start(created);
	if (error) {
		vm_handover_destroy(created);
		return failed_in(error, "tenant %s", config->tenant);
	}
	*handover = created;
	return 0;
}

/* Its pages come from nobody any more: it may not go on. Its library sees to that, and if not, we do. */
static void end_qemu(struct vm_handover *handover)
{
	struct pollfd polled = {.fd = handover->process, .events = POLLIN};

	if (handover->connection >= 0)
		close(handover->connection);
	if (handover->process < 0)
		return;
	if (handover->status.regions && poll(&polled, 1, KILL_MS) <= 0) {
		(void)syscall(SYS_pidfd_send_signal, handover->process, SIGKILL, NULL, 0);
		(void)poll(&polled, 1, KILL_MS);
	}
	close(handover->process);
}

void vm_handover_destroy(struct vm_handover *handover)
{
	const __u64 one = 1;

	if (!handover)
		return;
	if (handover->running && write(handover->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(handover->thread, NULL);
	if (*handover->socket)
		unlink(handover->socket);
	if (handover->listening >= 0)
		close(handover->listening);
	end_qemu(handover);
	for (__u32 i = 0; i < handover->status.regions; i++)
		memory_view_remove(handover->mapped[i].view);
	if (handover->stop >= 0)
		close(handover->stop);
	if (handover->changed >= 0)
		close(handover->changed);
	pthread_cond_destroy(&handover->turned);
	pthread_mutex_destroy(&handover->lock);
	free(handover);
}

void vm_handover_status(struct vm_handover *handover, struct vm_status *status)
{
	__u64 times;

	if (read(handover->changed, &times, sizeof(times)) < 0)
		times = 0; /* nothing since the last look */
	pthread_mutex_lock(&handover->lock);
	*status = handover->status;
	pthread_mutex_unlock(&handover->lock);
}

int vm_handover_descriptor(const struct vm_handover *handover)
{
	return handover->changed;
}

int vm_handover_wait(struct vm_handover *handover, __u64 timeout_ns)
{
	__u64 until = monotonic_ns() + timeout_ns;
	struct vm_status status;

	pthread_mutex_lock(&handover->lock);
	while (handover->status.state == VM_AWAITED &&
	       monotonic_cond_wait_until(&handover->turned, &handover->lock, until))
		;
	status = handover->status;
	pthread_mutex_unlock(&handover->lock);
	switch (status.state) {
	case VM_RUNS:
		return 0;
	case VM_AWAITED:
		return -ETIMEDOUT;
	case VM_ENDED:
		return failed(-EPIPE, "%s", status.sentence);
	case VM_REFUSED:
		break;
	}
	return failed(-ECONNREFUSED, "%s", status.sentence);
}
