/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the running kernel has of the names that the probe table asks for.
 *
 * Each type information (the kernel's own, a loaded module's) is read once, in one pass for all
 * names together; so are the symbols, and these only when a clone without type information is asked
 * for: printing them takes the kernel longer than everything else here.
 */
#ifndef FAULTLINE_KERNEL_NAMES_H
#define FAULTLINE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <bpf/btf.h>

#include "lib/base/stream.h"

struct kernel_names;

/* What one type information says of one name. */
struct kernel_function {
	__u32 functions;   /* of that name; more than one cannot be told apart */
	__u32 function_id; /* of the last one, in its type information */
	__u32 arguments;
	__u32 tracepoint_id; /* 0: there is no tracepoint of that name */
	__u32 tracepoint_arguments;
	int types;	/* descriptor of a module's type information, 0: the kernel's own */
	bool of_module; /* without a descriptor nothing can be put on it */
};

/* Takes in all names of the probe table, and `more`. -EPERM: the kernel has no type information.
 * Any other error: it could not be read. */
int kernel_names_create(struct kernel_names **names, const char *const *more, size_t count);
void kernel_names_destroy(struct kernel_names *names);

const struct btf *kernel_names_types(const struct kernel_names *names);

/*
 * The types of the kernel, and of the modules that were looked into so far, that an object with the
 * types `wanted` may look into (core_types.h). To be freed; NULL without memory.
 */
struct btf *kernel_names_extract(const struct kernel_names *names, const struct btf *wanted);

/*
 * Looks in the kernel's types, then in those of the loaded ones among `modules` (names separated by
 * spaces, NULL: none). NULL if the name is nowhere.
 */
const struct kernel_function *kernel_names_find(struct kernel_names *names, const char *name,
						const char *modules);

/* How many of `modules` are loaded now; `missing` gets the first that is not, "" if all are. */
size_t kernel_names_loaded(const char *modules, char missing[NAME_TEXT]);

/*
 * The symbol to put a kprobe on: `name` itself, or for "function.*" that function or its one clone
 * (function.constprop.0, .part, .isra). Returns how many symbols fit; `symbol` gets the first.
 */
size_t kernel_names_symbol(struct kernel_names *names, const char *name, char symbol[NAME_TEXT]);

/* Whether the kernel's list of traceable functions has this one; true also without such a list. */
bool kernel_names_traceable(struct kernel_names *names, const char *name);

#endif
