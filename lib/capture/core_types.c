// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/core_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/array.h"

#define FLAVOUR "___"

/* Copies types of one source: numbers there to numbers here, 0: not copied yet. */
struct copier {
	struct btf *to;
	const struct btf *from;
	__u32 *copied;
};

static bool looked_into(const struct btf_type *type)
{
	return btf_is_composite(type) || btf_is_any_enum(type);
}

void type_index_add(struct type_index *index, const struct btf *btf, __u32 id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *name = looked_into(type) ? btf__name_by_offset(btf, type->name_off) : NULL;

	if (!name || !*name || index->failed)
		return;
	index->failed = !array_grow(&index->entries, &index->room, index->count + 1,
				    sizeof(index->entries[0]), ARRAY_PLAIN);
	if (index->failed)
		return;
	index->entries[index->count++] = (struct indexed_type){XXH3_64bits(name, strlen(name)), id};
	index->sorted = false;
}

void type_index_free(struct type_index *index)
{
	free(index->entries);
	memset(index, 0, sizeof(*index));
}

static int by_hash(const void *a, const void *b)
{
	const struct indexed_type *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* The first entry of this hash or of a greater one. */
static size_t type_index_first_of(struct type_index *index, __u64 hash)
{
	size_t low = 0, high = index->count;

	if (!index->sorted && index->count)
		qsort(index->entries, index->count, sizeof(index->entries[0]), by_hash);
	index->sorted = true;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (index->entries[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int copy(struct copier *c, __u32 id);

/* Members first: a type must be there before another refers to it. No type lies within itself. */
static int copy_members(struct copier *c, const struct btf_type *type)
{
	for (int i = 0; i < btf_vlen(type); i++) {
		int member = copy(c, btf_members(type)[i].type);

		if (member < 0)
			return member;
	}
	return 0;
}

static int core_types_add(struct copier *c, const struct btf_type *type)
{
	int id = btf__add_type(c->to, c->from, type);
	struct btf_member *members;

	if (id < 0 || !btf_is_composite(type))
		return id;
	/* The copy still has the numbers of where it came from. */
	members = btf_members((struct btf_type *)btf__type_by_id(c->to, id));
	for (int i = 0; i < btf_vlen(type); i++)
		members[i].type = c->copied[members[i].type];
	return id;
}

static int copy_array(struct copier *c, const struct btf_array *array)
{
	int element = copy(c, array->type);
	int index = copy(c, array->index_type);

	if (element < 0 || index < 0)
		return element < 0 ? element : index;
	return btf__add_array(c->to, index, element, array->nelems);
}

/* What a pointer leads to is another type's business: each field access names its own. */
static int copy_kind(struct copier *c, const struct btf_type *type)
{
	int error;

	if (btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type))
		return copy(c, type->type);
	if (btf_is_ptr(type))
		return btf__add_ptr(c->to, 0);
	if (btf_is_array(type))
		return copy_array(c, btf_array(type));
	if (btf_is_composite(type)) {
		error = copy_members(c, type);
		return error ? error : core_types_add(c, type);
	}
	if (btf_is_int(type) || btf_is_float(type) || btf_is_any_enum(type) || btf_is_fwd(type))
		return core_types_add(c, type);
	return 0; /* nothing that can lie within a struct */
}

/* Number of the copy, 0 for void; or a negative errno. */
static int copy(struct copier *c, __u32 id)
{
	int copied;

	if (!id || c->copied[id])
		return (int)c->copied[id];
	copied = copy_kind(c, btf__type_by_id(c->from, id));
	if (copied > 0)
		c->copied[id] = (__u32)copied;
	return copied;
}

static int copy_named(struct copier *c, struct type_index *index, const char *name, size_t length)
{
	__u64 hash = XXH3_64bits(name, length);
	int found = 0;

	for (size_t i = type_index_first_of(index, hash);
	     i < index->count && index->entries[i].hash == hash && found >= 0; i++) {
		int copied = copy(c, index->entries[i].id);

		found = copied < 0 ? copied : found + 1;
	}
	return found;
}

static int copy_wanted(const struct btf *wanted, struct copier *copiers,
		       const struct type_source *sources, size_t count)
{
	for (__u32 id = 1; id < btf__type_cnt(wanted); id++) {
		const struct btf_type *type = btf__type_by_id(wanted, id);
		const char *name = btf__name_by_offset(wanted, type->name_off);
		const char *flavour = name ? strstr(name, FLAVOUR) : NULL;
		int found = 0;

		if (!name || !*name || !looked_into(type))
			continue;
		for (size_t i = 0; i < count && !found; i++)
			found = copy_named(&copiers[i], sources[i].index, name,
					   flavour ? (size_t)(flavour - name) : strlen(name));
		if (found < 0)
			return found;
	}
	return 0;
}

struct btf *core_types_extract(const struct btf *wanted, const struct type_source *sources,
			       size_t count)
{
	struct copier *copiers = calloc(count, sizeof(copiers[0]));
	struct btf *to = btf__new_empty();
	int error = copiers && to ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++) {
		copiers[i] = (struct copier){to, sources[i].btf, NULL};
		copiers[i].copied = calloc(btf__type_cnt(sources[i].btf), sizeof(__u32));
		if (!copiers[i].copied || sources[i].index->failed)
			error = -ENOMEM;
	}
	if (!error)
		error = copy_wanted(wanted, copiers, sources, count);
	for (size_t i = 0; copiers && i < count; i++)
		free(copiers[i].copied);
	free(copiers);
	if (!error)
		return to;
	btf__free(to);
	return NULL;
}
