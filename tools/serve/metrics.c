// SPDX-License-Identifier: GPL-2.0
/* A function get_NAME() for each line of metrics.def. */
#include "tools/serve/metrics.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/frames.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/watched.h"
#include "lib/base/clock.h"

#define LABELS_TEXT 640

/* The family that is being written. */
struct family {
	const struct metrics *metrics;
	struct exposition *out;
	const char *name;
};

static struct sample_name sample_named(const struct family *f, const char *labels, const char *more)
{
	return (struct sample_name){f->name, "", labels, more};
}

static void put(const struct family *f, const char *labels, const char *more, __u64 value)
{
	exposition_count(f->out, sample_named(f, labels, more), value);
}

static void put_seconds(const struct family *f, const char *labels, const char *more, __u64 ns)
{
	exposition_seconds(f->out, sample_named(f, labels, more), ns);
}

/* What is counted by an enum: a label with a name of each. */
static void put_each(const struct family *f, const struct ledger_row *row, const char *label,
		     const char *const *names, const __u64 *values, size_t count)
{
	char text[64], *value = stpcpy(stpcpy(text, label), "=\"");

	/* Words of ours, which need no quoting. */
	for (size_t i = 0; i < count; i++) {
		strcpy(stpcpy(value, names[i]), "\"");
		put(f, row->labels, text, values[i]);
	}
}

static void get_build_info(const struct family *f)
{
	char labels[LABELS_TEXT];

	exposition_label(labels, sizeof(labels), 0, "version", FAULTLINE_VERSION);
	put(f, labels, NULL, 1);
}

static void get_host_info(const struct family *f)
{
	const struct host_info *host = session_host(f->metrics->analysis->session);
	char labels[LABELS_TEXT];

	if (!host)
		return;
	exposition_label(labels, sizeof(labels),
			 exposition_label(labels, sizeof(labels), 0, "host", host->hostname),
			 "kernel", host->kernel);
	put(f, labels, NULL, 1);
}

static void get_capture_start_time_seconds(const struct family *f)
{
	const struct session *session = f->metrics->analysis->session;
	__u64 ns = wall_clock_at(session_clock(session), session_first_ns(session));

	if (ns)
		put_seconds(f, NULL, NULL, ns);
}

static void get_written_time_seconds(const struct family *f)
{
	put_seconds(f, NULL, NULL, f->metrics->realtime_ns);
}

static void get_devices(const struct family *f)
{
	put(f, NULL, NULL, session_device_count(f->metrics->analysis->session));
}

#define EACH_DEVICE(f, row) LEDGER_EACH(row, (f)->metrics->ledger, LEDGER_DEVICE)

static void get_device_info(const struct family *f)
{
	static const char *const kinds[DEVICE_KIND_MAX] = {
		[DEVICE_UNKNOWN] = "unknown",
		[DEVICE_EMULATED] = "emulated",
		[DEVICE_PCI] = "pci",
		[DEVICE_PLATFORM] = "platform",
		[DEVICE_BLOCK] = "block",
		[DEVICE_IB] = "rdma",
		[DEVICE_NETDEV] = "net",
		[DEVICE_VFIO_CONTAINER] = "vfio",
		[DEVICE_IOMMU_DOMAIN] = "iommu",
	};
	char text[64];

	EACH_DEVICE(f, row)
	{
		unsigned int kind = row->is.device.kind < DEVICE_KIND_MAX ? row->is.device.kind : 0;

		if (!row->is.device.there)
			continue;
		exposition_label(text, sizeof(text), 0, "kind", kinds[kind]);
		put(f, row->labels, text, 1);
	}
}

/* What is not known is not 0: it is not told, unless it was before. */
static bool is_device_told(const struct ledger_row *row, __u64 value, unsigned int needs)
{
	return value || !(row->is.device.unknown & needs);
}

#define DEVICE_COUNTER(metric, field, needs, as)                              \
	static void get_##metric(const struct family *f)                      \
	{                                                                     \
		EACH_DEVICE(f, row)                                           \
		{                                                             \
			__u64 value = LEDGER_TOLD(row, device_counts)->field; \
                                                                              \
			if (is_device_told(row, value, needs))                \
				as(f, row->labels, NULL, value);              \
		}                                                             \
	}

DEVICE_COUNTER(faults_began_total, began, UNKNOWN_FAULTS, put)
DEVICE_COUNTER(blocked_seconds_total, blocked_ns, UNKNOWN_BLOCKED, put_seconds)
DEVICE_COUNTER(bursts_total, bursts, UNKNOWN_FAULTS, put)
DEVICE_COUNTER(page_request_overflows_total, overflowed, UNKNOWN_OVERFLOWED, put)
DEVICE_COUNTER(faults_discarded_total, discarded, UNKNOWN_DISCARDED, put)
DEVICE_COUNTER(faults_abandoned_total, abandoned, UNKNOWN_ABANDONED, put)
DEVICE_COUNTER(faults_unfinished_total, unfinished, UNKNOWN_STATES, put)
DEVICE_COUNTER(unrecoverable_faults_total, unrecoverable, 0, put)
DEVICE_COUNTER(invalidations_total, invalidations, 0, put)
DEVICE_COUNTER(ios_total, ios, UNKNOWN_IO, put)
DEVICE_COUNTER(io_bytes_total, io_bytes, UNKNOWN_IO, put)
DEVICE_COUNTER(ios_faulted_total, ios_faulted, UNKNOWN_IO | UNKNOWN_FAULTS, put)

/* What only devices of a kind have. */
#define DEVICE_COUNTER_OF(metric, field, of, as)                              \
	static void get_##metric(const struct family *f)                      \
	{                                                                     \
		EACH_DEVICE(f, row)                                           \
		{                                                             \
			__u64 value = LEDGER_TOLD(row, device_counts)->field; \
                                                                              \
			if (value || row->is.device.of)                       \
				as(f, row->labels, NULL, value);              \
		}                                                             \
	}

DEVICE_COUNTER_OF(odp_faults_total, odp_faults, rdma, put)
DEVICE_COUNTER_OF(odp_pages_total, odp_pages, rdma, put)
DEVICE_COUNTER_OF(packets_resent_total, packets_resent, rdma, put)
DEVICE_COUNTER_OF(stalls_total, stalls, nic, put)
DEVICE_COUNTER_OF(stall_seconds_total, stall_ns, nic, put_seconds)

#define DEVICE_GAUGE(metric, field, wanted)                            \
	static void get_##metric(const struct family *f)               \
	{                                                              \
		EACH_DEVICE(f, row)                                    \
		{                                                      \
			const struct device_now *is = &row->is.device; \
                                                                       \
			if (is->there && (wanted))                     \
				put(f, row->labels, NULL, is->field);  \
		}                                                      \
	}

DEVICE_GAUGE(open_faults, open, !(is->unknown & UNKNOWN_STATES))
DEVICE_GAUGE(fault_peak_per_second, peak, !(is->unknown & UNKNOWN_FAULTS))
DEVICE_GAUGE(footprint_bytes, footprint_bytes, !(is->unknown & UNKNOWN_IO))
DEVICE_GAUGE(device_memory_bytes, memory_bytes, is->memory_bytes)

static void get_faults_total(const struct family *f)
{
	static const char *const names[EFFORTS] = {"minor", "major", "unknown", "none"};

	EACH_DEVICE(f, row)
	{
		const struct device_counts *told = LEDGER_TOLD(row, device_counts);

		if (is_device_told(row, told->began, UNKNOWN_FAULTS))
			put_each(f, row, "kind", names, told->over, EFFORTS);
	}
}

static void get_fault_responses_total(const struct family *f)
{
	static const char *const names[ANSWERS] = {"success", "invalid", "failure", "automatic",
						   "other"};

	EACH_DEVICE(f, row)
	{
		const struct device_counts *told = LEDGER_TOLD(row, device_counts);

		if (told->began || row->is.device.may_fault)
			put_each(f, row, "code", names, told->answers, ANSWERS);
	}
}

static bool has_latencies(const struct ledger_row *row)
{
	return row->is.device.may_fault || LEDGER_TOLD(row, device_counts)->began;
}

static void get_fault_latency_seconds(const struct family *f)
{
	EACH_DEVICE(f, row)
	if (has_latencies(row))
		exposition_histogram(f->out, sample_named(f, row->labels, NULL),
				     &LEDGER_TOLD(row, device_counts)->latency);
}

static void get_fault_stage_seconds(const struct family *f)
{
	char text[64];

	EACH_DEVICE(f, row)
	for (unsigned int s = 0; has_latencies(row) && s < STAGES; s++) {
		exposition_label(text, sizeof(text), 0, "stage", stage_name(s));
		exposition_histogram(f->out, sample_named(f, row->labels, text),
				     &LEDGER_TOLD(row, device_counts)->stages[s]);
	}
}

static void get_invalidation_seconds(const struct family *f)
{
	EACH_DEVICE(f, row)
	{
		const struct device_counts *told = LEDGER_TOLD(row, device_counts);

		if (told->invalidations || row->is.device.may_fault)
			exposition_histogram(f->out, sample_named(f, row->labels, NULL),
					     &told->invalidation);
	}
}

#define EACH_CONTAINER(f, row) LEDGER_EACH(row, (f)->metrics->ledger, LEDGER_CONTAINER)

/* Limits of several containers do not add up. */
#define CONTAINER_GAUGE(metric, field, as, of_other)                                       \
	static void get_##metric(const struct family *f)                                   \
	{                                                                                  \
		EACH_CONTAINER(f, row)                                                     \
		{                                                                          \
			const struct container_now *is = &row->is.container;               \
			bool other = !strcmp(row->name, LEDGER_OTHER);                     \
                                                                                           \
			if (is->there && ((of_other) || !other))                           \
				as(f->out, sample_named(f, row->labels, NULL), is->field); \
		}                                                                          \
	}

CONTAINER_GAUGE(vfio_pinned_bytes, pinned_bytes, exposition_count, true)
CONTAINER_GAUGE(vfio_limit_bytes, limit_bytes, exposition_limit, false)
CONTAINER_GAUGE(vfio_mappings, mappings, exposition_count, true)
CONTAINER_GAUGE(vfio_mappings_limit, mappings_limit, exposition_limit, false)

static void get_vfio_failures_total(const struct family *f)
{
	EACH_CONTAINER(f, row)
	put(f, row->labels, NULL, LEDGER_TOLD(row, container_counts)->failures);
}

#define EACH_PORT(f, row) LEDGER_EACH(row, (f)->metrics->ledger, LEDGER_PORT)

static void get_rdma_counter_total(const struct family *f)
{
	static const char *const names[RDMA_COUNTERS] = {
		[RDMA_RNR_SENT] = "rnr_sent",
		[RDMA_RNR_RECEIVED] = "rnr_received",
		[RDMA_RETRY] = "retries",
		[RDMA_DUPLICATE] = "duplicates",
		[RDMA_OUT_OF_SEQUENCE] = "out_of_sequence",
		[RDMA_SEQUENCE_NAK] = "sequence_naks",
		[RDMA_RETRY_EXCEEDED] = "retries_exceeded",
		[RDMA_RNR_EXCEEDED] = "rnr_exceeded",
	};

	EACH_PORT(f, row)
	put_each(f, row, "counter", names, LEDGER_TOLD(row, port_counts)->counters, RDMA_COUNTERS);
}

static void get_rnr_naks_total(const struct family *f)
{
	static const char *const names[] = {"sent", "received"};

	_Static_assert(RDMA_RNR_SENT == 0 && RDMA_RNR_RECEIVED == 1, "the first two counters");
	EACH_PORT(f, row)
	put_each(f, row, "direction", names, LEDGER_TOLD(row, port_counts)->counters, 2);
}

static void get_frames_total(const struct family *f)
{
	static const char *const names[] = {[RING_RX] = "rx", [RING_TX] = "tx"};

	EACH_DEVICE(f, row)
	{
		const __u64 *frames = LEDGER_TOLD(row, device_counts)->frames;

		if (row->is.device.nic || frames[RING_RX] || frames[RING_TX])
			put_each(f, row, "side", names, frames, 2);
	}
}

static __u64 frames_lost(const struct ledger_row *row)
{
	__u64 lost = 0;

	for (unsigned int i = 0; i < LOSS_REASONS; i++)
		lost += LEDGER_TOLD(row, device_counts)->lost[i];
	return lost;
}

static void get_frames_lost_total(const struct family *f)
{
	const char *names[LOSS_REASONS];

	for (unsigned int i = 0; i < LOSS_REASONS; i++)
		names[i] = frames_reason_name((enum loss_reason)i);
	EACH_DEVICE(f, row)
	if (row->is.device.nic || frames_lost(row))
		put_each(f, row, "reason", names, LEDGER_TOLD(row, device_counts)->lost,
			 LOSS_REASONS);
}

#define OBJECTIVE_COUNTER(metric, field)                                              \
	static void get_##metric(const struct family *f)                              \
	{                                                                             \
		LEDGER_EACH(row, f->metrics->ledger, LEDGER_OBJECTIVE)                \
		put(f, row->labels, NULL, LEDGER_TOLD(row, objective_counts)->field); \
	}

OBJECTIVE_COUNTER(objective_windows_total, windows)
OBJECTIVE_COUNTER(objective_violations_total, violations)

static const struct host_counts *host_told(const struct family *f)
{
	static const struct host_counts none;
	const struct ledger_row *row = f->metrics->ledger->first[LEDGER_HOST];

	return row ? LEDGER_TOLD(row, host_counts) : &none;
}

#define HOST_COUNTER(metric, field)                      \
	static void get_##metric(const struct family *f) \
	{                                                \
		put(f, NULL, NULL, host_told(f)->field); \
	}

HOST_COUNTER(events_total, events)
HOST_COUNTER(unrecoverable_faults_unseen_total, unseen)
HOST_COUNTER(scrapes_total, scrapes)
HOST_COUNTER(textfile_failures_total, textfile_failures)

static void get_events_lost_total(const struct family *f)
{
	static const char *const names[LOST_WHERES] = {"ring", "recursion", "access_log",
						       "machines", "disk"};
	static const struct ledger_row host;

	put_each(f, &host, "what", names, host_told(f)->lost, LOST_WHERES);
}

#define EACH_PROBE(f, row) LEDGER_EACH(row, (f)->metrics->ledger, LEDGER_PROBE)

static void get_probe_state(const struct family *f)
{
	static const char *const names[] = {"attached", "silent", "off", "lost", "disabled"};
	char text[64];

	EACH_PROBE(f, row)
	{
		if (!row->is.probe.there)
			continue;
		exposition_label(text, sizeof(text), 0, "state", names[row->is.probe.condition]);
		put(f, row->labels, text, 1);
	}
}

#define PROBE_COUNTER(metric, field)                                              \
	static void get_##metric(const struct family *f)                          \
	{                                                                         \
		EACH_PROBE(f, row)                                                \
		put(f, row->labels, NULL, LEDGER_TOLD(row, probe_counts)->field); \
	}

PROBE_COUNTER(probe_hits_total, hits)
PROBE_COUNTER(probe_lost_total, lost)

static void get_path_visible(const struct family *f)
{
	const struct analysis *a = f->metrics->analysis;
	char text[128];

	for (int path = PATH_NONE + 1; path < PATH_COUNT; path++) {
		exposition_label(text, sizeof(text), 0, "path", path_name((enum path_id)path));
		put(f, text, NULL,
		    watched_path(a->session, a->silent, (enum path_id)path).state == WATCHED_WHOLE);
	}
}

static void get_floor(const struct family *f)
{
	put(f, NULL, NULL, floor_of(f->metrics->analysis) != 0);
}

static void get_process_cpu_seconds_total(const struct family *f)
{
	put_seconds(f, NULL, NULL, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void get_process_resident_memory_bytes(const struct family *f)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	put(f, NULL, NULL, (__u64)pages * (__u64)sysconf(_SC_PAGESIZE));
}

static const struct {
	const char *name, *type, *help;
	void (*get)(const struct family *f);
} families[] = {
#define COUNTER				 "counter"
#define GAUGE				 "gauge"
#define HISTOGRAM			 "histogram"
#define METRIC(name, type, labels, help) {#name, type, help, get_##name},
#include "tools/serve/metrics.def"
};

void metrics_write(const struct metrics *metrics, struct exposition *out)
{
	exposition_begin(out);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family f = {metrics, out, families[i].name};

		exposition_family(out, families[i].name, families[i].type, families[i].help);
		families[i].get(&f);
	}
}
