// SPDX-License-Identifier: GPL-2.0
#include "lib/base/pass_descriptors.h"
#include "tests/unit/test.h"

#include "tests/unit/vhost_frontend.h"
#include "tests/unit/vhost_iommu.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define OWN_BYTES  0x400 /* of a slot: header, status, a table of 32 */
#define OWN_STATUS 0x20
#define OWN_TABLE  0x200
#define WAIT_MS	   60000

void frontend_connect(struct frontend *front, const char *path, unsigned char *memory, __u64 bytes,
		      int file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	front->memory = memory;
	front->bytes = bytes;
	front->file = file;
	front->features = front->protocol = 0;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	front->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(front->socket >= 0);
	assert_int_equal(connect(front->socket, (struct sockaddr *)&address, sizeof(address)), 0);
}

void frontend_hang_up(struct frontend *front)
{
	close(front->socket);
	front->socket = -1;
}

static void close_if(int descriptor)
{
	if (descriptor > 0)
		close(descriptor);
}

void frontend_close(struct frontend *front)
{
	if (front->socket >= 0)
		frontend_hang_up(front);
	for (int q = 0; q < FRONTEND_QUEUES; q++) {
		close_if(front->queue[q].kick);
		close_if(front->queue[q].call);
		close_if(front->queue[q].error);
	}
	close_if(front->inflight);
}

static bool send_message(struct frontend *front, const struct vhost_user_message *message,
			 const int *files, __u32 count)
{
	DESCRIPTOR_ROOM(control, 32);
	struct iovec iov[] = {{(void *)&message->header, sizeof(message->header)},
			      {(void *)&message->payload, message->header.bytes}};
	struct msghdr header = {.msg_iov = iov, .msg_iovlen = 2};

	if (count)
		pass_descriptors(&header, control, files, count);
	return sendmsg(front->socket, &header, MSG_NOSIGNAL) ==
	       (ssize_t)(iov[0].iov_len + iov[1].iov_len);
}

static bool send_flags(struct frontend *front, __u32 request, __u32 flags, const void *payload,
		       __u32 bytes, const int *files, __u32 count)
{
	struct vhost_user_message message = {
		.header = {request, VHOST_USER_VERSION | flags, bytes}};

	assert_true(bytes <= sizeof(message.payload));
	memcpy(&message.payload, payload, bytes);
	return send_message(front, &message, files, count);
}

bool frontend_send(struct frontend *front, __u32 request, const void *payload, __u32 bytes,
		   const int *files, __u32 count)
{
	return send_flags(front, request, 0, payload, bytes, files, count);
}

static bool receive_bytes(struct frontend *front, void *to, size_t bytes, int *file)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct pollfd polled = {.fd = front->socket, .events = POLLIN};
	struct iovec iov = {to, bytes};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (!bytes)
		return true;
	if (file) {
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
	}
	if (poll(&polled, 1, WAIT_MS) != 1 ||
	    recvmsg(front->socket, &header, MSG_WAITALL | MSG_CMSG_CLOEXEC) != (ssize_t)bytes)
		return false;
	c = file ? CMSG_FIRSTHDR(&header) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(file, CMSG_DATA(c), sizeof(*file));
	return true;
}

bool frontend_answer(struct frontend *front, __u32 request, void *payload, __u32 *bytes, int *file)
{
	struct vhost_user_header header;

	if (!receive_bytes(front, &header, sizeof(header), file))
		return false;
	assert_int_equal(header.request, request);
	assert_int_equal(header.flags, VHOST_USER_VERSION | VHOST_USER_FLAG_REPLY);
	assert_true(header.bytes <= *bytes);
	*bytes = header.bytes;
	return receive_bytes(front, payload, header.bytes, NULL);
}

int frontend_ask(struct frontend *front, __u32 request, const void *payload, __u32 bytes,
		 const int *files, __u32 count)
{
	__u32 length = sizeof(__u64);
	__u64 number;

	if (!send_flags(front, request, VHOST_USER_FLAG_NEED_REPLY, payload, bytes, files, count) ||
	    !frontend_answer(front, request, &number, &length, NULL))
		return -1;
	assert_int_equal(length, sizeof(number));
	return (int)number;
}

__u64 frontend_get(struct frontend *front, __u32 request)
{
	__u32 length = sizeof(__u64);
	__u64 number = 0;

	assert_true(frontend_send(front, request, "", 0, NULL, 0));
	assert_true(frontend_answer(front, request, &number, &length, NULL));
	return number;
}

__u64 frontend_physical(const struct frontend *front, __u64 guest_address)
{
	__u64 half = front->bytes / 2;

	if (front->iommu)
		return FRONTEND_IOVA + guest_address;
	return guest_address < half ? guest_address : guest_address - half + FRONTEND_HIGH;
}

int frontend_set_memory(struct frontend *front)
{
	__u64 half = front->bytes / 2;
	const struct vhost_user_memory memory = {
		.count = 2,
		.region = {{0, half, FRONTEND_USER, 0},
			   {FRONTEND_HIGH, half, FRONTEND_USER + half, half}},
	};
	int files[] = {front->file, front->file};

	return frontend_ask(front, VHOST_USER_SET_MEM_TABLE, &memory,
			    8 + 2 * sizeof(memory.region[0]), files, 2);
}

void frontend_negotiate(struct frontend *front, __u64 wanted)
{
	front->features = frontend_get(front, VHOST_USER_GET_FEATURES) & wanted;
	front->protocol = frontend_get(front, VHOST_USER_GET_PROTOCOL_FEATURES) &
			  (FRONTEND_PROTOCOL |
			   (front->iommu ? FRONTEND_BIT(VHOST_USER_PROTOCOL_F_BACKEND_REQ) : 0));
	assert_true(frontend_send(front, VHOST_USER_SET_PROTOCOL_FEATURES, &front->protocol,
				  sizeof(__u64), NULL, 0));
	assert_int_equal(frontend_ask(front, VHOST_USER_SET_OWNER, "", 0, NULL, 0), 0);
	assert_int_equal(frontend_ask(front, VHOST_USER_SET_FEATURES, &front->features,
				      sizeof(__u64), NULL, 0),
			 0);
	assert_int_equal(frontend_set_memory(front), 0);
}

void frontend_set_inflight(struct frontend *front, __u16 queues, __u16 size)
{
	struct vhost_user_inflight inflight = {.queues = queues, .queue_size = size};
	__u32 bytes = sizeof(inflight);

	if (front->inflight <= 0) {
		front->inflight_queues = queues;
		front->inflight_size = size;
		assert_true(frontend_send(front, VHOST_USER_GET_INFLIGHT_FD, &inflight, bytes, NULL,
					  0));
		assert_true(frontend_answer(front, VHOST_USER_GET_INFLIGHT_FD, &inflight, &bytes,
					    &front->inflight));
		assert_true(front->inflight > 0);
		front->inflight_bytes = inflight.bytes;
	}
	inflight.bytes = front->inflight_bytes;
	inflight.offset = 0;
	inflight.queues = front->inflight_queues;
	inflight.queue_size = front->inflight_size;
	assert_int_equal(frontend_ask(front, VHOST_USER_SET_INFLIGHT_FD, &inflight,
				      sizeof(inflight), &front->inflight, 1),
			 0);
}

void frontend_make_queue(struct frontend *front, __u16 index, __u32 size)
{
	struct frontend_queue *q = &front->queue[index];

	close_if(q->kick);
	close_if(q->call);
	close_if(q->error);
	memset(q, 0, sizeof(*q));
	q->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	q->call = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	q->error = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	q->index = index;
	q->size = size;
	q->rings = FRONTEND_RINGS + index * 0x10000ull;
	vring_init(&q->ring, size, front->memory + q->rings, PAGE_BYTES);
	memset(front->memory + q->rings, 0, vring_size(size, PAGE_BYTES));
}

static int ask_state(struct frontend *front, __u32 request, __u16 index, __u32 number)
{
	const struct vhost_user_vring_state state = {index, number};

	return frontend_ask(front, request, &state, sizeof(state), NULL, 0);
}

static int ask_event(struct frontend *front, __u32 request, __u16 index, int descriptor)
{
	const __u64 number = index;

	return frontend_ask(front, request, &number, sizeof(number), &descriptor, 1);
}

int frontend_start_queue(struct frontend *front, __u16 index, __u16 base)
{
	struct frontend_queue *q = &front->queue[index];
	__u64 user = front->iommu ? FRONTEND_IOVA : FRONTEND_USER;
	const struct vhost_user_vring_address address = {
		.index = index,
		.descriptors = user + q->rings,
		.available = user + ((unsigned char *)q->ring.avail - front->memory),
		.used = user + ((unsigned char *)q->ring.used - front->memory),
	};

	return ask_state(front, VHOST_USER_SET_VRING_NUM, index, q->size) |
	       ask_state(front, VHOST_USER_SET_VRING_BASE, index, base) |
	       frontend_ask(front, VHOST_USER_SET_VRING_ADDR, &address, sizeof(address), NULL, 0) |
	       ask_event(front, VHOST_USER_SET_VRING_KICK, index, q->kick) |
	       ask_event(front, VHOST_USER_SET_VRING_CALL, index, q->call) |
	       ask_event(front, VHOST_USER_SET_VRING_ERR, index, q->error) |
	       ask_state(front, VHOST_USER_SET_VRING_ENABLE, index, 1);
}

int frontend_stop_queue(struct frontend *front, __u16 index)
{
	struct vhost_user_vring_state state = {index, 0};
	__u32 bytes = sizeof(state);

	if (!frontend_send(front, VHOST_USER_GET_VRING_BASE, &state, sizeof(state), NULL, 0) ||
	    !frontend_answer(front, VHOST_USER_GET_VRING_BASE, &state, &bytes, NULL))
		return -1;
	assert_int_equal(state.index, index);
	return (int)state.number;
}

void frontend_descriptor(struct frontend *front, __u16 index, __u16 at, struct vring_desc value)
{
	memcpy(&front->queue[index].ring.desc[at], &value, sizeof(value));
}

void frontend_publish(struct frontend *front, __u16 index, __u16 head)
{
	struct frontend_queue *q = &front->queue[index];

	q->ring.avail->ring[q->published % q->size] = head;
	__atomic_store_n(&q->ring.avail->idx, ++q->published, __ATOMIC_SEQ_CST);
}

static __u64 own_of(const struct frontend_queue *q, __u16 head)
{
	return FRONTEND_OWN + (q->index * 0x40000ull) + head * OWN_BYTES;
}

/* A run of free descriptors of the table; -1. */
static int take_descriptors(struct frontend_queue *q, __u32 count)
{
	for (__u32 tried = 0; tried < q->size; tried++) {
		__u32 first = (q->next + tried) % q->size, run = 0;

		while (run < count && first + run < q->size && !q->busy[first + run])
			run++;
		if (run < count)
			continue;
		memset(q->busy + first, true, count);
		q->next = (__u16)((first + count) % q->size);
		return (int)first;
	}
	return -1;
}

static void fill_chain(struct frontend *front, struct vring_desc *table, __u16 first, __u64 own,
		       const struct frontend_io *io)
{
	bool in = io->type == VIRTIO_BLK_T_IN || io->type == VIRTIO_BLK_T_GET_ID;
	__u32 last = io->pieces + 1;

	table[0] =
		(struct vring_desc){frontend_physical(front, own), sizeof(struct virtio_blk_outhdr),
				    VRING_DESC_F_NEXT, (__u16)(first + 1)};
	for (__u32 i = 0; i < io->pieces; i++)
		table[1 + i] = (struct vring_desc){
			frontend_physical(front, io->piece[i].guest_address), io->piece[i].bytes,
			(__u16)(VRING_DESC_F_NEXT | (in ? VRING_DESC_F_WRITE : 0)),
			(__u16)(first + i + 2)};
	table[last] = (struct vring_desc){frontend_physical(front, own + OWN_STATUS), 1,
					  VRING_DESC_F_WRITE, 0};
}

unsigned char *frontend_status(struct frontend *front, __u16 index, __u16 head)
{
	return front->memory + own_of(&front->queue[index], head) + OWN_STATUS;
}

int frontend_submit(struct frontend *front, __u16 index, const struct frontend_io *io)
{
	struct frontend_queue *q = &front->queue[index];
	__u32 count = io->pieces + 2;
	int head = take_descriptors(q, io->indirect ? 1 : count);
	struct virtio_blk_outhdr header = {.type = io->type, .sector = io->sector};
	__u64 own;

	if (head < 0)
		return -1;
	own = own_of(q, (__u16)head);
	memcpy(front->memory + own, &header, sizeof(header));
	*frontend_status(front, index, (__u16)head) = 0xff;
	if (io->indirect) {
		fill_chain(front, (void *)(front->memory + own + OWN_TABLE), 0, own, io);
		frontend_descriptor(front, index, (__u16)head,
				    (struct vring_desc){frontend_physical(front, own + OWN_TABLE),
							(__u32)(count * sizeof(struct vring_desc)),
							VRING_DESC_F_INDIRECT, 0});
	} else {
		fill_chain(front, &q->ring.desc[head], (__u16)head, own, io);
	}
	frontend_publish(front, index, (__u16)head);
	return head;
}

void frontend_kick(struct frontend *front, __u16 index)
{
	const __u64 one = 1;

	assert_int_equal(write(front->queue[index].kick, &one, sizeof(one)), sizeof(one));
}

static void free_chain(struct frontend_queue *q, __u16 head)
{
	__u16 at = head;

	while (q->ring.desc[at].flags & VRING_DESC_F_NEXT) {
		q->busy[at] = false;
		at = q->ring.desc[at].next;
	}
	q->busy[at] = false;
}

int frontend_poll(struct frontend *front, __u16 index, __u32 *bytes)
{
	struct frontend_queue *q = &front->queue[index];
	struct vring_used_elem element;

	/* Where an interrupt is wanted, before the look. */
	vring_used_event(&q->ring) = q->reaped;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&q->ring.used->idx, __ATOMIC_ACQUIRE) == q->reaped)
		return -1;
	memcpy(&element, &q->ring.used->ring[q->reaped++ % q->size], sizeof(element));
	assert_true(element.id < q->size);
	assert_true(q->busy[element.id]);
	free_chain(q, (__u16)element.id);
	if (bytes)
		*bytes = element.len;
	return (int)element.id;
}

/* Behind an IOMMU another thread has its answers there. */
static short hang_up_events(const struct frontend *front)
{
	return front->iommu ? POLLRDHUP : POLLIN;
}

int frontend_reap(struct frontend *front, __u16 index, __u32 *bytes)
{
	struct frontend_queue *q = &front->queue[index];
	struct pollfd polled[] = {{.fd = q->call, .events = POLLIN},
				  {.fd = front->socket, .events = hang_up_events(front)},
				  {.fd = q->error, .events = POLLIN}};
	int head;
	__u64 count;

	while ((head = frontend_poll(front, index, bytes)) < 0) {
		if (poll(polled, 3, WAIT_MS) < 1 || polled[2].revents || polled[1].revents)
			return frontend_poll(front, index, bytes);
		if (read(q->call, &count, sizeof(count)) < 0)
			assert_int_equal(errno, EAGAIN);
	}
	return head;
}

int frontend_do(struct frontend *front, __u16 index, const struct frontend_io *io)
{
	int head = frontend_submit(front, index, io), done;

	assert_true(head >= 0);
	frontend_kick(front, index);
	done = frontend_reap(front, index, NULL);
	if (done < 0)
		return -1;
	assert_int_equal(done, head);
	return *frontend_status(front, index, (__u16)head);
}

bool frontend_broken(struct frontend *front, __u16 index)
{
	struct pollfd polled[] = {{.fd = front->queue[index].error, .events = POLLIN},
				  {.fd = front->socket, .events = hang_up_events(front)}};

	return poll(polled, 2, WAIT_MS) > 0 && polled[0].revents & POLLIN;
}
