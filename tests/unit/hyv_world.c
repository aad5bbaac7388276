// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/hyv_world.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"
#include "tests/unit/test.h"

#define REQUEST_AT 4096 /* in the control area */
#define ANSWER_AT  8192
#define LIST_AT	   16384
#define PATIENCE   60000 /* ms */

struct hyv_world hyv;

static void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "hyv world: %s (%d)\n", failure_text(), error);
	abort();
}

void hyv_world_build(enum rdma_mode mode, const struct tenant_quota *quota, __u64 memlock)
{
	const struct channel_config channel = {
		.queues = 1,
		.queue_depth = 2,
		.depth_max = 2,
		.pasid = PASID_NONE,
		.guest_address = HYV_WORLD_SHARE,
		.bytes = HYV_WORLD_BYTES,
		.iova_offset = HYV_WORLD_MEMORY,
	};
	struct hyv_host_config config = {
		.mode = mode,
		.settings = &hyv.settings,
		.backend = {.name = "fake", .ops = &verbs_fake_ops, .device = &hyv.fake},
	};

	rig_build((struct rig_config){.memory = HYV_WORLD_MEMORY, .memlock = memlock});
	rig->devices[0].iova_offset = HYV_WORLD_MEMORY;
	if (quota)
		rig->tenants[0].config.quota = *quota;
	must(channel_create(&hyv.channel, &channel));
	verbs_fake_init(&hyv.fake, rig->devices[0].port, hyv.channel);
	hyv.settings.mode = mode;
	hyv.settings.mtu = 4096;
	config.backend.machine = rig;
	config.backend.port = rig->devices[0].port;
	config.backend.channel = hyv.channel;
	must(hyv_host_create(&hyv.host, &config));
	hyv.start = hyv.channel->data_address + HYV_CONTROL_BYTES;
	if (!host_has_guests(hyv.host))
		return;
	/* Control's pages are nobody's object. */
	hyv.fake.iova = hyv.start + HYV_WORLD_MEMORY;
	hyv.fake.bytes = HYV_WORLD_SHARE + HYV_WORLD_BYTES - hyv.start;
}

void hyv_world_guest(void)
{
	int socket;

	must(hyv_host_invite(hyv.host, &socket));
	must(half_open(&hyv.guest, socket));
}

struct hyv_stats hyv_world_stats(void)
{
	struct hyv_stats stats;

	hyv_host_stats(hyv.host, &stats);
	return stats;
}

static enum guest_state state_now(void)
{
	enum guest_state state;

	pthread_mutex_lock(&hyv.host->lock);
	state = hyv.host->guest.state;
	pthread_mutex_unlock(&hyv.host->lock);
	return state;
}

void hyv_world_await_end(void)
{
	for (int i = 0; i < PATIENCE && state_now() != GUEST_NONE; i++)
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	assert_int_equal(state_now(), GUEST_NONE);
}

void hyv_world_leave(void)
{
	half_close(&hyv.guest);
	hyv_world_await_end();
}

int hyv_world_teardown(void **state)
{
	(void)state;
	half_close(&hyv.guest);
	hyv_host_destroy(hyv.host);
	channel_destroy(hyv.channel);
	rig_destroy(rig);
	memset(&hyv, 0, sizeof(hyv));
	return 0;
}

static int hello_take(struct hyv_half *half)
{
	union {
		char bytes[CMSG_SPACE(sizeof(half->descriptors))];
		struct cmsghdr align;
	} control;
	struct iovec piece = {&half->hello, sizeof(half->hello)};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *header;

	if (recvmsg(half->socket, &message, MSG_CMSG_CLOEXEC) != sizeof(half->hello))
		return -EPROTO;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_len != CMSG_LEN(sizeof(half->descriptors)))
		return -EPROTO;
	memcpy(half->descriptors, CMSG_DATA(header), sizeof(half->descriptors));
	return 0;
}

static int map_all(struct hyv_half *half)
{
	half->memory = mmap(NULL, half->hello.memory_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, half->descriptors[HYV_MEMORY], 0);
	half->shared = mmap(NULL, HYV_RESOURCE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    half->descriptors[HYV_RESOURCES], 0);
	if (half->memory == MAP_FAILED || half->shared == MAP_FAILED)
		return -errno;
	madvise(half->memory, half->hello.memory_bytes, MADV_DONTFORK);
	half->control = half->memory + half->hello.control_address;
	return 0;
}

static int faults_make(struct hyv_half *half)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = UFFD_FEATURE_MISSING_SHMEM |
					     UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	struct uffdio_register range = {
		.range = {(unsigned long)half->memory, half->hello.memory_bytes},
		.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP};

	half->faults =
		ioctl(half->descriptors[HYV_FAULTS], USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	if (half->faults < 0 || ioctl(half->faults, UFFDIO_API, &api) ||
	    ioctl(half->faults, UFFDIO_REGISTER, &range))
		return -errno;
	return 0;
}

static int hello_answer(struct hyv_half *half)
{
	struct hyv_hello_answer answer = {HYV_VERSION, (__u32)getpid(),
					  (unsigned long)half->memory};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec piece = {&answer, sizeof(answer)};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	char go;

	if (half->faults >= 0) {
		struct cmsghdr *header = &control.align;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &half->faults, sizeof(int));
	}
	if (sendmsg(half->socket, &message, MSG_NOSIGNAL) != sizeof(answer))
		return -errno;
	return recv(half->socket, &go, 1, 0) == 1 ? 0 : -EPIPE;
}

int half_open(struct hyv_half *half, int socket)
{
	int error;

	*half = (struct hyv_half){.socket = socket, .faults = -1};
	error = hello_take(half);
	if (!error)
		error = map_all(half);
	if (!error && half->hello.mode != RDMA_MODE_PASSTHROUGH)
		error = faults_make(half);
	if (!error)
		error = hello_answer(half);
	half->ring = virtqueue_at(half->control);
	return error;
}

void half_close(struct hyv_half *half)
{
	if (!half->memory)
		return;
	close(half->socket);
	/* Served by the machine until it has taken the view back. */
	if (hyv.host)
		hyv_world_await_end();
	munmap(half->memory, half->hello.memory_bytes);
	munmap(half->shared, HYV_RESOURCE_BYTES);
	for (int i = 0; i < HYV_DESCRIPTORS; i++)
		close(half->descriptors[i]);
	if (half->faults >= 0)
		close(half->faults);
	half->memory = NULL;
}

static void describe(struct hyv_half *half, __u16 index, __u64 at, __u32 bytes, __u16 flags,
		     __u16 next)
{
	half->ring.desc[index] = (struct vring_desc){.addr = half->hello.control_address + at,
						     .len = bytes,
						     .flags = flags,
						     .next = next};
}

static int await(struct hyv_half *half)
{
	for (int left = PATIENCE; left > 0; left -= 100) {
		struct pollfd wait[] = {{half->descriptors[HYV_INJECT], POLLIN, 0},
					{half->socket, POLLIN, 0}};
		eventfd_t count;

		poll(wait, 2, 100);
		if (__atomic_load_n(&half->ring.used->idx, __ATOMIC_SEQ_CST) != half->answered)
			return 0;
		if (wait[1].revents)
			return -EPIPE;
		/* A kick may have been lost. */
		if (!wait[0].revents)
			(void)eventfd_write(half->descriptors[HYV_KICK], 1);
		else
			(void)eventfd_read(half->descriptors[HYV_INJECT], &count);
	}
	return -ETIMEDOUT;
}

int half_command(struct hyv_half *half, struct verbs_command *command, const __u64 *list,
		 __u32 pages)
{
	struct verbs_request request = {.command = *command,
					.token = ++half->token,
					.called_ns = monotonic_ns(),
					.pages = pages};
	struct verbs_answer answer;
	__u64 bytes = pages * sizeof(*list);
	int error;

	describe(half, 0, REQUEST_AT, sizeof(request), VRING_DESC_F_NEXT, list ? 1 : 2);
	describe(half, 1, LIST_AT, (__u32)bytes, VRING_DESC_F_NEXT, 2);
	describe(half, 2, ANSWER_AT, sizeof(answer), VRING_DESC_F_WRITE, 0);
	if (list)
		memcpy(half->control + LIST_AT, list, bytes);
	request.queued_ns = request.kicked_ns = monotonic_ns();
	memcpy(half->control + REQUEST_AT, &request, sizeof(request));
	half->ring.avail->ring[half->published % HYV_QUEUE_ENTRIES] = 0;
	__atomic_store_n(&half->ring.avail->idx, ++half->published, __ATOMIC_SEQ_CST);
	(void)eventfd_write(half->descriptors[HYV_KICK], 1);
	error = await(half);
	if (error)
		return error;
	half->answered++;
	memcpy(&answer, half->control + ANSWER_AT, sizeof(answer));
	memcpy(command->result, answer.result, sizeof(answer.result));
	return answer.error;
}

int half_do(struct hyv_half *half, __u16 kind, const __u64 argument[5], __u64 *result)
{
	struct verbs_command command = {.kind = kind};
	int error;

	memcpy(command.argument, argument, sizeof(command.argument));
	error = half_command(half, &command, NULL, 0);
	if (result)
		*result = command.result[0];
	return error;
}

void assert_registered(__u64 bytes)
{
	struct hyv_stats stats = hyv_world_stats();
	struct pins_stats pins;
	__u64 roles = 0;

	assert_int_equal(stats.registered, bytes);
	assert_int_equal(stats.unequal, 0);
	for (int role = 0; role < PIN_ROLES; role++)
		if (host_has_queue(hyv.host) || role == PIN_DRIVER) {
			assert_int_equal(stats.pinned[role], bytes);
			roles += role != PIN_GUEST;
		}
	/* The kernel counts each pin of this process, the guest's are none of ours. */
	assert_int_equal(pinned_by_kernel(0), roles * bytes);
	if (host_has_queue(hyv.host))
		assert_int_equal(atomic_load(&rig->tenants[0].quota.pinned), bytes);
	pins_stats(rig->tenants[0].pins, &pins);
	assert_true(pins.locked >= bytes);
}

__u64 hyv_page(__u64 page)
{
	return hyv.start + page * PAGE_BYTES;
}

int hyv_register(__u64 address, __u64 bytes, __u64 *key)
{
	return half_do(&hyv.guest, VERBS_REGISTER,
		       (__u64[5]){address, bytes, VERBS_PINNED, HYV_RIGHTS}, key);
}

int hyv_register_list(const __u64 *list, __u32 pages, __u64 address, __u64 bytes, __u64 *key)
{
	struct verbs_command command = {
		.kind = VERBS_REGISTER_PAGES,
		.argument = {address, bytes, HYV_KINDS(VERBS_PINNED, HYV_RIGHTS)},
	};
	int error = half_command(&hyv.guest, &command, list, pages);

	*key = command.result[0];
	return error;
}

int hyv_deregister(__u64 key)
{
	return half_do(&hyv.guest, VERBS_DEREGISTER, (__u64[5]){key}, NULL);
}

__u64 hyv_create_queue(__u64 page, __u32 depth)
{
	__u64 number;

	assert_int_equal(
		half_do(&hyv.guest, VERBS_CREATE_CQ, (__u64[5]){hyv_page(page), depth}, &number),
		0);
	return number;
}

int hyv_create_pair(__u64 page, __u64 queue, __u64 *number)
{
	return half_do(&hyv.guest, VERBS_CREATE_QP_OF,
		       (__u64[5]){hyv_page(page), 8 | 8ull << 32, queue | queue << 32,
				  (__u64)VERBS_NO_SRQ << 32},
		       number);
}

/* Nothing is left of what was refused or has gone. */
void assert_nothing_left(void)
{
	struct pins_stats pins;

	assert_registered(0);
	pins_stats(rig->tenants[0].pins, &pins);
	assert_int_equal(pins.locked, 0);
	assert_int_equal(verbs_fake_objects(&hyv.fake), 0);
	for (int object = 0; object < VERBS_OBJECTS; object++)
		assert_int_equal(atomic_load(&rig->tenants[0].quota.objects[object]), 0);
	for (__u64 page = 0; page < HYV_WORLD_BYTES >> PAGE_BITS; page++)
		assert_int_equal(hyv.host->holds[page], 0);
	assert_null(hyv.host->scratch.at);
	assert_int_equal(hyv_world_stats().overlays, 0);
	assert_int_equal(hyv.fake.wrong, 0);
	assert_int_equal(hyv.fake.pinned, 0);
	assert_int_equal(rig_violations(rig), 0);
}

void hyv_arm(enum inject_point point, __u64 delay_ns, __u32 interval, __s64 times)
{
	const struct injection injection = {
		.point = point,
		.device = DEVICE_ALL,
		.id = 1,
		.probability = 100,
		.interval = interval,
		.times = times,
		.delay_ns = delay_ns,
	};

	assert_int_equal(inject_arm(rig->injections, &injection), 0);
}

int hyv_hybrid(void **state)
{
	hyv_world_build(RDMA_MODE_HYBRID, NULL, 0);
	hyv_world_guest();
	return 0;
}

int hyv_no_guest(void **state)
{
	hyv_world_build(RDMA_MODE_HYBRID, NULL, 0);
	return 0;
}

int hyv_map(__u64 page, __u64 bytes, __u64 resource, __u64 offset)
{
	return half_do(&hyv.guest, VERBS_MAP_RESOURCE,
		       (__u64[5]){hyv_page(page), bytes, resource, offset}, NULL);
}

int hyv_unmap(__u64 page, __u64 bytes)
{
	return half_do(&hyv.guest, VERBS_UNMAP_RESOURCE, (__u64[5]){hyv_page(page), bytes}, NULL);
}
