// SPDX-License-Identifier: GPL-2.0
/* The extract of the kernel's types: what is in it, and that nothing has moved. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

#include "lib/capture/core_types.h"

/* A kernel of two thousand types of which few are of interest. */
static struct btf *kernel;
static struct type_index kernel_index;

static void index_from(struct type_index *index, const struct btf *btf, __u32 from)
{
	memset(index, 0, sizeof(*index));
	for (__u32 id = from; id < btf__type_cnt(btf); id++)
		type_index_add(index, btf, id);
}

/* struct device { const char *name; struct list { struct device *next; } list; refs_t refs[7]; unsigned flag:3; } */
static void add_device(struct btf *btf, const char *name, __u32 list_offset)
{
	int number = btf__add_int(btf, "unsigned int", 4, 0);
	int refs = btf__add_typedef(btf, "refs_t", btf__add_const(btf, number));
	int array = btf__add_array(btf, number, refs, 7);
	int text = btf__add_ptr(btf, btf__add_const(btf, btf__add_int(btf, "char", 1, 0)));
	int list = btf__type_cnt(btf) + 1; /* behind the pointer to what comes behind it */
	int next = btf__add_ptr(btf, list + 1);

	assert_int_equal(btf__add_struct(btf, "list", 8), list);
	assert_int_equal(btf__add_field(btf, "next", next, 0, 0), 0);
	assert_int_equal(btf__add_struct(btf, name, 64), list + 1);
	assert_int_equal(btf__add_field(btf, "name", text, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "list", list, list_offset * 8, 0), 0);
	assert_int_equal(btf__add_field(btf, "refs", array, 32 * 8, 0), 0);
	assert_int_equal(btf__add_field(btf, "flag", number, 60 * 8 + 5, 3), 0);
}

static int make_kernel(void **state)
{
	kernel = btf__new_empty();
	for (int i = 0; i < 499; i++) {
		char name[24];

		snprintf(name, sizeof(name), "other%d", i);
		btf__add_struct(kernel, name, 8);
		btf__add_field(kernel, "x", btf__add_ptr(kernel, 0), 0, 0);
	}
	add_device(kernel, "device", 8);
	btf__add_enum(kernel, "colour", 4);
	btf__add_enum_value(kernel, "RED", 11);
	index_from(&kernel_index, kernel, 1);
	return 0;
}

static int drop_kernel(void **state)
{
	type_index_free(&kernel_index);
	btf__free(kernel);
	return 0;
}

static struct btf *wanting(const char *first, const char *second)
{
	struct btf *wanted = btf__new_empty();

	btf__add_struct(wanted, first, 8);
	if (second)
		btf__add_enum(wanted, second, 4);
	btf__add_struct(wanted, NULL, 8);
	btf__add_struct(wanted, "nowhere", 8);
	return wanted;
}

static const struct btf_type *find(const struct btf *btf, const char *name, __u32 kind)
{
	int id = btf__find_by_name_kind(btf, name, kind);

	return id > 0 ? btf__type_by_id(btf, id) : NULL;
}

static void a_struct_comes_with_what_lies_within_it(void **state)
{
	const struct type_source source = {kernel, &kernel_index};
	struct btf *wanted = wanting("device___6_1", "colour");
	struct btf *extract = core_types_extract(wanted, &source, 1);
	const struct btf_type *device, *refs;
	const struct btf_member *members;

	device = find(extract, "device", BTF_KIND_STRUCT);
	assert_non_null(device);
	assert_int_equal(device->size, 64);
	assert_int_equal(btf_vlen(device), 4);
	members = btf_members(device);
	assert_string_equal(btf__name_by_offset(extract, members[1].name_off), "list");
	assert_int_equal(btf_member_bit_offset(device, 1), 8 * 8);
	assert_ptr_equal(btf__type_by_id(extract, members[1].type),
			 find(extract, "list", BTF_KIND_STRUCT));
	assert_true(btf_is_ptr(btf__type_by_id(extract, members[0].type)));
	refs = btf__type_by_id(extract, members[2].type);
	assert_true(btf_is_array(refs));
	assert_int_equal(btf_array(refs)->nelems, 7);
	assert_int_equal(btf__resolve_size(extract, btf_array(refs)->type), 4);
	assert_int_equal(btf_member_bit_offset(device, 3), 60 * 8 + 5);
	assert_int_equal(btf_member_bitfield_size(device, 3), 3);
	assert_int_equal(btf_enum(find(extract, "colour", BTF_KIND_ENUM))->val, 11);
	/* What nobody asked for stays out, also what a pointer leads to. */
	assert_null(find(extract, "other17", BTF_KIND_STRUCT));
	assert_true(btf__type_cnt(extract) < 16);
	btf__free(extract);
	btf__free(wanted);
}

/* libbpf refuses a name with two meanings unless they agree; hiding one would be a guess. */
static void all_types_of_a_name_are_taken(void **state)
{
	struct btf *twice = btf__new_empty();
	struct btf *wanted = wanting("device", NULL), *extract;
	struct type_index index;
	struct type_source source = {twice, &index};
	size_t found = 0;

	add_device(twice, "device", 8);
	add_device(twice, "device", 16);
	index_from(&index, twice, 1);
	extract = core_types_extract(wanted, &source, 1);
	for (__u32 id = 1; id < btf__type_cnt(extract); id++) {
		const struct btf_type *type = btf__type_by_id(extract, id);

		found += btf_is_struct(type) &&
			 !strcmp(btf__name_by_offset(extract, type->name_off), "device");
	}
	assert_int_equal(found, 2);
	btf__free(extract);
	btf__free(wanted);
	type_index_free(&index);
	btf__free(twice);
}

/* Modules have copies of the kernel's types, and others have not been declared in the kernel. */
static void a_module_is_asked_for_what_the_kernel_lacks(void **state)
{
	struct btf *module = btf__new_empty_split(kernel);
	struct type_index index;
	struct type_source sources[] = {{kernel, &kernel_index}, {module, &index}};
	struct btf *wanted = wanting("container", "colour"), *extract;
	const struct btf_type *container;

	btf__add_struct(module, "container", 96);
	btf__add_field(module, "device", btf__find_by_name_kind(kernel, "device", BTF_KIND_STRUCT),
		       32 * 8, 0);
	btf__add_enum(module, "colour", 4);
	btf__add_enum_value(module, "RED", 99);
	index_from(&index, module, btf__type_cnt(kernel));
	extract = core_types_extract(wanted, sources, 2);
	container = find(extract, "container", BTF_KIND_STRUCT);
	assert_non_null(container);
	assert_int_equal(btf_member_bit_offset(container, 0), 32 * 8);
	assert_ptr_equal(btf__type_by_id(extract, btf_members(container)->type),
			 find(extract, "device", BTF_KIND_STRUCT));
	assert_int_equal(btf_enum(find(extract, "colour", BTF_KIND_ENUM))->val, 11);
	btf__free(extract);
	btf__free(wanted);
	type_index_free(&index);
	btf__free(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_struct_comes_with_what_lies_within_it),
		cmocka_unit_test(all_types_of_a_name_are_taken),
		cmocka_unit_test(a_module_is_asked_for_what_the_kernel_lacks),
	};

	return cmocka_run_group_tests_name("core_types", tests, make_kernel, drop_kernel);
}
