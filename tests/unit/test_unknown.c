// SPDX-License-Identifier: GPL-2.0
/* Of whatever kinds of fault events were asked for: each number that is told is that of all of them. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/counts.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/recent.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/vfio.h"
#include "lib/base/kinds.h"
#include "lib/capture/probes.h"

static const struct table_wish everything;

#define FAULTS_MAX 32
#define ALL	   EVENT_GROUP, RESPONSE_SUCCESS
#define AUTOMATIC  EVENT_GROUP, RESPONSE_AUTOMATIC
#define PAGE	   0, 0

static const __u16 kinds[] = {
	EVENT_FAULT_DETECT,   EVENT_FAULT_REQUEST,    EVENT_FAULT_ISR,	    EVENT_FAULT_HANDLER,
	EVENT_FAULT_RESOLVED, EVENT_FAULT_MAPPED,     EVENT_FAULT_RESPONSE, EVENT_FAULT_RESUME,
	EVENT_FAULT_OVERFLOW, EVENT_FAULT_UNFINISHED, EVENT_FAULT_VOID,	    EVENT_FAULT_ABANDON,
};

/* What becomes of page requests: of group and page, in the order of time. */
static const struct step {
	__u8 group, page;
	__u16 kind;
	__u8 flags, code;
} steps[] = {
	/* 1: two pages are served. */
	{1, 0, EVENT_FAULT_DETECT, PAGE},
	{1, 1, EVENT_FAULT_DETECT, PAGE},
	{1, 0, EVENT_FAULT_REQUEST, PAGE},
	{1, 1, EVENT_FAULT_REQUEST, PAGE},
	{1, 0, EVENT_FAULT_ISR, PAGE},
	{1, 1, EVENT_FAULT_ISR, PAGE},
	{1, 0, EVENT_FAULT_HANDLER, ALL},
	{1, 0, EVENT_FAULT_RESOLVED, PAGE},
	{1, 1, EVENT_FAULT_RESOLVED, PAGE},
	{1, 0, EVENT_FAULT_MAPPED, ALL},
	{1, 0, EVENT_FAULT_RESPONSE, ALL},
	{1, 0, EVENT_FAULT_RESUME, ALL},
	/* 2: one page is dropped, the IOMMU answers. */
	{2, 0, EVENT_FAULT_DETECT, PAGE},
	{2, 0, EVENT_FAULT_OVERFLOW, PAGE},
	{2, 0, EVENT_FAULT_RESUME, AUTOMATIC},
	/* 3: of three pages one is dropped, one thrown away, one was served. */
	{3, 0, EVENT_FAULT_DETECT, PAGE},
	{3, 1, EVENT_FAULT_DETECT, PAGE},
	{3, 2, EVENT_FAULT_DETECT, PAGE},
	{3, 0, EVENT_FAULT_REQUEST, PAGE},
	{3, 1, EVENT_FAULT_REQUEST, PAGE},
	{3, 2, EVENT_FAULT_OVERFLOW, PAGE},
	{3, 2, EVENT_FAULT_RESUME, AUTOMATIC},
	{3, 0, EVENT_FAULT_VOID, PAGE},
	/* 4: given up by its device. */
	{4, 0, EVENT_FAULT_DETECT, PAGE},
	{4, 0, EVENT_FAULT_REQUEST, PAGE},
	{4, 0, EVENT_FAULT_ABANDON, ALL},
	/* 5: dropped, asked for again, served. */
	{5, 0, EVENT_FAULT_DETECT, PAGE},
	{5, 0, EVENT_FAULT_OVERFLOW, PAGE},
	{5, 0, EVENT_FAULT_REQUEST, PAGE},
	{5, 0, EVENT_FAULT_RESPONSE, ALL},
	{5, 0, EVENT_FAULT_RESUME, ALL},
	/* 6: of two pages one is dropped, and the other's answer is that of both. */
	{6, 0, EVENT_FAULT_DETECT, PAGE},
	{6, 1, EVENT_FAULT_DETECT, PAGE},
	{6, 0, EVENT_FAULT_OVERFLOW, PAGE},
	{6, 1, EVENT_FAULT_REQUEST, PAGE},
	{6, 1, EVENT_FAULT_RESPONSE, ALL},
	{6, 1, EVENT_FAULT_RESUME, ALL},
	/* 7, 8: dropped or thrown away, and given up, as the answer was lost. */
	{7, 0, EVENT_FAULT_DETECT, PAGE},
	{7, 0, EVENT_FAULT_OVERFLOW, PAGE},
	{7, 0, EVENT_FAULT_ABANDON, ALL},
	{8, 0, EVENT_FAULT_DETECT, PAGE},
	{8, 0, EVENT_FAULT_REQUEST, PAGE},
	{8, 0, EVENT_FAULT_VOID, PAGE},
	{8, 0, EVENT_FAULT_ABANDON, ALL},
	/* 9: capture gave it up, and it went on. */
	{9, 0, EVENT_FAULT_DETECT, PAGE},
	{9, 0, EVENT_FAULT_REQUEST, PAGE},
	{9, 0, EVENT_FAULT_UNFINISHED, ALL},
	{9, 0, EVENT_FAULT_RESPONSE, ALL},
	{9, 0, EVENT_FAULT_RESUME, ALL},
	/* 10: given up while the answer was on its way. */
	{10, 0, EVENT_FAULT_DETECT, PAGE},
	{10, 0, EVENT_FAULT_REQUEST, PAGE},
	{10, 0, EVENT_FAULT_ABANDON, ALL},
	{10, 0, EVENT_FAULT_RESPONSE, ALL},
	{10, 0, EVENT_FAULT_RESUME, ALL},
	/* 11: nothing becomes of it. */
	{11, 0, EVENT_FAULT_DETECT, PAGE},
	{11, 0, EVENT_FAULT_REQUEST, PAGE},
};

struct found {
	struct recent_counts counts;
	__u64 blocked_ns;
	unsigned int unknown;
	char said[UNKNOWN_TEXT];
	struct fault faults[FAULTS_MAX];
	size_t count;
};

static void on_finished(void *self, const struct fault *fault)
{
	struct found *found = self;

	assert_true(found->count < FAULTS_MAX);
	found->faults[found->count++] = *fault;
}

/* The kinds of `off`, bits of kinds[], have their probes off. */
static void tell(struct stream stream, const struct host_info *host, unsigned int off)
{
	static const struct device_info device = {
		.handle = 1, .kind = DEVICE_EMULATED, .name = "d"};

	if (stream.ops->host)
		stream.ops->host(stream.self, host);
	for (int i = 0; stream.ops->probe && i < PROBE_COUNT; i++) {
		struct probe_info probe = {.state = PROBE_ON};

		if (path_of(probe_row(i)) != PATH_EMULATED)
			continue;
		snprintf(probe.name, sizeof(probe.name), "%s", probe_row(i)->name);
		for (size_t k = 0; k < COUNT(kinds); k++)
			if (kinds[k] == probe_row(i)->kind && off >> k & 1)
				probe.state = PROBE_DISABLED;
		if (probe.state != PROBE_ON)
			snprintf(probe.reason, sizeof(probe.reason), "%s", PROBE_LEFT_OUT);
		assert_int_equal(stream.ops->probe(stream.self, &probe), 0);
	}
	stream.ops->device(stream.self, &device);
}

/*
 * The groups of one device as capture's kernel side tells them apart (bpf/emu.bpf.c), which sees what probes see that
 * are on: there all but two groups take the same number, one after the other.
 */
struct kernel {
	bool numbered; /* else an event's group tells it apart */
	struct {
		bool open, beyond, resumed, abandoned;
		__u32 instance;
		int queued;
	} groups[16];
	__u32 instances;
};

static __u32 instance_of(struct kernel *kernel, const struct event *e, __u32 *unfinished)
{
	typeof(&kernel->groups[0]) g = &kernel->groups[e->group];

	*unfinished = 0;
	if (g->open && e->kind == EVENT_FAULT_DETECT && (g->beyond || g->resumed || g->abandoned)) {
		*unfinished = g->abandoned ? 0 : g->instance;
		g->open = false;
	}
	if (!g->open) {
		if (e->kind >= EVENT_FAULT_RESPONSE)
			return ++kernel->instances;
		memset(g, 0, sizeof(*g));
		g->open = true;
		g->instance = ++kernel->instances;
	}
	switch (e->kind) {
	case EVENT_FAULT_RESUME:
		g->resumed = true;
		g->open = e->code == RESPONSE_AUTOMATIC && g->queued;
		break;
	case EVENT_FAULT_VOID:
		g->open = g->queued-- != 1 || !g->resumed;
		break;
	case EVENT_FAULT_ABANDON:
		g->abandoned = true;
		break;
	default:
		g->queued += e->kind == EVENT_FAULT_REQUEST;
		g->beyond |= e->kind > EVENT_FAULT_REQUEST && e->kind <= EVENT_FAULT_RESUME;
	}
	return g->instance;
}

static void play_step(struct stream stream, struct kernel *kernel, struct event e)
{
	struct event old = {.time_ns = e.time_ns,
			    .kind = EVENT_FAULT_UNFINISHED,
			    .device = e.device,
			    .pasid = e.pasid,
			    .flags = EVENT_GROUP,
			    .tid = 1};

	if (kernel->numbered) {
		e.address &= (1u << 20) - 1;
		/* Of 3 the host keeps a page, 9 goes on after capture gave it up. */
		old.group = e.group = e.group == 3 || e.group == 9 ? e.group : 1;
		if (e.kind == EVENT_FAULT_UNFINISHED)
			e.instance = kernel->groups[e.group].instance;
		else
			e.instance = instance_of(kernel, &e, &old.instance);
		if (old.instance)
			stream_events(stream, &old, 1);
	}
	stream_events(stream, &e, 1);
}

/* Bit i of the subset: kinds[i] is recorded. Kinds "": not asked for by name; NULL: the probes of others are off. */
static void play(unsigned int subset, const char *asked, struct found *found)
{
	unsigned int off = asked ? 0 : ~subset;
	struct kernel kernel = {.numbered = !asked};
	struct host_info host = {.start_ns = 900 * MS};
	struct session *session;
	struct faults *faults;
	struct recent *recent;
	struct queues *queues;
	struct queue_blocked blocked;

	*found = (struct found){0};
	snprintf(host.kinds, sizeof(host.kinds), "%s", asked ?: "");
	assert_int_equal(session_create(&session), 0);
	assert_int_equal(faults_create(&faults, NULL), 0);
	assert_int_equal(recent_create(&recent, faults, 1), 0);
	assert_int_equal(queues_create(&queues, session, faults), 0);
	faults_subscribe(faults, (struct fault_sink){.finished = on_finished, .self = found});
	tell(session_stream(session), &host, off);
	tell(faults_stream(faults), &host, off);
	for (size_t i = 0; i < COUNT(steps); i++) {
		const struct event e = {.time_ns = (1000 + i) * MS,
					.device = 1,
					.pasid = PASID_NONE,
					.group = steps[i].group,
					.address = steps[i].group << 20 | steps[i].page << 12,
					.kind = steps[i].kind,
					.flags = steps[i].flags,
					.code = steps[i].code};

		for (size_t k = 0; k < COUNT(kinds); k++)
			if (kinds[k] == e.kind && subset >> k & 1)
				play_step(faults_stream(faults), &kernel, e);
	}
	session_stream(session).ops->end(session, 2000 * MS);
	faults_stream(faults).ops->end(faults, 2000 * MS);
	found->counts = recent_counts(recent, 1);
	if (!queues_get(queues, 1, 0, &blocked))
		found->blocked_ns = blocked.blocked_ns;
	found->unknown = unknown_numbers(session, 1);
	/* What an objective of faults asks. */
	assert_int_equal(!faults_unwatched(faults, 1), !(found->unknown & UNKNOWN_FAULTS));
	unknown_kinds(session, found->said);
	queues_destroy(queues);
	recent_destroy(recent);
	faults_destroy(faults);
	session_destroy(session);
}

static void same_states(const struct found *some, const struct found *whole)
{
	for (size_t i = 0; i < some->count; i++) {
		const struct fault *fault = &some->faults[i];
		const char *name = unknown_state_name(some->unknown, fault->state);
		size_t k = 0;

		if (!strcmp(name, "unknown"))
			continue;
		while (k < whole->count && whole->faults[k].address != fault->address)
			k++;
		assert_true(k < whole->count);
		assert_string_equal(name, fault_state_name(whole->faults[k].state));
	}
}

static const struct {
	unsigned int number;
	const char *name;
	size_t offset;
	/* Subsets that suffice, of each 128: of detect, request, resume, overflow, void, abandon and unfinished. */
	unsigned int suffice;
	unsigned int probes_suffice; /* likewise, of 2048, where the probes of others are off */
} numbers[] = {
#define FOUND(field) offsetof(struct found, field)
	{UNKNOWN_FAULTS, "faults", FOUND(counts.began), 80, 1024},
	{UNKNOWN_STATES, "complete", FOUND(counts.complete), 1, 16},
	{UNKNOWN_STATES, "unfinished", FOUND(counts.unfinished), 1, 16},
	{UNKNOWN_STATES, "inconsistent", FOUND(counts.inconsistent), 1, 16},
	{UNKNOWN_OVERFLOWED, "overflowed", FOUND(counts.overflowed), 32, 128},
	{UNKNOWN_DISCARDED, "discarded", FOUND(counts.discarded), 12, 64},
	{UNKNOWN_ABANDONED, "abandoned", FOUND(counts.abandoned), 4, 32},
	{UNKNOWN_BLOCKED, "blocked", FOUND(blocked_ns), 8, 256},
};

static void what_is_told_of_some_kinds_is_true(void **state)
{
	unsigned int told[COUNT(numbers)] = {0}, all = (1u << COUNT(kinds)) - 1;
	struct found whole, some;

	play(all, "", &whole);
	assert_int_equal(whole.unknown, 0);
	assert_string_equal(whole.said, "");
	assert_int_equal(whole.counts.began, 15);
	assert_int_equal(whole.counts.overflowed, 4);
	for (unsigned int subset = 0; subset <= all; subset++) {
		struct kind_set set = {0};
		char asked[HOST_FILTER_TEXT];

		kind_set_add(&set, EVENT_IO_COMPLETE);
		for (size_t k = 0; k < COUNT(kinds); k++)
			if (subset >> k & 1)
				kind_set_add(&set, kinds[k]);
		kinds_format(&set, asked, sizeof(asked));
		play(subset, asked, &some);
		for (size_t i = 0; i < COUNT(numbers); i++) {
			__u64 is = *(__u64 *)((char *)&some + numbers[i].offset);
			__u64 should = *(__u64 *)((char *)&whole + numbers[i].offset);

			if (some.unknown & numbers[i].number)
				continue;
			told[i]++;
			if (is != should)
				fail_msg("%s: %s is %llu, should be %llu", asked, numbers[i].name,
					 is, should);
		}
		assert_int_equal(!*some.said, !some.unknown);
		same_states(&some, &whole);
	}
	for (size_t i = 0; i < COUNT(numbers); i++)
		assert_int_equal(told[i], numbers[i].suffice * (all + 1) / 128);
}

/* A table as CSV of a recording with one event of each kind, its probe `off` and of its kinds only those `asked`. */
static char *table_of(enum probe_id off, const char *asked, const char *table)
{
	static const struct device_info devices[] = {
		{.handle = 1, .kind = DEVICE_VFIO_CONTAINER, .name = "c", .model = "type1"},
		{.handle = 2, .kind = DEVICE_PCI, .name = "p"},
		{.handle = 3, .kind = DEVICE_IB, .name = "i"},
		{.handle = 4, .kind = DEVICE_EMULATED, .name = "e"},
		{.handle = 5, .kind = DEVICE_VFIO_CONTAINER, .name = "d", .model = "iommufd"},
	};
	struct host_info host = {.start_ns = 900 * MS};
	struct writer_config config = {.format = OUTPUT_CSV, .only = table};
	struct analysis *a;
	struct stream stream;
	struct writer *writer;
	char *text = NULL;
	size_t size;

	snprintf(host.kinds, sizeof(host.kinds), "%s", asked);
	assert_int_equal(analysis_create(&a, NULL), 0);
	stream = analysis_stream(a);
	stream.ops->host(stream.self, &host);
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe_info probe = {.state = i == (int)off ? PROBE_DISABLED : PROBE_ON,
					   .hits = 1};

		snprintf(probe.name, sizeof(probe.name), "%s", probe_row(i)->name);
		snprintf(probe.reason, sizeof(probe.reason), "%s",
			 i == (int)off ? PROBE_LEFT_OUT : "");
		stream.ops->probe(stream.self, &probe);
	}
	for (size_t i = 0; i < COUNT(devices); i++)
		stream.ops->device(stream.self, &devices[i]);
	for (__u16 kind = EVENT_FAULT_DETECT; kind < EVENT_KIND_MAX; kind++)
		for (__u32 i = 0; i < 12 * COUNT(devices); i++) {
			const struct event e = {.time_ns = (1000 + kind) * MS + i,
						.kind = kind,
						.device = 1 + i % COUNT(devices),
						.group = i,
						.pasid = PASID_NONE,
						.queue = kind == EVENT_VFIO_PIN ? 1 : QUEUE_NONE,
						.address = i << 12,
						.length = 4096,
						.value = 1};

			assert_int_equal(stream_events(stream, &e, 1), 0);
		}
	stream.ops->end(stream.self, 3000 * MS);
	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	vfio_write(a, writer, &everything);
	vfio_write_devices(a, writer, &everything);
	odp_write(a, writer, &everything);
	odp_write_counters(a, writer, &everything);
	iommu_faults_write_totals(a, writer, &everything);
	iommu_faults_write_devices(a, writer, &everything);
	rates_write_bursts(a, writer, &everything);
	counts_write_rates(a, writer, &everything);
	counts_write_totals(a, writer, &everything);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	analysis_destroy(a);
	return text;
}

/* The n-th cell (from 0) of a line of CSV without quotes. */
static const char *cell(const char *line, unsigned int n)
{
	while (n--)
		line = strchr(line, ',') + 1;
	return line;
}

/* Whether the line begins with `row`, or has it anywhere if that begins with a comma. */
static bool is_row(const char *line, const char *row)
{
	const char *found = strstr(line, row);

	return found && (found == line || (*row == ',' && found < strchr(line, '\n')));
}

/* How many of these rows have something in that column. */
static unsigned int filled(const char *csv, const char *row, const char *column)
{
	unsigned int n = 0, count = 0;

	while (strncmp(cell(csv, n), column, strlen(column)) != 0 ||
	       !strchr(",\r\n", cell(csv, n)[strlen(column)]))
		n++;
	for (const char *line = strchr(csv, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
		if (is_row(line + 1, row))
			count += !strchr(",\r\n", *cell(line + 1, n));
	return count;
}

/* Each number that rests on a probe is there with it, and unknown without it or if its kind was not asked for. */
static void a_number_without_its_probe_is_unknown(void **state)
{
	static const struct {
		enum probe_id probe;
		const char *table, *row, *columns;
	} rests[] = {
		{PROBE_VFIO_MAP, "vfio", "c,", "maps failed most_maps_per_s mapped_bytes"},
		{PROBE_VFIO_UNMAP, "vfio", "c,", "unmaps failed unmapped_bytes"},
		{PROBE_VFIO_PIN, "vfio", "c,", "pins pinned_bytes still_pinned_bytes failed"},
		{PROBE_VFIO_UNPIN, "vfio", "c,", "still_pinned_bytes"},
		{PROBE_VFIO_REMOVE, "vfio", "c,", "closed"},
		{PROBE_IOMMUFD_MAP, "vfio", "d,", "maps failed most_maps_per_s mapped_bytes"},
		{PROBE_IOMMUFD_UNMAP, "vfio", "d,", "unmaps closed failed unmapped_bytes"},
		{PROBE_IOMMUFD_PIN, "vfio", "d,", "pins pinned_bytes still_pinned_bytes failed"},
		{PROBE_VFIO_RESET, "vfio_devices", "p,", "resets reset_failed"},
		{PROBE_VFIO_VECTORS, "vfio_devices", "p,", "vectors vectors_failed"},
		{PROBE_VFIO_MSI, "vfio_devices", "p,", "interrupts"},
		{PROBE_VFIO_INTX, "vfio_devices", "p,", "interrupts"},
		{PROBE_ODP_FAULT, "odp", "i,", "faults failed pages faulted_bytes"},
		{PROBE_ODP_FAULT, "rdma_counters", "i,", "during_faults"},
		{PROBE_MLX5_FAULT_MAPPED, "odp", "i,", "pages"},
		{PROBE_RXE_INVALIDATE, "odp", "i,", "invalidations invalidated_pages"},
		{PROBE_ODP_UNMAP, "odp", "i,", "invalidated_pages"},
		{PROBE_RXE_PREFETCH, "odp", "i,", "prefetches prefetched_pages"},
		{PROBE_IOMMU_IO_PAGE_FAULT, "iommu_fault_totals", "decoded", "count"},
		{PROBE_IOMMU_IO_PAGE_FAULT, "iommu_fault_totals", "with owner", "count"},
		{PROBE_IOMMU_IO_PAGE_FAULT, "iommu_fault_devices", "p,", "faults owned"},
		{PROBE_VTD_FAULT, "iommu_fault_totals", "unseen", "count"},
		{PROBE_IOPF_REPORT, "bursts", "p,", "faults peak_per_s"},
		{PROBE_DMA_MAP_SG, "counts", "DMA map,", "count transferred_bytes"},
		{PROBE_IOMMU_MAP, "counts", "IOMMU map,", "count transferred_bytes"},
		{PROBE_IOMMU_UNMAP, "counts", "IOMMU unmap,", "count"},
		{PROBE_IOMMU_SYNC, "counts", "IOMMU flush,", "count"},
		{PROBE_PAGE_FAULT_USER, "counts", "CPU page fault,", "count"},
		{PROBE_PAGE_FAULT_KERNEL, "counts", "CPU page fault,", "count"},
		{PROBE_VFIO_MAP, "counts", "VFIO map,c,", "count transferred_bytes"},
		{PROBE_VFIO_REMOVE, "counts", "VFIO unmap,c,", "count"},
		{PROBE_IOMMUFD_MAP, "counts", "VFIO map,d,", "count transferred_bytes"},
		{PROBE_VFIO_INTX, "counts", "VFIO interrupt,", "count"},
		{PROBE_MM_MIGRATE, "counts", "page migration,", "count"},
		{PROBE_INVALIDATE_START, "counts", "invalidation started,", "count"},
		{PROBE_IOMMU_MAP, "rates", ",IOMMU map,", "rate_per_s bandwidth_bytes_per_s"},
		{PROBE_PAGE_FAULT_KERNEL, "rates", ",CPU page fault,", "rate_per_s"},
	};

	for (size_t i = 0; i < COUNT(rests); i++) {
		char *with = table_of(PROBE_COUNT, "", rests[i].table);
		char *without = table_of(rests[i].probe, "", rests[i].table);
		char *unasked = table_of(PROBE_COUNT, "sched", rests[i].table);
		char columns[128], *rest = columns, *column;

		snprintf(columns, sizeof(columns), "%s", rests[i].columns);
		while ((column = strsep(&rest, " "))) {
			if (!filled(with, rests[i].row, column))
				fail_msg("%s: %s is not there at all", rests[i].table, column);
			if (filled(without, rests[i].row, column))
				fail_msg("%s: %s without %s", rests[i].table, column,
					 probe_row(rests[i].probe)->name);
			if (filled(unasked, rests[i].row, column))
				fail_msg("%s: %s, not asked for", rests[i].table, column);
		}
		free(with);
		free(without);
		free(unasked);
	}
}

/* Probes of the same kind of event that count what other devices do, or tell only whose it is. */
static void a_number_without_another_s_probe_is_known(void **state)
{
	static const struct {
		enum probe_id probe;
		const char *row;
	} rests[] = {
		{PROBE_IOMMU_MAP_DOMAIN, "IOMMU map,"}, {PROBE_IOMMU_UNMAP_DOMAIN, "IOMMU unmap,"},
		{PROBE_IOMMUFD_MAP, "VFIO map,c,"},	{PROBE_VFIO_MAP, "VFIO map,d,"},
		{PROBE_VFIO_ATTACH, "VFIO map,c,"},	{PROBE_VFIO_REMOVE, "VFIO unmap,d,"},
		{PROBE_PAGE_FAULT_USER, "IOMMU map,"},
	};

	for (size_t i = 0; i < COUNT(rests); i++) {
		char *with = table_of(PROBE_COUNT, "", "counts");
		char *without = table_of(rests[i].probe, "", "counts");

		assert_int_not_equal(filled(with, rests[i].row, "count"), 0);
		assert_int_equal(filled(without, rests[i].row, "count"),
				 filled(with, rests[i].row, "count"));
		free(with);
		free(without);
	}
}

/* Capture cannot tell groups apart by what it does not see: then no number is told that rests on it. */
static void what_is_told_by_some_probes_is_true(void **state)
{
	const unsigned int all = (1u << COUNT(kinds)) - 1, unfinished = 1u << 9;
	unsigned int told[COUNT(numbers)] = {0};
	struct found whole, some;

	assert_int_equal(kinds[9], EVENT_FAULT_UNFINISHED); /* capture's own, of no probe */
	play(all, "", &whole);
	for (unsigned int subset = all; subset; subset--) {
		if (!(subset & unfinished))
			continue;
		play(subset, NULL, &some);
		for (size_t i = 0; i < COUNT(numbers); i++) {
			__u64 is = *(__u64 *)((char *)&some + numbers[i].offset);
			__u64 should = *(__u64 *)((char *)&whole + numbers[i].offset);

			if (some.unknown & numbers[i].number)
				continue;
			told[i]++;
			if (is != should)
				fail_msg("probes %x: %s is %llu, should be %llu", subset,
					 numbers[i].name, is, should);
		}
	}
	for (size_t i = 0; i < COUNT(numbers); i++)
		assert_int_equal(told[i], numbers[i].probes_suffice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_of_some_kinds_is_true),
		cmocka_unit_test(a_number_without_its_probe_is_unknown),
		cmocka_unit_test(a_number_without_another_s_probe_is_known),
		cmocka_unit_test(what_is_told_by_some_probes_is_true),
	};

	return cmocka_run_group_tests_name("unknown", tests, NULL, NULL);
}
