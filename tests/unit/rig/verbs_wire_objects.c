// SPDX-License-Identifier: GPL-2.0
/* What is made and gone again, and memory. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "injectors/guest/guest_open.h"
#include "tests/unit/rig/verbs_wire_private.h"

int guest_open(struct verbs_device **out, int socket)
{
	struct verbs_device *device = calloc(1, sizeof(*device));

	if (!device)
		return -ENOMEM;
	if (recv(socket, &device->hello, sizeof(device->hello), 0) != sizeof(device->hello)) {
		free(device);
		return -EPROTO;
	}
	device->socket = socket;
	device->alarm = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_mutex_init(&device->lock, NULL);
	if (pthread_create(&device->thread, NULL, wire_main, device)) {
		free(device);
		return -EAGAIN;
	}
	*out = device;
	return 0;
}

const struct hyv_hello *guest_hello(const struct verbs_device *device)
{
	return &device->hello;
}

void guest_close(struct verbs_device *device)
{
	shutdown(device->socket, SHUT_RDWR);
	pthread_join(device->thread, NULL);
	free(device);
}

pid_t guest_fork(pid_t (*real)(void))
{
	return real();
}

void *guest_allocate(struct verbs_device *device, __u64 bytes, __u64 *guest_address)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)device;
	*guest_address = (uintptr_t)memory;
	if (memory == MAP_FAILED)
		return NULL;
	wire_count(&wire_counts.allocated, (__s64)bytes);
	return memory;
}

void guest_free(struct verbs_device *device, void *memory, __u64 bytes)
{
	(void)device;
	munmap(memory, bytes);
	wire_count(&wire_counts.allocated, -(__s64)bytes);
}

int guest_reg_mr(struct verbs_device *device, struct guest_mr *region, __u32 domain, void *address,
		 __u64 bytes, __u64 iova, enum verbs_region kind, unsigned int rights)
{
	__u64 inside = iova % 4096;
	const struct verbs_range range = {.address = iova,
					  .bytes = bytes,
					  .page_count = (__u32)((inside + bytes + 4095) / 4096)};
	int error;

	if (!bytes || (__u64)address + bytes < bytes || (iova ^ (__u64)address) % 4096)
		return -EINVAL;
	*region = (struct guest_mr){.address = address, .bytes = bytes, .adopted = true};
	error = verbs_reg_range(device, &region->mr, domain, &range, kind, rights);
	if (!error)
		wire_count(&wire_counts.adopted_pages, range.page_count);
	return error;
}

int guest_dereg_mr(struct verbs_device *device, struct guest_mr *region)
{
	return verbs_dereg_mr(device, &region->mr);
}

int verbs_query_device(struct verbs_device *device, struct verbs_limits *limits)
{
	(void)device;
	*limits = (struct verbs_limits){.queue_pairs = WIRE_PAIRS,
					.queues = 256,
					.regions = WIRE_REGIONS,
					.depth = WIRE_DEPTH,
					.pieces = VERBS_SGE_MAX,
					.mtu = 4096};
	return 0;
}

int verbs_alloc_pd(struct verbs_device *device, __u32 *domain)
{
	*domain = __atomic_add_fetch(&device->domains, 1, __ATOMIC_RELAXED);
	wire_count(&wire_counts.domains, 1);
	return 0;
}

int verbs_dealloc_pd(struct verbs_device *device, __u32 domain)
{
	for (int i = 0; i < WIRE_REGIONS; i++)
		if (device->regions[i].mr.key && device->regions[i].domain == domain)
			return -EBUSY;
	wire_count(&wire_counts.domains, -1);
	return 0;
}

int verbs_reg_range(struct verbs_device *device, struct verbs_mr *mr, __u32 domain,
		    const struct verbs_range *range, enum verbs_region kind, unsigned int rights)
{
	__u64 inside = range->address % 4096;

	if (wire_refuse)
		return wire_refuse;
	if (range->page_count != (inside + range->bytes + 4095) / 4096)
		return -EINVAL;
	pthread_mutex_lock(&device->lock);
	for (__u32 i = 1; i < WIRE_REGIONS; i++) {
		struct wire_region *region = &device->regions[i];

		if (region->mr.key)
			continue;
		*mr = (struct verbs_mr){.key = i + WIRE_REGIONS * 3,
					.address = range->address,
					.bytes = range->bytes,
					.kind = kind};
		*region = (struct wire_region){.mr = *mr, .domain = domain, .rights = rights};
		pthread_mutex_unlock(&device->lock);
		wire_count(&wire_counts.regions, 1);
		return 0;
	}
	pthread_mutex_unlock(&device->lock);
	return -ENOSPC;
}

int verbs_dereg_mr(struct verbs_device *device, const struct verbs_mr *mr)
{
	pthread_mutex_lock(&device->lock);
	device->regions[mr->key % WIRE_REGIONS].mr.key = 0;
	pthread_mutex_unlock(&device->lock);
	wire_count(&wire_counts.regions, -1);
	return 0;
}

int verbs_create_srq(struct verbs_device *device, struct verbs_srq **srq, __u64 guest_address,
		     __u32 depth, __u32 domain)
{
	(void)guest_address, (void)domain;
	*srq = calloc(1, sizeof(**srq));
	if (!*srq)
		return -ENOMEM;
	(*srq)->device = device;
	(*srq)->receives.depth = depth;
	wire_count(&wire_counts.shared, 1);
	return 0;
}

int verbs_destroy_srq(struct verbs_srq *srq)
{
	free(srq);
	wire_count(&wire_counts.shared, -1);
	return 0;
}

int verbs_create_cq(struct verbs_device *device, struct verbs_queue **out, __u64 guest_address,
		    __u32 depth)
{
	struct verbs_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	*queue = (struct verbs_queue){.device = device, .depth = depth, .armed = VERBS_UNARMED};
	queue->entries = (void *)(uintptr_t)guest_address;
	*out = queue;
	wire_count(&wire_counts.queues, 1);
	return 0;
}

int verbs_destroy_cq(struct verbs_queue *queue)
{
	if (queue->users)
		return -EBUSY;
	free(queue);
	wire_count(&wire_counts.queues, -1);
	return 0;
}

int verbs_create_qp_of(struct verbs_device *device, struct verbs_pair **out,
		       const struct verbs_pair_attributes *attributes, __u32 domain,
		       struct verbs_srq *srq)
{
	struct verbs_pair *pair = calloc(1, sizeof(*pair));
	int error = -ENOSPC;

	if (!pair)
		return -ENOMEM;
	*pair = (struct verbs_pair){.device = device,
				    .send_queue = attributes->send_queue,
				    .receive_queue = attributes->receive_queue,
				    .srq = srq,
				    .domain = domain,
				    .send_depth = attributes->send_depth};
	pair->own.depth = attributes->receive_depth;
	pthread_mutex_lock(&device->lock);
	for (__u32 i = 0; i < WIRE_PAIRS && error; i++)
		if (!device->pairs[i]) {
			pair->number = i + WIRE_PAIRS * 5;
			device->pairs[i] = pair;
			pair->send_queue->users++;
			pair->receive_queue->users++;
			error = 0;
		}
	pthread_mutex_unlock(&device->lock);
	if (error)
		free(pair);
	else
		wire_count(&wire_counts.pairs, 1);
	*out = pair;
	return error;
}

int verbs_destroy_qp(struct verbs_pair *pair)
{
	struct verbs_device *device = pair->device;

	pthread_mutex_lock(&device->lock);
	device->pairs[pair->number % WIRE_PAIRS] = NULL;
	pair->send_queue->users--;
	pair->receive_queue->users--;
	pthread_mutex_unlock(&device->lock);
	free(pair);
	wire_count(&wire_counts.pairs, -1);
	return 0;
}

__u32 verbs_pair_number(const struct verbs_pair *pair)
{
	return pair->number;
}

int verbs_modify_qp(struct verbs_pair *pair, enum verbs_pair_state state, __u32 peer, bool loopback)
{
	pthread_mutex_lock(&pair->device->lock);
	pair->state = state;
	if (state == VERBS_RTR)
		pair->peer = peer;
	wire_serve(pair->device);
	pthread_mutex_unlock(&pair->device->lock);
	wire_count(&wire_counts.loopbacks, loopback);
	return 0;
}

int verbs_query_qp(struct verbs_pair *pair, enum verbs_pair_state *state)
{
	*state = pair->state;
	return 0;
}
