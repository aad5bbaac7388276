// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/registry_hello.h"
#include "injectors/emu/registry_observers.h"
#include "injectors/emu/registry_socket.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/pass_descriptors.h"
#include "lib/capture/access_log.h"

#define CLIENTS_MAX 64	 /* observers at once; more are turned away */
#define OBSERVER_MS 2000 /* that we wait for observers to look: they do each 20 ms */

struct registry {
	char name[32]; /* "PID.machine" */
	int directory;
	int listening;
	int wake;
	int ring;
	char *hello;
	size_t hello_bytes;
	pthread_t thread;
	bool running;
	unsigned int clients;
	unsigned int heard; /* clients that have read the hello, or gone */
	struct registry_observers observers;
	struct pollfd poll[2 + CLIENTS_MAX]; /* wake, listening, clients */
};

/* Only root, or who runs the machine, may watch it. */
static bool peer_is_trusted(int client)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return false;
	return peer.uid == 0 || peer.uid == geteuid();
}

/* The one message of a connection: the hello, with the ring's descriptor beside it. */
static bool send_hello(const struct registry *registry, int client)
{
	struct iovec iov = {registry->hello, registry->hello_bytes};
	int bytes = 2 * HELLO_MAX;
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	DESCRIPTOR_ROOM(control, 1);

	pass_descriptors(&message, control, &registry->ring, 1);
	/* A packet must fit into the send buffer as a whole; root may go beyond the limit. */
	if (setsockopt(client, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(client, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)iov.iov_len;
}

/* False if nobody waits. */
static bool accept_client(struct registry *registry)
{
	int client = accept4(registry->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client < 0)
		return false;
	if (registry->clients == CLIENTS_MAX || !peer_is_trusted(client) ||
	    !send_hello(registry, client)) {
		close(client);
		return true;
	}
	registry->poll[2 + registry->clients++] = (struct pollfd){.fd = client, .events = POLLIN};
	return true;
}

/*
 * A client shuts its side once it has looked at the process that the hello names. It has nothing to
 * say: whatever else it does ends its connection. One that only closes has asked whether we live, as each
 * machine does of the others when it begins: no observer has heard of us by that.
 */
static void hear_client(struct registry *registry, unsigned int i)
{
	struct pollfd *client = &registry->poll[2 + i];
	char byte;

	if (client->revents == POLLIN && !recv(client->fd, &byte, 1, MSG_DONTWAIT)) {
		__atomic_fetch_add(&registry->heard, 1, __ATOMIC_RELEASE);
		client->events = 0;
		return;
	}
	close(client->fd);
	*client = registry->poll[2 + --registry->clients];
}

static void *registry_thread(void *argument)
{
	struct registry *registry = argument;

	for (;;) {
		if (poll(registry->poll, 2 + registry->clients, -1) < 0 && errno != EINTR)
			break;
		if (registry->poll[0].revents)
			break;
		for (unsigned int i = registry->clients; i-- > 0;)
			if (registry->poll[2 + i].revents)
				hear_client(registry, i);
		if (registry->poll[1].revents)
			accept_client(registry);
	}
	/* Who had connected before the name went is served. */
	while (accept_client(registry))
		;
	return NULL;
}

static int lock_directory(const struct registry *registry)
{
	return flock(registry->directory, LOCK_EX)
		       ? failed(-errno, "%s: cannot lock it: %s", run_directory(), strerror(errno))
		       : 0;
}

/* Before observers are told, of whom there is room for some: not for what dead ones have left. */
static int remove_dead(struct registry *registry)
{
	int err = lock_directory(registry);

	if (err)
		return err;
	err = registry_socket_reap(registry->directory);
	flock(registry->directory, LOCK_UN);
	return err < 0 ? failed_in(err, "%s", run_directory()) : 0;
}

static int take_name(struct registry *registry)
{
	int err = lock_directory(registry);

	if (err)
		return err;
	if (!faccessat(registry->directory, registry->name, F_OK, AT_SYMLINK_NOFOLLOW)) {
		err = failed(-EEXIST, "%s/%s: this process announces a machine already",
			     run_directory(), registry->name);
	} else {
		err = registry->listening =
			registry_socket_listen(registry->directory, registry->name);
	}
	flock(registry->directory, LOCK_UN);
	return err < 0 ? err : 0;
}

/* Until each observer that watches has looked at us; false if one did not in time: it may be held up. */
static bool await_observers(struct registry *registry)
{
	const struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};

	for (unsigned int ms = 0; ms < OBSERVER_MS; ms++) {
		if (registry_observers_alive(&registry->observers) <=
		    __atomic_load_n(&registry->heard, __ATOMIC_ACQUIRE))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

int registry_open(struct registry **registry, const struct registry_device *devices, __u32 count,
		  int ring)
{
	struct registry *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return failed(-ENOMEM, "no memory for the registry");
	snprintf(new->name, sizeof(new->name), "%d%s", getpid(), RUN_MACHINE_SUFFIX);
	new->ring = ring;
	new->listening = -1;
	new->wake = -1;
	err = new->directory = run_directory_open(true);
	if (err >= 0)
		err = remove_dead(new);
	if (err >= 0)
		err = registry_observers_tell_begin(&new->observers, new->directory);
	if (err >= 0)
		err = registry_hello(devices, count, new->observers.id, &new->hello,
				     &new->hello_bytes);
	if (err >= 0) {
		new->wake = eventfd(0, EFD_CLOEXEC);
		if (new->wake < 0)
			err = failed(-errno, "cannot make an eventfd: %s", strerror(errno));
	}
	if (err >= 0)
		err = take_name(new);
	if (err >= 0) {
		new->poll[0] = (struct pollfd){.fd = new->wake, .events = POLLIN};
		new->poll[1] = (struct pollfd){.fd = new->listening, .events = POLLIN};
		err = thread_start(&new->thread, NULL, registry_thread, new, "registry");
	}
	if (err < 0) {
		registry_close(new, 0);
		return err;
	}
	new->running = true;
	/* Whoever watches attaches its probes to the binary that we run: no fault comes before they are. */
	if (!await_observers(new))
		registry_observers_tell_late(&new->observers);
	*registry = new;
	return 0;
}

void registry_close(struct registry *registry, __u64 produced)
{
	__u64 one = 1;

	if (!registry)
		return;
	/* It may be over before an observer that was held up has looked again. */
	if (registry->running)
		await_observers(registry);
	/* First the name: nobody finds a machine that is about to end. */
	if (registry->listening >= 0)
		unlinkat(registry->directory, registry->name, 0);
	if (registry->running) {
		if (write(registry->wake, &one, sizeof(one)) == sizeof(one))
			pthread_join(registry->thread, NULL);
	}
	for (unsigned int i = 0; i < registry->clients; i++)
		close(registry->poll[2 + i].fd);
	if (registry->listening >= 0)
		close(registry->listening);
	if (registry->wake >= 0)
		close(registry->wake);
	registry_observers_tell_end(&registry->observers, produced);
	if (registry->directory >= 0)
		close(registry->directory);
	free(registry->hello);
	free(registry);
}

int registry_remove_stale(void)
{
	int directory = run_directory_open(false), count;

	if (directory == -ENOENT)
		return 0;
	if (directory < 0)
		return directory;
	flock(directory, LOCK_EX);
	count = registry_socket_reap(directory);
	close(directory);
	return count;
}
