// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/files.h"
#include "lib/base/signals.h"
#include "lib/trace/segments.h"

void trace_sync_open(struct trace_sync *sync, const char *path)
{
	*sync = (struct trace_sync){
		.path = path,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
}

/* Closes it in any case. */
static int to_disk(const struct trace_sync *sync, const struct trace_sync_segment *segment)
{
	char name[PATH_MAX];
	int err = trace_segment_path(sync->path, segment->number, name);
	int synced = files_sync(segment->fd, name), closed = files_close(segment->fd, name);

	err = err ?: synced;
	err = err ?: closed;
	return err ?: files_sync_directory(AT_FDCWD, name);
}

/* Under the lock. */
static void sync_note(struct trace_sync *sync, const struct trace_sync_segment *segment, int err)
{
	if (!err)
		return;
	sync->result.unsynced++;
	sync->result.number = segment->number;
	sync->result.error = err;
}

static void *sync_all(void *self)
{
	struct trace_sync *sync = self;

	pthread_mutex_lock(&sync->lock);
	while (true) {
		struct trace_sync_segment segment = sync->waiting[0];
		int err;

		if (!sync->count && sync->ending)
			break;
		if (!sync->count) {
			pthread_cond_wait(&sync->changed, &sync->lock);
			continue;
		}
		pthread_mutex_unlock(&sync->lock);
		err = to_disk(sync, &segment);
		pthread_mutex_lock(&sync->lock);
		sync_note(sync, &segment, err);
		sync->count--;
		memmove(sync->waiting, sync->waiting + 1, sync->count * sizeof(segment));
		pthread_cond_broadcast(&sync->changed);
	}
	pthread_mutex_unlock(&sync->lock);
	return NULL;
}

/* Signals are for the thread that records. */
static bool sync_start(struct trace_sync *sync)
{
	sync->started = sync->started || !signals_start_thread(&sync->thread, NULL, sync_all, sync);
	return sync->started;
}

void trace_sync_put(struct trace_sync *sync, int fd, __u32 number)
{
	const struct trace_sync_segment segment = {fd, number};
	bool beside = sync_start(sync);

	pthread_mutex_lock(&sync->lock);
	if (beside && sync->count < TRACE_SYNC_MOST) {
		sync->waiting[sync->count++] = segment;
		pthread_cond_broadcast(&sync->changed);
	} else if (beside) {
		/* The disk is behind by more than a ring: it gets it all the same, but nobody waits for it. */
		sync_note(sync, &segment, close(fd) ? -errno : -EAGAIN);
	} else {
		sync_note(sync, &segment, to_disk(sync, &segment));
	}
	pthread_mutex_unlock(&sync->lock);
}

void trace_sync_wait(struct trace_sync *sync)
{
	pthread_mutex_lock(&sync->lock);
	while (sync->count)
		pthread_cond_wait(&sync->changed, &sync->lock);
	pthread_mutex_unlock(&sync->lock);
}

struct trace_sync_result trace_sync_result(struct trace_sync *sync)
{
	struct trace_sync_result result;

	pthread_mutex_lock(&sync->lock);
	result = sync->result;
	pthread_mutex_unlock(&sync->lock);
	return result;
}

void trace_sync_close(struct trace_sync *sync)
{
	if (!sync->started)
		return;
	pthread_mutex_lock(&sync->lock);
	sync->ending = true;
	pthread_cond_broadcast(&sync->changed);
	pthread_mutex_unlock(&sync->lock);
	pthread_join(sync->thread, NULL);
	sync->started = false;
}
