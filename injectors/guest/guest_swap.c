// SPDX-License-Identifier: GPL-2.0
#include "injectors/guest/guest_swap.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "lib/base/fail.h"

struct swap *swap_new(__u32 pieces)
{
	__u64 bytes = sizeof(struct swap) + pieces * sizeof(struct swap_piece);
	struct swap *new =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		return NULL;
	new->bytes = bytes;
	return new;
}

void swap_free(struct swap *swap)
{
	if (swap)
		munmap(swap, swap->bytes);
}

static int protect(const struct swap *swap, const struct swap_piece *piece)
{
	const struct uffdio_range range = {(__u64)piece->here, piece->bytes};
	struct uffdio_register registration = {.range = range, .mode = swap->modes};
	struct uffdio_writeprotect writes = {.range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};

	if (ioctl(swap->faults, UFFDIO_REGISTER, &registration))
		return -errno;
	if (!ioctl(swap->faults, UFFDIO_WRITEPROTECT, &writes))
		return 0;
	return -errno;
}

/* As it was, and who waits goes on. */
static void unprotect(const struct swap *swap, const struct swap_piece *piece)
{
	struct uffdio_range range = {(__u64)piece->here, piece->bytes};
	struct uffdio_writeprotect writes = {.range = range};

	(void)ioctl(swap->faults, UFFDIO_WRITEPROTECT, &writes);
	(void)ioctl(swap->faults, UFFDIO_UNREGISTER, &range);
	(void)ioctl(swap->faults, UFFDIO_WAKE, &range);
}

/* Whole pages of the program's, whatever of them its own checkers say that nobody may read. */
static void copy_contents(void *to, const void *from, __u64 bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static int replace_piece(const struct swap *swap, const struct swap_piece *piece)
{
	struct uffdio_range range = {(__u64)piece->here, piece->bytes};

	copy_contents(piece->made, piece->from ? piece->from : piece->here, piece->bytes);
	if (mremap(piece->made, piece->bytes, piece->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		   piece->here) == MAP_FAILED)
		return -errno;
	/* Their old pages are gone, and nobody else would tell them. */
	(void)ioctl(swap->faults, UFFDIO_WAKE, &range);
	return 0;
}

struct swap_result {
	struct swap *swap;
	int error;
	__u32 done;
	bool asked;
	const char *step;
};

/* No library's function that might write to memory of the program's: what of it is protected is not known here. */
static void swap_pieces(const struct swap *swap, struct swap_result *result)
{
	__u32 protected = 0, done = 0;
	int error = 0;

	result->step = "protecting";
	while (!error && protected < swap->count)
		error = protect(swap, &swap->piece[protected ++]);
	if (!error && swap->between) {
		result->step = "asking the host";
		error = swap->between(swap->argument);
		result->asked = !error;
	}
	if (!error)
		result->step = "replacing";
	while (!error && done < swap->count) {
		error = replace_piece(swap, &swap->piece[done]);
		done += !error;
	}
	for (__u32 i = done; i < protected; i++)
		unprotect(swap, &swap->piece[i]);
	result->error = error;
	result->done = done;
}

static void *swap_main(void *argument)
{
	struct swap_result *shared = argument;
	struct swap_result result = {};

	swap_pieces(shared->swap, &result);
	/* Nothing is protected any more; `shared` is on the caller's stack. */
	shared->error = result.error;
	shared->done = result.done;
	shared->asked = result.asked;
	shared->step = result.step;
	return NULL;
}

int swap_run(struct swap *swap)
{
	struct swap_result result = {.swap = swap};
	pthread_t thread;
	int error = pthread_create(&thread, NULL, swap_main, &result);

	if (error)
		return failed(-error, "a thread that swaps pages: %s", strerror(error));
	pthread_join(thread, NULL);
	swap->done = result.done;
	swap->asked = result.asked;
	return result.error ? failed(result.error, "%s %u rows of a program's pages: %s",
				     result.step, swap->count, strerror(-result.error))
			    : 0;
}
