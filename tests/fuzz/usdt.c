// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes usdt_read() and usdt_parse_arguments(): a recorder reads the program of any machine. The first byte
 * chooses: below 64 the rest is the file as it is, below 128 one text of arguments, else the notes of an ELF
 * file that is sound but for them. `usdt --seeds DIR` writes first inputs.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/capture/usdt.h"
#include "tests/fuzz/made/bytes.h"
#include "tests/fuzz/made/seeds.h"

#define ARGUMENTS 64  /* first byte of a text of arguments */
#define PROGRAM	  128 /* first byte of a program */
#define NOTES	  24
#define PROVIDER  "faultline"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char section_names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

struct head {
	Elf64_Ehdr file;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4];
	char names[sizeof(section_names)];
};

static void put_padded(FILE *file, const void *bytes, size_t size)
{
	fwrite(bytes, 1, size, file);
	for (; size % 4; size++)
		putc(0, file);
}

/* A number of build, which may be longer than any. */
static void put_build_id(FILE *file, struct bytes *in)
{
	Elf64_Nhdr note = {.n_namesz = sizeof("GNU"), .n_type = NT_GNU_BUILD_ID};
	char id[64];

	note.n_descsz = take_below(in, sizeof(id));
	take_bytes(in, id, sizeof(id));
	fwrite(&note, 1, sizeof(note), file);
	put_padded(file, "GNU", sizeof("GNU"));
	put_padded(file, id, note.n_descsz);
}

/* A note of three addresses and three texts, of which anything may be missing. */
static void put_note(FILE *file, struct bytes *in)
{
	static const char *const arguments[] = {"8@%rax 8@$-5 8@%r15", "8@(%rax,%rdx)", "",
						"1@%al 8@%r9", "8@24(%rbx,%r11,8)"};
	unsigned int which = take_byte(in), how = take_byte(in);
	Elf64_Nhdr note = {.n_namesz = sizeof("stapsdt"), .n_type = 3};
	char body[512], text[200];
	__u64 address[3] = {0x1000 + take_number(in), take_number(in), take_number(in)};
	size_t used = sizeof(address), written;

	memcpy(body, address, sizeof(address));
	used += (size_t)sprintf(body + used, "%s", which & 1 ? PROVIDER : "other") + 1;
	take_text(in, text, 60);
	used += (size_t)sprintf(body + used, "%s", text) + 1;
	take_text(in, text, sizeof(text));
	used += (size_t)sprintf(body + used, "%s", which & 2 ? arguments[which % 5] : text) + 1;
	/* What it says it has, and what there is of that. */
	note.n_descsz = (Elf64_Word)(how > 250	 ? take_number(in)
				     : how > 230 ? used - how % 64
						 : used);
	written = note.n_descsz < used ? note.n_descsz : used;
	if (how == 230)
		note.n_namesz = (Elf64_Word)take_number(in);
	fwrite(&note, 1, sizeof(note), file);
	put_padded(file, "stapsdt", sizeof("stapsdt"));
	if (how & 7)
		put_padded(file, body, written);
	else
		fwrite(body, 1, written, file);
}

static void put_program(FILE *file, struct bytes *in)
{
	size_t length;
	char *notes;
	FILE *list = open_memstream(&notes, &length);
	struct head head = {
		.file = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct head, segment),
			 .e_shoff = offsetof(struct head, sections),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3},
		/* Most have what notes point at. */
		.segment = {.p_type = PT_LOAD,
			    .p_vaddr = take_byte(in) & 3 ? 0 : take_number(in),
			    .p_filesz = take_byte(in) & 3 ? 1 << 20 : take_number(in)},
	};

	for (int i = 0; in->left && i < NOTES; i++) {
		if (take_byte(in) < 16)
			put_build_id(list, in);
		else
			put_note(list, in);
	}
	fclose(list);
	memcpy(head.names, section_names, sizeof(section_names));
	head.sections[1] = (Elf64_Shdr){.sh_name = 1,
					.sh_type = SHT_NOTE,
					.sh_offset = sizeof(head),
					.sh_size = length,
					.sh_addralign = 4};
	head.sections[2] =
		(Elf64_Shdr){.sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = take_number(in)};
	head.sections[3] = (Elf64_Shdr){.sh_name = 29,
					.sh_type = SHT_STRTAB,
					.sh_offset = offsetof(struct head, names),
					.sh_size = sizeof(section_names)};
	fwrite(&head, 1, sizeof(head), file);
	fwrite(notes, 1, length, file);
	free(notes);
}

static void parse_arguments(const char *text)
{
	struct usdt_argument arguments[USDT_ARGUMENTS];
	int err = usdt_parse_arguments(text, arguments);

	if (err && err != -EINVAL)
		abort();
}

static void read_program(const char *bytes, size_t size)
{
	static int memory = -1;
	struct usdt_binary binary;
	int err;

	if (memory < 0)
		memory = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(memory, 0) || pwrite(memory, bytes, size, 0) != (ssize_t)size)
		abort();
	err = usdt_read(memory, "a program", PROVIDER, &binary);
	if (err && err != -ENOEXEC)
		abort();
	for (size_t i = 0; !err && i < binary.count; i++) {
		const struct usdt_note *note = &binary.notes[i];

		/* Behind the end of one there is the other, which no sanitizer minds. */
		if (strnlen(note->name, sizeof(note->name)) == sizeof(note->name) ||
		    strnlen(note->arguments, sizeof(note->arguments)) == sizeof(note->arguments))
			abort();
		parse_arguments(note->arguments);
	}
	usdt_free(&binary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	size_t length;
	char *bytes;
	FILE *file = open_memstream(&bytes, &length);
	uint8_t how = take_byte(&in);

	if (how < PROGRAM)
		fwrite(in.next, 1, in.left, file);
	else
		put_program(file, &in);
	fclose(file);
	if (how >= ARGUMENTS && how < PROGRAM)
		parse_arguments(bytes);
	else
		read_program(bytes, length);
	free(bytes);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const texts[] = {"8@%rax 8@$-5 8@%r8 8@$0x10 8@%rbp",
					    "8@%rcx 8@24(%rbx,%r11,8) -4@$5"};
	const char *directory = seeds_directory(*argc, *argv);

	if (!directory)
		return 0;
	seed_write(directory, "arguments0", ARGUMENTS, texts[0], strlen(texts[0]));
	seed_write(directory, "arguments1", ARGUMENTS, texts[1], strlen(texts[1]));
	seeds_write_random(directory, PROGRAM, 16);
	exit(0);
}
