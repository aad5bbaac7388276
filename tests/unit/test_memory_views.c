// SPDX-License-Identifier: GPL-2.0
/* Guest memory that other processes have mapped: nothing that they write is lost, whatever is evicted, and whoever dies. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/emu/hyv/scratch.h"
#include "injectors/emu/memory_views.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/amount.h"
#include "tests/unit/rig/rig.h"
#include "tests/unit/view_child.h"

#define BYTES	     (4 * HUGE_BYTES)
#define PAGE(number) ((__u64)(number)*PAGE_BYTES)

enum { PAGES = 61, WORDS = 512, WRITERS = 2, KILLS = 50 };
/* Pages that are brought back, and writes of each writer beside it. */
#define BROUGHT amount(5003, 1009)
#define WRITES	amount(100003, 20011)

/* What writers have written last, in memory that both processes have; and how far they are. */
struct written {
	__u64 last[PAGES][WORDS];
	atomic_uint lost[WRITERS];
	atomic_uint done[WRITERS];
	atomic_uint stop;
};

struct writer {
	struct written *written;
	__u32 number;
};

static struct guest_memory *memory;

static int setup(void **state)
{
	struct guest_memory_config config = {.bytes = BYTES, .physical = 1ull << 30};

	return guest_memory_create(&memory, &config);
}

static int teardown(void **state)
{
	guest_memory_destroy(memory);
	return 0;
}

static struct written *written_new(void)
{
	void *shared = mmap(NULL, sizeof(struct written), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(shared != MAP_FAILED);
	return shared;
}

/* Each has its own words of all pages: what one writes no other may lose. */
static void write_counters(unsigned char *view, void *argument)
{
	const struct writer *writer = argument;
	struct written *written = writer->written;
	struct random random = {writer->number + 1};

	for (__u64 n = 1; n <= WRITES || !atomic_load(&written->stop); n++) {
		__u64 page = random_below(&random, PAGES);
		__u64 word = random_below(&random, WORDS / WRITERS) * WRITERS + writer->number;
		volatile __u64 *at = (__u64 *)(view + PAGE(page)) + word;

		if (*at != written->last[page][word])
			atomic_fetch_add(&written->lost[writer->number], 1);
		written->last[page][word] = n;
		*at = n;
		atomic_store(&written->done[writer->number], (unsigned int)n);
	}
}

static struct view_child_config config_of(void (*run)(unsigned char *, void *), void *argument)
{
	return (struct view_child_config){
		.memory = guest_memory_file(memory),
		.bytes = BYTES,
		.run = run,
		.argument = argument,
	};
}

static struct memory_view *view_of(const struct view_child *child)
{
	struct memory_view *view;

	assert_int_equal(memory_view_add(&view, memory, child->faults, child->base), 0);
	return view;
}

static unsigned int evict_some(struct random *random)
{
	enum evict_kind kind = random_below(random, 4) ? EVICT_MAJOR : EVICT_MINOR;
	int result = guest_memory_evict(memory, PAGE(random_below(random, PAGES)), kind);

	/* It may be faulted in as fast as it is evicted. */
	assert_true(!result || result == -EBUSY);
	return !result && kind == EVICT_MAJOR;
}

static void assert_as_written(const struct written *written)
{
	for (__u32 page = 0; page < PAGES; page++)
		assert_memory_equal(guest_memory_cpu(memory, PAGE(page)), written->last[page],
				    PAGE_BYTES);
}

/* Also by the machine's own CPUs, as a device's driver would read. */
static void nothing_written_is_lost(void **state)
{
	struct written *written = written_new();
	struct view_child child[WRITERS];
	struct memory_view *view[WRITERS];
	struct writer writer[WRITERS];
	struct guest_memory_stats stats;
	struct random random = {23};
	unsigned int major = 0;

	for (__u32 i = 0; i < WRITERS; i++) {
		struct view_child_config config = config_of(write_counters, &writer[i]);

		writer[i] = (struct writer){written, i};
		view_child_start(&child[i], &config);
		view[i] = view_of(&child[i]);
	}
	for (__u32 i = 0; i < WRITERS; i++)
		view_child_run(&child[i]);
	do {
		major += evict_some(&random);
		guest_memory_stats(memory, &stats);
	} while (stats.page_in_file < BROUGHT || atomic_load(&written->done[0]) < WRITES ||
		 atomic_load(&written->done[1]) < WRITES);
	atomic_store(&written->stop, 1);
	for (__u32 i = 0; i < WRITERS; i++) {
		assert_int_equal(view_child_end(&child[i], false), 0);
		assert_int_equal(atomic_load(&written->lost[i]), 0);
		memory_view_remove(view[i]);
	}
	assert_as_written(written);
	guest_memory_stats(memory, &stats);
	assert_int_equal(stats.evicted_major, major);
	assert_int_equal(stats.page_in_zero, PAGES);
	munmap(written, sizeof(*written));
}

static void touch_pages(unsigned char *view, void *argument)
{
	atomic_uint *progress = argument;

	for (__u32 page = 0; page < PAGES; page++) {
		volatile __u64 *at = (__u64 *)(view + PAGE(page));

		if (*at != page + 1ull)
			_exit(1);
		*at = ~(__u64)page;
		atomic_fetch_add(progress, 1);
	}
}

static void fill_and_evict(enum evict_kind kind)
{
	for (__u32 page = 0; page < PAGES; page++) {
		*(volatile __u64 *)guest_memory_cpu(memory, PAGE(page)) = page + 1;
		assert_int_equal(guest_memory_evict(memory, PAGE(page), kind), 0);
	}
}

/* One page brought back for each page touched, told as the guest's CPUs' are, with no right of its process. */
static void a_view_brings_what_it_touches(void **state)
{
	struct written *written = written_new();
	struct view_child_config config = config_of(touch_pages, &written->done[0]);
	struct guest_memory_stats before, after;

	for (int nobody = 0; nobody < 2; nobody++) {
		for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
			struct view_child child;
			struct memory_view *view;

			fill_and_evict((enum evict_kind)kind);
			config.nobody = nobody && !geteuid();
			view_child_start(&child, &config);
			view = view_of(&child);
			guest_memory_stats(memory, &before);
			view_child_run(&child);
			assert_int_equal(view_child_end(&child, false), 0);
			guest_memory_stats(memory, &after);
			assert_int_equal(after.page_in_file - before.page_in_file,
					 kind == EVICT_MAJOR ? PAGES : 0);
			assert_int_equal(after.page_in_zero, before.page_in_zero);
			assert_int_equal(*(volatile __u64 *)guest_memory_cpu(memory, PAGE(7)),
					 ~7ull);
			memory_view_remove(view);
		}
	}
	munmap(written, sizeof(*written));
}

static void write_for_ever(unsigned char *view, void *argument)
{
	write_counters(view, argument);
}

static void a_killed_view_is_gone_by_itself(void **state)
{
	struct written *written = written_new();
	struct writer writer = {written, 0};
	struct view_child_config config = config_of(write_for_ever, &writer);
	struct guest_memory_stats stats;
	struct random random = {29};

	for (int i = 0; i < KILLS; i++) {
		struct view_child child;
		struct memory_view *view;

		view_child_start(&child, &config);
		view = view_of(&child);
		view_child_run(&child);
		for (__u64 n = random_below(&random, 64); n; n--)
			evict_some(&random);
		/* Killed beside evictions: some of these meet it dying. */
		kill(child.pid, SIGKILL);
		for (int n = 0; n < 16; n++)
			evict_some(&random);
		view_child_end(&child, true);
		for (__u32 page = 0; page < PAGES; page++)
			assert_int_equal(guest_memory_evict(memory, PAGE(page), EVICT_MAJOR), 0);
		if (i % 2)
			memory_view_remove(view);
		else
			evict_some(&random);
		if (i % 2 == 0)
			memory_view_remove(view);
	}
	guest_memory_stats(memory, &stats);
	assert_true(stats.evicted_major >= KILLS);
	munmap(written, sizeof(*written));
}

static void assert_refused(int faults, __u64 base, const char *why)
{
	struct memory_view *view;

	assert_int_equal(memory_view_add(&view, memory, faults, base), -EINVAL);
	assert_non_null(strstr(failure_text(), why));
	assert_int_equal(fcntl(faults, F_GETFD), -1); /* it took the descriptor */
}

static void other_descriptors_are_refused(void **state)
{
	const __u64 both = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
	const int file = guest_memory_file(memory);
	unsigned char *view;
	int faults;

	assert_refused(eventfd(0, 0), 0, "not a userfaultfd");
	assert_refused(dup(file), 0, "not a userfaultfd");
	assert_refused(-1, 0, "not a userfaultfd");
	assert_refused((int)syscall(__NR_userfaultfd, O_CLOEXEC), 0, "UFFDIO_API");
	view = view_open(file, BYTES, &faults, 0, 0);
	assert_refused(faults, (__u64)view, "registered");
	view = view_open(file, BYTES, &faults, 0, UFFDIO_REGISTER_MODE_MISSING);
	assert_refused(faults, (__u64)view, "registered");
	view = view_open(file, BYTES - PAGE_BYTES, &faults, 0, both);
	assert_refused(faults, (__u64)view, "registered");
	view = view_open(file, BYTES, &faults, 0, both);
	assert_refused(faults, (__u64)view + 8, "registered");
	view = view_open(file, BYTES, &faults, 0, both);
	assert_refused(faults, 0 - PAGE_BYTES, "registered");
	view = view_open(file, BYTES, &faults, UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM,
			 both);
	assert_refused(faults, (__u64)view, "features");
	view = view_open(file, BYTES, &faults, UFFD_FEATURE_EVENT_REMOVE, both);
	assert_refused(faults, (__u64)view, "features");
}

/* The thread that serves it may be stuck in read, or see an error at once: it ends either way. */
static void a_spoilt_descriptor_is_its_own_harm(void **state)
{
	for (int i = 0; i < 20; i++) {
		unsigned char *at;
		struct memory_view *view;
		int faults, kept;

		at = view_open(guest_memory_file(memory), BYTES, &faults, 0,
			       UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
		kept = dup(faults);
		assert_int_equal(memory_view_add(&view, memory, faults, (__u64)at), 0);
		for (int n = 0; n < 101; n++)
			fcntl(kept, F_SETFL, n & 1 ? 0 : O_NONBLOCK);
		memory_view_remove(view);
		close(kept);
		munmap(at, BYTES);
	}
}

static void the_files_length_is_sealed(void **state)
{
	int file = guest_memory_file(memory);

	assert_int_equal(ftruncate(file, PAGE_BYTES), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(file, 2 * BYTES), -1);
}

/* Pinned by the account and by the kernel: it stays, in one frame, for all who have it mapped. */
static void read_and_pause(unsigned char *view, void *argument)
{
	atomic_uint *progress = argument;

	for (__u32 page = 0; page < 16; page++)
		(void)*(volatile __u64 *)(view + PAGE(page));
	atomic_store(progress, 1);
	pause();
}

static void assert_one_frame(const struct view_child *child, const struct scratch *scratch,
			     const __u64 *pages, __u32 count)
{
	for (__u32 i = 0; i < count; i++) {
		const __u64 frame = frame_of(0, guest_memory_cpu(memory, pages[i]));

		if (!geteuid())
			assert_true(frame != 0);
		assert_int_equal(frame_of(child->pid, (void *)(child->base + pages[i])), frame);
		assert_int_equal(frame_of(0, guest_memory_dma(memory, pages[i])), frame);
		if (scratch->at)
			assert_int_equal(frame_of(0, scratch->at + i * PAGE_BYTES), frame);
	}
}

static void evict_storm(const __u64 *pages, __u32 count, int expected)
{
	for (int kind = EVICT_MINOR; kind <= EVICT_MAJOR; kind++) {
		for (__u32 i = 0; i < count; i++)
			assert_int_equal(evict_page(rig, 0, pages[i], (enum evict_kind)kind),
					 expected);
	}
}

static void a_pinned_page_stays_in_its_frame(void **state)
{
	const __u64 pages[] = {PAGE(9), PAGE(3), PAGE(4), PAGE(12), PAGE(1)};
	struct written *written = written_new();
	struct view_child_config config;
	struct view_child child;
	struct memory_view *view;
	struct scratch scratch;
	struct pinner *pinner;
	__u64 frame;
	__u32 pin;

	rig_build((struct rig_config){.devices = 1, .memory = BYTES});
	memory = rig->tenants[0].memory;
	for (__u32 i = 0; i < COUNT(pages); i++)
		assert_int_equal(machine_pin(rig, 0, pages[i], PAGE_BYTES, true), 0);
	config = config_of(read_and_pause, &written->done[0]);
	view_child_start(&child, &config);
	view = view_of(&child);
	view_child_run(&child);
	while (!atomic_load(&written->done[0]))
		usleep(1000);
	assert_int_equal(pinner_create(&pinner), 0);
	assert_int_equal(scratch_map(&scratch, guest_memory_file(memory), pages, COUNT(pages)), 0);
	assert_int_equal(pinner_pin(pinner, scratch.at, scratch.bytes, &pin), 0);
	assert_one_frame(&child, &scratch, pages, COUNT(pages));
	scratch_unmap(&scratch);
	frame = frame_of(0, guest_memory_cpu(memory, pages[0]));
	evict_storm(pages, COUNT(pages), EVICT_PINNED);
	assert_one_frame(&child, &scratch, pages, COUNT(pages));
	assert_int_equal(frame_of(0, guest_memory_cpu(memory, pages[0])), frame);
	/* The kernel's pin alone keeps no page where it is: what goes leaves the pinned frame behind. */
	assert_int_equal(guest_memory_evict(memory, pages[0], EVICT_MAJOR), 0);
	assert_int_equal(pinned_by_kernel(0), COUNT(pages) * PAGE_BYTES);
	(void)*(volatile __u64 *)guest_memory_cpu(memory, pages[0]);
	if (!geteuid())
		assert_true(frame_of(0, guest_memory_cpu(memory, pages[0])) != frame);
	pinner_destroy(pinner);
	for (__u32 i = 0; i < COUNT(pages); i++)
		assert_int_equal(machine_unpin(rig, 0, pages[i], PAGE_BYTES), 0);
	assert_int_equal(evict_page(rig, 0, pages[1], EVICT_MAJOR), 0);
	view_child_end(&child, true);
	memory_view_remove(view);
	munmap(written, sizeof(*written));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_written_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(a_view_brings_what_it_touches, setup, teardown),
		cmocka_unit_test_setup_teardown(a_killed_view_is_gone_by_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(other_descriptors_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_spoilt_descriptor_is_its_own_harm, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_files_length_is_sealed, setup, teardown),
		cmocka_unit_test_teardown(a_pinned_page_stays_in_its_frame, rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
