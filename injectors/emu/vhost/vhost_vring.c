// SPDX-License-Identifier: GPL-2.0
/* Messages that set a queue up, start and stop it. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/vhost/vhost_private.h"

static struct vhost_queue *queue_named(struct vhost *vhost, __u32 index)
{
	if (index < vhost->config.queues)
		return &vhost->queue[index];
	failed(-EPROTO, "queue %u: accepted: below %u", index, vhost->config.queues);
	return NULL;
}

static void vring_close(int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

/* Contiguous bytes of the guest's memory, by their address in the front-end; or IOVAs, behind which pages may lie anywhere. */
static int part_find(struct vhost *vhost, __u64 address, __u64 bytes, __u64 align, const char *part,
		     __u64 *guest_address)
{
	__u64 together;
	int error;

	if (vhost_translates(vhost)) {
		*guest_address = address;
		together = ~address;
		error = 0;
	} else {
		error = memory_table_user(&vhost->table, address, guest_address, &together);
	}
	if (error || together < bytes || *guest_address & (align - 1))
		return failed(
			-EPROTO,
			"its %s at 0x%llx, %llu bytes: accepted: memory of one region, a multiple of %llu",
			part, address, bytes, align);
	return 0;
}

static int virtqueue_find(struct vhost_queue *q)
{
	struct vhost_ring ring = {.size = q->size};
	int error = part_find(q->vhost, q->descriptors_at, q->size * sizeof(struct vring_desc), 16,
			      "descriptor table", &ring.descriptors);

	if (!error)
		error = part_find(q->vhost, q->available_at, (3ull + q->size) * sizeof(__u16), 2,
				  "available ring", &ring.available);
	if (!error)
		error = part_find(q->vhost, q->used_at,
				  3 * sizeof(__u16) + q->size * sizeof(struct vring_used_elem), 4,
				  "used ring", &ring.used);
	if (!error)
		q->ring = ring;
	return error;
}

/* All that a start needs has been said. */
static bool vring_ready(const struct vhost_queue *q)
{
	bool enabled = q->enabled || !vhost_has(q->vhost, VHOST_USER_F_PROTOCOL_FEATURES);

	return q->size && q->addressed && (q->kick >= 0 || q->polled) && enabled &&
	       q->vhost->table.count && !q->broken;
}

static void say_driven(struct vhost *vhost)
{
	pthread_mutex_lock(&vhost->lock);
	vhost->driven = true;
	pthread_cond_broadcast(&vhost->changed);
	pthread_mutex_unlock(&vhost->lock);
}

void vring_start(struct vhost_queue *q)
{
	int error;

	if (!vring_ready(q))
		return;
	error = virtqueue_find(q);
	if (!error)
		error = queue_slots(q);
	if (!error && q->vhost->inflight) {
		q->inflight = inflight_queue(q->vhost->inflight, q->index, (__u16)q->size);
		error = q->inflight ? 0
				    : failed(-EPROTO,
					     "the in-flight region has no queue of %u requests",
					     q->size);
	}
	if (error) {
		failed_in(error, "queue %u does not start", q->index);
		vhost_say(q->vhost, failure_text());
		q->broken = true;
		atomic_fetch_add(&q->vhost->broken, 1);
		/* What it had begun is not the memory's any more that there is now. */
		if (q->started)
			queue_order(q, QUEUE_ABANDON);
		return;
	}
	if (!q->started)
		q->recovered = false;
	q->started = true;
	queue_order(q, QUEUE_RUN);
	if (!q->index)
		say_driven(q->vhost);
}

static void vring_hold(struct vhost_queue *q)
{
	if (q->started)
		queue_order(q, QUEUE_HOLD);
}

void vrings_hold(struct vhost *vhost)
{
	for (__u16 i = 0; i < vhost->config.queues; i++)
		vring_hold(&vhost->queue[i]);
}

void vrings_resume(struct vhost *vhost)
{
	for (__u16 i = 0; i < vhost->config.queues; i++)
		vring_start(&vhost->queue[i]);
}

static void vring_stop(struct vhost_queue *q, enum queue_order order)
{
	if (q->started)
		queue_order(q, order);
	q->started = false;
	q->broken = false;
	q->inflight = NULL;
	q->polled = false;
	vring_close(&q->kick);
}

void vrings_reset(struct vhost *vhost)
{
	for (__u16 i = 0; i < vhost->config.queues; i++) {
		struct vhost_queue *q = &vhost->queue[i];

		vring_stop(q, QUEUE_ABANDON);
		vring_close(&q->call);
		vring_close(&q->error);
		q->addressed = q->enabled = false;
		q->size = 0;
		q->base = 0;
	}
}

int vhost_set_vring_num(struct vhost *vhost, struct vhost_user_message *message,
			struct vhost_files *files)
{
	__u32 size = message->payload.state.number;
	struct vhost_queue *q = queue_named(vhost, message->payload.state.index);

	(void)files;
	if (!q)
		return -EPROTO;
	if (!size || size > VHOST_SIZE_MAX || size & (size - 1))
		return failed(-EPROTO, "a queue of %u: accepted: powers of two up to %d", size,
			      VHOST_SIZE_MAX);
	if (q->started)
		return failed(-EPROTO, "queue %u runs", q->index);
	q->size = size;
	return 0;
}

int vhost_set_vring_addr(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	const struct vhost_user_vring_address *address = &message->payload.address;
	struct vhost_queue *q = queue_named(vhost, address->index);

	(void)files;
	if (!q)
		return -EPROTO;
	vring_hold(q);
	q->descriptors_at = address->descriptors;
	q->available_at = address->available;
	q->used_at = address->used;
	q->addressed = true;
	vring_start(q);
	return 0;
}

int vhost_set_vring_base(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	struct vhost_queue *q = queue_named(vhost, message->payload.state.index);

	(void)files;
	if (!q)
		return -EPROTO;
	if (q->started)
		return failed(-EPROTO, "queue %u runs", q->index);
	q->base = (__u16)message->payload.state.number;
	return 0;
}

int vhost_get_vring_base(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	struct vhost_queue *q = queue_named(vhost, message->payload.state.index);

	(void)files;
	if (!q)
		return -EPROTO;
	vring_stop(q, QUEUE_DRAIN);
	message->payload.state.number = q->base;
	return vhost_reply(vhost, message, sizeof(message->payload.state), -1);
}

/* What can be read and written like one and is none could keep a queue's thread for good. */
static bool is_eventfd(int descriptor)
{
	char path[40], name[40];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	length = readlink(path, name, sizeof(name) - 1);
	name[length > 0 ? length : 0] = 0;
	return !strcmp(name, "anon_inode:[eventfd]") &&
	       !fcntl(descriptor, F_SETFL, O_NONBLOCK | O_RDWR);
}

/*
 * Stops the queue, as vring_hold() does, and puts the descriptor that comes with KICK, CALL or ERR in its `member`: -1 where the message
 * says there is none.
 */
static int event_take(struct vhost *vhost, const struct vhost_user_message *message,
		      struct vhost_files *files, size_t member, struct vhost_queue **q)
{
	__u64 number = message->payload.number;
	bool none = number & VHOST_USER_VRING_NO_FD;
	int *descriptor;

	*q = queue_named(vhost, number & VHOST_USER_VRING_INDEX);
	if (!*q)
		return -EPROTO;
	if (number & ~(__u64)(VHOST_USER_VRING_INDEX | VHOST_USER_VRING_NO_FD) ||
	    files->count != !none)
		return failed(-EPROTO, "queue word 0x%llx and %u descriptors", number,
			      files->count);
	if (!none && !is_eventfd(files->file[0]))
		return failed(-EPROTO, "a descriptor that is no eventfd, for queue %u",
			      (*q)->index);
	descriptor = (int *)((char *)*q + member);
	vring_hold(*q);
	vring_close(descriptor);
	*descriptor = vhost_files_take(files, 0);
	return 0;
}

int vhost_set_vring_kick(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	struct vhost_queue *q;
	int error = event_take(vhost, message, files, offsetof(struct vhost_queue, kick), &q);

	if (error)
		return error;
	q->polled = q->kick < 0;
	vring_start(q);
	return 0;
}

int vhost_set_vring_call(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	struct vhost_queue *q;
	int error = event_take(vhost, message, files, offsetof(struct vhost_queue, call), &q);

	if (error)
		return error;
	/*
	 * QEMU unmasks an interrupt by another descriptor, and looks before we have it whether the old one was signalled: what was
	 * between the two is signalled again. So is what a device that died had yet to signal. One too many is nothing to a driver.
	 */
	if (q->call >= 0 && write(q->call, &(__u64){1}, sizeof(__u64)) < 0 && errno != EAGAIN)
		fprintf(stderr, "faultline: %s: queue %u cannot be signalled: %s\n",
			vhost->config.name, q->index, strerror(errno));
	vring_start(q);
	return 0;
}

int vhost_set_vring_err(struct vhost *vhost, struct vhost_user_message *message,
			struct vhost_files *files)
{
	struct vhost_queue *q;
	int error = event_take(vhost, message, files, offsetof(struct vhost_queue, error), &q);

	if (error)
		return error;
	vring_start(q);
	return 0;
}

int vhost_set_vring_enable(struct vhost *vhost, struct vhost_user_message *message,
			   struct vhost_files *files)
{
	struct vhost_queue *q = queue_named(vhost, message->payload.state.index);

	(void)files;
	if (!q)
		return -EPROTO;
	if (message->payload.state.number > 1)
		return failed(-EPROTO, "%u: accepted: 0 or 1", message->payload.state.number);
	vring_hold(q);
	q->enabled = message->payload.state.number;
	vring_start(q);
	return 0;
}
