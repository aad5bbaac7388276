// SPDX-License-Identifier: GPL-2.0
#include "tests/fuzz/made/front.h"

#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/memory_views.h"
#include "injectors/emu/vhost/vhost_protocol.h"

#define USER	0x7e0000000000ull
#define PATTERN 0x5aa5c33c0ff01ee1ull

static struct machine *make_machine(struct device_config *device)
{
	struct tenant_config tenant = {.name = "vm", .memory = FRONT_MEMORY, .vm.iommu = true};
	struct machine_config config = {.name = "fuzz",
					.tenant_count = 1,
					.device_count = 1,
					.tenants = &tenant,
					.devices = device,
					.request_queue_entries = 64,
					.premap = true,
					.seed = 1};
	struct machine *machine;

	must(!machine_create(&machine, &config) && !machine_prepare(machine));
	return machine;
}

void *front_init(struct front *front, struct device_config *device)
{
	struct machine *machine = make_machine(device);

	front->machine = machine;
	front->memory = guest_memory_cpu(machine->tenants[0].memory, 0);
	front->file = guest_memory_file(machine->tenants[0].memory);
	front->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (__u32 i = 0; i < front->queues; i++)
		front->kick[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (__u64 at = FRONT_HALF; at < FRONT_MEMORY; at += 8)
		*(__u64 *)(front->memory + at) = PATTERN ^ at;
	return machine->devices[0].model;
}

static void front_connect(struct front *front)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path, front->socket, sizeof(front->socket));
	front->connected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(!connect(front->connected, (struct sockaddr *)&address, sizeof(address)));
	front->backend = front->inflight = -1;
}

/* Whatever there is to be read; with the in-flight region's file. */
static void front_listen(struct front *front, bool answer)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	const __u32 reply[] = {VHOST_USER_BACKEND_IOTLB_MSG,
			       VHOST_USER_VERSION | VHOST_USER_FLAG_REPLY, 8, answer, 0};
	char buffer[512];
	struct iovec iov = {buffer, sizeof(buffer)};
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = control,
				.msg_controllen = sizeof(control)};
	struct cmsghdr *c;

	if (recvmsg(front->connected, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0) {
		c = CMSG_FIRSTHDR(&header);
		if (c && c->cmsg_type == SCM_RIGHTS) {
			if (front->inflight >= 0)
				close(front->inflight);
			memcpy(&front->inflight, CMSG_DATA(c), sizeof(int));
		}
	}
	if (front->backend >= 0 && recv(front->backend, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		(void)send(front->backend, reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void front_send(struct front *front, __u32 request, __u32 flags, const void *payload,
		       __u32 bytes, const int *files, __u32 count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(9 * sizeof(int))] = {0};
	struct vhost_user_header head = {request, flags, bytes};
	struct iovec iov[] = {{&head, sizeof(head)}, {(void *)payload, bytes}};
	struct msghdr header = {.msg_iov = iov, .msg_iovlen = 2};
	struct cmsghdr *c = (struct cmsghdr *)control;

	if (count) {
		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), files, count * sizeof(int));
	}
	(void)sendmsg(front->connected, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say(struct front *front, __u32 request, const void *payload, __u32 bytes, int file)
{
	front_send(front, request, VHOST_USER_VERSION, payload, bytes, &file, file >= 0);
}

/* Before any queue. */
static void set_up_device(struct front *front, __u64 features)
{
	const struct vhost_user_memory memory = {.count = 1, .region = {{0, FRONT_HALF, USER, 0}}};
	const __u64 protocol = 1ull << VHOST_USER_PROTOCOL_F_REPLY_ACK |
			       1ull << VHOST_USER_PROTOCOL_F_BACKEND_REQ |
			       1ull << VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD |
			       1ull << VHOST_USER_PROTOCOL_F_MQ;

	features |= 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_RING_F_INDIRECT_DESC |
		    1ull << VHOST_USER_F_PROTOCOL_FEATURES | front->features;
	say(front, VHOST_USER_SET_PROTOCOL_FEATURES, &protocol, 8, -1);
	say(front, VHOST_USER_SET_FEATURES, &features, 8, -1);
	say(front, VHOST_USER_SET_MEM_TABLE, &memory, 40, front->file);
}

static void set_up_queue(struct front *front, __u64 queue, __u64 rings, bool iommu)
{
	const struct vhost_user_vring_state size = {(__u32)queue, FRONT_SIZE},
					    base = {(__u32)queue, 0}, on = {(__u32)queue, 1};
	__u64 user = rings + (iommu ? 0 : USER);
	const struct vhost_user_vring_address address = {
		.index = (__u32)queue,
		.descriptors = user,
		.available = user + 0x100,
		.used = user + 0x200,
	};

	front->available[queue] = (rings + 0x100) % (FRONT_HALF - PAGE_BYTES);
	say(front, VHOST_USER_SET_VRING_NUM, &size, sizeof(size), -1);
	say(front, VHOST_USER_SET_VRING_BASE, &base, sizeof(base), -1);
	say(front, VHOST_USER_SET_VRING_ADDR, &address, sizeof(address), -1);
	say(front, VHOST_USER_SET_VRING_CALL, &queue, 8, front->event);
	say(front, VHOST_USER_SET_VRING_ERR, &queue, 8, front->event);
	say(front, VHOST_USER_SET_VRING_KICK, &queue, 8, front->kick[queue]);
	say(front, VHOST_USER_SET_VRING_ENABLE, &on, sizeof(on), -1);
}

/* A queue, mostly where an empty ring is, and sometimes a feature that was not offered. */
static void set_up(struct front *front, struct bytes *in)
{
	__u64 iommu = take_below(in, 4) == 0, queue = take_below(in, front->queues);
	__u64 features = iommu << VIRTIO_F_ACCESS_PLATFORM | (__u64)take_below(in, 2)
								     << VIRTIO_RING_F_EVENT_IDX;
	__u64 rings = FRONT_RINGS + queue * 0x400;

	if (!take_below(in, 16))
		features ^= 1ull << take_below(in, 64);
	if (!take_below(in, 8))
		rings = take_number(in) % FRONT_HALF & ~15ull;
	set_up_device(front, features);
	set_up_queue(front, queue, rings, iommu);
}

static void any_message(struct front *front, struct bytes *in)
{
	static const __u32 sizes[] = {0, 8, 8, 40, 20, 24, 32, 264, 12, 4, 268, 7};
	int files[9];
	unsigned char payload[272];
	__u32 count = take_below(in, 4) ? take_below(in, 2) : take_below(in, 10);

	for (__u32 i = 0; i < 9; i++)
		files[i] = take_below(in, 2) ? front->event : front->file;
	take_bytes(in, payload, sizeof(payload) / 4);
	memset(payload + sizeof(payload) / 4, 0, sizeof(payload) * 3 / 4);
	front_send(front, take_below(in, 44),
		   take_below(in, 8) ? VHOST_USER_VERSION | (take_below(in, 2) << 3)
				     : take_byte(in),
		   payload, sizes[take_below(in, sizeof(sizes) / sizeof(sizes[0]))], files, count);
}

static __u64 take_place(struct bytes *in)
{
	unsigned int how = take_byte(in);

	if (how < 32)
		return take_number(in);
	if (how < 64)
		return FRONT_RINGS + how * 8;
	if (how < 128)
		return FRONT_HEADERS + how % 8 * 16;
	return (how - 128ull) % 64 * 0x3000 + take_byte(in) * 16;
}

static void any_descriptor(struct front *front, struct bytes *in)
{
	__u32 queue = take_below(in, front->queues), slot = take_below(in, FRONT_SIZE);
	const struct vring_desc value = {
		.addr = take_place(in),
		.len = take_below(in, 8) ? front->lengths[take_below(in, FRONT_LENGTHS)]
					 : (__u32)take_number(in),
		.flags = (__u16)take_below(in, take_below(in, 4) ? 4 : 8),
		.next = (__u16)take_below(in, FRONT_SIZE + 1),
	};
	/* In the table, or in what may be an indirect one. */
	__u64 at = take_below(in, 3) ? FRONT_RINGS + queue * 0x400
				     : take_place(in) % (FRONT_HALF - PAGE_BYTES);

	memcpy(front->memory + at + slot * sizeof(value), &value, sizeof(value));
}

static void publish(struct front *front, struct bytes *in)
{
	__u32 queue = take_below(in, front->queues);
	__u16 *available = (__u16 *)(front->memory + front->available[queue]);
	const __u64 one = 1;

	available[0] = (__u16)take_below(in, 2);
	available[2 + available[1] % FRONT_SIZE] = (__u16)take_below(in, FRONT_SIZE + 1);
	__atomic_store_n(&available[1],
			 available[1] + (take_below(in, 16) ? 1 : (__u16)take_number(in)),
			 __ATOMIC_SEQ_CST);
	(void)!write(front->kick[queue], &one, sizeof(one));
}

static void open_backend(struct front *front)
{
	int pair[2];

	if (front->backend >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return;
	say(front, VHOST_USER_SET_BACKEND_REQ_FD, "", 0, pair[1]);
	close(pair[1]);
	front->backend = pair[0];
}

static void translations(struct front *front, struct bytes *in)
{
	struct vhost_user_iotlb told = {
		.iova = take_below(in, 4) ? take_below(in, 8) * 0x1000ull : take_number(in),
		.bytes = take_below(in, 4) ? 0x1000 : take_number(in),
		.permissions = (__u8)take_below(in, 5),
		.type = (__u8)(take_below(in, 4) ? VHOST_USER_IOTLB_UPDATE : take_below(in, 6)),
	};

	told.user = USER + (take_below(in, 8) ? told.iova : take_number(in));
	open_backend(front);
	say(front, VHOST_USER_IOTLB_MSG, &told, sizeof(told), -1);
}

static void in_flight(struct front *front, struct bytes *in)
{
	struct vhost_user_inflight region = {
		.queues = (__u16)front->queues, .queue_size = FRONT_SIZE, .bytes = 4096};
	unsigned char bytes[64];

	if (front->inflight < 0) {
		say(front, VHOST_USER_GET_INFLIGHT_FD, &region, sizeof(region), -1);
		return;
	}
	take_bytes(in, bytes, sizeof(bytes));
	(void)!pwrite(front->inflight, bytes, sizeof(bytes), take_below(in, 2) * 12);
	if (!take_below(in, 8))
		region.queue_size = (__u16)take_number(in);
	say(front, VHOST_USER_SET_INFLIGHT_FD, &region, sizeof(region), front->inflight);
}

/* As an honest front-end does it; behind an IOMMU all that there is lies where it is. */
static void set_up_all(struct front *front, bool iommu)
{
	const struct vhost_user_iotlb all = {.bytes = FRONT_HALF,
					     .user = USER,
					     .permissions = 3,
					     .type = VHOST_USER_IOTLB_UPDATE};

	set_up_device(front, (__u64)iommu << VIRTIO_F_ACCESS_PLATFORM);
	if (iommu) {
		open_backend(front);
		say(front, VHOST_USER_IOTLB_MSG, &all, sizeof(all), -1);
	}
	for (__u32 queue = 0; queue < front->queues; queue++)
		set_up_queue(front, queue, FRONT_RINGS + queue * 0x400, iommu);
}

void front_begin(struct front *front, struct bytes *in)
{
	struct vhost_stats stats;

	memset(front->memory + FRONT_RINGS, 0, 0x1000);
	for (__u32 i = 0; i < front->queues; i++)
		front->available[i] = FRONT_RINGS + i * 0x400 + 0x100;
	vhost_stats(front->vhost, &stats);
	front->connections = stats.connections;
	front_connect(front);
	if (take_below(in, 4))
		set_up_all(front, take_below(in, 2));
	else
		set_up(front, in);
}

void front_publish(struct front *front, __u32 queue, __u16 head)
{
	__u16 *available = (__u16 *)(front->memory + front->available[queue]);
	const __u64 one = 1;

	available[2 + available[1] % FRONT_SIZE] = head;
	__atomic_store_n(&available[1], available[1] + 1, __ATOMIC_SEQ_CST);
	(void)!write(front->kick[queue], &one, sizeof(one));
}

void front_descriptor(struct front *front, __u32 queue, __u16 slot, const struct vring_desc *value)
{
	memcpy(front->memory + FRONT_RINGS + queue * 0x400 + slot * sizeof(*value), value,
	       sizeof(*value));
}

static void front_step(struct front *front, struct bytes *in)
{
	const struct vhost_user_vring_state queue = {take_below(in, front->queues), 0};

	switch (take_below(in, 12)) {
	case 0:
		any_message(front, in);
		break;
	case 1:
		set_up(front, in);
		break;
	case 2:
		say(front, VHOST_USER_GET_VRING_BASE, &queue, sizeof(queue), -1);
		break;
	case 3:
		(void)evict_page(front->machine, 0, (__u64)take_byte(in) << PAGE_BITS, EVICT_MAJOR);
		break;
	case 4:
		translations(front, in);
		break;
	case 5:
		in_flight(front, in);
		break;
	case 6:
	case 7:
	case 8:
		publish(front, in);
		break;
	default:
		any_descriptor(front, in);
	}
	front_listen(front, take_below(in, 4) == 0);
}

void front_steps(struct front *front, struct bytes *in, int most, void (*own)(struct bytes *in))
{
	for (int i = 0; i < most && in->left; i++)
		if (take_below(in, 8))
			front_step(front, in);
		else
			own(in);
}

void front_end(struct front *front)
{
	struct vhost_stats stats;

	if (front->backend >= 0)
		close(front->backend);
	if (front->inflight >= 0)
		close(front->inflight);
	close(front->connected);
	do {
		vhost_stats(front->vhost, &stats);
	} while ((stats.connected || stats.connections == front->connections) && !usleep(50));
	for (__u64 at = FRONT_HALF; at < FRONT_MEMORY; at += PAGE_BYTES)
		must(*(__u64 *)(front->memory + at) == (PATTERN ^ at));
}
