// SPDX-License-Identifier: GPL-2.0
/* Translations that are not known: asked for on the front-end's channel, and answered in the order of the questions. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/vhost/vhost_private.h"
#include "lib/base/clock.h"

/* Until it is asked for again what was answered without an UPDATE; doubled each time. */
#define AGAIN_NS	NSEC_PER_MSEC
#define AGAIN_DOUBLINGS 6

void vhost_iotlb_wake(struct vhost *vhost)
{
	for (__u16 i = 0; i < vhost->config.queues; i++)
		if (atomic_load(&vhost->queue[i].iotlb.waits))
			queue_wake(&vhost->queue[i]);
	if (!atomic_load(&vhost->staging))
		return;
	pthread_mutex_lock(&vhost->lock);
	pthread_cond_broadcast(&vhost->changed);
	pthread_mutex_unlock(&vhost->lock);
}

/* With the lock: one message, or none of it. */
static int miss_send(struct vhost *vhost, const struct iotlb_miss *miss)
{
	const struct vhost_user_message message = {
		.header = {VHOST_USER_BACKEND_IOTLB_MSG,
			   VHOST_USER_VERSION | VHOST_USER_FLAG_NEED_REPLY,
			   sizeof(message.payload.iotlb)},
		.payload.iotlb = {.iova = miss->page,
				  .permissions = (__u8)miss->permissions,
				  .type = VHOST_USER_IOTLB_MISS},
	};
	struct iovec iov[] = {
		{(void *)&message.header, sizeof(message.header)},
		{(void *)&message.payload, sizeof(message.payload.iotlb)},
	};
	const struct msghdr header = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t sent;

	if (vhost->backend < 0)
		return -EINVAL;
	sent = sendmsg(vhost->backend, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent == (ssize_t)(iov[0].iov_len + iov[1].iov_len))
		return 0;
	return sent < 0 && (errno == EAGAIN || errno == EINTR) ? -EBUSY : -EINVAL;
}

/* With the lock: the number of a question for it that is under way; 0: none. */
static __u64 miss_under_way(const struct vhost_iotlb *iotlb, __u64 page, __u32 permissions)
{
	for (__u64 i = iotlb->answered; i < iotlb->asked; i++) {
		const struct iotlb_miss *miss = &iotlb->miss[i % VHOST_IOTLB_MISSES];

		if (miss->page == page && miss->permissions == permissions &&
		    miss->state == IOTLB_ASKED)
			return i;
	}
	return 0;
}

/* With the lock: what was asked by that number, as long as it is remembered. */
static const struct iotlb_miss *miss_numbered(const struct vhost_iotlb *iotlb, __u64 number)
{
	return number && number < iotlb->asked && number + VHOST_IOTLB_MISSES >= iotlb->asked
		       ? &iotlb->miss[number % VHOST_IOTLB_MISSES]
		       : NULL;
}

/*
 * With the lock, of one that was asked for before. A front-end that answers and never tells would be asked for ever, as fast
 * as it answers.
 */
static int miss_again(const struct iotlb_miss *before, struct iotlb_miss *wanted)
{
	__u64 since;

	if (before->page != wanted->page || before->permissions != wanted->permissions)
		return 0;
	if (before->state == IOTLB_REFUSED)
		return -EINVAL;
	since = monotonic_ns() - before->untold_ns;
	if (before->state != IOTLB_TOLD || !before->untold_ns || since > NSEC_PER_SEC)
		return 0;
	wanted->again = before->again < AGAIN_DOUBLINGS ? before->again + 1 : AGAIN_DOUBLINGS;
	return since < AGAIN_NS << before->again ? -EBUSY : 0;
}

static int ask_locked(struct vhost *vhost, struct iotlb_miss *wanted, __u64 *number)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;
	const struct iotlb_miss *before = miss_numbered(iotlb, *number);
	int error = before ? miss_again(before, wanted) : 0;

	if (error)
		return error;
	*number = miss_under_way(iotlb, wanted->page, wanted->permissions);
	if (*number)
		return 0;
	if (iotlb->asked - iotlb->answered == VHOST_IOTLB_MISSES)
		return -EBUSY;
	error = miss_send(vhost, wanted);
	if (error)
		return error;
	*number = iotlb->asked++;
	iotlb->miss[*number % VHOST_IOTLB_MISSES] = *wanted;
	iotlb->stats.misses++;
	return 0;
}

int vhost_iotlb_ask(struct vhost *vhost, __u64 iova, bool write, __u64 *miss)
{
	struct iotlb_miss wanted = {.page = iova & ~(PAGE_BYTES - 1),
				    .permissions = write ? IOVA_WRITE : IOVA_READ,
				    .state = IOTLB_ASKED};
	int error;

	pthread_mutex_lock(&vhost->iotlb.lock);
	error = ask_locked(vhost, &wanted, miss);
	pthread_mutex_unlock(&vhost->iotlb.lock);
	if (error == -EINVAL)
		*miss = 0;
	return error;
}

bool vhost_iotlb_answered(struct vhost *vhost, __u64 number)
{
	const struct iotlb_miss *miss;
	bool answered;

	pthread_mutex_lock(&vhost->iotlb.lock);
	miss = miss_numbered(&vhost->iotlb, number);
	answered = !miss || miss->state != IOTLB_ASKED;
	pthread_mutex_unlock(&vhost->iotlb.lock);
	return answered;
}

void vhost_iotlb_channel(struct vhost *vhost, int channel)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;

	pthread_mutex_lock(&iotlb->lock);
	if (vhost->backend >= 0)
		close(vhost->backend);
	vhost->backend = channel;
	iotlb->answer_bytes = 0;
	/* Nobody answers them: they are asked anew. */
	for (; iotlb->answered < iotlb->asked; iotlb->answered++)
		if (iotlb->miss[iotlb->answered % VHOST_IOTLB_MISSES].state == IOTLB_ASKED)
			iotlb->miss[iotlb->answered % VHOST_IOTLB_MISSES].state = IOTLB_TOLD;
	pthread_mutex_unlock(&iotlb->lock);
	vhost_iotlb_wake(vhost);
}

/* The answer to the oldest question. */
static int answer_take(struct vhost *vhost, const struct vhost_user_header *header, __u64 number)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;
	struct iotlb_miss miss = {0};
	bool refused = false;

	pthread_mutex_lock(&iotlb->lock);
	if (header->request == VHOST_USER_BACKEND_IOTLB_MSG &&
	    header->flags & VHOST_USER_FLAG_REPLY && header->bytes == sizeof(number) &&
	    iotlb->answered < iotlb->asked) {
		struct iotlb_miss *of = &iotlb->miss[iotlb->answered++ % VHOST_IOTLB_MISSES];

		refused = number && of->state == IOTLB_ASKED;
		if (of->state == IOTLB_ASKED)
			of->untold_ns = monotonic_ns();
		of->state = refused ? IOTLB_REFUSED : IOTLB_TOLD;
		iotlb->stats.refused += refused;
		miss = *of;
	}
	pthread_mutex_unlock(&iotlb->lock);
	if (!miss.permissions)
		return failed(-EPROTO, "an answer %u with flags 0x%x and %u bytes to no IOTLB MISS",
			      header->request, header->flags, header->bytes);
	if (refused) {
		failed(-EFAULT, "a %s of the page at IOVA 0x%llx, which its IOMMU maps nowhere",
		       miss.permissions & IOVA_WRITE ? "write" : "read", miss.page);
		vhost_say(vhost, failure_text());
	}
	vhost_iotlb_wake(vhost);
	return 0;
}

int vhost_iotlb_answer(struct vhost *vhost)
{
	struct vhost_iotlb *iotlb = &vhost->iotlb;
	struct vhost_user_header header;
	__u64 number;
	ssize_t got;

	for (;;) {
		got = recv(vhost->backend, iotlb->answer + iotlb->answer_bytes,
			   sizeof(iotlb->answer) - iotlb->answer_bytes, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (got <= 0) {
			vhost_iotlb_channel(vhost, -1);
			return 0;
		}
		iotlb->answer_bytes += (__u32)got;
		if (iotlb->answer_bytes < sizeof(iotlb->answer))
			continue;
		iotlb->answer_bytes = 0;
		memcpy(&header, iotlb->answer, sizeof(header));
		memcpy(&number, iotlb->answer + sizeof(header), sizeof(number));
		if (answer_take(vhost, &header, number))
			return -EPROTO;
	}
}
