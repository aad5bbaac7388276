// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses that a policy takes per second, on one CPU, and what a page costs in memory. Two domains of 8 GiB: in
 * pages of 2 MiB, and of 4 KiB, which fit no cache. Half of the accesses go to a sixteenth of the pages in use, nine
 * of ten to a fourth; one in a thousand is to a page that was not used before, and an hour passes, so that pages fall idle.
 * Prints "NAME VALUE UNIT [PEER PEER_VALUE]" a line. Peer: to find the page and note the time, which is the
 * least that any policy does.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "lib/protect/page_store.h"
#include "lib/protect/protect.h"

#define STREAM	(1u << 20)
#define ROUNDS	8
#define SECONDS 3600ull

struct access_stream {
	__u64 memory_pages;
	__u32 pages[STREAM];
};

static void fill(struct access_stream *stream, __u64 memory_pages)
{
	struct random random = {1};
	__u64 in_use = memory_pages / 5, among;

	stream->memory_pages = memory_pages;
	for (unsigned int i = 0; i < STREAM; i++) {
		among = random_below(&random, 10);
		among = among < 5 ? in_use / 16 : among < 9 ? in_use / 4 : in_use;
		if (!random_below(&random, 1000))
			stream->pages[i] = (__u32)(in_use + random_below(&random, in_use));
		else
			stream->pages[i] = (__u32)random_below(&random, among);
	}
}

/* Millions a second, in the least disturbed round. */
static double best_of(double best, __u64 started_ns)
{
	const double rate = STREAM * 1e3 / (double)(monotonic_ns() - started_ns);

	return rate > best ? rate : best;
}

static double policy_rate(const struct access_stream *stream, const char *name)
{
	const struct protect_sink sink = {NULL, NULL};
	const __u64 step = SECONDS * NSEC_PER_SEC / (ROUNDS * STREAM);
	struct protect_keys keys;
	struct protect *protect;
	__u64 now = 0, started_ns;
	double best = 0;

	protect_keys_default(&keys);
	keys.policy = (__u32)protect_policy_find(name);
	if (protect_create(&protect, &keys, stream->memory_pages, sink))
		return 0;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		started_ns = monotonic_ns();
		for (unsigned int i = 0; i < STREAM; i++)
			protect_access(protect, now += step, stream->pages[i]);
		best = best_of(best, started_ns);
	}
	protect_destroy(protect);
	return best;
}

static double lookup_rate(const struct access_stream *stream, double *bytes)
{
	struct page_store store;
	__u64 started_ns;
	double best = 0;
	__u32 page;

	page_store_init(&store);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		started_ns = monotonic_ns();
		for (unsigned int i = 0; i < STREAM; i++) {
			page = page_store_find(&store, stream->pages[i]);
			if (page == NO_PAGE)
				page = page_store_add(&store, stream->pages[i]);
			if (page == NO_PAGE)
				return 0;
			store.pages[page].last_ns = i;
		}
		best = best_of(best, started_ns);
	}
	*bytes = (double)page_store_bytes(&store) / store.count;
	page_store_free(&store);
	return best;
}

static void measure_domain(struct access_stream *stream, __u64 page_bytes, const char *name)
{
	double bytes = 0, peer;

	fill(stream, (8ull << 30) / page_bytes);
	peer = lookup_rate(stream, &bytes);
	for (const struct protect_policy *const *policy = protect_policies; *policy; policy++)
		printf("protect_%s_%s %.2f M/s bare_lookup %.2f\n", (*policy)->name, name,
		       policy_rate(stream, (*policy)->name), peer);
	printf("protect_page_%s %.2f bytes\n", name, bytes);
}

int main(void)
{
	struct access_stream *stream = malloc(sizeof(*stream));

	if (!stream)
		return EXIT_FAIL;
	measure_domain(stream, 2 << 20, "2m");
	measure_domain(stream, 4 << 10, "4k");
	free(stream);
	return EXIT_OK;
}
