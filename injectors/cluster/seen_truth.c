// SPDX-License-Identifier: GPL-2.0
/* The truth log of a cluster: appended to by everybody, in memory that outlives them, written by the one that has begun all. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/cluster/seen_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define TRUTH_RECORDS (4u << 20)

void cluster_truth_begin(struct cluster *cluster)
{
	struct sights *s = cluster->sights;

	if (!s->truth)
		s->truth = shared_alloc(cluster, sizeof(*s->truth) * TRUTH_RECORDS);
	atomic_store(&s->truth_wanted, s->truth != NULL);
}

void truth_cluster(struct cluster *cluster, const struct cluster_truth *record)
{
	struct sights *s = cluster->sights;
	struct cluster_truth whole, *to;
	__u64 at;

	if (!s || !atomic_load_explicit(&s->truth_wanted, memory_order_relaxed))
		return;
	at = atomic_fetch_add(&s->truth_count, 1);
	if (at >= TRUTH_RECORDS)
		return;
	to = &s->truth[at];
	whole = *record;
	whole.what = NULL;
	if (!whole.time_ns)
		whole.time_ns = monotonic_ns();
	*to = whole;
	/* Who is killed before this has told nothing, also in the middle of that copy. */
	__atomic_store_n(&to->what, record->what, __ATOMIC_RELEASE);
}

static int truth_by_time(const void *a, const void *b)
{
	const struct cluster_truth *const *left = a, *const *right = b;

	if ((*left)->time_ns != (*right)->time_ns)
		return (*left)->time_ns < (*right)->time_ns ? -1 : 1;
	return *left < *right ? -1 : *left > *right;
}

static void write_number(FILE *file, const char *key, __u32 number)
{
	if (number == CLUSTER_NONE)
		fprintf(file, ",\"%s\":null", key);
	else
		fprintf(file, ",\"%s\":%u", key, number);
}

static void write_truth(FILE *file, const struct cluster_truth *record)
{
	fprintf(file, "{\"time_ns\":%llu,\"who\":\"cluster\",\"what\":\"%s\"", record->time_ns,
		record->what);
	write_number(file, "agent", record->agent);
	write_number(file, "device", record->device);
	write_number(file, "borrow", record->borrow);
	write_number(file, "queue", record->queue);
	fprintf(file,
		",\"address\":%llu,\"length\":%llu,\"value\":%llu,\"model_ns\":%llu,\"code\":%d,"
		"\"number\":%u}\n",
		record->address, record->length, record->value, record->model_ns, record->code,
		record->number);
}

int cluster_truth_write(const struct cluster *cluster, FILE *file)
{
	const struct sights *s = cluster->sights;
	__u64 told = atomic_load(&s->truth_count);
	__u64 kept = told < TRUTH_RECORDS ? told : TRUTH_RECORDS;
	const struct cluster_truth **records = calloc(kept + 1, sizeof(void *));
	size_t count = 0;

	if (!records)
		return failed(-ENOMEM, "no memory to sort the %llu records of the truth log", kept);
	for (__u64 i = 0; i < kept; i++)
		if (s->truth[i].what)
			records[count++] = &s->truth[i];
	qsort(records, count, sizeof(void *), truth_by_time);
	for (size_t i = 0; i < count; i++)
		write_truth(file, records[i]);
	free(records);
	if (ferror(file))
		return failed(-EIO, "cannot write the truth log: is the disk full?");
	return told > kept ? failed(-ENOMEM, "the truth log lacks %llu records for want of room",
				    told - kept)
			   : 0;
}
