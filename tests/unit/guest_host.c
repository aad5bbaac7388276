// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/guest_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/verbs/verbs_control.h"
#include "injectors/emu/verbs/verbs_registers.h"

static void must(bool held, const char *what)
{
	if (held)
		return;
	perror(what);
	abort();
}

static int file_new(const char *name, __u64 bytes)
{
	int file = memfd_create(name, MFD_CLOEXEC);

	must(file >= 0 && !ftruncate(file, (off_t)bytes), name);
	return file;
}

static void *file_map(int file, __u64 bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	must(at != MAP_FAILED, "mmap");
	return at;
}

void guest_host_init(struct guest_host *host, enum rdma_mode mode)
{
	int ends[2];

	memset(host, 0, sizeof(*host));
	host->memory = file_new("memory", GUEST_HOST_MEMORY);
	host->resources = file_new("resources", HYV_RESOURCE_BYTES);
	host->base = file_map(host->memory, GUEST_HOST_MEMORY);
	/* Nobody serves the guest's faults: nothing is absent. */
	memset(host->base, 0, GUEST_HOST_MEMORY);
	host->shared = file_map(host->resources, HYV_RESOURCE_BYTES);
	verbs_registers_init(&host->shared->registers);
	host->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	host->inject = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	host->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	host->alarm = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
	host->socket = ends[0];
	host->guest_socket = ends[1];
	host->faults = -1;
	host->next_number = 1;
	host->hello = (struct hyv_hello){
		.version = HYV_VERSION,
		.mode = mode,
		.memory_bytes = GUEST_HOST_MEMORY,
		.share_address = GUEST_HOST_SHARE,
		.share_bytes = GUEST_HOST_MEMORY - GUEST_HOST_SHARE,
		.iova_offset = GUEST_HOST_IOVA,
		.control_address = GUEST_HOST_SHARE,
		.mtu = 4096,
		.name = "tenant/device",
	};
}

/* False: the guest has ended by now. */
static bool say_hello(struct guest_host *host)
{
	bool said;
	int faults = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	const int descriptors[HYV_DESCRIPTORS] = {host->memory, host->resources, host->kick,
						  host->inject, host->event,	 host->alarm,
						  faults};
	union {
		char bytes[CMSG_SPACE(sizeof(descriptors))];
		struct cmsghdr header;
	} control = {.header = {.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(descriptors))}};
	struct iovec piece = {&host->hello, sizeof(host->hello)};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	must(faults >= 0, "/dev/userfaultfd");
	memcpy(CMSG_DATA(&control.header), descriptors, sizeof(descriptors));
	said = sendmsg(host->socket, &message, MSG_NOSIGNAL) == sizeof(host->hello);
	must(said || errno == EPIPE, "hello");
	close(faults);
	return said;
}

static bool hear_hello(struct guest_host *host)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct iovec piece = {&host->answer, sizeof(host->answer)};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *header;

	if (recvmsg(host->socket, &message, MSG_CMSG_CLOEXEC) != sizeof(host->answer))
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header)
		memcpy(&host->faults, CMSG_DATA(header), sizeof(int));
	return send(host->socket, "", 1, MSG_NOSIGNAL) == 1;
}

static int carry_out(struct guest_host *host, struct verbs_command *command)
{
	const struct verbs_limits limits = {.queue_pairs = 64, .queues = 64, .depth = 4096};

	command->result[0] = command->result[1] = 0;
	if (command->kind == atomic_load(&host->refuse_kind))
		return atomic_load(&host->refuse_error);
	switch (command->kind) {
	case VERBS_OPEN:
	case VERBS_QUERY_DEVICE:
		verbs_pack_limits(&limits, command->result);
		return 0;
	case VERBS_CREATE_QP_OF:
		command->result[0] = host->next_number++;
		command->result[1] = command->result[0] % VERBS_QUEUE_PAIRS_MAX;
		return 0;
	default:
		command->result[0] = host->next_number++;
		return 0;
	}
}

static void remember(struct guest_host *host, const struct verbs_request *request,
		     const __u64 *list)
{
	__u32 index = atomic_load(&host->requests);

	host->history[index % GUEST_HOST_HISTORY] = *request;
	if (request->pages)
		memcpy(host->list, list,
		       (request->pages < GUEST_HOST_HISTORY ? request->pages : GUEST_HOST_HISTORY) *
			       sizeof(*list));
	atomic_store(&host->requests, index + 1);
}

static void answer_chain(struct guest_host *host, struct vring *ring, __u16 head, __u16 used)
{
	struct vring_desc *first = &ring->desc[head], *last = &ring->desc[first->next];
	struct verbs_request request = *(struct verbs_request *)(host->base + first->addr);
	const __u64 *list = NULL;
	struct verbs_answer *answer;

	must(first->len == sizeof(request) && first->flags == VRING_DESC_F_NEXT, "request");
	if (last->flags & VRING_DESC_F_NEXT) {
		must(last->len == request.pages * sizeof(*list), "list");
		list = (void *)(host->base + last->addr);
		last = &ring->desc[last->next];
	}
	must(!list == !request.pages, "a list without pages");
	must(last->len == sizeof(*answer) && last->flags == VRING_DESC_F_WRITE, "answer");
	remember(host, &request, list);
	if (host->before)
		host->before(host, &request.command);
	answer = (void *)(host->base + last->addr);
	answer->error = carry_out(host, &request.command);
	memcpy(answer->result, request.command.result, sizeof(answer->result));
	ring->used->ring[used % HYV_QUEUE_ENTRIES] =
		(struct vring_used_elem){.id = head, .len = sizeof(*answer)};
	__atomic_store_n(&ring->used->idx, (__u16)(used + 1), __ATOMIC_RELEASE);
	atomic_fetch_add(&host->shared->injections, 1);
	(void)eventfd_write(host->inject, 1);
}

static void serve_queue(struct guest_host *host)
{
	struct vring ring = virtqueue_at(host->base + host->hello.control_address);
	__u16 served = 0;

	while (!atomic_load(&host->stop)) {
		struct pollfd polled = {.fd = host->kick, .events = POLLIN};
		eventfd_t kicks;

		if (poll(&polled, 1, 20) <= 0 || eventfd_read(host->kick, &kicks))
			continue;
		host->kicks_seen += kicks;
		if (atomic_load(&host->deaf)) {
			atomic_fetch_sub(&host->deaf, 1);
			continue;
		}
		while (served != __atomic_load_n(&ring.avail->idx, __ATOMIC_ACQUIRE) &&
		       !atomic_load(&host->stop)) {
			answer_chain(host, &ring, ring.avail->ring[served % HYV_QUEUE_ENTRIES],
				     served);
			served++;
		}
	}
}

static void serve_mailbox(struct guest_host *host)
{
	struct verbs_registers *registers = &host->shared->registers;
	struct verbs_command *ring = (void *)(host->base + host->hello.control_address);
	__u64 served = 0;

	while (!atomic_load(&host->stop)) {
		__u32 seen = doorbell_count(&registers->commands);

		while (served != atomic_load(&registers->written) && !atomic_load(&host->stop)) {
			struct verbs_command *command = &ring[served % VERBS_COMMANDS];
			struct verbs_request request = {.command = *command};

			if (command->kind == VERBS_REGISTER_PAGES)
				request.pages = (__u32)(command->argument[1] / 4096);
			remember(host, &request, (void *)(host->base + command->argument[4]));
			command->error = carry_out(host, command);
			atomic_store(&registers->answered, ++served);
			verbs_interrupt(registers);
		}
		doorbell_wait_shared(&registers->commands, seen, 0);
	}
}

static void *host_main(void *argument)
{
	struct guest_host *host = argument;

	if (!say_hello(host) || !hear_hello(host))
		return NULL;
	if (host->hello.mode == RDMA_MODE_PASSTHROUGH)
		serve_mailbox(host);
	else
		serve_queue(host);
	return NULL;
}

void guest_host_start(struct guest_host *host)
{
	must(!pthread_create(&host->thread, NULL, host_main, host), "pthread_create");
}

void guest_host_die(struct guest_host *host)
{
	if (atomic_exchange(&host->stop, true))
		return;
	doorbell_wake_shared(&host->shared->registers.commands);
	shutdown(host->socket, SHUT_RDWR);
	pthread_join(host->thread, NULL);
	close(host->socket);
}

void guest_host_destroy(struct guest_host *host)
{
	guest_host_die(host);
	munmap(host->base, GUEST_HOST_MEMORY);
	munmap(host->shared, HYV_RESOURCE_BYTES);
	close(host->memory);
	close(host->resources);
	close(host->kick);
	close(host->inject);
	close(host->event);
	close(host->alarm);
	if (host->faults >= 0)
		close(host->faults);
}

const struct verbs_request *guest_host_last(const struct guest_host *host,
					    enum verbs_command_kind kind)
{
	__u32 count = atomic_load(&host->requests);

	for (__u32 i = count; i-- && count - i < GUEST_HOST_HISTORY;)
		if (host->history[i % GUEST_HOST_HISTORY].command.kind == kind)
			return &host->history[i % GUEST_HOST_HISTORY];
	return NULL;
}

void guest_host_event(struct guest_host *host, __u32 number)
{
	struct hyv_event_ring *ring = &host->shared->events;
	__u64 produced = atomic_load(&ring->produced);

	ring->event[produced % HYV_EVENTS] =
		(struct hyv_event){.number = number, .kind = HYV_EVENT_COMPLETION};
	atomic_store(&ring->produced, produced + 1);
	(void)eventfd_write(host->event, 1);
}

void guest_host_complete(struct guest_host *host, __u64 queue, __u32 depth, __u64 index,
			 const struct verbs_completion *completion)
{
	struct verbs_completion *entry =
		(struct verbs_completion *)(host->base + queue + 64) + index % depth;

	*entry = *completion;
	__atomic_store_n(&entry->turn, index + 1, __ATOMIC_RELEASE);
}
