// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/library.h"

static int srq_open(struct library_srq *srq, struct ibv_pd *pd, struct ibv_srq_attr *wanted)
{
	struct library_device *device = device_of_context(pd->context);
	__u64 address;
	int error;

	srq->depth = wanted->max_wr ? depth_of(wanted->max_wr, device->limits.depth) : 0;
	if (!srq->depth || wanted->max_sge > VERBS_SGE_MAX)
		return -EINVAL;
	srq->bytes = verbs_shared_bytes(srq->depth);
	srq->memory = library_memory(device, &srq->bytes, &address);
	if (!srq->memory)
		return -ENOMEM;
	error = verbs_create_srq(device->verbs, &srq->verbs, address, srq->depth, pd->handle);
	if (error)
		guest_free(device->verbs, srq->memory, srq->bytes);
	return error;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *wanted)
{
	struct library_srq *srq = calloc(1, sizeof(*srq));
	int error = srq ? srq_open(srq, pd, &wanted->attr) : -ENOMEM;

	if (error) {
		free(srq);
		return library_refused(device_of_context(pd->context), "a shared receive queue",
				       error);
	}
	wanted->attr.max_wr = srq->depth;
	wanted->attr.max_sge = VERBS_SGE_MAX;
	srq->srq = (struct ibv_srq){
		.context = pd->context, .srq_context = wanted->srq_context, .pd = pd};
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	pthread_spin_init(&srq->post, PTHREAD_PROCESS_PRIVATE);
	return &srq->srq;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attributes)
{
	*attributes = (struct ibv_srq_attr){.max_wr = ((struct library_srq *)srq)->depth,
					    .max_sge = VERBS_SGE_MAX};
	return 0;
}

/* Neither its size nor a limit to be told of. */
int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attributes, int mask)
{
	(void)srq, (void)attributes;
	return mask ? EOPNOTSUPP : 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct library_srq *own = (struct library_srq *)srq;
	struct library_device *device = device_of_context(srq->context);
	int error = verbs_destroy_srq(own->verbs);

	if (error && error != -EPIPE)
		return -error;
	guest_free(device->verbs, own->memory, own->bytes);
	pthread_spin_destroy(&own->post);
	free(own);
	return 0;
}
