// SPDX-License-Identifier: GPL-2.0
#include "injectors/guest/static_memory.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/page.h"
#include "injectors/guest/own_mappings.h"
#include "lib/base/fail.h"

struct parts {
	struct {
		__u64 start, end;
	} part[4];
	int count;
};

/* The first object is the program. */
static int program_parts(struct dl_phdr_info *object, size_t size, void *argument)
{
	struct parts *parts = argument;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum && parts->count < 4; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		__u64 start = object->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
			continue;
		parts->part[parts->count].start = start & ~(PAGE_BYTES - 1);
		parts->part[parts->count++].end = whole_pages(start + part->p_memsz);
	}
	return 1;
}

/* No function is called between the copy and what takes its place but the kernel's: this may be what it lies in. */
static int own_memory_replace(__u64 start, __u64 bytes)
{
	unsigned char *made =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *to = made;
	const void *from = (const void *)start;
	__u64 count = bytes;

	if (made == MAP_FAILED)
		return failed(-ENOMEM, "no memory for %llu bytes of a program's own", bytes);
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	if (mremap(made, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) != MAP_FAILED)
		return 0;
	munmap(made, bytes);
	return failed(-errno, "%llu bytes of a program's own at 0x%llx cannot be replaced: %s",
		      bytes, start, strerror(errno));
}

/* Those mappings of a part that are a file's, private and writable. */
static int replace_part(struct own_mappings *mappings, __u64 start, __u64 end)
{
	struct own_mapping mapping = {};
	int error = 0;

	for (; !error && start < end && own_mapping_from(mappings, start, &mapping);
	     start = mapping.end)
		if (mapping.start < end && mapping.inode && !mapping.shared && mapping.writable &&
		    mapping.readable)
			error = own_memory_replace(mapping.start, mapping.end - mapping.start);
	return error;
}

int static_memory_begin(void)
{
	struct own_mappings mappings;
	struct parts parts = {};
	sigset_t all, before;
	int error = own_mappings_open(&mappings);

	if (error)
		return error;
	dl_iterate_phdr(program_parts, &parts);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (int i = 0; !error && i < parts.count; i++)
		error = replace_part(&mappings, parts.part[i].start, parts.part[i].end);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	own_mappings_close(&mappings);
	return error;
}
