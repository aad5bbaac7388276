// SPDX-License-Identifier: GPL-2.0
/* The thread of a handover. What comes from the socket is a stranger's until it has been checked. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/memory_views.h"
#include "injectors/emu/vm/handover_private.h"
#include "lib/base/fail.h"

enum { STOP, LISTENING, CONNECTION, SECOND, PROCESS, POLLED };

static void connection_close(struct vm_handover *handover)
{
	close(handover->connection);
	handover->connection = -1;
	handover->asked = 0;
}

static void process_close(struct vm_handover *handover)
{
	if (handover->process >= 0)
		close(handover->process);
	handover->process = -1;
}

/* What a QEMU was refused for is the state of a machine that has none, and an error of a command where it runs. */
static void refused_now(struct vm_handover *handover)
{
	char sentence[sizeof(handover->status.sentence)];

	if (handover->status.regions)
		return;
	snprintf(sentence, sizeof(sentence), "%s", failure_text());
	vm_handover_turn(handover, VM_REFUSED, sentence);
}

static int ask_check(const struct vm_handover *handover, __u64 bytes)
{
	__u64 left = handover->bytes - handover->taken;
	__u64 first = handover->bytes - handover->config.plug_bytes;

	if (!handover->taken && bytes != first)
		return failed(-EINVAL,
			      "tenant %s has %llu bytes of memory, QEMU maps %llu: give its "
			      "memory-backend-memfd size=%lluM, or the tenant as much",
			      handover->config.tenant, first, bytes, first >> 20);
	if (!bytes || bytes & (PAGE_BYTES - 1) || bytes > left)
		return failed(
			-ENOSPC,
			"QEMU plugs %llu bytes of memory in: tenant %s has %llu left for that",
			bytes, handover->config.tenant, left);
	if (handover->status.regions == VM_REGIONS_MAX)
		return failed(-ENOSPC, "QEMU plugs memory in more than %d times", VM_REGIONS_MAX);
	return 0;
}

static int look_who_asks(struct vm_handover *handover)
{
	struct vm_status who = handover->status;
	int error = vm_peer_look(handover->connection, &who, &handover->process);

	if (error)
		return error;
	pthread_mutex_lock(&handover->lock);
	handover->status = who;
	pthread_mutex_unlock(&handover->lock);
	return 0;
}

static int serve_ask(struct vm_handover *handover, const struct vm_ask *ask)
{
	int error = handover->process < 0 ? look_who_asks(handover) : 0, answered;

	if (error)
		failed_in(error, "tenant %s", handover->config.tenant);
	else
		error = ask_check(handover, ask->bytes);
	handover->asked = error ? 0 : ask->bytes;
	answered = vm_message_answer(handover->connection, VM_OFFER, error, handover->taken,
				     error ? -1 : guest_memory_file(handover->config.memory));
	if (error)
		refused_now(handover);
	return answered;
}

static void region_begins(struct vm_handover *handover, const struct vm_region *region,
			  struct memory_view *view)
{
	pthread_mutex_lock(&handover->lock);
	handover->mapped[handover->status.regions++] = (struct vm_mapped){
		.base = region->base,
		.bytes = region->bytes,
		.start = region->offset,
		.view = view,
	};
	pthread_mutex_unlock(&handover->lock);
	handover->taken += region->bytes;
	handover->asked = 0;
}

static int serve_region(struct vm_handover *handover, const struct vm_region *region, int faults)
{
	const struct memory_part part = {region->base, region->offset, region->bytes};
	struct memory_view *view;
	int error = 0, answered;

	if (!handover->asked || region->bytes != handover->asked ||
	    region->offset != handover->taken) {
		error = failed(-EPROTO,
			       "QEMU has mapped 0x%llx bytes at 0x%llx of the memory: offered: "
			       "0x%llx at 0x%llx",
			       region->bytes, region->offset, handover->asked, handover->taken);
		close(faults);
	} else {
		error = memory_view_add_part(&view, handover->config.memory, faults, &part);
	}
	if (!error)
		region_begins(handover, region, view);
	else
		failed_in(error, "tenant %s", handover->config.tenant);
	answered = vm_message_answer(handover->connection, VM_SERVED, error, 0, -1);
	if (error)
		refused_now(handover);
	else
		vm_handover_turn(handover, VM_RUNS, "");
	return answered;
}

/* Not the library's, and nobody's that has asked for memory: the QEMU that is awaited may still come. Said once. */
static bool message_is_strangers(struct vm_handover *handover, const union vm_message *message)
{
	if (handover->process >= 0 || handover->status.regions || message->header.magic == VM_MAGIC)
		return false;
	if (!handover->stray)
		fprintf(stderr, "%s; refused, and QEMU still awaited\n", failure_text());
	handover->stray = true;
	return true;
}

/* One that is not heard any more; if its guest runs, its library kills it, until when it is served. */
static void serve_message(struct vm_handover *handover)
{
	union vm_message message;
	int descriptor, error = vm_message_receive(handover->connection, &message, &descriptor);

	if (!error)
		error = message.header.kind == VM_ASK
				? serve_ask(handover, &message.ask)
				: serve_region(handover, &message.region, descriptor);
	if (!error || error == -EAGAIN)
		return;
	if (error == -EPROTO) {
		failed_in(error, "tenant %s", handover->config.tenant);
		if (!message_is_strangers(handover, &message))
			refused_now(handover);
	}
	connection_close(handover);
	if (!handover->status.regions)
		process_close(handover);
}

static void second_close(struct vm_handover *handover)
{
	if (handover->second >= 0)
		close(handover->second);
	handover->second = -1;
}

/* One that comes when there is another, once it has said what it wants: until then it would not hear. */
static void refuse_second(struct vm_handover *handover)
{
	const struct vm_status *status = &handover->status;
	union vm_message message;
	int descriptor, error = vm_message_receive(handover->second, &message, &descriptor);

	if (error == -EAGAIN)
		return;
	if (descriptor >= 0)
		close(descriptor);
	error = status->regions
			? failed(-EBUSY,
				 "tenant %s's memory is or was that of QEMU %s (process %d): "
				 "another needs a new run",
				 handover->config.tenant, status->name, (int)status->pid)
			: failed(-EBUSY, "tenant %s's memory is just being handed to another",
				 handover->config.tenant);
	(void)vm_message_answer(handover->second, VM_OFFER, error, 0, -1);
	second_close(handover);
}

/* A connection that has asked for nothing makes way, and so does a second one. */
static void serve_newcomer(struct vm_handover *handover)
{
	int newcomer = accept4(handover->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (newcomer < 0)
		return;
	if (handover->status.regions || (handover->connection >= 0 && handover->asked)) {
		second_close(handover);
		handover->second = newcomer;
		return;
	}
	if (handover->connection >= 0)
		connection_close(handover);
	process_close(handover);
	handover->connection = newcomer;
}

static void qemu_ended(struct vm_handover *handover)
{
	char sentence[sizeof(handover->status.sentence)];

	process_close(handover);
	if (!handover->status.regions)
		return;
	(void)guest_memory_find_bypassed(handover->config.memory);
	snprintf(sentence, sizeof(sentence), "tenant %s: QEMU %s (process %d) has ended",
		 handover->config.tenant, handover->status.name, (int)handover->status.pid);
	vm_handover_turn(handover, VM_ENDED, sentence);
}

void *vm_handover_main(void *argument)
{
	struct vm_handover *handover = argument;
	struct pollfd polled[POLLED] = {
		[STOP] = {.fd = handover->stop, .events = POLLIN},
		[LISTENING] = {.fd = handover->listening, .events = POLLIN},
		[CONNECTION] = {.events = POLLIN},
		[SECOND] = {.events = POLLIN},
		[PROCESS] = {.events = POLLIN},
	};

	while (!polled[STOP].revents) {
		polled[CONNECTION].fd = handover->connection;
		polled[SECOND].fd = handover->second;
		polled[PROCESS].fd = handover->process;
		if (poll(polled, POLLED, -1) < 0)
			continue;
		if (polled[CONNECTION].revents)
			serve_message(handover);
		if (polled[PROCESS].revents && handover->process >= 0)
			qemu_ended(handover);
		if (polled[SECOND].revents)
			refuse_second(handover);
		if (polled[LISTENING].revents)
			serve_newcomer(handover);
	}
	second_close(handover);
	return NULL;
}
