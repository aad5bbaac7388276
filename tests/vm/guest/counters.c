// SPDX-License-Identifier: GPL-2.0
/*
 * A counter in each page of anonymous memory, counted on in an order that is random: hundreds of times as many writes a second as by
 * the churn, which fills whole pages, so that a write that is lost is found within a moment.
 */
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LOOK_EVERY 256 /* a look at the clock costs as much as many counts */

static uint64_t counter_threads(const struct load_options *options)
{
	return options->counter_bytes ? options->counter_threads : 0;
}

/* Where the counter of a page is: anywhere in it. */
static volatile uint64_t *counter_of(char *memory, uint64_t page)
{
	return (volatile uint64_t *)(memory + page * LOAD_PAGE) + page * 37 % LOAD_PAGE_WORDS;
}

/* `expected` is in other pages, which may lose a write themselves: either way the two are not the same. */
static uint64_t count(struct load *load, char *memory, uint64_t *expected, uint64_t pages,
		      uint64_t owner)
{
	const struct load_options *options = load->options;
	uint64_t random = options->seed * 1000003 + owner, done = 0;

	/* Read first, a page would be that of zeroes, and its first write an interrupt of the other CPUs: ms each where the host is busy. */
	for (uint64_t page = 0; page < pages; page++)
		*counter_of(memory, page) = 0;
	while ((!options->counter_operations || done < options->counter_operations) &&
	       (done % LOOK_EVERY || !load_is_over(load))) {
		uint64_t page = random_below(&random, pages);
		volatile uint64_t *counter = counter_of(memory, page);

		if (*counter != expected[page])
			load_wrong(load, "counter", owner + page, sizeof(*counter));
		*counter = ++expected[page];
		done++;
	}
	for (uint64_t page = 0; page < pages; page++)
		if (*counter_of(memory, page) != expected[page])
			load_wrong(load, "counter at the end", owner + page, sizeof(uint64_t));
	return done;
}

static void counter_thread(struct load *load, uint64_t number)
{
	const struct load_options *options = load->options;
	uint64_t pages = options->counter_bytes / options->counter_threads / LOAD_PAGE, done;
	uint64_t *expected = calloc(pages ? pages : 1, sizeof(*expected));
	char *memory = mmap(NULL, pages * LOAD_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!pages || !expected || memory == MAP_FAILED) {
		load_error(load, "counters", ENOMEM);
	} else {
		madvise(memory, pages * LOAD_PAGE, MADV_NOHUGEPAGE);
		done = count(load, memory, expected, pages, (number + 1) << 40);
		pthread_mutex_lock(&load->result.lock);
		load->result.counted += done;
		pthread_mutex_unlock(&load->result.lock);
	}
	if (memory != MAP_FAILED)
		munmap(memory, pages * LOAD_PAGE);
	free(expected);
}

const struct work counters_work = {"counters", counter_threads, counter_thread};
