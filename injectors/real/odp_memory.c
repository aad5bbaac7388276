// SPDX-License-Identifier: GPL-2.0
/* The memory behind a region: where it comes from, and how it goes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "injectors/real/odp.h"

#define PAGE_PRESENT (1ull << 63) /* Documentation/admin-guide/mm/pagemap.rst */
#define TRIES	     200
#define TRY_NS	     5000000
#define RECLAIM	     "64M"

/* "0::/user.slice" of /proc/self/cgroup is below the mount of cgroup v2. */
static int own_cgroup(char directory[PATH_MAX])
{
	char line[PATH_MAX], path[PATH_MAX] = "";
	FILE *file = fopen("/proc/self/cgroup", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "0::%4000s", path) == 1)
			break;
	if (file)
		fclose(file);
	if (!path[0] || (size_t)snprintf(directory, PATH_MAX, "/sys/fs/cgroup%s",
					 path[1] ? path : "") >= PATH_MAX)
		return failed(-ENOENT, "this process has no cgroup of version 2; name one with "
				       "--cgroup");
	return 0;
}

static int open_reclaim(const struct odp_options *options)
{
	char directory[PATH_MAX], path[PATH_MAX + 32];
	int err = 0, fd;

	if (options->cgroup)
		snprintf(directory, sizeof(directory), "%s", options->cgroup);
	else
		err = own_cgroup(directory);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/memory.reclaim", directory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return failed(-errno,
			      "%s: %s; --evict reclaim needs a cgroup with the memory "
			      "controller",
			      path, strerror(errno));
	return fd;
}

int odp_memory_open(struct odp_memory *memory, const struct odp_options *options)
{
	int err = 0;

	memory->file = options->file ? options->descriptor : -1;
	memory->pagemap = memory->reclaim = -1;
	memory->start =
		mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE,
		     options->file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, memory->file, 0);
	if (memory->start == MAP_FAILED) {
		memory->start = NULL;
		return failed(-errno, "%zu bytes of memory: %s", memory->bytes, strerror(errno));
	}
	/* A huge page, or one read ahead, would come with a neighbour's fault. */
	madvise(memory->start, memory->bytes, MADV_NOHUGEPAGE);
	madvise(memory->start, memory->bytes, MADV_RANDOM);
	memory->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (memory->pagemap < 0)
		return failed(-errno, "/proc/self/pagemap: %s", strerror(errno));
	if (options->eviction == ODP_EVICT_RECLAIM) {
		memory->reclaim = open_reclaim(options);
		err = memory->reclaim < 0 ? memory->reclaim : 0;
	}
	return err;
}

void odp_memory_close(struct odp_memory *memory)
{
	if (memory->start)
		munmap(memory->start, memory->bytes);
	if (memory->pagemap >= 0)
		close(memory->pagemap);
	if (memory->reclaim >= 0)
		close(memory->reclaim);
	*memory = (struct odp_memory){.file = -1, .pagemap = -1, .reclaim = -1};
}

long odp_memory_present(const struct odp_memory *memory)
{
	size_t first = (size_t)memory->start / PAGE_BYTES, pages = memory->bytes / PAGE_BYTES;
	__u64 entries[512];
	long present = 0;

	for (size_t done = 0; done < pages;) {
		size_t room = sizeof(entries) / sizeof(entries[0]);
		size_t count = pages - done < room ? pages - done : room;
		ssize_t bytes = pread(memory->pagemap, entries, count * sizeof(entries[0]),
				      (off_t)((first + done) * sizeof(entries[0])));

		if (bytes != (ssize_t)(count * sizeof(entries[0])))
			return failed(-EIO, "/proc/self/pagemap: cannot be read");
		for (size_t i = 0; i < count; i++)
			present += !!(entries[i] & PAGE_PRESENT);
		done += count;
	}
	return present;
}

/* A file's page leaves the page table first, then the page cache. */
static int drop_file(const struct odp_memory *memory)
{
	if (madvise(memory->start, memory->bytes, MADV_DONTNEED))
		return -errno;
	if (fsync(memory->file))
		return -errno;
	if (!ioctl(memory->file, BLKFLSBUF, 0))
		return 0;
	return -posix_fadvise(memory->file, 0, 0, POSIX_FADV_DONTNEED);
}

static int evict_once(const struct odp_memory *memory, enum odp_eviction how)
{
	if (how == ODP_EVICT_RECLAIM)
		/* Less than asked for is no failure: what is left is looked at. */
		return write(memory->reclaim, RECLAIM, strlen(RECLAIM)) < 0 && errno != EAGAIN
			       ? -errno
			       : 0;
	if (how == ODP_EVICT_DONTNEED && memory->file >= 0)
		return drop_file(memory);
	return madvise(memory->start, memory->bytes,
		       how == ODP_EVICT_DONTNEED ? MADV_DONTNEED : MADV_PAGEOUT)
		       ? -errno
		       : 0;
}

int odp_memory_evict(const struct odp_memory *memory, enum odp_eviction how, __u64 *calls)
{
	const struct timespec pause = {.tv_nsec = TRY_NS};
	long present = 1;

	*calls = 0;
	if (how == ODP_EVICT_NONE)
		return 0;
	for (int i = 0; i < TRIES && present > 0; i++) {
		int err = evict_once(memory, how);

		if (err)
			return failed(err, "--evict %s: %s", odp_eviction_names[how],
				      strerror(-err));
		++*calls;
		present = odp_memory_present(memory);
		if (present > 0)
			nanosleep(&pause, NULL);
	}
	if (present > 0)
		return failed(-EBUSY,
			      "--evict %s: %ld pages are still there after %d tries; is there "
			      "swap?",
			      odp_eviction_names[how], present, TRIES);
	/* The frames of swapped pages stay in the swap cache, where a fault finds them. */
	if (how == ODP_EVICT_RECLAIM && !present && write(memory->reclaim, RECLAIM, 3) < 0 &&
	    errno != EAGAIN)
		return failed(-errno, "memory.reclaim: %s", strerror(errno));
	return present < 0 ? (int)present : 0;
}
