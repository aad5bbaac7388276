// SPDX-License-Identifier: GPL-2.0
/* The probe table holds what it promises: rows, names, and programs of the right type. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/capture/objects.h"
#include "lib/capture/probes_private.h"

#define PROGRAMS_MAX 1024

#define OBJECTS_MAX 64

static struct opened {
	const struct object_source *source;
	struct bpf_object *object;
} objects[OBJECTS_MAX];
static size_t object_count;
static const struct bpf_program *used[PROGRAMS_MAX];
static size_t used_count;

static struct bpf_object *object_of(const struct probe_row *row)
{
	for (size_t i = 0; i < object_count; i++)
		if (objects[i].source == row->object)
			return objects[i].object;
	return NULL;
}

static int open_all(void **state)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct opened *next = &objects[object_count];

		if (object_of(probe_row(i)))
			continue;
		next->source = probe_row(i)->object;
		if (object_count == OBJECTS_MAX || object_open(&next->object, next->source, NULL))
			return -1;
		object_count++;
	}
	return 0;
}

static int close_all(void **state)
{
	while (object_count)
		bpf_object__close(objects[--object_count].object);
	return 0;
}

static void every_id_has_a_row_with_a_name_of_its_own(void **state)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		assert_int_equal(row->id, i);
		assert_true(row->name && row->name[0] && strlen(row->name) < NAME_TEXT);
		assert_non_null(object_of(row));
		assert_true(row->kind > EVENT_NONE && row->kind < EVENT_KIND_MAX);
		assert_true(row->methods[0].kind != ATTACH_NONE);
		for (int other = 0; other < i; other++)
			assert_string_not_equal(row->name, probe_row(other)->name);
	}
}

/* Whoever may open no more than was asked for still gets every probe. */
static void no_object_takes_more_descriptors_than_are_asked_for(void **state)
{
	const struct bpf_map *map;

	for (size_t i = 0; i < object_count; i++) {
		int held = 2; /* its own types, and those it is fitted to */

		bpf_object__for_each_map(map, objects[i].object)
			held++;
		if (held > OBJECT_DESCRIPTORS)
			fail_msg("object %s takes %d descriptors", objects[i].source->name, held);
	}
}

static void a_line_and_the_file_of_a_path_have_the_same_probes(void **state)
{
#define PROBE(ID)		 PROBE_##ID,
#define PATH(NAME, name, probes) const enum probe_id name##_line[] = {probes PROBE_COUNT};
#include "bpf/paths.def"
#undef PATH
	const enum probe_id *const lines[PATH_COUNT] = {
#define PATH(NAME, name, probes) [PATH_##NAME] = name##_line,
#include "bpf/paths.def"
#undef PATH
#undef PROBE
	};

	for (int path = PATH_NONE + 1; path < PATH_COUNT; path++)
		for (const enum probe_id *id = lines[path]; *id != PROBE_COUNT; id++)
			if (path_of(probe_row(*id)) != (enum path_id)path)
				fail_msg("probe %s is not in the file of '%s'",
					 probe_row(*id)->name, path_name(path));
}

static void check_program(const struct probe_row *row, const struct attach_method *method,
			  const char *name, bool returns)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object_of(row), name);
	enum bpf_attach_type attach;

	if (!program)
		fail_msg("row %s: its object has no program %s", row->name, name);
	attach = bpf_program__expected_attach_type(program);
	if (method->kind == ATTACH_TP_BTF)
		assert_int_equal(attach, BPF_TRACE_RAW_TP);
	else if (method->kind == ATTACH_FUNCTION &&
		 attach != (returns || method->end ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY))
		fail_msg("row %s: program %s is no %s", row->name, name,
			 returns || method->end ? "fexit" : "fentry");
	else if (method->kind == ATTACH_KPROBE || method->kind == ATTACH_USDT)
		assert_int_equal(bpf_program__type(program), BPF_PROG_TYPE_KPROBE);
	for (size_t i = 0; i < used_count && method->kind != ATTACH_USDT; i++)
		if (used[i] == program)
			fail_msg("row %s: program %s belongs to another way, too", row->name, name);
	assert_true(used_count < PROGRAMS_MAX);
	used[used_count++] = program;
}

/* Each method has its own programs, of the type that its kind needs. */
static void every_program_of_a_row_exists(void **state)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		for (size_t w = 0; w < ATTACH_METHODS && row->methods[w].kind; w++) {
			const struct attach_method *method = &row->methods[w];

			assert_true(method->symbol && method->symbol[0]);
			assert_true(strlen(method->symbol) < NAME_TEXT);
			/* A tracepoint does not return: what ends it is another one. */
			assert_true(method->kind != ATTACH_TP_BTF ||
				    !method->returns == !method->end);
			assert_true(method->kind == ATTACH_FILES || method->program ||
				    method->returns);
			if (method->program)
				check_program(row, method, method->program, false);
			if (method->returns)
				check_program(row, method, method->returns, true);
		}
	}
}

static void every_program_belongs_to_a_row(void **state)
{
	for (size_t o = 0; o < object_count; o++) {
		struct bpf_program *program;

		bpf_object__for_each_program(program, objects[o].object) {
			size_t i = 0;

			while (i < used_count && used[i] != program)
				i++;
			if (i == used_count)
				fail_msg("%s: no row uses program %s", objects[o].source->name,
					 bpf_program__name(program));
		}
	}
}

/* Their programs were refused: each method is tried once, in the order of preference. */
static void a_refused_method_is_followed_by_the_next(void **state)
{
	const struct attach_method methods[ATTACH_METHODS] = {
		{ATTACH_FILES, "/"}, {ATTACH_FILES, "/proc"}, {ATTACH_FILES, "/dev"}};
	/* Where files are is not asked of the kernel's names: it need only have some. */
	struct probe_set set = {.names = (struct kernel_names *)&set,
				.places.there[PLACE_ANYWHERE] = true};
	struct probe probe = {.row = probe_row(PROBE_RDMA_COUNTERS), .methods = methods};

	assert_true(probe_take_next_method(&set, &probe, NULL));
	assert_ptr_equal(probe.method, &methods[0]);
	assert_true(probe_take_next_method(&set, &probe, "first refused"));
	assert_ptr_equal(probe.method, &methods[1]);
	assert_string_equal(probe.info.attach, "files /proc");
	assert_true(probe_take_next_method(&set, &probe, "second refused"));
	assert_ptr_equal(probe.method, &methods[2]);
	assert_false(probe_take_next_method(&set, &probe, "third refused"));
	assert_null(probe.method);
	assert_int_equal(probe.info.state, PROBE_OFF);
	assert_string_equal(probe.info.reason, "third refused");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_id_has_a_row_with_a_name_of_its_own),
		cmocka_unit_test(no_object_takes_more_descriptors_than_are_asked_for),
		cmocka_unit_test(a_line_and_the_file_of_a_path_have_the_same_probes),
		cmocka_unit_test(every_program_of_a_row_exists),
		cmocka_unit_test(every_program_belongs_to_a_row),
		cmocka_unit_test(a_refused_method_is_followed_by_the_next),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
