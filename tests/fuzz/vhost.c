// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes a disk that is driven over vhost-user, from both sides that nobody trusts: the front-end's messages, descriptors and answers, and
 * the guest's rings, chains and headers, while pages leave. Whatever comes, the half of the tenant's memory that no memory table names
 * stays as it is, and when the front-end has hung up, the next one is listened to. `vhost --seeds DIR` writes first inputs.
 */
#include <fcntl.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "injectors/emu/devices/block_private.h"
#include "injectors/emu/machine_private.h"
#include "injectors/emu/memory_views.h"
#include "injectors/emu/vhost/vhost_protocol.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

#define STEPS	48
#define SEEDS	16
#define MEMORY	(2 * HUGE_BYTES)
#define HALF	HUGE_BYTES
#define USER	0x7e0000000000ull
#define SIZE	16
#define RINGS	0x1000 /* descriptors, and the others behind them */
#define HEADERS 0x2000
#define PATTERN 0x5aa5c33c0ff01ee1ull

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One machine for all inputs, a front-end for each. */
static struct {
	struct machine *machine;
	struct block *block;
	unsigned char *memory;
	int file, event, connected, answers, backend, inflight;
	char socket[64];
} world;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void world_make(void)
{
	struct tenant_config tenant = {.name = "vm", .memory = MEMORY};
	struct device_config device = {.name = "disk",
				       .class = &block_class,
				       .queues = 2,
				       .queue_depth = SIZE,
				       .group_pages = 4,
				       .msi_cpu = -1};
	struct block_settings *settings = (struct block_settings *)device.settings.bytes;
	struct machine_config config = {.name = "fuzz",
					.tenant_count = 1,
					.device_count = 1,
					.tenants = &tenant,
					.devices = &device,
					.request_queue_entries = 64,
					.premap = true,
					.seed = 1};

	snprintf(world.socket, sizeof(world.socket), "/tmp/faultline-fuzz-vhost-%d", getpid());
	snprintf(settings->vhost.socket, sizeof(settings->vhost.socket), "%s", world.socket);
	settings->file_bytes = HUGE_BYTES;
	tenant.vm.iommu = true;
	must(!machine_create(&world.machine, &config) && !machine_prepare(world.machine));
	world.block = world.machine->devices[0].model;
	world.memory = guest_memory_cpu(world.machine->tenants[0].memory, 0);
	world.file = guest_memory_file(world.machine->tenants[0].memory);
	world.event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (__u64 at = HALF; at < MEMORY; at += 8)
		*(__u64 *)(world.memory + at) = PATTERN ^ at;
}

static void world_end(void)
{
	machine_stop(world.machine);
	machine_destroy(world.machine);
}

static void front_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path, world.socket, sizeof(world.socket));
	world.connected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(!connect(world.connected, (struct sockaddr *)&address, sizeof(address)));
	world.answers = world.backend = world.inflight = -1;
}

/* Whatever there is to be read; with the in-flight region's file. */
static void front_listen(bool answer)
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

	if (recvmsg(world.connected, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0) {
		c = CMSG_FIRSTHDR(&header);
		if (c && c->cmsg_type == SCM_RIGHTS) {
			if (world.inflight >= 0)
				close(world.inflight);
			memcpy(&world.inflight, CMSG_DATA(c), sizeof(int));
		}
	}
	if (world.backend >= 0 && recv(world.backend, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		(void)send(world.backend, reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void front_send(__u32 request, __u32 flags, const void *payload, __u32 bytes,
		       const int *files, __u32 count)
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
	(void)sendmsg(world.connected, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say(__u32 request, const void *payload, __u32 bytes, int file)
{
	front_send(request, VHOST_USER_VERSION, payload, bytes, &file, file >= 0);
}

/* All that there is to say before a queue runs. */
static void set_up(struct bytes *in)
{
	__u64 iommu = take_below(in, 4) == 0, queue = take_below(in, 2), features, protocol;
	const struct vhost_user_memory memory = {.count = 1, .region = {{0, HALF, USER, 0}}};
	const struct vhost_user_vring_state size = {(__u32)queue, SIZE}, base = {(__u32)queue, 0},
					    on = {(__u32)queue, 1};
	const struct vhost_user_vring_address address = {
		.index = (__u32)queue,
		.descriptors = RINGS + (iommu ? 0 : USER),
		.available = RINGS + 0x100 + (iommu ? 0 : USER),
		.used = RINGS + 0x200 + (iommu ? 0 : USER),
	};

	features = 1ull << VIRTIO_F_VERSION_1 | iommu << VIRTIO_F_ACCESS_PLATFORM |
		   1ull << VIRTIO_RING_F_INDIRECT_DESC | 1ull << VHOST_USER_F_PROTOCOL_FEATURES |
		   (__u64)take_below(in, 2) << VIRTIO_RING_F_EVENT_IDX;
	protocol = 1ull << VHOST_USER_PROTOCOL_F_REPLY_ACK |
		   1ull << VHOST_USER_PROTOCOL_F_BACKEND_REQ |
		   1ull << VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD | 1ull << VHOST_USER_PROTOCOL_F_MQ;
	say(VHOST_USER_SET_PROTOCOL_FEATURES, &protocol, 8, -1);
	say(VHOST_USER_SET_FEATURES, &features, 8, -1);
	say(VHOST_USER_SET_MEM_TABLE, &memory, 40, world.file);
	say(VHOST_USER_SET_VRING_NUM, &size, sizeof(size), -1);
	say(VHOST_USER_SET_VRING_BASE, &base, sizeof(base), -1);
	say(VHOST_USER_SET_VRING_ADDR, &address, sizeof(address), -1);
	say(VHOST_USER_SET_VRING_CALL, &queue, 8, world.event);
	say(VHOST_USER_SET_VRING_ERR, &queue, 8, world.event);
	say(VHOST_USER_SET_VRING_KICK, &queue, 8, world.event);
	say(VHOST_USER_SET_VRING_ENABLE, &on, sizeof(on), -1);
}

static void any_message(struct bytes *in)
{
	static const __u32 sizes[] = {0, 8, 8, 40, 20, 24, 32, 264, 12, 4, 268, 7};
	int files[9];
	unsigned char payload[272];
	__u32 count = take_below(in, 4) ? take_below(in, 2) : take_below(in, 10);

	for (__u32 i = 0; i < 9; i++)
		files[i] = take_below(in, 2) ? world.event : world.file;
	take_bytes(in, payload, sizeof(payload) / 4);
	memset(payload + sizeof(payload) / 4, 0, sizeof(payload) * 3 / 4);
	front_send(take_below(in, 44),
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
		return RINGS + how * 8;
	if (how < 128)
		return HEADERS + how % 8 * 16;
	return (how - 128ull) % 64 * 0x3000 + take_byte(in) * 16;
}

static void any_descriptor(struct bytes *in)
{
	static const __u32 lengths[] = {16, 1, 512, 4096, 17, 32, 64, 0};
	const struct vring_desc value = {
		.addr = take_place(in),
		.len = take_below(in, 8) ? lengths[take_below(in, 8)] : (__u32)take_number(in),
		.flags = (__u16)take_below(in, take_below(in, 4) ? 4 : 8),
		.next = (__u16)take_below(in, SIZE + 1),
	};
	/* In the table, or in what may be an indirect one. */
	__u64 at = take_below(in, 3) ? RINGS : take_place(in) % (HALF - 0x1000);

	memcpy(world.memory + at + take_below(in, SIZE) * sizeof(value), &value, sizeof(value));
}

static void publish(struct bytes *in)
{
	__u16 *available = (__u16 *)(world.memory + RINGS + 0x100);
	const __u64 one = 1;

	available[0] = (__u16)take_below(in, 2);
	available[2 + available[1] % SIZE] = (__u16)take_below(in, SIZE + 1);
	__atomic_store_n(&available[1],
			 available[1] + (take_below(in, 16) ? 1 : (__u16)take_number(in)),
			 __ATOMIC_SEQ_CST);
	(void)!write(world.event, &one, sizeof(one));
}

static void any_header(struct bytes *in)
{
	const struct virtio_blk_outhdr header = {.type = take_below(in, 16),
						 .sector = take_below(in, 4) ? take_byte(in)
									     : take_number(in)};

	memcpy(world.memory + HEADERS + take_below(in, 8) * 16, &header, sizeof(header));
}

static void translations(struct bytes *in)
{
	struct vhost_user_iotlb told = {
		.iova = take_below(in, 4) ? take_below(in, 8) * 0x1000ull : take_number(in),
		.bytes = take_below(in, 4) ? 0x1000 : take_number(in),
		.permissions = (__u8)take_below(in, 5),
		.type = (__u8)(take_below(in, 4) ? VHOST_USER_IOTLB_UPDATE : take_below(in, 6)),
	};
	int pair[2];

	told.user = USER + (take_below(in, 8) ? told.iova : take_number(in));
	if (world.backend < 0 && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		say(VHOST_USER_SET_BACKEND_REQ_FD, "", 0, pair[1]);
		close(pair[1]);
		world.backend = pair[0];
	}
	say(VHOST_USER_IOTLB_MSG, &told, sizeof(told), -1);
}

static void in_flight(struct bytes *in)
{
	struct vhost_user_inflight region = {.queues = 2, .queue_size = SIZE, .bytes = 4096};
	unsigned char bytes[64];

	if (world.inflight < 0) {
		say(VHOST_USER_GET_INFLIGHT_FD, &region, sizeof(region), -1);
		return;
	}
	take_bytes(in, bytes, sizeof(bytes));
	(void)!pwrite(world.inflight, bytes, sizeof(bytes), take_below(in, 2) * 12);
	if (!take_below(in, 8))
		region.queue_size = (__u16)take_number(in);
	say(VHOST_USER_SET_INFLIGHT_FD, &region, sizeof(region), world.inflight);
}

static void step(struct bytes *in)
{
	const struct vhost_user_vring_state queue = {take_below(in, 2), 0};

	switch (take_below(in, 12)) {
	case 0:
		any_message(in);
		break;
	case 1:
		set_up(in);
		break;
	case 2:
		say(VHOST_USER_GET_VRING_BASE, &queue, sizeof(queue), -1);
		break;
	case 3:
		(void)evict_page(world.machine, 0, (__u64)take_byte(in) << PAGE_BITS, EVICT_MAJOR);
		break;
	case 4:
		translations(in);
		break;
	case 5:
		in_flight(in);
		break;
	case 6:
		any_header(in);
		break;
	case 7:
	case 8:
		publish(in);
		break;
	default:
		any_descriptor(in);
	}
	front_listen(take_below(in, 4) == 0);
}

static void front_hang_up(__u64 connections)
{
	struct vhost_stats stats;

	if (world.backend >= 0)
		close(world.backend);
	if (world.inflight >= 0)
		close(world.inflight);
	close(world.connected);
	do {
		vhost_stats(world.block->vhost, &stats);
	} while ((stats.connected || stats.connections == connections) && !usleep(50));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct vhost_stats stats;

	if (!world.machine)
		world_make();
	memset(world.memory + RINGS, 0, 0x1000);
	vhost_stats(world.block->vhost, &stats);
	front_connect();
	set_up(&in);
	for (int i = 0; i < STEPS && in.left; i++)
		step(&in);
	front_hang_up(stats.connections);
	for (__u64 at = HALF; at < MEMORY; at += PAGE_BYTES)
		must(*(__u64 *)(world.memory + at) == (PATTERN ^ at));
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory) {
		atexit(world_end);
		return 0;
	}
	seeds_write_random(directory, 0, SEEDS);
	exit(0);
}
