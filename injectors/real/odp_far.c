// SPDX-License-Identifier: GPL-2.0
/* The far side, asked by messages: within this process, or over a socket in one of its own. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/real/odp.h"
#include "lib/base/child.h"

static int odp_far_serve(struct odp_far *far, struct odp_message *m)
{
	struct odp_side *side = &far->side;
	int err;

	switch ((enum odp_request)m->request) {
	case ODP_FAR_OPEN:
		err = odp_side_open(side, far->options, m->value, 2);
		m->address = side->own;
		return err;
	case ODP_FAR_CONNECT:
		return odp_side_connect(side, &m->address);
	case ODP_FAR_EVICT:
		return odp_memory_evict(&side->memory, (enum odp_eviction)m->value, &m->value);
	case ODP_FAR_PRESENT:
		m->value = (__u64)odp_memory_present(&side->memory);
		return (__s64)m->value < 0 ? (int)m->value : 0;
	case ODP_FAR_RECEIVE:
		return odp_side_receive(side, m->value);
	case ODP_FAR_WAIT:
		return odp_side_wait(side);
	case ODP_FAR_SUM:
		m->value = odp_side_sum(side, m->value);
		return 0;
	case ODP_FAR_PREFETCH:
		return odp_side_prefetch(side, m->value);
	case ODP_FAR_CLOSE:
		odp_side_close(side);
		return 0;
	}
	return failed(-EINVAL, "unknown request %u", m->request);
}

static int odp_far_transfer(int socket, struct odp_message *message, bool write_it)
{
	char *at = (char *)message;
	size_t left = sizeof(*message);

	while (left) {
		ssize_t bytes = write_it ? send(socket, at, left, MSG_NOSIGNAL)
					 : recv(socket, at, left, MSG_WAITALL);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes <= 0)
			return -EPIPE;
		at += bytes;
		left -= (size_t)bytes;
	}
	return 0;
}

/* The far process ends with its socket: when the near one is gone, or asks no more. */
static void be_far(struct odp_far *far)
{
	struct odp_message message;

	/* Ctrl-C reaches both; the near side says when to end. */
	signal(SIGINT, SIG_IGN);
	while (!odp_far_transfer(far->socket, &message, false)) {
		message.result = odp_far_serve(far, &message);
		message.sentence[0] = '\0';
		if (message.result < 0)
			snprintf(message.sentence, sizeof(message.sentence), "%.255s",
				 failure_text());
		if (odp_far_transfer(far->socket, &message, true))
			break;
	}
	odp_side_close(&far->side);
	_exit(0);
}

int odp_far_begin(struct odp_far *far, const struct odp_options *options)
{
	int ends[2];

	memset(far, 0, sizeof(*far));
	far->options = options;
	far->socket = -1;
	if (!options->two_processes)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return failed(-errno, "no socket to the second process: %s", strerror(errno));
	fflush(NULL);
	far->process = child_start(SIGKILL);
	if (far->process < 0) {
		close(ends[0]);
		close(ends[1]);
		far->process = 0;
		return failed(-errno, "no second process: %s", strerror(errno));
	}
	far->socket = ends[far->process ? 0 : 1];
	close(ends[far->process ? 1 : 0]);
	if (!far->process)
		be_far(far);
	return 0;
}

int odp_far_ask(struct odp_far *far, enum odp_request request, struct odp_message *message)
{
	message->request = request;
	if (!far->process)
		return odp_far_serve(far, message);
	if (odp_far_transfer(far->socket, message, true) ||
	    odp_far_transfer(far->socket, message, false))
		return failed(-EPIPE, "the second process has ended");
	if (message->result < 0)
		return failed(message->result, "second process: %s", message->sentence);
	return message->result;
}

void odp_far_end(struct odp_far *far)
{
	struct odp_message message = {0};

	if (!far->options)
		return;
	if (!far->process) {
		odp_far_serve(far, &(struct odp_message){.request = ODP_FAR_CLOSE});
		return;
	}
	/* While the near side is still there: a peer that is asked to close answers. */
	odp_far_ask(far, ODP_FAR_CLOSE, &message);
	close(far->socket);
	child_await(far->process);
	far->process = 0;
}
