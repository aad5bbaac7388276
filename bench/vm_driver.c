// SPDX-License-Identifier: GPL-2.0
#include "bench/vm_driver.h"

#include <err.h>
#include <errno.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/vhost/vhost_protocol.h"
#include "lib/base/pass_descriptors.h"

#define RING_ALIGN 4096u
#define SLOT_BYTES 4096u
#define SLOTS	   (64u << 10) /* address of the first slot: the ring is below */
#define STATUS	   64u	       /* within a slot, behind the header */
#define FEATURE(n) (1ull << (n))
#define LOOKS	   6000 /* for the socket, 10 ms each */

static void message_send(const struct vm_driver *driver, __u32 request, const void *payload,
			 __u32 bytes, int file)
{
	struct vhost_user_header header = {request, VHOST_USER_VERSION, bytes};
	DESCRIPTOR_ROOM(control, 1);
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)payload, bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = bytes ? 2 : 1};

	if (file >= 0)
		pass_descriptors(&message, control, &file, 1);
	if (sendmsg(driver->socket, &message, MSG_NOSIGNAL) != (ssize_t)(sizeof(header) + bytes))
		err(1, "request %u of vhost-user", request);
}

static __u64 message_get(const struct vm_driver *driver, __u32 request)
{
	struct vhost_user_header header;
	__u64 number;

	message_send(driver, request, NULL, 0, -1);
	if (recv(driver->socket, &header, sizeof(header), MSG_WAITALL) != sizeof(header) ||
	    header.request != request || header.bytes != sizeof(number) ||
	    recv(driver->socket, &number, sizeof(number), MSG_WAITALL) != sizeof(number))
		errx(1, "request %u of vhost-user: no answer", request);
	return number;
}

static void message_set(const struct vm_driver *driver, __u32 request, __u64 number)
{
	message_send(driver, request, &number, sizeof(number), -1);
}

static void vring_set(const struct vm_driver *driver, __u32 request, __u32 number)
{
	const struct vhost_user_vring_state state = {0, number};

	message_send(driver, request, &state, sizeof(state), -1);
}

static void vring_file(const struct vm_driver *driver, __u32 request, int file)
{
	const __u64 index = 0;

	message_send(driver, request, &index, sizeof(index), file);
}

static void memory_open(struct vm_driver *driver, size_t bytes)
{
	driver->bytes = bytes;
	driver->file = memfd_create("memory-backend-memfd", MFD_CLOEXEC);
	if (driver->file < 0 || ftruncate(driver->file, (off_t)bytes))
		err(1, "memory of %zu bytes", bytes);
	driver->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, driver->file, 0);
	if (driver->memory == MAP_FAILED)
		err(1, "memory of %zu bytes", bytes);
}

/* Who listens may not do so yet. */
static void socket_open(struct vm_driver *driver, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	int looks = 0;

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    sizeof(address.sun_path))
		errx(1, "%s: longer than a socket's path may be", path);
	driver->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	while (connect(driver->socket, (struct sockaddr *)&address, sizeof(address))) {
		if (looks++ == LOOKS)
			err(1, "%s", path);
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	if (getsockopt(driver->socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		err(1, "%s: who listens", path);
	driver->peer = peer.pid;
}

static void features_agree(struct vm_driver *driver)
{
	const __u64 wanted = FEATURE(VIRTIO_F_VERSION_1) | FEATURE(VIRTIO_RING_F_EVENT_IDX) |
			     FEATURE(VHOST_USER_F_PROTOCOL_FEATURES);
	__u64 features = message_get(driver, VHOST_USER_GET_FEATURES) & wanted;

	if (!(features & FEATURE(VHOST_USER_F_PROTOCOL_FEATURES)))
		errx(1, "the device has no protocol features");
	message_get(driver, VHOST_USER_GET_PROTOCOL_FEATURES);
	message_set(driver, VHOST_USER_SET_PROTOCOL_FEATURES, 0);
	message_send(driver, VHOST_USER_SET_OWNER, NULL, 0, -1);
	message_set(driver, VHOST_USER_SET_FEATURES, features);
	driver->event_index = features & FEATURE(VIRTIO_RING_F_EVENT_IDX);
}

static void memory_tell(const struct vm_driver *driver)
{
	struct vhost_user_memory table = {.count = 1,
					  .region = {{0, driver->bytes, (__u64)driver->memory, 0}}};

	message_send(driver, VHOST_USER_SET_MEM_TABLE, &table,
		     offsetof(struct vhost_user_memory, region) + sizeof(table.region[0]),
		     driver->file);
}

static void vm_queue_start(struct vm_driver *driver)
{
	struct vhost_user_vring_address address = {
		.descriptors = (__u64)driver->ring.desc,
		.used = (__u64)driver->ring.used,
		.available = (__u64)driver->ring.avail,
	};

	driver->kick = eventfd(0, EFD_CLOEXEC);
	driver->call = eventfd(0, EFD_CLOEXEC);
	if (driver->kick < 0 || driver->call < 0)
		err(1, "eventfd");
	vring_set(driver, VHOST_USER_SET_VRING_NUM, VM_DRIVER_SIZE);
	vring_set(driver, VHOST_USER_SET_VRING_BASE, 0);
	message_send(driver, VHOST_USER_SET_VRING_ADDR, &address, sizeof(address), -1);
	vring_file(driver, VHOST_USER_SET_VRING_CALL, driver->call);
	vring_file(driver, VHOST_USER_SET_VRING_KICK, driver->kick);
	vring_set(driver, VHOST_USER_SET_VRING_ENABLE, 1);
}

void vm_driver_open(struct vm_driver *driver, const char *path, size_t bytes)
{
	*driver = (struct vm_driver){.socket = -1};
	memory_open(driver, bytes);
	vring_init(&driver->ring, VM_DRIVER_SIZE, driver->memory, RING_ALIGN);
	socket_open(driver, path);
	features_agree(driver);
	memory_tell(driver);
	vm_queue_start(driver);
}

void vm_driver_submit(struct vm_driver *driver, unsigned int slot, bool write, __u64 sector,
		      __u64 address, __u32 bytes)
{
	const __u64 own = SLOTS + (__u64)slot * SLOT_BYTES;
	struct virtio_blk_outhdr *header = (void *)(driver->memory + own);
	struct vring_desc *chain = &driver->ring.desc[slot * 3];
	const __u16 head = (__u16)(slot * 3);

	*header = (struct virtio_blk_outhdr){.type = write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN,
					     .sector = sector};
	driver->memory[own + STATUS] = 0xff;
	chain[0] = (struct vring_desc){own, sizeof(*header), VRING_DESC_F_NEXT, (__u16)(head + 1)};
	chain[1] = (struct vring_desc){address, bytes,
				       VRING_DESC_F_NEXT | (write ? 0 : VRING_DESC_F_WRITE),
				       (__u16)(head + 2)};
	chain[2] = (struct vring_desc){own + STATUS, 1, VRING_DESC_F_WRITE, 0};
	driver->ring.avail->ring[driver->ring.avail->idx % VM_DRIVER_SIZE] = head;
	__atomic_store_n(&driver->ring.avail->idx, (__u16)(driver->ring.avail->idx + 1),
			 __ATOMIC_RELEASE);
}

void vm_driver_kick(struct vm_driver *driver)
{
	const __u16 now = driver->ring.avail->idx, before = driver->published;
	const __u64 one = 1;
	bool wanted;

	if (now == before)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	driver->published = now;
	if (driver->event_index)
		wanted = vring_need_event(
			__atomic_load_n((__u16 *)&driver->ring.used->ring[VM_DRIVER_SIZE],
					__ATOMIC_RELAXED),
			now, before);
	else
		wanted = !(__atomic_load_n(&driver->ring.used->flags, __ATOMIC_RELAXED) &
			   VRING_USED_F_NO_NOTIFY);
	if (wanted && write(driver->kick, &one, sizeof(one)) != sizeof(one))
		err(1, "kick");
}

/* Asks for an interrupt at the next one that is done, and looks again: it may be so by now. */
static bool is_done(struct vm_driver *driver)
{
	if (__atomic_load_n(&driver->ring.used->idx, __ATOMIC_ACQUIRE) != driver->reaped)
		return true;
	vring_used_event(&driver->ring) = driver->reaped;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&driver->ring.used->idx, __ATOMIC_ACQUIRE) != driver->reaped;
}

/* Devices make the descriptor, which they share with us, one that does not wait. */
static void call_wait(const struct vm_driver *driver)
{
	struct pollfd polled = {.fd = driver->call, .events = POLLIN};
	__u64 calls;

	if (poll(&polled, 1, -1) < 0 ||
	    (read(driver->call, &calls, sizeof(calls)) < 0 && errno != EAGAIN))
		err(1, "call");
}

unsigned int vm_driver_reap(struct vm_driver *driver)
{
	unsigned int slot;

	while (!is_done(driver))
		call_wait(driver);
	slot = driver->ring.used->ring[driver->reaped % VM_DRIVER_SIZE].id / 3;
	driver->reaped++;
	if (slot >= VM_DRIVER_MOST ||
	    driver->memory[SLOTS + (__u64)slot * SLOT_BYTES + STATUS] != VIRTIO_BLK_S_OK)
		errx(1, "the disk fails a request");
	return slot;
}
