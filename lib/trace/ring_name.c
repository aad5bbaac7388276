// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/ring_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/trace/pack.h"
#include "lib/trace/set_aside.h"

/* By how much the longest of them is longer: that of a segment that was set aside. */
static size_t longest_addition(const char *path)
{
	size_t length = strlen(path);
	const char *like = length > 4 && !strcmp(path + length - 4, ".flt") ? "x.flt" : "x";
	char ring[PATH_MAX], name[PATH_MAX];

	if (trace_set_aside_path(like, UINT32_MAX, ring) ||
	    trace_segment_path(ring, UINT32_MAX, name))
		return 0;
	return strlen(name) - strlen(like);
}

int trace_ring_name_check(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t added = longest_addition(path);
	char folder[PATH_MAX];
	long most = pathconf(files_folder(path, folder), _PC_NAME_MAX);

	if (most < 0)
		most = NAME_MAX;
	most = most > (long)added ? most - (long)added : 0;
	if (strlen(base) > (size_t)most)
		return failed(-ENAMETOOLONG,
			      "%.64s...: the name is too long for a flight recorder; accepted: up "
			      "to %ld bytes, as names of its files have up to %zu more",
			      base, most, added);
	if (strlen(path) + added >= PATH_MAX)
		return failed(-ENAMETOOLONG,
			      "%.64s...: the path is too long for a flight recorder; accepted: up "
			      "to %zu bytes, as those of its files have up to %zu more",
			      path, PATH_MAX - 1 - added, added);
	return 0;
}

int trace_ring_name_restore(struct trace_store *store)
{
	struct trace_file_header header = store->header;
	struct stat status;
	int fd, err;

	if (store->locked < 0 || !lstat(store->path, &status) || errno != ENOENT)
		return 0;
	fd = files_create_unnamed(AT_FDCWD, store->path, 0600, false);
	if (fd < 0)
		return fd;
	header.flags = TRACE_FILE_RING;
	header.segment = 0;
	trace_seal_file(&header);
	err = files_write(fd, store->path, &header, sizeof(header), NULL)
		      ?: files_name(fd, AT_FDCWD, store->path, false);
	if (err) {
		files_discard(fd, AT_FDCWD, store->path, false);
		close(fd);
		return err;
	}
	close(store->locked);
	store->locked = fd;
	return 0;
}
