/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few of the kernel's types that our BPF programs look into, as type information of their own.
 *
 * libbpf fits field offsets to the running kernel by its type information, and reads the whole of it
 * for every object: 130,000 types, a quarter of a second on a slow machine. Here it is read once for
 * all, and each object gets an extract of some hundred types.
 */
#ifndef FAULTLINE_CORE_TYPES_H
#define FAULTLINE_CORE_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include <bpf/btf.h>

/* Structs, unions and enums by the hashes of their names, of which one may have several. */
struct type_index {
	struct indexed_type {
		__u64 hash;
		__u32 id;
	} * entries;
	size_t count, room;
	bool failed; /* no memory */
	bool sorted;
};

/* Takes in what has a name and can be looked into; everything else is left out. */
void type_index_add(struct type_index *index, const struct btf *btf, __u32 id);
void type_index_free(struct type_index *index);

/* One type information to take from; `index` has what is its own. */
struct type_source {
	const struct btf *btf;
	struct type_index *index;
};

/*
 * The extract for an object whose own type information is `wanted`: whatever goes by the name of one
 * of its types (less "___flavour"), with all that lies within it. A name is looked for in one source
 * after the other until it is found. NULL without memory; to be freed with btf__free().
 */
struct btf *core_types_extract(const struct btf *wanted, const struct type_source *sources,
			       size_t count);

#endif
