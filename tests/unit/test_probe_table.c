// SPDX-License-Identifier: GPL-2.0
/* The probe table holds what it promises: rows, names, and programs of the right type. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/capture/objects.h"
#include "lib/capture/probes.h"

#define PROGRAMS_MAX 1024

static struct bpf_object *objects[OBJECT_COUNT];
static const struct bpf_program *used[PROGRAMS_MAX];
static size_t used_count;

static int open_all(void **state)
{
	(void)state;
	for (int id = 0; id < OBJECT_COUNT; id++)
		if (object_open(&objects[id], id, NULL))
			return -1;
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	for (int id = 0; id < OBJECT_COUNT; id++)
		bpf_object__close(objects[id]);
	return 0;
}

static void every_id_has_a_row_with_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		assert_int_equal(row->id, i);
		assert_true(row->name && row->name[0] && strlen(row->name) < NAME_TEXT);
		assert_true(row->object < OBJECT_COUNT);
		assert_true(row->kind > EVENT_NONE && row->kind < EVENT_KIND_MAX);
		assert_true(row->ways[0].kind != ATTACH_NONE);
		for (int other = 0; other < i; other++)
			assert_string_not_equal(row->name, probe_row(other)->name);
	}
}

static void check_program(const struct probe_row *row, const struct probe_way *way,
			  const char *name, bool returns)
{
	const struct bpf_program *program =
		bpf_object__find_program_by_name(objects[row->object], name);
	enum bpf_attach_type attach;

	if (!program)
		fail_msg("row %s: its object has no program %s", row->name, name);
	attach = bpf_program__expected_attach_type(program);
	if (way->kind == ATTACH_TP_BTF)
		assert_int_equal(attach, BPF_TRACE_RAW_TP);
	else if (way->kind == ATTACH_FUNCTION &&
		 attach != (returns || way->end ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY))
		fail_msg("row %s: program %s is no %s", row->name, name,
			 returns || way->end ? "fexit" : "fentry");
	else if (way->kind == ATTACH_KPROBE || way->kind == ATTACH_USDT)
		assert_int_equal(bpf_program__type(program), BPF_PROG_TYPE_KPROBE);
	for (size_t i = 0; i < used_count && way->kind != ATTACH_USDT; i++)
		if (used[i] == program)
			fail_msg("row %s: program %s belongs to another way, too", row->name, name);
	assert_true(used_count < PROGRAMS_MAX);
	used[used_count++] = program;
}

/* Each way has its own programs, of the type that its kind needs. */
static void every_program_of_a_row_exists(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		for (size_t w = 0; w < PROBE_WAYS && row->ways[w].kind; w++) {
			const struct probe_way *way = &row->ways[w];

			assert_true(way->symbol && way->symbol[0]);
			assert_true(strlen(way->symbol) < NAME_TEXT);
			/* A tracepoint does not return: what ends it is another one. */
			assert_true(way->kind != ATTACH_TP_BTF || !way->returns == !way->end);
			assert_true(way->kind == ATTACH_FILES || way->program || way->returns);
			if (way->program)
				check_program(row, way, way->program, false);
			if (way->returns)
				check_program(row, way, way->returns, true);
		}
	}
}

static void every_program_belongs_to_a_row(void **state)
{
	(void)state;
	for (int id = 0; id < OBJECT_COUNT; id++) {
		struct bpf_program *program;

		bpf_object__for_each_program(program, objects[id]) {
			size_t i = 0;

			while (i < used_count && used[i] != program)
				i++;
			if (i == used_count)
				fail_msg("%s: no row uses program %s",
					 bpf_object__name(objects[id]), bpf_program__name(program));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_id_has_a_row_with_a_name_of_its_own),
		cmocka_unit_test(every_program_of_a_row_exists),
		cmocka_unit_test(every_program_belongs_to_a_row),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
