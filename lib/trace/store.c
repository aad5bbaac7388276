// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/pack.h"
#include "lib/trace/ring_name.h"
#include "lib/trace/room.h"
#include "lib/trace/set_aside.h"

static int write_file_header(struct trace_store *store, __u32 flags, __u32 segment)
{
	struct trace_file_header *header = &store->header;
	int err;

	header->flags = flags;
	header->segment = segment;
	trace_seal_file(header);
	err = files_write(store->fd, store->current, header, sizeof(*header), NULL);
	if (err)
		return err;
	store->bytes += sizeof(*header);
	store->written += sizeof(*header);
	store->segment_bytes = sizeof(*header);
	return 0;
}

/* Whether there is something in the place of the recording, and what else than a recording that is. */
static int open_replaced(struct trace_store *store, bool *there)
{
	struct stat opened, named;
	int fd;

	*there = true;
	while ((fd = open(store->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) >= 0) {
		if (fstat(fd, &opened) || !S_ISREG(opened.st_mode))
			break;
		if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
			close(fd);
			return failed(-EBUSY,
				      "%s: another recorder is writing or about to replace it; "
				      "choose another name, or end that one first",
				      store->path);
		}
		store->replaced = fd;
		/* Replaced by another one between open and lock: that is what counts. */
		if (!stat(store->path, &named) && same_file(&named, &opened))
			return 0;
		close(fd);
		store->replaced = -1;
	}
	*there = fd >= 0 || errno != ENOENT;
	if (fd >= 0)
		close(fd);
	return 0;
}

/*
 * Of several recorders that are to replace the same file one does: it has locked what is there, or was
 * the first to make what was not. A flight recorder that died does not stand in the way of the next one.
 */
static int store_create_ring(struct trace_store *store)
{
	int err;

	if (trace_segment_is_of_living(store->path))
		return failed(-EBUSY,
			      "%s: is a segment of a flight recorder that is writing; choose "
			      "another name",
			      store->path);
	err = store->overwrite || store->ring ? open_replaced(store, &store->replaces) : 0;
	if (err)
		return err;
	if (!store->overwrite)
		store->replaces =
			store->replaced >= 0 && trace_is_abandoned(store->path, store->sets_aside);
	snprintf(store->current, sizeof(store->current), "%s", store->path);
	store->fd = files_create_unnamed(AT_FDCWD, store->path, 0600, store->replaces);
	if (store->fd < 0)
		return store->fd;
	store->unnamed = fcntl(store->fd, F_DUPFD_CLOEXEC, 0);
	if (store->unnamed >= 0)
		return 0;
	files_discard(store->fd, AT_FDCWD, store->path, store->replaces);
	return failed(-errno, "%s: cannot be created: %s", store->path, strerror(errno));
}

/*
 * The number of a ring's first segment: behind those of whatever recorder was there before, which go from this
 * name with the commit. Where these have come so far that numbers could run out it is the first one.
 */
static int choose_first(struct trace_store *store)
{
	struct numbered_files files;
	int err = numbered_files_behind(&files, store->path);

	err = err ? err : numbered_files_next(&files, trace_is_own_segment, &store->next);
	if (!store->next || store->next > UINT32_MAX / 2)
		store->next = 1;
	return err;
}

/* The ring's own name: a header that says where to look. Nothing else is ever written to it. */
static int store_open_ring(struct trace_store *store)
{
	int err = trace_ring_name_check(store->path)
			  ?: trace_room_plan(store)
			  ?: store_create_ring(store);

	if (err)
		return err;
	err = write_file_header(store, TRACE_FILE_RING, 0);
	close(store->fd);
	store->fd = -1;
	err = err ? err : choose_first(store);
	return err ? err : trace_store_next_segment(store, 0);
}

static int try_open(struct trace_store *store, const struct trace_writer_config *config)
{
	int err;

	memset(store, 0, sizeof(*store));
	trace_sync_open(&store->sync, store->path);
	store->fd = store->unnamed = store->replaced = store->locked = -1;
	store->ring = config->keep_ns || config->max_bytes;
	store->overwrite = config->overwrite;
	store->sets_aside = config->set_aside;
	store->keep_ns = config->keep_ns;
	store->max_bytes = config->max_bytes;
	store->header.version = config->merged ? TRACE_VERSION_MERGED : TRACE_VERSION;
	store->header.event_version = EVENT_VERSION;
	if (getrandom(&store->header.recording, sizeof(store->header.recording), 0) < 0)
		store->header.recording = (__u32)getpid();
	if (snprintf(store->path, sizeof(store->path), "%s", config->path) >= PATH_MAX)
		return failed(-ENAMETOOLONG, "%.64s...: the name is too long", config->path);
	if (store->max_bytes && store->max_bytes < TRACE_RING_MINIMUM)
		return failed(-EINVAL, "a recorder bounded to %llu bytes; accepted: from %u",
			      (unsigned long long)store->max_bytes, TRACE_RING_MINIMUM);
	if (!strcmp(store->path, "-")) {
		if (store->ring)
			return failed(-EINVAL, "a flight recorder needs a file, not a stream");
		store->pipe = true;
		store->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		snprintf(store->current, sizeof(store->current), "standard output");
		if (store->fd < 0)
			return failed(-errno, "standard output: %s", strerror(errno));
		return write_file_header(store, 0, 0);
	}
	err = store->ring ? store_open_ring(store) : store_create_ring(store);
	if (!err && !store->ring)
		err = write_file_header(store, 0, 0);
	if (err)
		trace_store_close(store);
	return err;
}

/*
 * The dead do not keep the living from beginning: on a full disk their oldest goes at once, unless it could
 * not begin even so. Without them files may be no longer than before, so that a limit of that is no reason.
 */
static bool has_made_room(const struct trace_store *store, int err, __u64 *deleted)
{
	char sentence[PATH_MAX];
	bool made;

	if (!store->ring || store->overwrite || !trace_has_no_room(err) || err == -EFBIG)
		return false;
	snprintf(sentence, sizeof(sentence), "%s", failure_text());
	made = trace_set_aside_has_room(store->path, store->header.recording) &&
	       trace_set_aside_give_up(store->path, store->header.recording, deleted);
	if (!made)
		failed(err, "%s", sentence);
	return made;
}

int trace_store_open(struct trace_store *store, const struct trace_writer_config *config)
{
	__u64 deleted = 0;
	int err;

	do
		err = try_open(store, config);
	while (has_made_room(store, err, &deleted));
	store->displaced = deleted;
	if (err && deleted)
		failed_in(err,
			  "for room %llu segments of a recorder that died were deleted, in vain",
			  deleted);
	return err;
}

bool trace_store_segment_is_full(const struct trace_store *store, size_t size, __u64 now_ns)
{
	if (!store->ring)
		return false;
	if (store->fd < 0)
		return true;
	if (store->segment_bytes <= store->start_bytes)
		return false;
	if (store->segment_bytes + size > store->segment_now)
		return true;
	return store->keep_ns && store->segment_start && now_ns > store->segment_start &&
	       now_ns - store->segment_start > store->keep_ns / TRACE_RING_PARTS;
}

bool trace_has_no_room(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

bool trace_store_may_pass(int err)
{
	static const int passing[] = {
		/* The system is short of something. */
		ENFILE, EMFILE, ENOMEM, EINTR,
		/* The disk fails, or its file system stands still until somebody repairs it. */
		EIO, EROFS, EUCLEAN, EBADMSG, ENXIO, ENODEV, ENOMEDIUM, EREMOTEIO, ESHUTDOWN, EBUSY,
		/* The folder is gone, or somebody else's: it may come back. */
		ENOENT, ENOTDIR, ELOOP, EACCES, EPERM, ENOKEY,
		/* A server, or a file system's process, is away or has come back as another. */
		ESTALE, ETIMEDOUT, ENOTCONN, ECONNREFUSED, ECONNRESET, ECONNABORTED, EHOSTDOWN,
		EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENOLINK, ENOLCK};

	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		if (err == -passing[i])
			return true;
	return trace_has_no_room(err);
}

/* The file with its header, or nothing. */
static int create_segment(struct trace_store *store)
{
	int err = trace_segment_path(store->path, store->next, store->current);

	if (err)
		return err;
	/* From the first one on they would be read as older than all the others. */
	if (!store->next)
		return failed(-EOVERFLOW,
			      "%s: no number is left for a further segment; start the recorder "
			      "again",
			      store->path);
	store->fd = files_create(AT_FDCWD, store->current, 0600);
	if (store->fd < 0) {
		err = store->fd;
		store->fd = -1;
		return err;
	}
	/* Whoever looks for what a recorder that died has left leaves it alone. */
	flock(store->fd, LOCK_EX | LOCK_NB);
	err = write_file_header(store, TRACE_FILE_SEGMENT, store->next);
	if (!err)
		return 0;
	close(store->fd);
	store->fd = -1;
	unlink(store->current);
	return err;
}

/* Gives up the oldest until it fits; a name that somebody else has taken is left to them. */
static int create_next(struct trace_store *store)
{
	int err;

	do {
		err = create_segment(store);
		if (err == -EEXIST) {
			store->next++;
			continue;
		}
		if (!trace_has_no_room(err) || !trace_room_give_up(store))
			return err;
	} while (true);
}

/* The newest segment, where nothing but its header found room. */
static void remove_empty(struct trace_store *store)
{
	struct trace_segment **last = &store->oldest;
	char name[PATH_MAX];

	if (!trace_segment_path(store->path, store->newest->number, name))
		unlink(name);
	store->bytes -= store->newest->bytes;
	store->begun--;
	store->newest = NULL;
	for (; (*last)->next; last = &(*last)->next)
		store->newest = *last;
	free(*last);
	*last = NULL;
}

static void finish_segment(struct trace_store *store)
{
	bool empty = store->newest && store->newest->bytes <= sizeof(store->header);

	if (store->fd >= 0 && !empty)
		trace_sync_put(&store->sync, store->fd, store->newest->number);
	else if (store->fd >= 0)
		close(store->fd);
	store->fd = -1;
	if (empty)
		remove_empty(store);
}

/* A server may say only now that it has no room for what was written. */
static void make_room_for_unsynced(struct trace_store *store)
{
	struct trace_sync_result result = trace_sync_result(&store->sync);

	if (result.unsynced > store->unsynced && trace_has_no_room(result.error))
		trace_room_give_up(store);
	store->unsynced = result.unsynced;
}

int trace_store_next_segment(struct trace_store *store, __u64 now_ns)
{
	struct trace_segment *segment = calloc(1, sizeof(*segment));
	int err;

	if (!segment)
		return failed(-ENOMEM, "no memory for the next segment");
	finish_segment(store);
	make_room_for_unsynced(store);
	trace_room_grow(store);
	err = trace_room_make(store, sizeof(store->header), now_ns);
	err = err ? err : create_next(store);
	if (err) {
		free(segment);
		return err;
	}
	segment->number = store->next++;
	segment->last_ns = now_ns;
	segment->bytes = store->segment_bytes;
	if (store->newest)
		store->newest->next = segment;
	else
		store->oldest = segment;
	store->newest = segment;
	store->segment_start = now_ns;
	store->start_bytes = store->segment_bytes;
	store->begun++;
	/* Where that fails the next one tries it again, and the close. */
	trace_ring_name_restore(store);
	return 0;
}

/* All of it or nothing. */
static int append_whole(struct trace_store *store, const void *bytes, size_t size)
{
	off_t end = store->pipe ? 0 : lseek(store->fd, 0, SEEK_CUR);
	size_t written;
	int err = files_write(store->fd, store->current, bytes, size, &written);

	if (err && !store->pipe && written && ftruncate(store->fd, end) == 0)
		lseek(store->fd, end, SEEK_SET);
	return err;
}

int trace_store_append(struct trace_store *store, const void *bytes, size_t size, __u64 last_ns)
{
	int err = trace_room_make(store, size, last_ns);

	if (err)
		return err;
	/* A full disk: a flight recorder gives up its oldest instead. One file is too large by itself. */
	do
		err = append_whole(store, bytes, size);
	while (trace_has_no_room(err) && err != -EFBIG && trace_room_give_up(store));
	if (err)
		return err;
	store->bytes += size;
	store->written += size;
	store->segment_bytes += size;
	if (last_ns > store->last_ns)
		store->last_ns = last_ns;
	if (store->newest) {
		store->newest->bytes += size;
		if (last_ns > store->newest->last_ns)
			store->newest->last_ns = last_ns;
		if (!store->segment_start)
			store->segment_start = last_ns;
	}
	return 0;
}

int trace_store_commit(struct trace_store *store)
{
	int err;

	if (store->unnamed < 0)
		return 0;
	do
		err = store->ring && !store->overwrite
			      ? trace_set_aside(store->path, store->header.recording,
						&store->set_aside)
			      : 0;
	while (has_made_room(store, err, &store->displaced));
	err = err ?: files_name(store->unnamed, AT_FDCWD, store->path, store->replaces);
	if (err)
		return err;
	store->locked = store->unnamed;
	store->unnamed = -1;
	err = store->overwrite ? trace_segments_remove(store->path, store->header.recording) : 0;
	if (!err && store->ring)
		err = trace_room_take_over(store) ?: trace_room_make(store, 0, store->last_ns);
	return err;
}

/* What never got its name goes. */
static void store_discard(struct trace_store *store)
{
	char name[PATH_MAX];

	for (const struct trace_segment *s = store->oldest; s; s = s->next)
		if (!trace_segment_path(store->path, s->number, name))
			unlink(name);
	files_discard(store->unnamed, AT_FDCWD, store->path, store->replaces);
	close(store->unnamed);
	store->unnamed = -1;
}

int trace_store_close(struct trace_store *store)
{
	bool named = store->unnamed < 0;
	int err = 0, closed = 0;

	if (!named)
		store_discard(store);
	if (store->fd >= 0 && named && !store->pipe)
		err = files_sync(store->fd, store->current)
			      ?: files_sync_directory(AT_FDCWD, store->current)
			      ?: (store->ring ? trace_ring_name_restore(store) : 0);
	if (store->fd >= 0)
		closed = files_close(store->fd, store->current);
	err = err ? err : closed;
	store->fd = -1;
	trace_sync_close(&store->sync);
	if (store->replaced >= 0)
		close(store->replaced);
	if (store->locked >= 0)
		close(store->locked);
	store->replaced = store->locked = -1;
	trace_room_free(store);
	return err;
}
