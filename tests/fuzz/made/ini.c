// SPDX-License-Identifier: GPL-2.0
#include "tests/fuzz/made/ini.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/made/seeds.h"

#define LINES 64

static const char *const words[] = {
	"",
	"0",
	"1",
	"-1",
	"1.5",
	"4K",
	"64M",
	"1e9",
	"100ms",
	"1s",
	"50%",
	"10/s",
	"yes",
	"no",
	"all",
	"none",
	"*",
	"a*",
	"0-1",
	"0,2",
	"4K, 8K",
	"1:2",
	"\"",
	"99999999999999999999",
	"random",
	"next",
	"even",
	"nan",
	"inf",
	"0x10",
	"; comment",
	"1 ; comment",
	"x = 1",
	"[",
	"%s%n",
	"a, b, c",
	"1, 2, 4, 8, 16, 32",
	"16E",
	"vm.memory: 1M, 2M",
	"faults > 5",
	"faults(rate=1) > 2 * faults(rate=2)",
	"\xef\xbb\xbf",
	"\v",
	"\f",
	"\r",
};

static void put_value(FILE *file, struct bytes *in, const struct option_row *row)
{
	unsigned int how = take_byte(in);
	char text[200];

	if (row && row->choices && how < 64) {
		size_t count = 0;

		while (row->choices[count].name)
			count++;
		fputs(row->choices[how % count].name, file);
	} else if (row && row->otherwise && how < 128) {
		fputs(row->otherwise, file);
	} else if (how < 240) {
		fputs(words[take_byte(in) % (sizeof(words) / sizeof(words[0]))], file);
	} else {
		take_text(in, text, sizeof(text));
		fputs(text, file);
	}
}

static void put_section(FILE *file, struct bytes *in, const struct option_table *table,
			const struct option_section *section)
{
	char name[8];

	fprintf(file, "[%s", section->type);
	if (section->named) {
		unsigned int which = take_byte(in);

		if (which > 250)
			take_text(in, name, sizeof(name));
		else
			snprintf(name, sizeof(name), "%c", 'a' + (int)which % 4);
		fprintf(file, " %s", name);
	}
	fputs("]\n", file);
	for (unsigned int keys = take_below(in, 8); keys--;) {
		const struct option_row *row = &table->rows[take_byte(in) % table->row_count];

		for (size_t i = 0; i < table->row_count && strcmp(row->section, section->type); i++)
			row = &table->rows[((size_t)(row - table->rows) + 1) % table->row_count];
		if (strcmp(row->section, section->type) != 0)
			row = NULL;
		fputs(row ? row->key : words[take_byte(in) % (sizeof(words) / sizeof(words[0]))],
		      file);
		fputs(" = ", file);
		put_value(file, in, row);
		fputc('\n', file);
	}
}

void make_ini(const struct option_table *table, const uint8_t *data, size_t size, char path[64])
{
	static int memory = -1;
	struct bytes in = {data, size};
	size_t length;
	char *text;
	FILE *file;

	if (memory < 0)
		memory = memfd_create("fuzz", MFD_CLOEXEC);
	file = open_memstream(&text, &length);
	if (!file)
		abort();
	if (size && take_byte(&in) < 64) {
		fwrite(in.next, 1, in.left, file);
		in.left = 0;
	}
	for (int i = 0; in.left && i < LINES; i++)
		put_section(file, &in, table,
			    &table->sections[take_byte(&in) % table->section_count]);
	fclose(file);
	if (ftruncate(memory, 0) || pwrite(memory, text, length, 0) != (ssize_t)length)
		abort();
	free(text);
	snprintf(path, 64, "/proc/self/fd/%d", memory);
}

void write_ini_seeds(const char *directory, const char *const *files, size_t count)
{
	char name[32];

	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "file%zu", i);
		seed_write(directory, name, 0, files[i], strlen(files[i]));
	}
	seeds_write_random(directory, 255, 16);
}
