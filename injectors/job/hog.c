// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/hog.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define SCAN_BYTES (4u << 20)
#define SCAN_HASH  (1u << 15)

struct hog {
	atomic_bool stop;
	enum hog_load load;
	__u32 count;
	pthread_t threads[];
};

static void hog_spin(struct hog *hog)
{
	volatile __u64 x = 1;

	while (!atomic_load_explicit(&hog->stop, memory_order_relaxed))
		for (int i = 0; i < 1000; i++)
			x = x * 6364136223846793005ull + 1;
}

/*
 * The inner loop of an LZ compressor's match finder, which is what a host that compresses or
 * migrates memory does all day: streams through memory, random hits on a hash table.
 */
static void hog_scan(struct hog *hog, const unsigned char *memory, __u32 *table)
{
	volatile __u64 matches = 0;
	__u32 at = 0, word, before;

	while (!atomic_load_explicit(&hog->stop, memory_order_relaxed)) {
		for (int i = 0; i < 4096; i++, at = (at + 1) % (SCAN_BYTES - 8)) {
			__u32 *slot;

			memcpy(&word, memory + at, sizeof(word));
			slot = &table[(word * 2654435761u) >> 17];
			memcpy(&before, memory + *slot, sizeof(before));
			matches += before == word;
			*slot = at;
		}
	}
}

static void *hog_main(void *argument)
{
	struct hog *hog = argument;
	unsigned char *memory = NULL;
	__u32 *table = NULL;

	if (hog->load == HOG_SCAN) {
		memory = malloc(SCAN_BYTES);
		table = calloc(SCAN_HASH, sizeof(*table));
	}
	if (memory && table) {
		for (__u32 i = 0; i < SCAN_BYTES; i++)
			memory[i] = (unsigned char)(i * i >> 7);
		hog_scan(hog, memory, table);
	} else {
		hog_spin(hog);
	}
	free(memory);
	free(table);
	return NULL;
}

int hog_start(struct hog **hog, const cpu_set_t *cpus, __u32 threads, enum hog_load load)
{
	__u32 total = (__u32)CPU_COUNT(cpus) * threads;
	struct hog *new = calloc(1, sizeof(*new) + total * sizeof(new->threads[0]));
	int err = 0;

	if (!new)
		return failed(-ENOMEM, "no memory for %u hog threads", total);
	new->load = load;
	for (int cpu = 0; !err && cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		for (__u32 i = 0; !err && CPU_ISSET(cpu, cpus) && i < threads; i++) {
			err = thread_start(&new->threads[new->count], &one, hog_main, new, "hog%d",
					   cpu);
			new->count += !err;
		}
	}
	if (err) {
		hog_stop(new);
		return err;
	}
	*hog = new;
	return 0;
}

void hog_stop(struct hog *hog)
{
	if (!hog)
		return;
	atomic_store(&hog->stop, true);
	for (__u32 i = 0; i < hog->count; i++)
		pthread_join(hog->threads[i], NULL);
	free(hog);
}
