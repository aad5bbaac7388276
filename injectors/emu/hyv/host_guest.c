// SPDX-License-Identifier: GPL-2.0
/* A guest comes (the hello of hyv_layout.h) and goes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "injectors/emu/hyv/guest_process.h"
#include "injectors/emu/hyv/hyv_host_private.h"
#include "injectors/emu/memory_views.h"
#include "lib/base/fail.h"
#include "lib/base/pass_descriptors.h"

#define EXITS_NS  (100 * NSEC_PER_MSEC)
#define STATUS_NS (200 * NSEC_PER_MSEC) /* for a process whose socket has ended to do so, too */

/* Its size stays, whoever has it: a shrunk one would take us with it. */
static int resource_file(struct hyv_guest *guest)
{
	guest->resources = memfd_create("faultline-hyv", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (guest->resources < 0 || ftruncate(guest->resources, HYV_RESOURCE_BYTES) ||
	    fcntl(guest->resources, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return failed(-errno, "cannot make a file of %lu bytes for a guest: %s",
			      HYV_RESOURCE_BYTES, strerror(errno));
	guest->shared = mmap(NULL, HYV_RESOURCE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_NORESERVE, guest->resources, 0);
	if (guest->shared == MAP_FAILED) {
		guest->shared = NULL;
		return failed(-errno, "cannot map a guest's resources: %s", strerror(errno));
	}
	(void)madvise(guest->shared, HYV_RESOURCE_BYTES, MADV_DONTFORK);
	verbs_registers_init(&guest->shared->registers);
	return 0;
}

static int descriptors_make(struct hyv_guest *guest)
{
	guest->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	guest->inject = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	guest->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	guest->alarm = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	guest->faults = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (guest->kick < 0 || guest->inject < 0 || guest->event < 0 || guest->alarm < 0)
		return failed(-errno, "no descriptors for a guest: %s", strerror(errno));
	if (guest->faults < 0)
		return failed(-errno, "cannot open /dev/userfaultfd for a guest: %s",
			      strerror(errno));
	return resource_file(guest);
}

static void descriptor_drop(int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

static void guest_descriptors_close(struct hyv_guest *guest)
{
	if (guest->shared)
		munmap(guest->shared, HYV_RESOURCE_BYTES);
	guest->shared = NULL;
	descriptor_drop(&guest->socket);
	descriptor_drop(&guest->kick);
	descriptor_drop(&guest->inject);
	descriptor_drop(&guest->event);
	descriptor_drop(&guest->alarm);
	descriptor_drop(&guest->faults);
	descriptor_drop(&guest->resources);
	descriptor_drop(&guest->process);
}

static struct hyv_hello hello_of(const struct hyv_host *host)
{
	const struct verbs_backend_config *config = &host->config.backend;
	const struct channel_config *channel = &config->channel->config;
	__u64 start = config->channel->data_address;
	struct hyv_hello hello = {
		.version = HYV_VERSION,
		.mode = host->config.mode,
		.memory_bytes = host->tenant->config.memory,
		.share_address = start,
		.share_bytes = channel->guest_address + channel->bytes - start,
		.iova_offset = channel->iova_offset,
		.control_address = start,
		.device = config->index,
		.tenant = host->config.tenant,
		.mtu = host->config.settings->mtu,
		.forward_posts = host_has_queue(host) && host->config.settings->forward_posts,
		.host_queues = host->config.settings->host_queues,
		.guid = 0x0200fa0000000000ull | config->index,
	};

	snprintf(hello.name, sizeof(hello.name), "%.31s/%.31s", host->tenant->config.name,
		 config->name);
	return hello;
}

static int hello_send(const struct hyv_host *host)
{
	const struct hyv_guest *guest = &host->guest;
	const int descriptors[HYV_DESCRIPTORS] = {
		[HYV_MEMORY] = guest_memory_file(host->memory),
		[HYV_RESOURCES] = guest->resources,
		[HYV_KICK] = guest->kick,
		[HYV_INJECT] = guest->inject,
		[HYV_EVENT] = guest->event,
		[HYV_ALARM] = guest->alarm,
		[HYV_FAULTS] = guest->faults,
	};
	struct hyv_hello hello = hello_of(host);
	struct iovec piece = {&hello, sizeof(hello)};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	DESCRIPTOR_ROOM(control, HYV_DESCRIPTORS);

	pass_descriptors(&message, control, descriptors, HYV_DESCRIPTORS);
	return sendmsg(guest->socket, &message, MSG_NOSIGNAL) == sizeof(hello)
		       ? 0
		       : failed(-errno, "cannot say hello to a guest: %s", strerror(errno));
}

/* Under the lock. What fails is taken back by the caller. */
static int invite(struct hyv_host *host, int ends[2])
{
	static const int on = 1;
	struct hyv_guest *guest = &host->guest;
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return failed(-errno, "no socket for a guest: %s", strerror(errno));
	guest->socket = ends[0];
	error = descriptors_make(guest);
	/* The kernel says who answers. */
	if (!error && setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		error = failed(-errno, "a guest's socket: %s", strerror(errno));
	if (!error)
		error = hello_send(host);
	if (!error)
		error = host_watch(host, ends[0]);
	return error;
}

int host_make_guest(struct hyv_host *host, int *socket)
{
	struct hyv_guest *guest = &host->guest;
	int ends[2] = {-1, -1}, error;

	*guest = host_no_guest();
	error = invite(host, ends);
	if (error) {
		descriptor_drop(&ends[1]);
		guest_descriptors_close(guest);
		return failed_in(error, "device %s", host->config.backend.name);
	}
	guest->state = GUEST_INVITED;
	*socket = ends[1];
	return 0;
}

/* What has come with a message: at most one descriptor, which is ours from now on, and the sender. */
static int take_control(struct msghdr *message, pid_t *pid)
{
	int faults = -1;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		size_t bytes = header->cmsg_len - CMSG_LEN(0);

		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_CREDENTIALS && bytes >= sizeof(struct ucred)) {
			struct ucred sender;

			memcpy(&sender, CMSG_DATA(header), sizeof(sender));
			*pid = sender.pid;
		}
		for (size_t at = 0; header->cmsg_type == SCM_RIGHTS && at + sizeof(int) <= bytes;
		     at += sizeof(int)) {
			descriptor_drop(&faults);
			memcpy(&faults, CMSG_DATA(header) + at, sizeof(int));
		}
	}
	return faults;
}

/* -EPIPE: the guest has gone. */
static int hello_answer_receive(struct hyv_guest *guest, struct hyv_hello_answer *answer,
				int *faults)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec piece = {answer, sizeof(*answer)};
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t size = recvmsg(guest->socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*faults = -1;
	if (size < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	*faults = take_control(&message, &guest->pid);
	if (!size)
		return -EPIPE;
	if (size == sizeof(*answer) && answer->version == HYV_VERSION)
		return 0;
	return failed(-EPROTO, "a guest answers hello with %zd bytes, version %u", size,
		      answer->version);
}

/* Its view of the memory, unless that is always there. */
static int view_add(struct hyv_host *host, const struct hyv_hello_answer *answer, int faults)
{
	if (host->config.mode == RDMA_MODE_PASSTHROUGH) {
		descriptor_drop(&faults);
		return 0;
	}
	if (faults < 0)
		return failed(-EPROTO, "a guest answers hello without a userfaultfd");
	return memory_view_add(&host->guest.view, host->memory, faults, answer->base);
}

static int commands_begin(struct hyv_host *host)
{
	struct hyv_guest *guest = &host->guest;
	__u64 control = host->config.backend.channel->data_address;

	if (host_has_queue(host)) {
		virtqueue_host_init(&guest->queue, guest_memory_cpu(host->memory, control),
				    control);
		return host_watch(host, guest->kick);
	}
	host->backend->registers = &guest->shared->registers;
	return backend_ring_start(host->backend);
}

static int guest_begin(struct hyv_host *host, const struct hyv_hello_answer *answer, int faults)
{
	static const struct itimerspec every = {.it_value = {.tv_nsec = EXITS_NS},
						.it_interval = {.tv_nsec = EXITS_NS}};
	struct hyv_guest *guest = &host->guest;
	int error = view_add(host, answer, faults);

	if (error)
		return error;
	guest->process = (int)syscall(SYS_pidfd_open, guest->pid, 0);
	if (guest->process < 0)
		return failed(-EPROTO, "a guest's process %d is none: %s", guest->pid,
			      strerror(errno));
	event_ring_open(&host->events, guest->shared, guest->event, guest->alarm);
	error = commands_begin(host);
	if (error)
		return error;
	pthread_mutex_lock(&host->lock);
	guest->state = GUEST_READY;
	host->stats.guests++;
	pthread_mutex_unlock(&host->lock);
	(void)timerfd_settime(host->exits_timer, 0, &every, NULL);
	observe_guest(host->config.backend.index, host->config.tenant, (__u32)guest->pid, 1, 0);
	if (send(guest->socket, "", 1, MSG_NOSIGNAL) != 1)
		return -EPIPE;
	return 0;
}

void host_hear(struct hyv_host *host)
{
	struct hyv_hello_answer answer = {};
	int faults, error = hello_answer_receive(&host->guest, &answer, &faults);

	if (error == -EAGAIN)
		return;
	/* Nothing but its end is to be heard of one that has said hello. */
	if (!error && host->guest.state == GUEST_INVITED) {
		error = guest_begin(host, &answer, faults);
	} else {
		descriptor_drop(&faults);
		error = error ? error : -EPROTO;
	}
	if (error == -EPIPE)
		host_end_guest(host);
	else if (error)
		host_cut_off(host);
}

/* What it kicked with its last breath was a hypercall, too. */
static void last_kicks(struct hyv_host *host)
{
	eventfd_t kicks;

	if (host_has_queue(host) && !eventfd_read(host->guest.kick, &kicks))
		host_count(host, &host->stats.exits[EXIT_KICK], kicks);
}

static void commands_end(struct hyv_host *host)
{
	struct hyv_guest *guest = &host->guest;

	if (guest->shared) {
		atomic_store(&guest->shared->registers.stopping, true);
		verbs_interrupt(&guest->shared->registers);
	}
	backend_ring_stop(host->backend);
	host->backend->registers = &host->backend->own_registers;
}

void host_may_kill(struct hyv_host *host)
{
	const struct hyv_guest *guest = &host->guest;

	if (!inject_fire(host->injections, INJECT_GUEST_KILL, host->config.backend.index))
		return;
	/* One that is a thread of ours ends as if its process had. */
	if (guest->pid == getpid())
		atomic_store(&host->evict, true);
	else
		(void)syscall(SYS_pidfd_send_signal, guest->process, SIGKILL, NULL, 0);
}

void host_cut_off(struct hyv_host *host)
{
	pthread_mutex_lock(&host->lock);
	host->stats.cut_off++;
	pthread_mutex_unlock(&host->lock);
	host_end_guest(host);
}

/* As of waitpid(); 0 of one that has not ended, but was cut off or shown out. */
static int guest_status(const struct hyv_guest *guest)
{
	int status = 0;

	/* One that is a thread of ours goes on. */
	if (guest->pid == getpid() ||
	    guest_process_status(guest->pid, guest->process, STATUS_NS, &status))
		return 0;
	return status;
}

/* In this order: no request, pairs (whose DMA under way ends first), queues, regions, each with its pins; mappings; the view; and it
 * hears of it. */
void host_end_guest(struct hyv_host *host)
{
	static const struct itimerspec never = {};
	struct hyv_guest *guest = &host->guest;
	bool ready = guest->state == GUEST_READY;

	commands_end(host);
	host->current = (struct hyv_current){.mark_ns = monotonic_ns()};
	backend_destroy_all(host->backend);
	overlays_end(host);
	if (guest->view)
		memory_view_remove(guest->view);
	event_ring_tell(&host->events, HYV_EVENT_DEVICE_GONE, 0);
	event_ring_close(&host->events);
	if (guest->inject >= 0)
		(void)eventfd_write(guest->inject, 1);
	(void)timerfd_settime(host->exits_timer, 0, &never, NULL);
	if (ready) {
		last_kicks(host);
		host_tell_exits(host);
		observe_guest(host->config.backend.index, host->config.tenant, (__u32)guest->pid, 0,
			      guest_status(guest));
	}
	pthread_mutex_lock(&host->lock);
	guest_descriptors_close(guest);
	guest->view = NULL;
	guest->state = GUEST_NONE;
	atomic_store(&host->evict, false);
	pthread_cond_broadcast(&host->changed);
	pthread_mutex_unlock(&host->lock);
}
