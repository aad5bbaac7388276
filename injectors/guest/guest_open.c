// SPDX-License-Identifier: GPL-2.0
/* The hello, as the guest has it, and the life of its handle. */
#include "injectors/guest/guest_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/guest/guest_private.h"
#include "lib/base/fail.h"
#include "lib/base/pass_descriptors.h"

/* What evictions and the pager ask of a view (memory_views.h). */
#define FAULT_FEATURES                                                 \
	(UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP | \
	 UFFD_FEATURE_WP_HUGETLBFS_SHMEM)

static void take_descriptors(struct guest_device *guest, struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(guest->descriptor, CMSG_DATA(part),
		       (count < HYV_DESCRIPTORS ? count : HYV_DESCRIPTORS) * sizeof(int));
	}
}

static int hello_of_host(struct guest_device *guest)
{
	union {
		char bytes[CMSG_SPACE(HYV_DESCRIPTORS * sizeof(int)) + 64];
		struct cmsghdr align;
	} control;
	struct iovec piece = {&guest->hello, sizeof(guest->hello)};
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t size;

	do
		size = recvmsg(guest->socket, &message, MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size > 0)
		take_descriptors(guest, &message);
	if (size == 0 || (size < 0 && errno == ECONNRESET))
		return failed(-EPIPE, "the host of an RDMA device has gone before its hello");
	if (size < 0)
		return failed(-EPROTO, "no hello of a host at descriptor %d: %s", guest->socket,
			      strerror(errno));
	if (size != sizeof(guest->hello) || guest->hello.version != HYV_VERSION)
		return failed(-EPROTO,
			      "a host's hello has %zd bytes and version %u; accepted: %zu bytes of "
			      "version %d",
			      size, guest->hello.version, sizeof(guest->hello), HYV_VERSION);
	return 0;
}

/* A host that errs is told apart from one that lies beyond what may be mapped. */
static int hello_check(const struct guest_device *guest)
{
	const struct hyv_hello *hello = &guest->hello;
	__u64 share_end = hello->share_address + hello->share_bytes;
	__u64 control_end = hello->control_address + HYV_CONTROL_BYTES;

	for (int i = 0; i < HYV_FAULTS; i++)
		if (guest->descriptor[i] < 0)
			return failed(-EPROTO, "a host's hello lacks descriptor %d", i);
	if (hello->mode <= RDMA_MODE_NATIVE || hello->mode >= RDMA_MODES ||
	    hello->share_address % PAGE_BYTES || hello->control_address % PAGE_BYTES ||
	    share_end > hello->memory_bytes || hello->control_address < hello->share_address ||
	    share_end < hello->share_bytes || control_end + HYV_DOORBELL_BYTES > share_end)
		return failed(
			-EPROTO,
			"a host's hello makes no sense: mode %u, %llu bytes of memory, share "
			"of %llu at 0x%llx, control at 0x%llx; a share takes %u KiB for control "
			"and doorbells: give the tenant more memory",
			hello->mode, hello->memory_bytes, hello->share_bytes, hello->share_address,
			hello->control_address,
			(unsigned int)(HYV_CONTROL_BYTES + HYV_DOORBELL_BYTES) >> 10);
	return 0;
}

int guest_faults_open(const struct guest_device *guest)
{
	struct uffdio_api api = {.api = UFFD_API, .features = FAULT_FEATURES};
	int device = guest->descriptor[HYV_FAULTS], faults;

	if (device >= 0)
		faults = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	else
		faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0)
		return failed(-errno, "a userfaultfd for the guest's memory: %s", strerror(errno));
	if (!ioctl(faults, UFFDIO_API, &api))
		return faults;
	failed(-errno, "userfaultfd features 0x%llx: %s", FAULT_FEATURES * 1ull, strerror(errno));
	close(faults);
	return -EOPNOTSUPP;
}

static int guest_view_map(struct guest_device *guest)
{
	struct verbs_device *device = guest->device;
	const struct hyv_hello *hello = &guest->hello;
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING |
						UFFDIO_REGISTER_MODE_WP};
	void *base = mmap(NULL, hello->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			  guest->descriptor[HYV_MEMORY], 0);
	void *shared = mmap(NULL, HYV_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    guest->descriptor[HYV_RESOURCES], 0);

	device->base = base == MAP_FAILED ? NULL : base;
	guest->shared = shared == MAP_FAILED ? NULL : shared;
	if (!device->base || !guest->shared)
		return failed(-ENOMEM, "mapping %llu bytes of guest memory: %s",
			      hello->memory_bytes, strerror(errno));
	(void)madvise(base, hello->memory_bytes, MADV_DONTFORK);
	if (guest_by_mailbox(guest))
		return 0;
	guest->faults = guest_faults_open(guest);
	if (guest->faults < 0)
		return guest->faults;
	range.range = (struct uffdio_range){(__u64)base, hello->memory_bytes};
	if (ioctl(guest->faults, UFFDIO_REGISTER, &range))
		return failed(-errno, "userfaultfd of %llu bytes of guest memory: %s",
			      hello->memory_bytes, strerror(errno));
	return 0;
}

static int hello_answer(struct guest_device *guest)
{
	struct hyv_hello_answer answer = {
		.version = HYV_VERSION, .pid = (__u32)getpid(), .base = (__u64)guest->device->base};
	DESCRIPTOR_ROOM(control, 1);
	struct iovec piece = {&answer, sizeof(answer)};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	char ready;

	if (guest->faults >= 0)
		pass_descriptors(&message, control, &guest->faults, 1);
	if (sendmsg(guest->socket, &message, MSG_NOSIGNAL) != sizeof(answer) ||
	    recv(guest->socket, &ready, 1, 0) != 1)
		return failed(-EPIPE, "the host of %s does not take this guest", guest->hello.name);
	return 0;
}

static bool hello_host_gone(void *argument)
{
	struct guest_device *guest = argument;
	struct pollfd end = {.fd = guest->socket, .events = POLLRDHUP};

	return atomic_load(&guest->gone) || poll(&end, 1, 0) > 0;
}

static int guest_forward(struct verbs_device *device, __u32 pair, bool receive)
{
	struct verbs_command post = {.kind = VERBS_POST, .argument = {pair, receive}};

	atomic_fetch_add(&guest_device_of(device)->shared->forwarded_posts, 1);
	return verbs_command_do(device, &post);
}

/* Doorbells take the last pages of the share, programs have what is between control and them. */
static int transport_begin(struct guest_device *guest)
{
	const struct hyv_hello *hello = &guest->hello;
	struct verbs_device *device = guest->device;
	unsigned char *control = device->base + hello->control_address;
	const struct virtqueue_guest_config config = {
		.control = control,
		.control_address = hello->control_address,
		.kick = guest->descriptor[HYV_KICK],
		.inject = guest->descriptor[HYV_INJECT],
		.socket = guest->socket,
		.kicks = &guest->shared->kicks,
	};
	__u64 share_end = hello->share_address + hello->share_bytes;

	device->start = hello->control_address + HYV_CONTROL_BYTES;
	device->bytes = share_end - HYV_DOORBELL_BYTES - device->start;
	device->iova_offset = hello->iova_offset;
	device->registers = &guest->shared->registers;
	device->timed = true;
	device->forward = hello->forward_posts ? guest_forward : NULL;
	if (guest_by_mailbox(guest)) {
		verbs_ring_init(&guest->ring, &guest->shared->registers, control);
		guest->ring.lost = hello_host_gone;
		guest->ring.argument = guest;
		return 0;
	}
	virtqueue_guest_init(&guest->queue, &config);
	return pinner_create(&guest->pinner);
}

static int doorbells_map(struct guest_device *guest)
{
	struct verbs_device *device = guest->device;
	__u64 at = device->start + device->bytes;
	int error;

	/* A device that is the guest's own has its queues in the guest's memory, with the words that are doorbells. */
	if (guest_by_mailbox(guest))
		return 0;
	error = guest_overlay(guest, at, HYV_DOORBELL_BYTES, VERBS_DOORBELLS, 0);
	if (error)
		return failed(error, "the doorbells of %s cannot be mapped: %s", guest->hello.name,
			      strerror(-error));
	device->doorbells = (void *)(device->base + at);
	return 0;
}

static int guest_device_begin(struct guest_device *guest)
{
	struct verbs_device *device = guest->device;
	struct verbs_command open = {.kind = VERBS_OPEN};
	int error = hello_of_host(guest) ?: hello_check(guest) ?: guest_view_map(guest)
								  ?: hello_answer(guest);

	if (!error)
		error = transport_begin(guest);
	if (!error)
		error = page_runs_init(&guest->pages, device->bytes >> PAGE_BITS)
				?: page_runs_init(&guest->owned, HYV_OWNED_BYTES >> PAGE_BITS);
	/* One that waits for what it has written itself would wait for ever. */
	for (int i = HYV_KICK; !error && i <= HYV_ALARM; i++)
		(void)fcntl(guest->descriptor[i], F_SETFL, O_NONBLOCK);
	if (!error) {
		error = verbs_command_do(device, &open);
		if (error)
			failed(error, "%s does not open: %s", guest->hello.name, strerror(-error));
	}
	return error ? error : doorbells_map(guest);
}

static struct guest_device *guest_new(int socket)
{
	struct guest_device *guest = mmap(NULL, sizeof(*guest), PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (guest == MAP_FAILED)
		return NULL;
	guest->socket = socket;
	guest->faults = -1;
	for (int i = 0; i < HYV_DESCRIPTORS; i++)
		guest->descriptor[i] = -1;
	pthread_mutex_init(&guest->list_lock, NULL);
	pthread_rwlock_init(&guest->commands, NULL);
	guest_events_init(&guest->events);
	adoptions_init(&guest->adoptions);
	return guest;
}

int guest_open(struct verbs_device **device, int socket)
{
	struct verbs_device *new = verbs_device_new();
	struct guest_device *guest = new ? guest_new(socket) : NULL;
	int error;

	if (!guest) {
		if (new)
			verbs_device_free(new);
		close(socket);
		return failed(-ENOMEM, "no memory for the guest's side of an RDMA device");
	}
	new->transport = &guest_transport;
	new->transport_data = guest;
	guest->device = new;
	guest_fork_begin(guest);
	error = guest_device_begin(guest);
	if (error)
		verbs_device_free(new);
	else
		*device = new;
	return error;
}

void guest_close(struct verbs_device *device)
{
	verbs_close(device);
}

static void unmap(void *at, __u64 bytes)
{
	if (at)
		munmap(at, bytes);
}

void guest_end(struct verbs_device *device)
{
	struct guest_device *guest = guest_device_of(device);

	guest_fork_end(guest);
	adoptions_destroy(guest);
	if (guest->pinner)
		pinner_destroy(guest->pinner);
	if (guest_by_mailbox(guest) && guest->ring.registers)
		verbs_ring_destroy(&guest->ring);
	if (guest->queue.requests)
		virtqueue_guest_destroy(&guest->queue);
	close(guest->socket);
	unmap(device->base, guest->hello.memory_bytes);
	unmap(guest->shared, HYV_SHARED_BYTES);
	for (int i = 0; i < HYV_DESCRIPTORS; i++)
		if (guest->descriptor[i] >= 0)
			close(guest->descriptor[i]);
	if (guest->faults >= 0)
		close(guest->faults);
	page_runs_destroy(&guest->pages);
	page_runs_destroy(&guest->owned);
	guest_events_destroy(&guest->events);
	pthread_rwlock_destroy(&guest->commands);
	pthread_mutex_destroy(&guest->list_lock);
	munmap(guest, sizeof(*guest));
}

const struct hyv_hello *guest_hello(const struct verbs_device *device)
{
	return &guest_device_of(device)->hello;
}

int guest_end_descriptor(const struct verbs_device *device)
{
	return guest_device_of(device)->socket;
}

int guest_alarm_descriptor(const struct verbs_device *device)
{
	return guest_device_of(device)->descriptor[HYV_ALARM];
}

void guest_exits_counted(const struct verbs_device *device, struct guest_exit_counts *exits)
{
	const struct hyv_shared *shared = guest_device_of(device)->shared;

	*exits = (struct guest_exit_counts){
		.kicks = atomic_load(&shared->kicks),
		.injections = atomic_load(&shared->injections),
		.event_injections = atomic_load(&shared->event_injections),
		.forwarded_posts = atomic_load(&shared->forwarded_posts),
	};
}
