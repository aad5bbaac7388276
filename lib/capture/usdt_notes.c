// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/capture/usdt.h"

#define NOTE_STAPSDT  3
#define NOTES_AT_MOST 4096

/* An address of the loaded program as an offset in its file. */
static bool file_offset(Elf *elf, __u64 address, __u64 *offset)
{
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address >= segment.p_vaddr + segment.p_filesz)
			continue;
		*offset = address - segment.p_vaddr + segment.p_offset;
		return true;
	}
	return false;
}

/* Text at *at, which moves behind it; NULL if it does not end within the note. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at;
	size_t length = strnlen(text, end - text);

	if (length == (size_t)(end - text))
		return NULL;
	*at = text + length + 1;
	return text;
}

/* One stapsdt note: three addresses, then provider, name and arguments. */
static void add_note(struct usdt_binary *binary, Elf *elf, const char *provider, const char *body,
		     size_t bytes, __u64 base_now)
{
	const char *at = body + 3 * sizeof(__u64), *end = body + bytes;
	const char *owner, *name, *arguments;
	struct usdt_note *note;
	__u64 address[3]; /* instruction, link-time base, semaphore */

	if (bytes < 3 * sizeof(__u64) || binary->count == NOTES_AT_MOST)
		return;
	memcpy(address, body, sizeof(address));
	owner = next_text(&at, end);
	name = owner ? next_text(&at, end) : NULL;
	arguments = name ? next_text(&at, end) : NULL;
	if (!arguments || strcmp(owner, provider) != 0)
		return;
	if (!array_grow(&binary->notes, &binary->room, binary->count + 1, sizeof(*note),
			ARRAY_PLAIN))
		return;
	note = &binary->notes[binary->count];
	memset(note, 0, sizeof(*note));
	if (strlen(name) >= sizeof(note->name) || strlen(arguments) >= sizeof(note->arguments))
		return;
	strcpy(note->name, name);
	strcpy(note->arguments, arguments);
	/* Prelinking moves sections after the note was written; the base moves along. */
	if (!file_offset(elf, address[0] + base_now - address[1], &note->offset))
		return;
	if (address[2])
		file_offset(elf, address[2] + base_now - address[1], &note->semaphore);
	binary->count++;
}

static void add_notes(struct usdt_binary *binary, Elf *elf, Elf_Data *data, const char *provider,
		      __u64 base_now)
{
	size_t at = 0, name_at, body_at;
	GElf_Nhdr header;

	while (at < data->d_size &&
	       (at = gelf_getnote(data, at, &header, &name_at, &body_at)) > 0) {
		const char *name = (const char *)data->d_buf + name_at;
		const char *body = (const char *)data->d_buf + body_at;

		if (header.n_type == NOTE_STAPSDT && header.n_namesz == sizeof("stapsdt") &&
		    !memcmp(name, "stapsdt", sizeof("stapsdt")))
			add_note(binary, elf, provider, body, header.n_descsz, base_now);
		else if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof("GNU") &&
			 !memcmp(name, "GNU", sizeof("GNU")) && header.n_descsz <= BUILD_ID_MAX) {
			memcpy(binary->build_id, body, header.n_descsz);
			binary->build_id_bytes = header.n_descsz;
		}
	}
}

static __u64 base_address(Elf *elf, size_t names)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && !strcmp(name, ".stapsdt.base"))
			return header.sh_addr;
	}
	return 0;
}

int usdt_read(int fd, const char *path, const char *provider, struct usdt_binary *binary)
{
	Elf_Scn *section = NULL;
	size_t names;
	__u64 base;
	Elf *elf;

	memset(binary, 0, sizeof(*binary));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 ||
	    elf_getshdrstrndx(elf, &names)) {
		elf_end(elf);
		return failed(-ENOEXEC, "%s: is not a 64-bit ELF program", path);
	}
	base = base_address(elf, names);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(section, NULL);
		if (data)
			add_notes(binary, elf, data, provider, base);
	}
	elf_end(elf);
	return 0;
}

void usdt_free(struct usdt_binary *binary)
{
	free(binary->notes);
	memset(binary, 0, sizeof(*binary));
}

bool usdt_has(const struct usdt_binary *binary, const char *name)
{
	for (size_t i = 0; i < binary->count; i++)
		if (!strcmp(binary->notes[i].name, name))
			return true;
	return false;
}
