// SPDX-License-Identifier: GPL-2.0
/* Anonymous memory: each page knows which generation of its content it must have. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint64_t churn_threads(const struct load_options *options)
{
	return options->churn_bytes ? options->churn_threads : 0;
}

/* One page: what it had must be there, then it gets something else. The time is that of the whole. */
static void churn_page(struct load *load, char *memory, uint32_t *generations, uint64_t page,
		       uint64_t owner, struct latency *latency)
{
	uint64_t begin = clock_ns(), wrong = 0;

	if (generations[page])
		wrong = page_wrong_bytes(memory + page * LOAD_PAGE, owner, generations[page]);
	generations[page]++;
	page_fill(memory + page * LOAD_PAGE, owner, generations[page]);
	latency_add(latency, clock_ns() - begin);
	if (wrong)
		load_wrong(load, "memory", owner, wrong);
}

static void churn_thread(struct load *load, uint64_t number)
{
	const struct load_options *options = load->options;
	uint64_t pages = options->churn_bytes / options->churn_threads / LOAD_PAGE, done = 0;
	uint64_t random = options->seed * 1000003 + number, owner = (number + 1) << 40;
	uint32_t *generations = calloc(pages, sizeof(*generations));
	struct latency *latency = calloc(1, sizeof(*latency));
	char *memory = mmap(NULL, pages * LOAD_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!pages || !generations || !latency || memory == MAP_FAILED) {
		load_error(load, "memory", ENOMEM);
		goto out;
	}
	/* Small pages, as the host has them. */
	madvise(memory, pages * LOAD_PAGE, MADV_NOHUGEPAGE);
	while ((!options->churn_operations || done < options->churn_operations) &&
	       !load_is_over(load)) {
		uint64_t page = random_below(&random, pages);

		churn_page(load, memory, generations, page, owner + page, latency);
		done++;
	}
	for (uint64_t page = 0; page < pages; page++) {
		uint64_t wrong = generations[page]
					 ? page_wrong_bytes(memory + page * LOAD_PAGE, owner + page,
							    generations[page])
					 : 0;
		if (wrong)
			load_wrong(load, "memory at the end", owner + page, wrong);
	}
	pthread_mutex_lock(&load->result.lock);
	load->result.churned += done;
	latency_merge(&load->result.page, latency);
	pthread_mutex_unlock(&load->result.lock);
out:
	if (memory != MAP_FAILED)
		munmap(memory, pages * LOAD_PAGE);
	free(generations);
	free(latency);
}

const struct work churn_work = {"memory", churn_threads, churn_thread};
