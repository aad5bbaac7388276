// SPDX-License-Identifier: GPL-2.0
/*
 * What would reach the guest's memory past the pager: pages that the kernel pins for a disk, a device or a vhost worker are written where
 * they are, also after the page has gone elsewhere. Files that are open when the memory is handed over are looked through; those
 * that are opened later are looked at as they are.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "injectors/vm/library/library.h"

struct memory_pinner {
	const char *path; /* how it begins */
	const char *words;
};

static const struct memory_pinner pinners[] = {
	{"/dev/vfio", "vfio pins it for a device"},
	{"anon_inode:[vfio", "vfio pins it for a device"},
	{"anon_inode:[iommufd", "iommufd pins it for a device"},
	{"/dev/iommu", "iommufd pins it for a device"},
	{"/dev/vhost-", "the kernel's vhost pins it (vhost=off is served by QEMU itself)"},
};

static const char *pinned_by(const char *path)
{
	for (size_t i = 0; i < sizeof(pinners) / sizeof(pinners[0]); i++)
		if (!strncmp(path, pinners[i].path, strlen(pinners[i].path)))
			return pinners[i].words;
	return NULL;
}

#define DIRECT_WORDS                                                                         \
	"O_DIRECT (cache=none, cache=directsync, cache.direct=on, aio=native) has the disk " \
	"write to pinned pages; accepted: cache=writeback, cache=writethrough"

/* Direct I/O of a pipe is another matter. */
static bool direct(int file, int flags)
{
	struct stat status;

	return flags & O_DIRECT && !fstat(file, &status) &&
	       (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
}

/* Of an open file with these flags. */
static int refuse_file(int file, int flags)
{
	char link[32], path[PATH_MAX];
	const char *words;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return 0;
	path[length] = '\0';
	words = pinned_by(path);
	if (!words && direct(file, flags))
		words = DIRECT_WORDS;
	return words ? vm_say(-EINVAL, "%s is refused beside a guest whose memory is evicted: %s",
			      path, words)
		     : 0;
}

int vm_refuse_open_files(void)
{
	DIR *listing = opendir("/proc/self/fd");
	const struct dirent *entry;
	int error = 0;

	if (!listing)
		return vm_say(-errno, "/proc/self/fd: %s", strerror(errno));
	while (!error && (entry = readdir(listing))) {
		int file = atoi(entry->d_name), flags = fcntl(file, F_GETFL);

		if (*entry->d_name != '.' && flags >= 0)
			error = refuse_file(file, flags);
	}
	closedir(listing);
	return error;
}

int vm_refuse_mapping(int file, int flags, off_t offset)
{
	struct statfs system;

	if ((flags & MAP_TYPE) == MAP_PRIVATE)
		return vm_say(-EINVAL,
			      "memory-backend-memfd with share=off: accepted: share=on, as "
			      "the host has to have the same memory");
	if (!fstatfs(file, &system) && system.f_type == HUGETLBFS_MAGIC)
		return vm_say(
			-EINVAL,
			"memory-backend-memfd with hugetlb=on: accepted: hugetlb=off, as pages "
			"of 4 KiB are evicted");
	if (offset)
		return vm_say(-EINVAL, "memory-backend-memfd at offset 0x%llx: accepted: 0",
			      (unsigned long long)offset);
	return 0;
}

/*
 * QEMU's own calls, once its guest's memory has been handed over.
 */

static int open_at(int directory, const char *path, int flags, mode_t mode)
{
	int file = (int)syscall(SYS_openat, directory, path, flags, mode), error;

	error = file >= 0 && vm_handed_over() ? refuse_file(file, flags) : 0;
	if (!error)
		return file;
	close(file);
	errno = -error;
	return -1;
}

#define TAKES_MODE(flags) ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)
#define MODE_AFTER(flags, mode)                             \
	do {                                                \
		va_list arguments;                          \
		va_start(arguments, flags);                 \
		if (TAKES_MODE(flags))                      \
			(mode) = va_arg(arguments, mode_t); \
		va_end(arguments);                          \
	} while (0)

#define OPEN(name)                                           \
	PUBLIC int name(const char *path, int flags, ...)    \
	{                                                    \
		mode_t mode = 0;                             \
                                                             \
		MODE_AFTER(flags, mode);                     \
		return open_at(AT_FDCWD, path, flags, mode); \
	}
#define OPENAT(name)                                                     \
	PUBLIC int name(int directory, const char *path, int flags, ...) \
	{                                                                \
		mode_t mode = 0;                                         \
                                                                         \
		MODE_AFTER(flags, mode);                                 \
		return open_at(directory, path, flags, mode);            \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What a compiler that checks buffers makes of calls without a mode. */
PUBLIC int __open_2(const char *path, int flags);
PUBLIC int __open64_2(const char *path, int flags);

int __open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

/* A file that is open becomes one for direct I/O. */
static int set_flags(const char *function, int file, int command, void *argument)
{
	int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, function);

	if (command == F_SETFL && vm_handed_over() && refuse_file(file, (int)(long)argument)) {
		errno = EINVAL;
		return -1;
	}
	return next(file, command, argument);
}

#define FCNTL(name)                                               \
	PUBLIC int name(int file, int command, ...)               \
	{                                                         \
		va_list arguments;                                \
		void *argument;                                   \
                                                                  \
		va_start(arguments, command);                     \
		argument = va_arg(arguments, void *);             \
		va_end(arguments);                                \
		return set_flags(#name, file, command, argument); \
	}

FCNTL(fcntl)
FCNTL(fcntl64)
