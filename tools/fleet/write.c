// SPDX-License-Identifier: GPL-2.0
#include "tools/fleet/write.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/page.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/trace/trace.h"

#define START_NS   (1000ull * NSEC_PER_SEC)	  /* of the monotonic clock; 0 is no time */
#define EPOCH_NS   (1700000000ull * NSEC_PER_SEC) /* a date like any other, always the same */
#define HUGE_BYTES (1ull << 21)
#define HUGE_PAGES (HUGE_BYTES / PAGE_BYTES)
#define HOSTS_MOST 1000
/* Of all machines: a recording has something for nearly each of them. */
#define SECONDS_MOST	       20000000
#define DEVICE(machine, model) (1 + FLEET_DEVICES * (machine) + (model))

/* The machines of one host, whose accesses come in the order of times. */
struct host {
	const struct fleet_config *config;
	__u32 first, count; /* machines */
	struct fleet_machine *machines;
	struct fleet_accesses *accesses;
	struct what_if_access *next;
	bool *more;
	struct aggregate_page *pages; /* of this second */
	size_t page_count, page_room;
	struct stream stream;
};

static int host_compare_pages(const void *left, const void *right)
{
	const struct aggregate_page *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->page > b->page) - (a->page < b->page);
}

/* One access may stand for more than its second has; they are all of the second in which the first was. */
static void unite_pages(struct host *host)
{
	size_t kept = 0;

	qsort(host->pages, host->page_count, sizeof(host->pages[0]), host_compare_pages);
	for (size_t i = 0; i < host->page_count; i++) {
		if (kept && !host_compare_pages(&host->pages[kept - 1], &host->pages[i]))
			host->pages[kept - 1].writes += host->pages[i].writes;
		else
			host->pages[kept++] = host->pages[i];
	}
	host->page_count = kept;
}

static int tell_window(struct host *host, __u64 window)
{
	struct aggregate_frame frame = {.window = window};
	int err;

	if (!host->page_count)
		return 0;
	unite_pages(host);
	frame.pages = host->pages;
	frame.page_count = host->page_count;
	err = host->stream.ops->aggregate(host->stream.self, &frame);
	host->page_count = 0;
	return err;
}

static int host_add_page(struct host *host, __u32 machine, const struct what_if_access *access)
{
	if (!array_grow(&host->pages, &host->page_room, host->page_count + 1,
			sizeof(host->pages[0]), ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for a recording");
	host->pages[host->page_count++] = (struct aggregate_page){
		.page = access->page * HUGE_PAGES,
		.device = DEVICE(machine, access->domain),
		.writes = access->count,
	};
	return 0;
}

static void advance(struct host *host, __u32 machine)
{
	host->more[machine] = fleet_accesses_next(&host->accesses[machine], &host->next[machine]);
}

/* The machine whose access comes next, `count` if there is none. */
static __u32 earliest(const struct host *host)
{
	__u32 first = host->count;

	for (__u32 m = 0; m < host->count; m++)
		if (host->more[m] &&
		    (first == host->count || host->next[m].time_ns < host->next[first].time_ns))
			first = m;
	return first;
}

static int tell_accesses(struct host *host)
{
	__u64 window = START_NS / AGGREGATE_WINDOW_NS;
	__u32 machine;
	int err = 0;

	for (__u32 m = 0; m < host->count; m++)
		advance(host, m);
	while (!err && (machine = earliest(host)) < host->count) {
		__u64 now = (START_NS + host->next[machine].time_ns) / AGGREGATE_WINDOW_NS;

		if (now != window)
			err = tell_window(host, window);
		window = now;
		if (!err)
			err = host_add_page(host, machine, &host->next[machine]);
		advance(host, machine);
	}
	for (__u32 m = 0; !err && m < host->count; m++)
		err = host->accesses[m].error;
	return err ? err : tell_window(host, window);
}

static int tell_device(struct host *host, __u32 machine, __u32 model)
{
	const struct fleet_machine *of = &host->machines[machine];
	struct device_info info = {
		.handle = DEVICE(machine, model),
		.kind = DEVICE_EMULATED,
		.iommu_group = -1,
		.memory = of->memory_pages * HUGE_BYTES,
		.first_ns = START_NS,
		.source_id = of->number,
	};

	snprintf(info.vm, sizeof(info.vm), "vm%u", of->number);
	snprintf(info.name, sizeof(info.name), "vm%u/%s", of->number,
		 population_model_names[model]);
	snprintf(info.model, sizeof(info.model), "%s", population_model_names[model]);
	return host->stream.ops->device(host->stream.self, &info);
}

static int tell_head(struct host *host, __u32 number)
{
	struct host_info info = {.cpus = 1, .page_size = PAGE_BYTES, .start_ns = START_NS};
	const struct clock_anchor clock = {START_NS, EPOCH_NS};
	int err;

	snprintf(info.hostname, sizeof(info.hostname), "host-%u", number);
	snprintf(info.kernel, sizeof(info.kernel), "none: made up by a model");
	snprintf(info.boot_id, sizeof(info.boot_id), "model-%llu-%u", host->config->seed, number);
	snprintf(info.version, sizeof(info.version), FAULTLINE_VERSION);
	snprintf(info.command, sizeof(info.command), "faultline fleet --write");
	err = host->stream.ops->host(host->stream.self, &info);
	if (!err)
		err = host->stream.ops->clock(host->stream.self, &clock);
	for (__u32 m = 0; !err && m < host->count; m++)
		for (__u32 model = 0; !err && model < FLEET_DEVICES; model++)
			if (host->machines[m].has[model])
				err = tell_device(host, m, model);
	return err;
}

static int host_open(struct host *host)
{
	int err = 0;

	host->machines = calloc(host->count, sizeof(host->machines[0]));
	host->accesses = calloc(host->count, sizeof(host->accesses[0]));
	host->next = calloc(host->count, sizeof(host->next[0]));
	host->more = calloc(host->count, sizeof(host->more[0]));
	if (!host->machines || !host->accesses || !host->next || !host->more)
		return failed(-ENOMEM, "no memory for a host of %u machines", host->count);
	for (__u32 m = 0; !err && m < host->count; m++) {
		host->machines[m] = fleet_machine(host->config, host->first + m);
		err = fleet_accesses_open(&host->accesses[m], host->config, &host->machines[m]);
	}
	return err;
}

static void host_close(struct host *host)
{
	for (__u32 m = 0; host->accesses && m < host->count; m++)
		fleet_accesses_close(&host->accesses[m]);
	free(host->machines);
	free(host->accesses);
	free(host->next);
	free(host->more);
	free(host->pages);
}

/* It has no name before it is whole. */
static int write_host(struct host *host, const char *path, __u32 number)
{
	const struct trace_writer_config to = {.path = path, .held = true};
	const struct loss_info loss = {0};
	struct trace_writer *writer;
	int err = trace_writer_open(&writer, &to), closed;

	if (err)
		return failed_system(err);
	host->stream = trace_writer_stream(writer);
	err = tell_head(host, number);
	if (!err)
		err = tell_accesses(host);
	if (!err)
		err = host->stream.ops->loss(host->stream.self, &loss);
	if (!err)
		err = host->stream.ops->end(host->stream.self, START_NS + host->config->length_ns);
	if (!err)
		err = trace_writer_commit(writer);
	closed = trace_writer_close(writer);
	return failed_system(err ? err : closed);
}

static int check_size(const struct fleet_config *config, __u32 hosts)
{
	double seconds = (double)config->machine_count * (double)config->length_ns / NSEC_PER_SEC;

	if (hosts <= HOSTS_MOST && seconds <= SECONDS_MOST)
		return 0;
	return failed(
		-EINVAL,
		"--write: %u machines on %u hosts for %g hours: accepted: up to %d hosts and %d "
		"machine hours in all",
		config->machine_count, hosts, config->hours, HOSTS_MOST, SECONDS_MOST / 3600);
}

int fleet_record(const struct fleet_config *config, const char *directory)
{
	__u32 each = config->machines_per_host, hosts = (config->machine_count + each - 1) / each;
	int err = check_size(config, hosts);
	char path[PATH_MAX];

	if (err)
		return err;
	if (mkdir(directory, 0700))
		return failed(errno == EEXIST ? -EINVAL : failed_system(-errno),
			      "--write %s: %s; accepted: the path of a folder that is not there",
			      printable_of(directory).text, strerror(errno));
	for (__u32 i = 0; !err && i < hosts; i++) {
		struct host host = {.config = config, .first = i * each, .count = each};

		if (host.first + host.count > config->machine_count)
			host.count = config->machine_count - host.first;
		if (snprintf(path, sizeof(path), "%s/host-%u.flt", directory, i + 1) >=
		    (int)sizeof(path))
			err = failed(-EINVAL, "--write: a path of %zu bytes: accepted: up to %d",
				     strlen(directory), PATH_MAX - 32);
		if (!err)
			err = host_open(&host);
		if (!err)
			err = write_host(&host, path, i + 1);
		host_close(&host);
	}
	return err;
}
