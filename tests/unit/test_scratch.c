// SPDX-License-Identifier: GPL-2.0
/* Scratch mappings: scattered pages in one range, pinned there, gone again, or refused as a whole. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/emu/hyv/scratch.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/child.h"
#include "tests/unit/view_child.h"

#define FILE_PAGES 65536ul /* 256 MiB */

static int file;
static __u64 *view, *pages;

static int setup(void **state)
{
	file = memfd_create("scratch", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, FILE_PAGES * PAGE_BYTES))
		return -1;
	view = mmap(NULL, FILE_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	pages = calloc(FILE_PAGES, sizeof(*pages));
	return view == MAP_FAILED || !pages;
}

static int teardown(void **state)
{
	munmap(view, FILE_PAGES * PAGE_BYTES);
	close(file);
	free(pages);
	return 0;
}

static __u64 *word_of(__u64 page_address)
{
	return view + page_address / sizeof(*view);
}

static long mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	long lines = 0;
	int c;

	assert_non_null(maps);
	while ((c = fgetc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

static long mappings_most(void)
{
	FILE *limit = fopen("/proc/sys/vm/max_map_count", "r");
	long most = 0;

	assert_non_null(limit);
	assert_int_equal(fscanf(limit, "%ld", &most), 1);
	fclose(limit);
	return most;
}

static void shuffle(__u32 count)
{
	struct random random = {count};

	for (__u32 i = 0; i < count; i++)
		pages[i] = i * PAGE_BYTES;
	for (__u32 i = count - 1; i; i--) {
		__u32 j = (__u32)random_below(&random, i + 1);
		__u64 kept = pages[i];

		pages[i] = pages[j];
		pages[j] = kept;
	}
}

static void runs_are_counted(void **state)
{
	const __u64 list[] = {0x5000, 0x6000, 0x7000, 0x9000, 0x8000, 0x8000, 0, 0x1000};

	assert_int_equal(scratch_runs(list, 0), 0);
	assert_int_equal(scratch_runs(list, 1), 1);
	assert_int_equal(scratch_runs(list, 3), 1);
	assert_int_equal(scratch_runs(list, 8), 5);
}

static void scattered_pages_are_one_range(void **state)
{
	static const __u32 counts[] = {1, 2, 3, 101, 1009};
	struct scratch scratch;
	long before;

	for (size_t i = 0; i < COUNT(counts); i++) {
		shuffle(counts[i]);
		for (__u32 n = 0; n < counts[i]; n++)
			*word_of(pages[n]) = 0x100000 * i + n;
		before = mappings();
		assert_int_equal(scratch_map(&scratch, file, pages, counts[i]), 0);
		assert_int_equal(scratch.bytes, counts[i] * PAGE_BYTES);
		assert_int_equal(scratch.runs, scratch_runs(pages, counts[i]));
		assert_in_range(mappings(), before, before + scratch.runs);
		for (__u32 n = 0; n < counts[i]; n++) {
			volatile __u64 *word = (__u64 *)(scratch.at + n * PAGE_BYTES);

			assert_int_equal(word[0], 0x100000 * i + n);
			word[511] = n;
			assert_int_equal(word_of(pages[n])[511], n);
		}
		scratch_unmap(&scratch);
		assert_null(scratch.at);
		assert_int_equal(mappings(), before);
	}
}

/* The pin is of the frames, and outlives the range by which it was made. */
static void pins_outlive_it(void **state)
{
	struct pinner *pinner;
	struct scratch scratch;
	__s64 base;
	__u32 pin;

	shuffle(257);
	for (__u32 i = 0; i < 257; i++)
		*word_of(pages[i]) = i;
	assert_int_equal(pinner_create(&pinner), 0);
	base = pinned_by_kernel(0);
	assert_int_equal(scratch_map(&scratch, file, pages, 257), 0);
	assert_int_equal(pinner_pin(pinner, scratch.at, scratch.bytes, &pin), 0);
	for (__u32 i = 0; i < 257; i++)
		assert_int_equal(frame_of(0, scratch.at + i * PAGE_BYTES),
				 frame_of(0, word_of(pages[i])));
	scratch_unmap(&scratch);
	assert_int_equal(pinned_by_kernel(0) - base, 257 * PAGE_BYTES);
	assert_int_equal(pinner_unpin(pinner, pin), 0);
	assert_int_equal(pinned_by_kernel(0), base);
	pinner_destroy(pinner);
}

static void more_runs_than_mappings_are_refused(void **state)
{
	struct scratch scratch;
	long before = mappings();

	if (mappings_most() > (long)FILE_PAGES)
		skip(); /* this kernel was told to allow more */
	for (__u32 i = 0; i < FILE_PAGES; i++)
		pages[i] = (FILE_PAGES - 1 - i) * PAGE_BYTES;
	assert_int_equal(scratch_map(&scratch, file, pages, FILE_PAGES), -ENOMEM);
	assert_non_null(strstr(failure_text(), "65536 runs"));
	assert_non_null(strstr(failure_text(), "vm.max_map_count"));
	assert_null(scratch.at);
	assert_int_equal(mappings(), before);
	/* In pairs they fit. */
	for (__u32 i = 0; i < FILE_PAGES; i++)
		pages[i] = (FILE_PAGES - 2 - i / 2 * 2 + i % 2) * PAGE_BYTES;
	assert_int_equal(scratch_map(&scratch, file, pages, FILE_PAGES), 0);
	assert_int_equal(scratch.runs, FILE_PAGES / 2);
	*word_of(pages[65433]) = 65433;
	assert_int_equal(*(volatile __u64 *)(scratch.at + 65433 * PAGE_BYTES), 65433);
	scratch_unmap(&scratch);
	assert_int_equal(mappings(), before);
}

/* Takes all mappings but `left`, by protecting every second page. */
static unsigned char *fill_mappings(long left, size_t *bytes)
{
	unsigned char *filler;
	long most = mappings_most(), free_now;

	if (most > (long)FILE_PAGES)
		return NULL;
	free_now = most - mappings();
	*bytes = (size_t)free_now * PAGE_BYTES;
	filler = mmap(NULL, *bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(filler != MAP_FAILED);
	for (long i = 1; free_now - i > left; i += 2)
		assert_int_equal(mprotect(filler + i * PAGE_BYTES, PAGE_BYTES, PROT_READ), 0);
	return filler;
}

static void what_does_not_fit_is_undone(void **state)
{
	struct scratch scratch;
	unsigned char *filler;
	size_t bytes;
	long before;

	filler = fill_mappings(300, &bytes);
	if (!filler)
		skip();
	before = mappings();
	shuffle(509);
	assert_int_equal(scratch_map(&scratch, file, pages, 509), -ENOMEM);
	assert_null(scratch.at);
	assert_int_equal(mappings(), before);
	shuffle(257);
	assert_int_equal(scratch_map(&scratch, file, pages, 257), 0);
	scratch_unmap(&scratch);
	assert_int_equal(mappings(), before);
	/* What is counted leaves some to others. */
	munmap(filler, bytes);
	filler = fill_mappings(SCRATCH_SPARE + 600, &bytes);
	shuffle(1009);
	assert_true(scratch_runs(pages, 1009) > 602);
	before = mappings();
	assert_int_equal(scratch_map(&scratch, file, pages, 1009), -ENOMEM);
	assert_non_null(strstr(failure_text(), "vm.max_map_count"));
	assert_int_equal(mappings(), before);
	munmap(filler, bytes);
}

static void only_whole_pages_of_the_file_are_mapped(void **state)
{
	static const __u64 wrong[] = {1,     4095,     FILE_PAGES * PAGE_BYTES,
				      ~0ull, ~4095ull, 1ull << 63};
	struct scratch scratch;
	long before = mappings();

	for (size_t i = 0; i < COUNT(wrong); i++) {
		const __u64 list[] = {0, 0x1000, wrong[i]};

		assert_int_equal(scratch_map(&scratch, file, list, 3), -EINVAL);
		assert_null(scratch.at);
	}
	assert_int_equal(scratch_map(&scratch, file, pages, 0), -EINVAL);
	assert_int_equal(scratch_map(&scratch, -1, pages, 1), -EINVAL);
	assert_int_equal(mappings(), before);
}

static void a_process_that_starts_has_it_not(void **state)
{
	struct scratch scratch;
	unsigned char there;
	pid_t child;
	int status;

	shuffle(3);
	assert_int_equal(scratch_map(&scratch, file, pages, 3), 0);
	assert_int_equal(mincore(scratch.at, PAGE_BYTES, &there), 0);
	child = child_fork();
	if (!child)
		_exit(mincore(scratch.at, PAGE_BYTES, &there) && errno == ENOMEM ? 0 : 1);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	scratch_unmap(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_counted),
		cmocka_unit_test(scattered_pages_are_one_range),
		cmocka_unit_test(pins_outlive_it),
		cmocka_unit_test(more_runs_than_mappings_are_refused),
		cmocka_unit_test(what_does_not_fit_is_undone),
		cmocka_unit_test(only_whole_pages_of_the_file_are_mapped),
		cmocka_unit_test(a_process_that_starts_has_it_not),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
