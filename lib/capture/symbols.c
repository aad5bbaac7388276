// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"

#define FUNCTION_MAX 0x40000ull /* an address farther behind its symbol is of something unknown */
/*
 * Behind the last of a module: what is farther may be of one that has gone. Between modules the kernel
 * leaves a page free.
 */
#define LAST_MAX   0x1000ull
#define READ_AGAIN (10 * NSEC_PER_SEC)

struct symbol {
	__u64 address;
	size_t name;   /* offset in names */
	size_t module; /* likewise, "" for the kernel's own */
};

struct symbols {
	const char *path;
	struct symbol *list;
	size_t count, room;
	char *names;
	size_t names_size, names_room;
	__u64 read_ns; /* when last read */
};

struct symbols *symbols_create(const char *path)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols)
		symbols->path = path ? path : "/proc/kallsyms";
	return symbols;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->list);
	free(symbols->names);
	free(symbols);
}

static bool symbols_add(struct symbols *s, __u64 address, const char *name, const char *module)
{
	size_t length = strlen(name) + 1, module_length = strlen(module) + 1;

	if (!array_grow(&s->list, &s->room, s->count + 1, sizeof(s->list[0]), ARRAY_PLAIN) ||
	    !array_grow(&s->names, &s->names_room, s->names_size + length + module_length, 1,
			ARRAY_PLAIN))
		return false;
	s->list[s->count++] = (struct symbol){address, s->names_size, s->names_size + length};
	memcpy(s->names + s->names_size, name, length);
	memcpy(s->names + s->names_size + length, module, module_length);
	s->names_size += length + module_length;
	return true;
}

static int symbols_by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* One line of the kernel's list: "ffffffff81000000 T name\t[module]". Only code is taken. */
static bool symbols_take_line(struct symbols *s, const char *line)
{
	char type, name[128], module[72] = "";
	unsigned long long address;

	if (sscanf(line, "%llx %c %127s %71s", &address, &type, name, module) < 3 || !address ||
	    !strchr("tTwW", type))
		return true;
	return symbols_add(s, address, name, module);
}

static void read_list(struct symbols *s)
{
	FILE *file = fopen(s->path, "re");
	char line[512];

	s->read_ns = monotonic_ns();
	s->count = 0;
	s->names_size = 0;
	if (!file)
		return;
	while (fgets(line, sizeof(line), file) && symbols_take_line(s, line))
		;
	fclose(file);
	if (s->count)
		qsort(s->list, s->count, sizeof(s->list[0]), symbols_by_address);
}

/* How far behind a symbol its code may reach. */
static __u64 reach_of(const struct symbols *s, size_t index)
{
	const char *module = s->names + s->list[index].module;

	if (index + 1 < s->count && !strcmp(module, s->names + s->list[index + 1].module))
		return FUNCTION_MAX;
	return LAST_MAX;
}

static const struct symbol *symbols_find(const struct symbols *s, __u64 address)
{
	size_t low = 0, high = s->count;
	__u64 reach;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	reach = reach_of(s, low - 1);
	/* Of several names of one address the first in the kernel's order. */
	while (low > 1 && s->list[low - 2].address == s->list[low - 1].address)
		low--;
	if (address - s->list[low - 1].address >= reach)
		return NULL;
	return &s->list[low - 1];
}

void symbols_name(struct symbols *symbols, __u64 address, char *text, size_t size)
{
	const struct symbol *symbol = symbols_find(symbols, address);

	if (!symbol && (!symbols->read_ns || monotonic_ns() - symbols->read_ns > READ_AGAIN)) {
		read_list(symbols);
		symbol = symbols_find(symbols, address);
	}
	if (symbol)
		snprintf(text, size, "%s+0x%llx%s%s", symbols->names + symbol->name,
			 (unsigned long long)(address - symbol->address),
			 symbols->names[symbol->module] ? " " : "",
			 symbols->names + symbol->module);
	else
		snprintf(text, size, "0x%llx", (unsigned long long)address);
}
