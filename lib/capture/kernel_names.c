// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/kernel_names.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/base/fail.h"
#include "lib/capture/core_types.h"
#include "lib/capture/probes.h"

#define NAMES_MAX    (PROBE_COUNT * ATTACH_METHODS * 2)
#define SLOTS	     4096
#define TRACEPOINTS  "btf_trace_"
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define TYPES_MAX    16 /* the kernel's, and those of the modules that rows name */

_Static_assert(NAMES_MAX < SLOTS / 2, "the index stays half empty");

/* One type information: the kernel's (name "") or a module's. */
struct types {
	struct types *next;
	char module[NAME_TEXT];
	int fd; /* of a module's, 0: the kernel's */
	struct btf *btf;
	struct type_index index;
	struct kernel_function *found; /* by number of the name */
};

struct kernel_name {
	size_t plain, clones;
	char clone[NAME_TEXT]; /* the first one */
};

struct kernel_names {
	struct btf *kernel;
	struct types *types;
	struct kernel_name *symbols; /* NULL until asked for */
	bool *traceable;	     /* likewise */
	size_t count;
	const char *names[NAMES_MAX];
	size_t lengths[NAMES_MAX];
	__u16 slots[SLOTS]; /* number of a name + 1 */
};

/* Clones are looked up by their function: "function.*" is entered without its end. */
static size_t base_length(const char *name)
{
	return strcspn(name, ".");
}

static __u16 *kernel_names_slot_of(struct kernel_names *names, const char *name, size_t length)
{
	size_t slot = XXH3_64bits(name, length) % SLOTS;

	while (names->slots[slot]) {
		size_t number = names->slots[slot] - 1u;

		if (names->lengths[number] == length && !memcmp(names->names[number], name, length))
			break;
		slot = (slot + 1) % SLOTS;
	}
	return &names->slots[slot];
}

static void enter_name(struct kernel_names *names, const char *name)
{
	size_t length = base_length(name);
	__u16 *slot = kernel_names_slot_of(names, name, length);

	if (*slot)
		return;
	names->names[names->count] = name;
	names->lengths[names->count] = length;
	*slot = ++names->count;
}

static void take_function(const struct btf *btf, __u32 id, struct kernel_function *function)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const struct btf_type *prototype = btf__type_by_id(btf, type->type);

	function->functions++;
	function->function_id = id;
	if (prototype && btf_is_func_proto(prototype))
		function->arguments = btf_vlen(prototype);
}

/* A tracepoint is a typedef of a pointer to its function, whose first argument is not its own. */
static void take_tracepoint(const struct btf *btf, __u32 id, struct kernel_function *function)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const struct btf_type *pointer = btf__type_by_id(btf, type->type);
	const struct btf_type *prototype =
		pointer && btf_is_ptr(pointer) ? btf__type_by_id(btf, pointer->type) : NULL;

	if (!prototype || !btf_is_func_proto(prototype))
		return;
	function->tracepoint_id = id;
	function->tracepoint_arguments = btf_vlen(prototype) ? btf_vlen(prototype) - 1 : 0;
}

/* `btf` is kept, unless this fails. */
static int read_types(struct kernel_names *names, struct btf *btf, __u32 from, const char *module,
		      int fd)
{
	const size_t prefix = strlen(TRACEPOINTS);
	struct types *types = calloc(1, sizeof(*types));

	if (types)
		types->found = calloc(names->count, sizeof(types->found[0]));
	if (!types || !types->found) {
		free(types);
		return failed(-ENOMEM, "no memory for the names of the probe table");
	}
	snprintf(types->module, sizeof(types->module), "%s", module);
	types->fd = fd;
	for (__u32 id = from; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		bool function = btf_is_func(type);
		const char *name;
		__u16 number;

		if (!function && !btf_is_typedef(type)) {
			type_index_add(&types->index, btf, id);
			continue;
		}
		name = btf__name_by_offset(btf, type->name_off);
		if (!name || (!function && strncmp(name, TRACEPOINTS, prefix) != 0))
			continue;
		name += function ? 0 : prefix;
		number = *kernel_names_slot_of(names, name, strlen(name));
		if (number && function)
			take_function(btf, id, &types->found[number - 1]);
		else if (number)
			take_tracepoint(btf, id, &types->found[number - 1]);
	}
	for (size_t i = 0; i < names->count; i++) {
		types->found[i].types = fd;
		types->found[i].of_module = *module;
	}
	types->btf = btf;
	types->next = names->types;
	names->types = types;
	return 0;
}

int kernel_names_create(struct kernel_names **names, const char *const *more, size_t count)
{
	struct kernel_names *n = calloc(1, sizeof(*n));
	int error;

	if (!n)
		return failed(-ENOMEM, "no memory for the names of the probe table");
	n->kernel = btf__load_vmlinux_btf() ?: btf__parse_raw(KERNEL_TYPES);
	if (!n->kernel) {
		error = -errno; /* of the very file: the other tries several, and says nothing of any */
		free(n);
		if (error == -ENOMEM || error == -EMFILE || error == -ENFILE)
			return failed(error, KERNEL_TYPES " cannot be read: %s", strerror(-error));
		return failed(-EPERM,
			      "/sys/kernel/btf/vmlinux has no type information (BTF): a kernel "
			      "built with CONFIG_DEBUG_INFO_BTF is needed");
	}
	for (int i = 0; i < PROBE_COUNT; i++)
		for (size_t w = 0; w < ATTACH_METHODS && probe_row(i)->methods[w].kind; w++) {
			const struct attach_method *method = &probe_row(i)->methods[w];

			enter_name(n, method->symbol);
			if (method->end)
				enter_name(n, method->end);
		}
	for (size_t i = 0; i < count; i++)
		enter_name(n, more[i]);
	error = read_types(n, n->kernel, 1, "", 0);
	if (error) {
		kernel_names_destroy(n);
		return error;
	}
	*names = n;
	return 0;
}

void kernel_names_destroy(struct kernel_names *names)
{
	if (!names)
		return;
	while (names->types) {
		struct types *next = names->types->next;

		if (names->types->fd)
			close(names->types->fd);
		if (names->types->btf != names->kernel)
			btf__free(names->types->btf);
		type_index_free(&names->types->index);
		free(names->types->found);
		free(names->types);
		names->types = next;
	}
	free(names->symbols);
	free(names->traceable);
	btf__free(names->kernel);
	free(names);
}

const struct btf *kernel_names_types(const struct kernel_names *names)
{
	return names->kernel;
}

static const struct types *types_of(const struct kernel_names *names, const char *module)
{
	for (const struct types *types = names->types; types; types = types->next)
		if (!strcmp(types->module, module))
			return types;
	return NULL;
}

/* Its types are there before it has come up: until then no program is let onto its functions. */
static bool kernel_module_is_loaded(const char *module)
{
	char path[NAME_TEXT + 32], state[8] = "live";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	if (access(path, F_OK))
		return false;
	snprintf(path, sizeof(path), "/sys/module/%s/initstate", module);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (fscanf(file, "%7s", state) != 1)
		state[0] = '\0';
	fclose(file);
	return !strcmp(state, "live");
}

static const struct kernel_function *find_in(const struct kernel_names *names, size_t number,
					     const char *module)
{
	const struct types *types = types_of(names, module);
	const struct kernel_function *found = types ? &types->found[number] : NULL;

	return found && (found->functions || found->tracepoint_id) ? found : NULL;
}

/* Descriptor of a module's type information in the kernel, which only root gets; else 0. */
static int open_types(const char *module)
{
	__u32 id = 0;

	while (!bpf_btf_get_next_id(id, &id)) {
		char name[NAME_TEXT] = "";
		struct bpf_btf_info info = {.name = (__u64)(unsigned long)name,
					    .name_len = sizeof(name)};
		__u32 bytes = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &bytes) && info.kernel_btf &&
		    !strcmp(name, module))
			return fd;
		close(fd);
	}
	return 0;
}

/* A module that came since the last look is read now; one that cannot be read has nothing. */
static void read_module(struct kernel_names *names, const char *module)
{
	struct btf *btf;
	int fd;

	if (types_of(names, module) || !kernel_module_is_loaded(module))
		return;
	btf = btf__load_module_btf(module, names->kernel);
	if (!btf)
		return;
	fd = open_types(module);
	if (!read_types(names, btf, btf__type_cnt(names->kernel), module, fd))
		return;
	if (fd)
		close(fd);
	btf__free(btf);
}

struct btf *kernel_names_extract(const struct kernel_names *names, const struct btf *wanted)
{
	struct type_source sources[TYPES_MAX];
	size_t count = 1;

	/* The kernel's own come first: a module has copies of some of them. */
	for (struct types *types = names->types; types; types = types->next) {
		size_t at = types->module[0] ? count : 0;

		if (at == TYPES_MAX)
			continue;
		sources[at] = (struct type_source){types->btf, &types->index};
		count += at == count;
	}
	return core_types_extract(wanted, sources, count);
}

const struct kernel_function *kernel_names_find(struct kernel_names *names, const char *name,
						const char *modules)
{
	__u16 number = *kernel_names_slot_of(names, name, base_length(name));
	const struct kernel_function *found;
	char text[NAME_TEXT], *rest = text, *module;

	if (!number)
		return NULL;
	found = find_in(names, number - 1, "");
	snprintf(text, sizeof(text), "%s", modules ? modules : "");
	while (!found && (module = strsep(&rest, " "))) {
		read_module(names, module);
		found = *module ? find_in(names, number - 1, module) : NULL;
	}
	return found;
}

size_t kernel_names_loaded(const char *modules, char missing[NAME_TEXT])
{
	char text[NAME_TEXT], *rest = text, *module;
	size_t loaded = 0;

	missing[0] = '\0';
	snprintf(text, sizeof(text), "%s", modules ? modules : "");
	while ((module = strsep(&rest, " "))) {
		if (*module && kernel_module_is_loaded(module))
			loaded++;
		else if (*module && !missing[0])
			snprintf(missing, NAME_TEXT, "%s", module);
	}
	return loaded;
}

/* "ffffffff81000000 t name.constprop.0 [module]": code only, no cold halves of functions. */
static void take_symbol(struct kernel_names *names, const char *line)
{
	const char *kind = strchr(line, ' '), *name, *dot;
	size_t length, base;
	struct kernel_name *symbol;
	__u16 number;

	if (!kind || !kind[1] || !strchr("tTwW", kind[1]) || kind[2] != ' ')
		return;
	name = kind + 3;
	length = strcspn(name, "\t\n ");
	base = strcspn(name, ".\t\n ");
	number = *kernel_names_slot_of(names, name, base);
	if (!number || length >= NAME_TEXT)
		return;
	symbol = &names->symbols[number - 1];
	if (base == length) {
		symbol->plain++;
		return;
	}
	dot = strstr(name, ".cold");
	if (dot && dot < name + length)
		return;
	if (!symbol->clones++) {
		memcpy(symbol->clone, name, length);
		symbol->clone[length] = '\0';
	}
}

static void read_symbols(struct kernel_names *names)
{
	char line[512];
	FILE *file;

	if (names->symbols)
		return;
	names->symbols = calloc(names->count, sizeof(names->symbols[0]));
	file = fopen("/proc/kallsyms", "re");
	while (names->symbols && file && fgets(line, sizeof(line), file))
		take_symbol(names, line);
	if (file)
		fclose(file);
}

size_t kernel_names_symbol(struct kernel_names *names, const char *name, char symbol[NAME_TEXT])
{
	size_t length = base_length(name);
	__u16 number = *kernel_names_slot_of(names, name, length);
	const struct kernel_name *found;

	symbol[0] = '\0';
	read_symbols(names);
	if (!number || !names->symbols)
		return 0;
	found = &names->symbols[number - 1];
	snprintf(symbol, NAME_TEXT, "%.*s", (int)length, name);
	if (found->plain || !name[length])
		return found->plain;
	snprintf(symbol, NAME_TEXT, "%s", found->clone);
	return found->clones;
}

/* Lines are "function" or "function [module]". Without the list everything may be. */
static void read_traceable(struct kernel_names *names)
{
	FILE *file = fopen("/sys/kernel/tracing/available_filter_functions", "re");
	char line[512];

	names->traceable = calloc(names->count, sizeof(names->traceable[0]));
	if (names->traceable && !file)
		memset(names->traceable, true, names->count * sizeof(names->traceable[0]));
	while (names->traceable && file && fgets(line, sizeof(line), file)) {
		__u16 number = *kernel_names_slot_of(names, line, strcspn(line, " \n"));

		if (number)
			names->traceable[number - 1] = true;
	}
	if (file)
		fclose(file);
}

bool kernel_names_traceable(struct kernel_names *names, const char *name)
{
	__u16 number = *kernel_names_slot_of(names, name, base_length(name));

	if (!names->traceable)
		read_traceable(names);
	return !number || !names->traceable || names->traceable[number - 1];
}
