// SPDX-License-Identifier: GPL-2.0
/* Protection domains, and regions of whatever memory a program has. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/library.h"

#define PAGE 4096

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	__u32 number;
	int error = pd ? verbs_alloc_pd(device_of_context(context)->verbs, &number) : -ENOMEM;

	if (error) {
		free(pd);
		return library_refused(device_of_context(context), "a protection domain", error);
	}
	pd->context = context;
	pd->handle = number;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int error = verbs_dealloc_pd(device_of_context(pd->context)->verbs, pd->handle);

	if (error)
		return -error;
	free(pd);
	return 0;
}

/* All that there are, by their addresses: one that a program gives back twice is none any more. */
static void *regions;
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;

static int by_address(const void *one, const void *other)
{
	return one < other ? -1 : one > other;
}

static bool region_add(const struct library_mr *mr)
{
	void *added;

	pthread_mutex_lock(&regions_lock);
	added = tsearch(mr, &regions, by_address);
	pthread_mutex_unlock(&regions_lock);
	return added;
}

/* Was it one? */
static bool region_remove(const struct library_mr *mr)
{
	void *removed;

	pthread_mutex_lock(&regions_lock);
	removed = tdelete(mr, &regions, by_address);
	pthread_mutex_unlock(&regions_lock);
	return removed;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned int access)
{
	struct library_device *device = device_of_context(pd->context);
	struct library_mr *mr = calloc(1, sizeof(*mr));
	enum verbs_region kind = device->hello->mode == RDMA_MODE_ODP ? VERBS_DEMAND : VERBS_PINNED;
	unsigned int rights;
	bool on_demand;
	bool added = mr && region_add(mr);
	int error = added ? rights_of_access(access, &rights, &on_demand) : -ENOMEM;

	/* A region's first page holds its first byte, wherever work requests say that is. */
	if (!error && ((on_demand && kind != VERBS_DEMAND) || (iova ^ (uintptr_t)address) % PAGE))
		error = -EOPNOTSUPP;
	if (!error)
		error = guest_reg_mr(device->verbs, &mr->region, pd->handle, address, length, iova,
				     kind, rights);
	if (error) {
		if (added)
			region_remove(mr);
		free(mr);
		return library_refused(device, "a region", error);
	}
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = address,
		.length = length,
		.handle = mr->region.mr.key,
		.lkey = mr->region.mr.key,
		.rkey = mr->region.mr.key,
	};
	return &mr->mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned int)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, address, length, iova, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct library_mr *own = (struct library_mr *)mr;
	int error;

	/* It is not looked into before: what is gone is anybody's memory. */
	if (!region_remove(own))
		return EINVAL;
	error = guest_dereg_mr(device_of_context(mr->context)->verbs, &own->region);
	/* A device that has gone has no regions. */
	if (error && error != -EPIPE) {
		(void)region_add(own);
		return -error;
	}
	free(mr);
	return 0;
}
