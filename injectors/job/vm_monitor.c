// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/vm_monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

#define SHOWN_BYTES 60 /* of a message that makes no sense */

struct vm_monitor {
	const char *name;
	int socket;
	__u64 answer_ns;
	pthread_mutex_t lock;
	_Atomic __u64 ends_ns;
	bool greeted;
	int error; /* that of the command which was the last */
	char sentence[512];
	__u64 id;    /* of the latest command */
	size_t used; /* bytes of `line` that have come */
	char line[VM_MONITOR_LINE];
};

int vm_monitor_create(struct vm_monitor **monitor, int descriptor, const char *name,
		      __u64 answer_ns)
{
	struct vm_monitor *new = calloc(1, sizeof(*new));

	if (!new) {
		close(descriptor);
		return failed(-ENOMEM, "virtual machine %s: no memory for its monitor", name);
	}
	new->name = name;
	new->socket = descriptor;
	new->answer_ns = answer_ns;
	pthread_mutex_init(&new->lock, NULL);
	*monitor = new;
	return 0;
}

void vm_monitor_destroy(struct vm_monitor *monitor)
{
	if (!monitor)
		return;
	close(monitor->socket);
	pthread_mutex_destroy(&monitor->lock);
	free(monitor);
}

static int monitor_gone(const struct vm_monitor *monitor)
{
	return failed(-EPIPE, "virtual machine %s: QEMU has closed its monitor", monitor->name);
}

static int monitor_nonsense(const struct vm_monitor *monitor, const char *text, size_t size,
			    const char *why)
{
	return failed(-EPROTO, "virtual machine %s: QEMU's monitor says \"%.*s\"%s: %s",
		      monitor->name, (int)(size < SHOWN_BYTES ? size : SHOWN_BYTES), text,
		      size < SHOWN_BYTES ? "" : "...", why);
}

/* Until it can be read or written. */
static int monitor_poll(const struct vm_monitor *monitor, short events, const char *what,
			__u64 end_ns)
{
	struct pollfd polled = {.fd = monitor->socket, .events = events};
	char text[UNITS_TEXT];

	for (;;) {
		__u64 now = monotonic_ns();
		const struct timespec left = timespec_of_ns(now < end_ns ? end_ns - now : 0);
		int count = ppoll(&polled, 1, &left, NULL);

		if (count > 0)
			return 0;
		if (count < 0 && errno != EINTR)
			return failed(-errno, "virtual machine %s: its monitor: %s", monitor->name,
				      strerror(errno));
		if (monotonic_ns() >= end_ns)
			return failed(
				-ETIMEDOUT,
				"virtual machine %s: QEMU has not answered '%s' of its monitor for %s",
				monitor->name, what,
				units_format_duration(monitor->answer_ns, text));
	}
}

static int monitor_write(const struct vm_monitor *monitor, const char *text, size_t size,
			 const char *what, __u64 end_ns)
{
	while (size) {
		ssize_t sent = send(monitor->socket, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		int err = 0;

		if (sent >= 0) {
			text += sent;
			size -= (size_t)sent;
		} else if (errno == EAGAIN) {
			err = monitor_poll(monitor, POLLOUT, what, end_ns);
		} else if (errno != EINTR) {
			err = monitor_gone(monitor);
		}
		if (err)
			return err;
	}
	return 0;
}

/* More of a line. */
static int monitor_read(struct vm_monitor *monitor, const char *what, __u64 end_ns)
{
	ssize_t got;
	int err;

	if (monitor->used == sizeof(monitor->line))
		return monitor_nonsense(monitor, monitor->line, monitor->used,
					"accepted: messages of up to 64K");
	err = monitor_poll(monitor, POLLIN, what, end_ns);
	if (err)
		return err;
	got = recv(monitor->socket, monitor->line + monitor->used,
		   sizeof(monitor->line) - monitor->used, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return monitor_gone(monitor);
	monitor->used += (size_t)got;
	return 0;
}

/* The next message, an object, the caller's reference. */
static int monitor_message(struct vm_monitor *monitor, const char *what, __u64 end_ns,
			   json_t **message)
{
	const char *end;
	size_t size;
	int err;

	while (!(end = memchr(monitor->line, '\n', monitor->used))) {
		err = monitor_read(monitor, what, end_ns);
		if (err)
			return err;
	}
	size = (size_t)(end - monitor->line);
	if (size && monitor->line[size - 1] == '\r')
		size--;
	*message = json_loadb(monitor->line, size, 0, NULL);
	err = json_is_object(*message)
		      ? 0
		      : monitor_nonsense(monitor, monitor->line, size, "accepted: JSON objects");
	if (err)
		json_decref(*message);
	monitor->used -= (size_t)(end + 1 - monitor->line);
	memmove(monitor->line, end + 1, monitor->used);
	return err;
}

/* What is not answered by then never is. */
static int monitor_event(struct vm_monitor *monitor, const char *event)
{
	if (!event || strcmp(event, "SHUTDOWN") != 0)
		return -EAGAIN;
	atomic_store(&monitor->ends_ns, monotonic_ns());
	return failed(-EPIPE, "virtual machine %s: QEMU ends", monitor->name);
}

/* 0: that was the answer; -EAGAIN: it is another's, or an event. */
static int monitor_answer(struct vm_monitor *monitor, const char *command, json_t *message,
			  json_t **answer)
{
	const json_t *error = json_object_get(message, "error");
	const json_t *id = json_object_get(message, "id");
	json_t *value = json_object_get(message, "return");
	const char *words = json_string_value(json_object_get(error, "desc"));
	const json_t *event = json_object_get(message, "event");

	if (event)
		return monitor_event(monitor, json_string_value(event));
	if ((!value && !error) || !json_is_integer(id) ||
	    (__u64)json_integer_value(id) != monitor->id)
		return failed(-EPROTO,
			      "virtual machine %s: QEMU's monitor says something else than an "
			      "answer to '%s'%s%s",
			      monitor->name, command, words ? ": " : "", words ?: "");
	if (error)
		return failed(-EIO, "virtual machine %s: QEMU refuses '%s': %s", monitor->name,
			      command, words ?: "without a word");
	if (answer)
		*answer = json_incref(value);
	return 0;
}

static int monitor_exchange(struct vm_monitor *monitor, const char *command, json_t *arguments,
			    json_t **answer, __u64 end_ns)
{
	json_t *order = json_pack("{s:s, s:I, s:o*}", "execute", command, "id",
				  (json_int_t)++monitor->id, "arguments", arguments);
	char *text = order ? json_dumps(order, JSON_COMPACT) : NULL;
	int err = text ? monitor_write(monitor, text, strlen(text), command, end_ns)
		       : failed(-ENOMEM, "virtual machine %s: no memory for '%s'", monitor->name,
				command);

	free(text);
	json_decref(order);
	if (err)
		return err;
	do {
		json_t *message;

		err = monitor_message(monitor, command, end_ns, &message);
		if (err)
			return err;
		err = monitor_answer(monitor, command, message, answer);
		json_decref(message);
	} while (err == -EAGAIN);
	return err;
}

/* QEMU speaks first, and takes no other command before this one. */
static int monitor_greet(struct vm_monitor *monitor, __u64 end_ns)
{
	json_t *message;
	int err = monitor_message(monitor, "its greeting", end_ns, &message);

	if (err)
		return err;
	if (!json_is_object(json_object_get(message, "QMP")))
		err = failed(-EPROTO, "virtual machine %s: QEMU's monitor does not greet",
			     monitor->name);
	json_decref(message);
	if (!err)
		err = monitor_exchange(monitor, "qmp_capabilities", NULL, NULL, end_ns);
	monitor->greeted = !err;
	return err;
}

int vm_monitor_execute(struct vm_monitor *monitor, const char *command, json_t *arguments,
		       json_t **answer)
{
	__u64 end_ns;
	int err;

	pthread_mutex_lock(&monitor->lock);
	end_ns = monotonic_ns() + monitor->answer_ns;
	if (monitor->error) {
		err = failed(monitor->error, "%s", monitor->sentence);
	} else {
		err = monitor->greeted ? 0 : monitor_greet(monitor, end_ns);
		if (!err)
			err = monitor_exchange(monitor, command, json_incref(arguments), answer,
					       end_ns);
		if (err && (err != -EIO || !monitor->greeted)) {
			monitor->error = err;
			snprintf(monitor->sentence, sizeof(monitor->sentence), "%s",
				 failure_text());
		}
	}
	pthread_mutex_unlock(&monitor->lock);
	json_decref(arguments);
	return err;
}

__u64 vm_monitor_ends_ns(struct vm_monitor *monitor)
{
	return atomic_load(&monitor->ends_ns);
}
