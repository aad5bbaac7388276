// SPDX-License-Identifier: GPL-2.0
/*
 * knock BINARY DEVICES ROUNDS [stay]: what anybody can do who may read an emulator's binary. Maps it, and calls each of its
 * probe sites once a round for each of so many devices that are not there.
 *
 * A site is one instruction (nop), where the kernel puts its breakpoint. The byte behind it becomes a
 * return in this process's copy, and every register that may hold an argument holds the device's number.
 * Stops until SIGCONT; prints how many calls it made, also if SIGTERM ends it before, and with `stay` stops
 * once more before it goes.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SITES_MAX 1024
#define RETURN	  0xc3

static unsigned long sites[SITES_MAX]; /* offsets in the file */
static size_t site_count;
static const char *file;
static size_t bytes;
static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "knock: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const Elf64_Phdr *code_segment(void)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Phdr *segments = (const void *)(file + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			return &segments[i];
	die("no code");
	return NULL;
}

/* A note of sys/sdt.h: three addresses (site, base, semaphore), provider, name, arguments. */
static void take_notes(const Elf64_Shdr *section)
{
	const Elf64_Phdr *code = code_segment();
	size_t at = 0;

	while (at + sizeof(Elf64_Nhdr) < section->sh_size && site_count < SITES_MAX) {
		const Elf64_Nhdr *note = (const void *)(file + section->sh_offset + at);
		const char *text = (const char *)(note + 1) + ((note->n_namesz + 3) & ~3u);
		unsigned long address;

		memcpy(&address, text, sizeof(address));
		if (!strcmp(text + 3 * sizeof(address), "faultline"))
			sites[site_count++] = address - code->p_vaddr + code->p_offset;
		at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
	}
}

static void find_sites(void)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
	const char *names = file + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".note.stapsdt"))
			take_notes(&sections[i]);
	if (!site_count)
		die("no probe sites");
}

/* Breakpoints are put into memory that cannot be written: only for a moment it can. */
static char *map_code(int fd)
{
	char *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (code == MAP_FAILED || mprotect(code, bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("mapping the binary");
	for (size_t i = 0; i < site_count; i++)
		code[sites[i] + 1] = (char)RETURN;
	if (mprotect(code, bytes, PROT_READ | PROT_EXEC))
		die("mapping the binary");
	return code;
}

static void call(const char *site, unsigned long device)
{
	/* Below what the compiler may keep under the stack pointer. */
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp\n\t"
		"push %%rbp\n\t"
		"mov %%rax, %%rbp\n\t"
		"push %%rcx\n\t"
		"mov %%rax, %%rbx; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi\n\t"
		"mov %%rax, %%rdi; mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10\n\t"
		"mov %%rax, %%r11; mov %%rax, %%r12; mov %%rax, %%r13; mov %%rax, %%r14\n\t"
		"mov %%rax, %%r15\n\t"
		"call *(%%rsp)\n\t"
		"pop %%rcx\n\t"
		"pop %%rbp\n\t"
		"lea 128(%%rsp), %%rsp"
		: "+a"(device), "+c"(site)
		:
		: "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		  "memory", "cc");
}

int main(int argc, char **argv)
{
	unsigned long devices = argc > 3 ? strtoul(argv[2], NULL, 10) : 0, calls = 0;
	unsigned long rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct stat status;
	const char *code;

	if (fd < 0 || fstat(fd, &status))
		die(argc > 1 ? argv[1] : "BINARY DEVICES ROUNDS");
	bytes = status.st_size;
	file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		die(argv[1]);
	find_sites();
	code = map_code(fd);
	signal(SIGTERM, end);
	raise(SIGSTOP);
	for (unsigned long round = 0; round < rounds && !ended; round++)
		for (unsigned long device = 0; device < devices && !ended; device++)
			for (size_t i = 0; i < site_count; i++, calls++)
				call(code + sites[i], device);
	printf("%lu\n", calls);
	fflush(stdout);
	if (argc > 4)
		raise(SIGSTOP);
	return 0;
}
