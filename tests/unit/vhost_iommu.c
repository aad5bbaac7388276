// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include "tests/unit/vhost_iommu.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void frontend_iommu_open(struct frontend_iommu *iommu, struct frontend *front)
{
	memset(iommu, 0, sizeof(*iommu));
	iommu->front = front;
	iommu->channel = -1;
	pthread_mutex_init(&iommu->lock, NULL);
	for (__u64 i = 0; i < IOMMU_PAGES; i++) {
		iommu->page[i] = i * PAGE_BYTES;
		iommu->permissions[i] = 3;
	}
	front->iommu = iommu;
}

/* With the lock. */
static int iotlb_send(struct frontend_iommu *iommu, __u8 type, __u64 iova, __u64 bytes, __u64 user,
		      __u8 permissions)
{
	const struct vhost_user_iotlb message = {
		.iova = iova,
		.bytes = bytes,
		.user = user,
		.permissions = permissions,
		.type = type,
	};

	return frontend_ask(iommu->front, VHOST_USER_IOTLB_MSG, &message, sizeof(message), NULL, 0);
}

int frontend_iotlb(struct frontend_iommu *iommu, __u8 type, __u64 iova, __u64 bytes, __u64 user,
		   __u8 permissions)
{
	int result;

	pthread_mutex_lock(&iommu->lock);
	result = iotlb_send(iommu, type, iova, bytes, user, permissions);
	pthread_mutex_unlock(&iommu->lock);
	return result;
}

/* Returns what the answer to it says. */
static __u64 answer_miss(struct frontend_iommu *iommu, const struct vhost_user_iotlb *miss)
{
	__u64 place = (miss->iova - FRONTEND_IOVA) / PAGE_BYTES, count;
	int result = 1;

	assert_int_equal(miss->type, VHOST_USER_IOTLB_MISS);
	assert_int_equal(miss->iova % PAGE_BYTES, 0);
	count = atomic_fetch_add(&iommu->misses, 1);
	if (atomic_load(&iommu->empty))
		return 0;
	pthread_mutex_lock(&iommu->lock);
	if (miss->iova >= FRONTEND_IOVA && iommu->page[place] != IOMMU_NOTHING &&
	    !(miss->permissions & ~iommu->permissions[place])) {
		result = iotlb_send(iommu, VHOST_USER_IOTLB_UPDATE, miss->iova, PAGE_BYTES,
				    FRONTEND_USER + iommu->page[place], iommu->permissions[place]);
		atomic_fetch_add(&iommu->updates, 1);
		if (!result && atomic_load(&iommu->fickle) && count % 3 == 2)
			result = iotlb_send(iommu, VHOST_USER_IOTLB_INVALIDATE, miss->iova,
					    PAGE_BYTES, 0, 0);
	}
	pthread_mutex_unlock(&iommu->lock);
	return result != 0;
}

static void *iommu_run(void *argument)
{
	struct frontend_iommu *iommu = argument;
	struct {
		struct vhost_user_header header;
		unsigned char iotlb[sizeof(struct vhost_user_iotlb)];
	} message;
	struct {
		struct vhost_user_header header;
		unsigned char number[sizeof(__u64)];
	} answer;

	while (recv(iommu->channel, &message, sizeof(message), MSG_WAITALL) == sizeof(message)) {
		struct vhost_user_iotlb miss;
		__u64 number;

		assert_int_equal(message.header.request, VHOST_USER_BACKEND_IOTLB_MSG);
		assert_int_equal(message.header.flags,
				 VHOST_USER_VERSION | VHOST_USER_FLAG_NEED_REPLY);
		assert_int_equal(message.header.bytes, sizeof(miss));
		if (atomic_load(&iommu->silent))
			continue;
		memcpy(&miss, message.iotlb, sizeof(miss));
		number = answer_miss(iommu, &miss);
		answer.header = (struct vhost_user_header){
			VHOST_USER_BACKEND_IOTLB_MSG, VHOST_USER_VERSION | VHOST_USER_FLAG_REPLY,
			sizeof(number)};
		memcpy(answer.number, &number, sizeof(number));
		(void)send(iommu->channel, &answer, sizeof(answer), MSG_NOSIGNAL);
	}
	return NULL;
}

void frontend_iommu_start(struct frontend_iommu *iommu)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	iommu->channel = pair[0];
	assert_int_equal(
		frontend_ask(iommu->front, VHOST_USER_SET_BACKEND_REQ_FD, "", 0, &pair[1], 1), 0);
	close(pair[1]);
	assert_int_equal(pthread_create(&iommu->thread, NULL, iommu_run, iommu), 0);
}

void frontend_iommu_close(struct frontend_iommu *iommu)
{
	shutdown(iommu->channel, SHUT_RDWR);
	pthread_join(iommu->thread, NULL);
	close(iommu->channel);
	pthread_mutex_destroy(&iommu->lock);
	iommu->front->iommu = NULL;
}

void frontend_iommu_map(struct frontend_iommu *iommu, __u64 at, __u64 guest_address,
			__u8 permissions)
{
	pthread_mutex_lock(&iommu->lock);
	iommu->page[at / PAGE_BYTES] = guest_address;
	iommu->permissions[at / PAGE_BYTES] = permissions;
	assert_int_equal(iotlb_send(iommu, VHOST_USER_IOTLB_INVALIDATE, FRONTEND_IOVA + at,
				    PAGE_BYTES, 0, 0),
			 0);
	pthread_mutex_unlock(&iommu->lock);
}
