// SPDX-License-Identifier: GPL-2.0
/* The presets are Tables II and IV of HyperTRIO, and a job without a word is the base design. */
#include "tests/unit/test.h"

#include <string.h>

#include "tools/sim/sim.h"

static void configure(struct sim_config *config, const char *const *presets)
{
	struct job_text *text = job_text_new("the test");
	struct idle_keys idle = {0};

	assert_non_null(text);
	assert_int_equal(sim_complete(text), 0);
	for (; *presets; presets++)
		assert_int_equal(sim_preset(text, *presets), 0);
	assert_int_equal(sim_configure(config, text, false, &idle), 0);
	assert_int_equal(idle_keys_refuse(&idle), 0);
	idle_keys_free(&idle);
	job_text_free(text);
}

static void table_2_is_the_default(void **state)
{
	struct sim_config config;

	configure(&config, (const char *const[]){NULL});
	assert_int_equal(config.model.pcie_ps, 450000);
	assert_int_equal(config.model.dram_ps, 50000);
	assert_int_equal(config.model.devtlb_hit_ps, 2000);
	assert_int_equal(config.model.packet_bits, 1542 * 8);
	assert_int_equal(config.model.link_bits_per_s, 200000000000);
	assert_int_equal(config.model.level2.cache.entries, 512);
	assert_int_equal(config.model.level2.cache.ways, 16);
	assert_int_equal(config.model.level3.cache.entries, 1024);
	assert_int_equal(config.model.level3.cache.ways, 16);
	assert_int_equal(config.model.walk, WALK_AS_RELEASED);
	configure(&config, (const char *const[]){"table2-literal", NULL});
	assert_int_equal(config.model.walk, WALK_TABLES);
}

static void both_columns_of_table_4_are_presets(void **state)
{
	static const struct {
		const char *name;
		enum model_preset preset;
		__u32 ptb, devtlb, level2, level3, buffer;
	} columns[] = {
		{"base", MODEL_BASE, 1, 1, 1, 1, 0},
		{"hypertrio", MODEL_HYPERTRIO, 32, 8, 32, 64, 8},
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		struct model_config preset;
		struct sim_config config;
		const struct model_config *m = &config.model;

		configure(&config, (const char *const[]){columns[i].name, NULL});
		assert_int_equal(m->ptb_entries, columns[i].ptb);
		assert_int_equal(m->devtlb.cache.entries, 64);
		assert_int_equal(m->devtlb.cache.ways, 8);
		assert_int_equal(m->devtlb.cache.policy, REPLACE_LFU);
		assert_int_equal(m->devtlb.partitions, columns[i].devtlb);
		assert_int_equal(m->level2.cache.policy, REPLACE_LFU);
		assert_int_equal(m->level2.partitions, columns[i].level2);
		assert_int_equal(m->level3.cache.policy, REPLACE_LFU);
		assert_int_equal(m->level3.partitions, columns[i].level3);
		assert_int_equal(m->prefetch.cache.entries, columns[i].buffer);
		assert_int_equal(m->prefetch_distance, 48);
		assert_int_equal(m->prefetch_pages, 2);
		/* The library's presets, for who has no job file, are the same. */
		model_preset(&preset, columns[i].preset);
		assert_memory_equal(m, &preset, sizeof(preset));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_2_is_the_default),
		cmocka_unit_test(both_columns_of_table_4_are_presets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
