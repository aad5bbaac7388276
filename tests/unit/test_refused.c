// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs that the kernel refuses take only their own rows with them, and the verifier's
 * message can be had whole. Needs root and BTF; without them every test is skipped.
 */
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/objects.h"
#include "lib/capture/probes.h"
#include "tests/bpf/refused.skel.h"

static struct shared_maps maps;
static struct probe_set *set;

/* Rows of a few objects: others, which take their time, have nothing to add. */
static void load(bool verbose)
{
	static const __u16 kinds[] = {EVENT_IOMMU_MAP, EVENT_IOMMU_UNMAP, EVENT_IOMMU_IO_PAGE_FAULT,
				      EVENT_CPU_FAULT, EVENT_SCHED_RUN,	  EVENT_BLOCK_COMPLETE};
	struct capture_config config = {.verbose = verbose};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		kind_set_add(&config.kinds, kinds[i]);
	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	object_replace(probe_row(PROBE_IOMMU_MAP)->object, refused_bpf__elf_bytes);
	places_replace("/proc/self"); /* an IOMMU or several: something is in there */
	objects_verbose(verbose);
	if (shared_maps_create(&maps, 4096) || probe_set_create(&set, &config) ||
	    probe_set_load(set, &maps))
		fail_msg("%s", failure_text());
	probe_set_attach(set);
}

static void unload(void)
{
	probe_set_destroy(set);
	shared_maps_destroy(&maps);
	object_replace(probe_row(PROBE_IOMMU_MAP)->object, NULL);
	places_replace(NULL);
	objects_verbose(false);
}

static void expect_off(enum probe_id id, const char *reason)
{
	const struct probe_info *info = probe_set_info(set, id);

	assert_int_equal(info->state, PROBE_OFF);
	if (!strstr(info->reason, reason))
		fail_msg("%s: '%s' does not tell '%s'", info->name, info->reason, reason);
}

static void a_refused_program_takes_only_its_own_row_with_it(void **state)
{
	load(false);
	expect_off(PROBE_IOMMU_UNMAP, "invalid mem access 'scalar'");
	expect_off(PROBE_IOMMU_IO_PAGE_FAULT, "field_that_no_kernel_has");
	assert_int_equal(probe_set_info(set, PROBE_IOMMU_MAP)->state, PROBE_ON);
	/* Of the other objects everything that this kernel has is there. */
	assert_int_equal(probe_set_info(set, PROBE_PAGE_FAULT_USER)->state, PROBE_ON);
	assert_int_equal(probe_set_info(set, PROBE_SCHED_SWITCH)->state, PROBE_ON);
	assert_int_equal(probe_set_info(set, PROBE_BLOCK_ISSUE)->state, PROBE_ON);
	assert_int_equal(probe_set_info(set, PROBE_BLOCK_COMPLETE)->state, PROBE_ON);
	unload();
}

/* What load() writes to stderr. */
static size_t load_and_listen(bool verbose, char *text, size_t bytes)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	size_t length;

	assert_true(file && before >= 0);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	load(verbose);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	length = fread(text, 1, bytes - 1, file);
	text[length] = '\0';
	fclose(file);
	unload();
	return length;
}

static void the_whole_message_is_there_for_who_asks(void **state)
{
	static char text[1 << 20];

	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	load_and_listen(true, text, sizeof(text));
	assert_non_null(strstr(text, "prog 'unmap'"));
	assert_non_null(strstr(text, "BEGIN PROG LOAD LOG"));
	assert_non_null(strstr(text, "END PROG LOAD LOG"));
	assert_int_equal(load_and_listen(false, text, sizeof(text)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_program_takes_only_its_own_row_with_it),
		cmocka_unit_test(the_whole_message_is_there_for_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
