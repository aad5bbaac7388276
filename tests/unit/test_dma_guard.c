// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"

struct flicker {
	uint16_t *index;
	bool stop;
};

/* An index that goes over a byte's border all the time. */
static void *flicker(void *argument)
{
	struct flicker *flicker = argument;

	while (!__atomic_load_n(&flicker->stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(flicker->index, 0x00ff, __ATOMIC_RELAXED);
		__atomic_store_n(flicker->index, 0x0100, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void aligned_words_are_never_torn(void **state)
{
	uint16_t index = 0x00ff, copy = 0;
	struct flicker argument = {.index = &index};
	pthread_t thread;
	int torn = 0;

	assert_int_equal(pthread_create(&thread, NULL, flicker, &argument), 0);
	for (int i = 0; i < 3000017; i++) {
		assert_int_equal(dma_guard_copy(&copy, &index, sizeof(copy)), 0);
		torn += copy != 0x00ff && copy != 0x0100;
	}
	__atomic_store_n(&argument.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(torn, 0);
}

static void every_size_is_copied_or_refused(void **state)
{
	int file = memfd_create("guard", MFD_CLOEXEC);
	char from[16] = "0123456789abcde", to[16];
	char *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	assert_int_equal(dma_guard_install(), 0);
	for (size_t bytes = 1; bytes <= 8; bytes++) {
		for (size_t offset = 0; offset < 8; offset++) {
			memset(to, 0, sizeof(to));
			assert_int_equal(dma_guard_copy(to, from + offset, bytes), 0);
			assert_memory_equal(to, from + offset, bytes);
			assert_int_equal(to[bytes], 0);
			/* Past the end of the file there is no page: SIGBUS. */
			assert_int_equal(dma_guard_copy(to, gone + offset, bytes), -EFAULT);
			assert_int_equal(dma_guard_copy(gone + offset, from, bytes), -EFAULT);
		}
	}
	munmap(gone, 4096);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligned_words_are_never_torn),
		cmocka_unit_test(every_size_is_copied_or_refused),
	};

	return cmocka_run_group_tests_name("dma_guard", tests, NULL, NULL);
}
