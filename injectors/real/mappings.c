// SPDX-License-Identifier: GPL-2.0
/* Part of pages.h: the mappings of a process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "injectors/real/pages.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/proc.h"

const char *page_kind_name(enum page_kind kind)
{
	static const char *const names[PAGE_KINDS] = {
		[KIND_ANONYMOUS] = "anonymous", [KIND_FILE] = "file",
		[KIND_SHARED_MEMORY] = "shmem", [KIND_HUGETLB] = "hugetlb",
		[KIND_SPECIAL] = "special",	[KIND_NONE] = "unmapped",
	};

	return names[kind];
}

/* What is behind a mapping that has a file: the file system knows, names may be anything. */
static enum page_kind kind_of_file(pid_t pid, const struct process_mapping *mapping)
{
	char path[96];
	struct statfs system;
	struct stat status;
	enum page_kind kind = KIND_FILE;
	bool known;
	int fd;

	snprintf(path, sizeof(path), "%s/%d/map_files/%llx-%llx", proc_root(), pid, mapping->start,
		 mapping->end);
	/* O_PATH: opening a device may have effects. */
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return KIND_FILE;
	known = !fstat(fd, &status) && !fstatfs(fd, &system);
	if (known && system.f_type == HUGETLBFS_MAGIC)
		kind = KIND_HUGETLB;
	else if (known && S_ISREG(status.st_mode) && system.f_type == TMPFS_MAGIC)
		kind = KIND_SHARED_MEMORY;
	else if (known && S_ISCHR(status.st_mode))
		kind = KIND_SPECIAL;
	close(fd);
	return kind;
}

static bool is_special(const char *name)
{
	return !strcmp(name, "[vdso]") || !strncmp(name, "[vvar", 5) ||
	       !strcmp(name, "[vsyscall]") || !strcmp(name, "[uprobes]");
}

static bool parse_line(const char *line, pid_t pid, struct process_mapping *mapping)
{
	unsigned long long start, end, offset, inode;
	char access[8];
	int at = 0;
	size_t length;

	if (sscanf(line, "%llx-%llx %7s %llx %*s %llu %n", &start, &end, access, &offset, &inode,
		   &at) < 5)
		return false;
	*mapping = (struct process_mapping){.start = start,
					    .end = end,
					    .offset = offset,
					    .writable = access[1] == 'w',
					    .shared = access[3] == 's',
					    .kind = KIND_ANONYMOUS};
	length = strlen(line + at);
	snprintf(mapping->name, sizeof(mapping->name), "%s",
		 line + at +
			 (length < sizeof(mapping->name) ? 0 : length - sizeof(mapping->name) + 1));
	if (is_special(mapping->name))
		mapping->kind = KIND_SPECIAL;
	else if (inode)
		mapping->kind = kind_of_file(pid, mapping);
	return true;
}

int mappings_read(struct process_mappings *mappings, pid_t pid)
{
	char path[64], *line = NULL;
	size_t bytes = 0, room = 0;
	int err = 0;
	FILE *file;

	*mappings = (struct process_mappings){0};
	snprintf(path, sizeof(path), "%s/%d/maps", proc_root(), pid);
	file = fopen(path, "re");
	if (!file)
		return failed(errno == ENOENT ? -ESRCH : -errno, "%s: %s", path, strerror(errno));
	while (!err && getline(&line, &bytes, file) > 0) {
		if (!array_grow(&mappings->all, &room, mappings->count + 1, sizeof(*mappings->all),
				ARRAY_PLAIN)) {
			err = failed(-ENOMEM, "no memory for %zu mappings", mappings->count + 1);
			break;
		}
		line[strcspn(line, "\n")] = '\0';
		if (parse_line(line, pid, &mappings->all[mappings->count]))
			mappings->count++;
	}
	free(line);
	fclose(file);
	if (err)
		mappings_free(mappings);
	return err;
}

void mappings_free(struct process_mappings *mappings)
{
	free(mappings->all);
	*mappings = (struct process_mappings){0};
}

const struct process_mapping *mappings_find(const struct process_mappings *mappings, __u64 address)
{
	size_t low = 0, high = mappings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address >= mappings->all[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mappings->count && address >= mappings->all[low].start ? &mappings->all[low]
									    : NULL;
}
