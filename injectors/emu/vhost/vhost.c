// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/vhost/vhost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/emu/memory_views.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/vhost/vhost_private.h"

#define SENTENCES 32 /* of a device: a guest can make one as often as it likes */

void vhost_say(struct vhost *vhost, const char *what)
{
	__u32 said = atomic_fetch_add(&vhost->said, 1);

	if (said < SENTENCES)
		fprintf(stderr, "faultline: %s: %s\n", vhost->config.name, what);
	else if (said == SENTENCES)
		fprintf(stderr, "faultline: %s: more is only counted\n", vhost->config.name);
}

static int vhost_config_check(const struct vhost_config *config, struct stat *status)
{
	if (!config->queues || config->queues > VHOST_QUEUES_MAX)
		return failed(-EINVAL, "queues=%u: accepted: 1 to %d", config->queues,
			      VHOST_QUEUES_MAX);
	if (strlen(config->socket) >= sizeof(((struct vhost *)0)->path))
		return failed(-EINVAL, "socket=%s: accepted: at most %zu characters",
			      config->socket, sizeof(((struct vhost *)0)->path) - 1);
	if (fstat(guest_memory_file(config->memory), status))
		return failed(-EINVAL,
			      "a device of a virtual machine is of a tenant with backend=vm");
	return 0;
}

static void queues_prepare(struct vhost *vhost)
{
	for (__u16 i = 0; i < vhost->config.queues; i++) {
		struct vhost_queue *q = &vhost->queue[i];

		q->vhost = vhost;
		q->index = i;
		q->kick = q->call = q->error = q->wake = -1;
	}
}

static int threads_start(struct vhost *vhost)
{
	int error = 0;

	vhost->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (vhost->stop < 0)
		return failed(-errno, "cannot make an eventfd: %s", strerror(errno));
	for (__u16 i = 0; i < vhost->config.queues && !error; i++)
		error = queue_create(&vhost->queue[i]);
	if (!error)
		error = vhost_listen(vhost);
	if (!error)
		error = thread_start(&vhost->control, NULL, vhost_control_thread, vhost,
				     "vhost-control");
	vhost->control_running = !error;
	return error;
}

int vhost_start(struct vhost **vhost, const struct vhost_config *config)
{
	struct stat status;
	int error = vhost_config_check(config, &status);
	struct vhost *new;

	if (error)
		return error;
	new = calloc(1, sizeof(*new) + config->queues * sizeof(new->queue[0]));
	if (!new)
		return failed(-ENOMEM, "no memory for a device of %u virtqueues", config->queues);
	new->config = *config;
	new->bytes = (__u64)status.st_size;
	memcpy(new->path, config->socket, strlen(config->socket) + 1);
	new->config.socket = new->path;
	new->listening = new->stop = new->connected = new->backend = -1;
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->changed);
	queues_prepare(new);
	error = vhost_iotlb_init(new);
	if (!error)
		error = threads_start(new);
	if (error) {
		vhost_stop(new);
		return error;
	}
	*vhost = new;
	return 0;
}

void vhost_stop(struct vhost *vhost)
{
	const __u64 one = 1;

	if (!vhost)
		return;
	atomic_store(&vhost->stopping, true);
	pthread_mutex_lock(&vhost->lock);
	pthread_cond_broadcast(&vhost->changed);
	pthread_mutex_unlock(&vhost->lock);
	if (vhost->control_running && write(vhost->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(vhost->control, NULL);
	vhost_unlisten(vhost);
	for (__u16 i = 0; i < vhost->config.queues; i++)
		queue_destroy(&vhost->queue[i]);
	if (vhost->stop >= 0)
		close(vhost->stop);
	vhost_iotlb_free(vhost);
	pthread_cond_destroy(&vhost->changed);
	pthread_mutex_destroy(&vhost->lock);
	free(vhost);
}

void vhost_stats(struct vhost *vhost, struct vhost_stats *stats)
{
	struct vhost_iotlb_stats iotlb;

	*stats = (struct vhost_stats){
		.connections = atomic_load(&vhost->connections),
		.refused = atomic_load(&vhost->refused),
		.broken = atomic_load(&vhost->broken),
		.messages = atomic_load(&vhost->messages),
	};
	for (__u16 i = 0; i < vhost->config.queues; i++) {
		stats->requests += atomic_load(&vhost->queue[i].requests);
		stats->parked += atomic_load(&vhost->queue[i].parked);
		stats->resubmitted += atomic_load(&vhost->queue[i].resubmitted);
	}
	vhost_iotlb_stats(vhost, &iotlb);
	stats->untranslated = iotlb.misses;
	stats->unmapped = iotlb.refused;
	stats->taken_back = iotlb.invalidations;
	stats->dropped = iotlb.evicted;
	pthread_mutex_lock(&vhost->lock);
	stats->connected = vhost->is_connected;
	pthread_mutex_unlock(&vhost->lock);
}

int vhost_wait_driver(struct vhost *vhost, __u64 timeout_ns)
{
	__u64 deadline = monotonic_ns() + timeout_ns;
	bool driven, waits = true;

	pthread_mutex_lock(&vhost->lock);
	while (!vhost->driven && waits)
		waits = monotonic_cond_wait_until(&vhost->changed, &vhost->lock, deadline);
	driven = vhost->driven;
	pthread_mutex_unlock(&vhost->lock);
	return driven ? 0 : -ETIMEDOUT;
}
