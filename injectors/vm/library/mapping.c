// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's memory as QEMU maps it. Its own file for it is known by its name; the host's takes its place, behind QEMU's descriptor, too,
 * which is what QEMU hands to devices that are processes (vhost-user) and punches holes into (balloon).
 *
 * Memory that is plugged in later lies behind the first in the host's file, which QEMU does not know: the holes that it punches
 * are moved there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/vm/library/library.h"

#define REGIONS_MAX 64

struct vm_mapping {
	unsigned char *base;
	size_t bytes;
	__u64 offset; /* in the host's file */
	int file;     /* QEMU's descriptor */
};

/* Only ever more; those below `count` do not change. */
static struct vm_mapping regions[REGIONS_MAX];
static atomic_uint count;
static dev_t host_device; /* of the host's file, once there is a region */
static ino_t host_inode;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

bool vm_handed_over(void)
{
	return atomic_load(&count);
}

static void *real_mmap(void *address, size_t bytes, int protection, int flags, int file,
		       off_t offset)
{
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

static bool is_backend(int file)
{
	char link[32], path[sizeof(VM_BACKEND_FILE)];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	return readlink(link, path, sizeof(path)) >= (ssize_t)sizeof(path) - 1 &&
	       !memcmp(path, VM_BACKEND_FILE, sizeof(path) - 1);
}

bool vm_is_memory_file(int file)
{
	struct stat status;

	return vm_handed_over() && !fstat(file, &status) && status.st_dev == host_device &&
	       status.st_ino == host_inode;
}

/* What QEMU had reserved is as it was; its memory fails. */
static void mapping_undo(void *base, size_t bytes, int flags)
{
	if (flags & MAP_FIXED)
		(void)real_mmap(base, bytes, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	else
		munmap(base, bytes);
}

static int mapping_add(const struct vm_mapping *region, int memory_file)
{
	unsigned int at = atomic_load(&count);
	struct stat status;

	if (fstat(memory_file, &status) || dup3(memory_file, region->file, O_CLOEXEC) < 0)
		return vm_say(-errno, "the host's memory file: %s", strerror(errno));
	host_device = status.st_dev;
	host_inode = status.st_ino;
	regions[at] = *region;
	atomic_store(&count, at + 1);
	return 0;
}

/* Nothing touches the memory before it is served: this thread alone knows where it is. */
static int mapping_serve(struct vm_mapping *region, int memory_file)
{
	int faults, error;

	/* A child would write to the same pages, but none of its faults be told. */
	if (madvise(region->base, region->bytes, MADV_DONTFORK) ||
	    (madvise(region->base, region->bytes, MADV_NOHUGEPAGE) && errno != EINVAL))
		return vm_say(-errno, "%zu bytes of guest memory: %s", region->bytes,
			      strerror(errno));
	error = vm_faults_register(region->base, region->bytes, &faults);
	if (error)
		return error;
	error = vm_host_hand_over(faults, region->base, region->bytes, region->offset);
	if (!error && !vm_handed_over())
		error = vm_host_watch();
	if (!error)
		error = mapping_add(region, memory_file);
	if (error)
		close(faults);
	return error;
}

static int map_hosts_file(void *address, struct vm_mapping *region, int protection, int flags,
			  int memory_file)
{
	int error;

	region->base =
		real_mmap(address, region->bytes, protection, flags & ~(MAP_POPULATE | MAP_LOCKED),
			  memory_file, (off_t)region->offset);
	if (region->base == MAP_FAILED)
		return vm_say(-errno, "%zu bytes of the host's memory file: %s", region->bytes,
			      strerror(errno));
	error = mapping_serve(region, memory_file);
	if (error)
		mapping_undo(region->base, region->bytes, flags);
	return error;
}

static int hand_over(void *address, struct vm_mapping *region, int protection, int flags,
		     off_t offset)
{
	int memory_file = -1, error = vm_refuse_mapping(region->file, flags, offset);

	if (!error && atomic_load(&count) == REGIONS_MAX)
		error = vm_say(-ENOSPC, "more than %d memory backends", REGIONS_MAX);
	if (!error)
		error = vm_refuse_open_files();
	if (!error)
		error = vm_host_connect();
	if (!error)
		error = vm_host_ask(region->bytes, &region->offset, &memory_file);
	if (error)
		return error;
	error = map_hosts_file(address, region, protection, flags, memory_file);
	close(memory_file);
	return error;
}

static void *map_any_file(void *address, size_t bytes, int protection, int flags, int file,
			  off_t offset)
{
	struct vm_mapping region = {.bytes = bytes, .file = file};
	int error;

	if (vm_is_memory_file(file)) {
		vm_say(-EACCES, "QEMU maps its guest's memory a second time: refused, as the host "
				"would not see what is written there");
		errno = EACCES;
		return MAP_FAILED;
	}
	if (!is_backend(file))
		return real_mmap(address, bytes, protection, flags, file, offset);
	pthread_mutex_lock(&one_at_a_time);
	error = hand_over(address, &region, protection, flags, offset);
	pthread_mutex_unlock(&one_at_a_time);
	errno = -error;
	return error ? MAP_FAILED : region.base;
}

/* Without the variable nothing is different; what was handed over stays so. */
static bool is_wanted(int flags, int file)
{
	return file >= 0 && !(flags & MAP_ANONYMOUS) &&
	       (vm_handed_over() || getenv(VM_SOCKET_VARIABLE));
}

static void *map(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
	if (is_wanted(flags, file))
		return map_any_file(address, bytes, protection, flags, file, offset);
	return real_mmap(address, bytes, protection, flags, file, offset);
}

PUBLIC void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
	return map(address, bytes, protection, flags, file, offset);
}

PUBLIC void *mmap64(void *address, size_t bytes, int protection, int flags, int file,
		    off64_t offset)
{
	return map(address, bytes, protection, flags, file, offset);
}

static const struct vm_mapping *mapping_of_file(int file)
{
	for (unsigned int i = 0, n = atomic_load(&count); i < n; i++)
		if (regions[i].file == file)
			return &regions[i];
	return NULL;
}

static int punch(int file, int mode, off_t offset, off_t bytes)
{
	const struct vm_mapping *region = mapping_of_file(file);

	if (region && region->offset && vm_is_memory_file(file))
		offset += (off_t)region->offset;
	return (int)syscall(SYS_fallocate, file, mode, offset, bytes);
}

PUBLIC int fallocate(int file, int mode, off_t offset, off_t bytes)
{
	return punch(file, mode, offset, bytes);
}

PUBLIC int fallocate64(int file, int mode, off64_t offset, off64_t bytes)
{
	return punch(file, mode, offset, bytes);
}

/* A hole in a page of 2 MiB is zeroes without a fault: there are to be none. */
PUBLIC int madvise(void *address, size_t bytes, int advice)
{
	if (advice == MADV_HUGEPAGE)
		for (unsigned int i = 0, n = atomic_load(&count); i < n; i++)
			if ((unsigned char *)address < regions[i].base + regions[i].bytes &&
			    (unsigned char *)address + bytes > regions[i].base)
				return 0;
	return (int)syscall(SYS_madvise, address, bytes, advice);
}
