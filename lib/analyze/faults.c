// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/faults.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/faults_private.h"
#include "lib/analyze/stage.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define OPEN_DEFAULT	262144
#define LINGER_DEFAULT	200000000ull
#define GIVE_UP_DEFAULT 120000000000ull
#define START_DEFAULT	60000000000ull

static int faults_on_device(void *self, const struct device_info *device)
{
	struct faults *f = self;
	struct fault_device *known = slots_make(&f->devices, device->handle);

	if (known)
		*known = (struct fault_device){.pid = device->pid,
					       .mapped_at = device->mapped_at,
					       .path = fault_path_of(device->kind)};
	return 0;
}

static int faults_on_host(void *self, const struct host_info *host)
{
	struct faults *f = self;

	fault_probes_host(&f->probes, host);
	return 0;
}

static int faults_on_probe(void *self, const struct probe_info *probe)
{
	struct faults *f = self;

	fault_probes_add(&f->probes, probe);
	return 0;
}

static int faults_on_tick(void *self, __u64 now_ns)
{
	fault_group_expire(self, now_ns);
	return 0;
}

int faults_create(struct faults **faults, const struct faults_config *config)
{
	struct faults *f = memory_calloc(1, sizeof(*f));

	*faults = f;
	if (!f)
		return failed(-ENOMEM, "no memory for the reconstruction of faults");
	if (config)
		f->config = *config;
	if (!f->config.open_max)
		f->config.open_max = OPEN_DEFAULT;
	if (!f->config.linger_ns)
		f->config.linger_ns = LINGER_DEFAULT;
	if (!f->config.give_up_ns)
		f->config.give_up_ns = GIVE_UP_DEFAULT;
	if (!f->config.start_ns)
		f->config.start_ns = START_DEFAULT;
	pool_init(&f->group_pool, sizeof(struct fault_group));
	pool_init(&f->request_pool, sizeof(struct fault_request));
	slots_init(&f->devices, sizeof(struct fault_device));
	f->pasids = pasids_create();
	if (!f->pasids)
		return failed(-ENOMEM, "no memory for the processes of PASIDs");
	return 0;
}

int faults_subscribe(struct faults *f, struct fault_sink sink)
{
	if (f->sink_count == FAULT_SINKS)
		return failed(-ENOSPC, "more than %d analyzers want faults", FAULT_SINKS);
	f->sinks[f->sink_count++] = sink;
	return 0;
}

struct stream faults_stream(struct faults *f)
{
	static const struct stream_ops ops = {
		.host = faults_on_host,
		.probe = faults_on_probe,
		.device = faults_on_device,
		.events = faults_on_events,
		.tick = faults_on_tick,
		.end = faults_on_end,
	};

	return (struct stream){&ops, f};
}

__u64 faults_late_ns(const struct faults *f)
{
	return f->config.give_up_ns + f->config.linger_ns;
}

const char *faults_unwatched(const struct faults *f, __u32 device)
{
	return fault_probes_lack(&f->probes, fault_device_path(f, device));
}

bool faults_began_before(const struct faults *f, const struct fault *fault)
{
	enum fault_path path = fault_device_path(f, fault->device);

	return fault_was_cut(fault) && fault_in_order(fault) &&
	       !fault_watch_lacks(&f->probes.begin[path]);
}

bool faults_end_watched(const struct faults *f, const struct fault *fault)
{
	enum fault_path path = fault_device_path(f, fault->device);

	return path != FAULT_PATH_RDMA && !fault_watch_lacks(&f->probes.end[path]);
}

enum faults_watched faults_watched(const struct faults *f)
{
	bool on = false, off = false, left_out = false;

	for (int path = 0; path < FAULT_PATHS; path++) {
		const struct fault_watch *watch = &f->probes.any[path];

		on |= watch->on;
		off |= watch->off != NULL;
		left_out |= !watch->on && watch->left_out;
	}
	if (!on && off)
		return FAULTS_NOT_WATCHED;
	return left_out ? FAULTS_PARTLY_WATCHED : FAULTS_WATCHED;
}

void faults_counts(const struct faults *f, struct faults_counts *counts)
{
	*counts = f->counts;
}

bool faults_began(const struct faults *f)
{
	return f->counts.began;
}

void faults_each_open(const struct faults *f,
		      void (*each)(void *argument, const struct fault *fault), void *argument)
{
	const struct fault_group *lists[] = {f->open, f->lingering}, *group;

	for (size_t i = 0; i < 2; i++)
		DL_FOREACH(lists[i], group)
			for (const struct fault_request *r = group->requests; r; r = r->next)
				each(argument, &r->fault);
}

void faults_destroy(struct faults *f)
{
	if (!f)
		return;
	HASH_CLEAR(hh, f->groups);
	pool_free(&f->group_pool);
	pool_free(&f->request_pool);
	slots_free(&f->devices);
	pasids_destroy(f->pasids);
	memory_free(f);
}

static void faults_live(const struct analysis *a, struct live_summary *summary)
{
	const struct faults_counts *counts = &a->faults->counts;

	summary->faults = counts->began;
	summary->overflowed = counts->overflowed;
	summary->discarded = counts->discarded;
	summary->abandoned = counts->abandoned + a->faults->given_up;
}

static int create_faults(struct analysis *a, const struct analysis_config *config)
{
	const struct faults_config own = {.open_max = config->open_faults,
					  .period = config->period};

	return faults_create(&a->faults, &own);
}

DEFINE_ANALYZER(faults, .summary = faults_live)
