// SPDX-License-Identifier: GPL-2.0
/* The negative answer: by path what was watched and what not; each reason once; nothing cut. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/watched.h"
#include "lib/base/kinds.h"
#include "lib/capture/probes.h"

#define REFUSED "no program is let onto kernel functions here: Operation not permitted"

static struct session *session;

static int setup(void **state)
{
	return session_create(&session);
}

static int teardown(void **state)
{
	session_destroy(session);
	return 0;
}

static void tell(struct stream stream, const char *name, __u32 state, const char *reason)
{
	struct probe_info probe = {.state = state};

	snprintf(probe.name, sizeof(probe.name), "%s", name);
	snprintf(probe.reason, sizeof(probe.reason), "%s", reason);
	assert_int_equal(stream.ops->probe(stream.self, &probe), 0);
}

static void probe(const char *name, __u32 state, const char *reason)
{
	tell(session_stream(session), name, state, reason);
}

/* As printed; `joined` gets it with lines joined again. The caller frees both. */
static char *print(char **joined)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	const struct writer_config config = {.format = OUTPUT_TEXT, .file = file};
	struct writer *writer;

	assert_int_equal(writer_open(&writer, &config), 0);
	watched_write(session, NULL, writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(file);
	*joined = strdup(text);
	for (char *c = *joined; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return text;
}

static size_t occurrences(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		count++;
	return count;
}

static void paths_and_reasons(void **state)
{
	char *text, *joined;

	probe("iommu_map", PROBE_ON, "");
	probe("iommu_map_domain", PROBE_OFF, REFUSED "; this kernel has no __iommu_map");
	probe("vtd_fault", PROBE_OFF, "this kernel has no dmar_fault");
	probe("vtd_fault_text", PROBE_ON, ""); /* by itself it shows nothing */
	probe("mm_fault", PROBE_OFF, REFUSED);
	probe("kvm_unmap", PROBE_OFF, "module kvm is not loaded");
	probe("vfio_map", PROBE_OFF, "module vfio_iommu_type1 is not loaded");
	probe("vfio_msi", PROBE_OFF, "module vfio_pci_core is not loaded");
	probe("vfio_register", PROBE_ON, "");
	probe("prq_thread", PROBE_OFF, "this kernel has no prq_event_thread");
	probe("ppr_thread", PROBE_OFF, "this kernel has no amd_iommu_poll_ppr_log");
	probe("block_issue", PROBE_ON, "");
	probe("odp_fault", PROBE_ON, "");
	probe("mlx5_prefetch", PROBE_OFF, "module mlx5_ib is not loaded");
	probe("iommu_flush", PROBE_OFF, "no IOMMU is active");
	probe("iopf_report", PROBE_OFF, "no active IOMMU takes page requests");
	probe("mm_migrate", PROBE_OFF, "no IOMMU is active");
	probe("dma_map", PROBE_DISABLED, "left out by --disable-probe");
	probe("block_complete", PROBE_DISABLED, "left out by --disable-probe");
	probe("sched_wakeup", PROBE_ON, "");
	probe("sched_switch", PROBE_DISABLED, "its kind of event was not asked for");
	text = print(&joined);
	/* A driver that is not there takes nothing from a path that others have. */
	assert_non_null(strstr(joined, "Watched: RDMA on-demand paging. "));
	assert_non_null(strstr(joined, "Watched in part: IOMMU (1 of 4 probes); block requests (1 "
				       "of 2 probes); scheduling (1 of 2 probes). "));
	assert_non_null(strstr(joined, "Not watched: kernel page requests; VT-d and AMD "
				       "queues; VFIO; "
				       "memory. "));
	assert_non_null(strstr(joined, "Not asked for: DMA mappings. "));
	assert_non_null(strstr(joined, "Because no program is let onto kernel functions here "
				       "(Operation not permitted): IOMMU; "
				       "memory. "));
	assert_non_null(strstr(joined, ": RDMA on-demand paging (mlx5_ib); VFIO "
				       "(vfio_iommu_type1, vfio_pci_core); memory (kvm). "));
	assert_non_null(strstr(joined, "Because this kernel does not have it: VT-d and AMD queues; "
				       "IOMMU (dmar_fault). "));
	assert_non_null(strstr(joined, "Because no IOMMU is active: IOMMU; memory. "));
	assert_non_null(strstr(joined, "Because no active IOMMU takes page requests: kernel page "
				       "requests. "));
	assert_non_null(strstr(joined, "Because left out by --disable-probe: DMA mappings; block "
				       "requests. "));
	assert_non_null(
		strstr(joined, "Because its kind of event was not asked for: scheduling. "));
	assert_int_equal(occurrences(joined, "no program is let onto"), 1);
	assert_int_equal(occurrences(joined, "not loaded"), 1);
	assert_int_equal(occurrences(joined, "does not have it"), 1);
	free(text);
	free(joined);
}

/* A path that lacks only another maker's hardware is watched whole, and nothing is said of it. */
static void what_cannot_be_there_is_not_missed(void **state)
{
	char *text, *joined;

	probe("iommu_map", PROBE_ON, "");
	probe("iommu_flush", PROBE_OFF, "no VT-d IOMMU is active");
	probe("prq_thread", PROBE_OFF, "no active VT-d IOMMU takes page requests");
	text = print(&joined);
	assert_non_null(strstr(joined, "Watched: IOMMU. "));
	assert_non_null(strstr(joined, "Not watched: VT-d and AMD queues. "));
	assert_null(strstr(joined, "no VT-d IOMMU"));
	assert_non_null(strstr(joined, "Because no active VT-d IOMMU takes page requests: VT-d"));
	free(text);
	free(joined);
}

static char *reasons_of(enum path_id path)
{
	char *text = watched_reasons(session, NULL, path);

	assert_non_null(text);
	return text;
}

static void a_path_s_reasons_are_each_told_once(void **state)
{
	char *text;

	probe("iommu_map", PROBE_OFF, REFUSED);
	probe("iommu_unmap", PROBE_OFF, "the second reason");
	probe("iommu_flush", PROBE_OFF, REFUSED);
	probe("mm_fault", PROBE_OFF, "the second reason");
	probe("mm_swap", PROBE_OFF, "the second reason");
	text = reasons_of(PATH_IOMMU);
	assert_string_equal(text, REFUSED "; the second reason");
	free(text);
	/* That another path has the same reason does not take it from this one. */
	text = reasons_of(PATH_MEMORY);
	assert_string_equal(text, "the second reason");
	free(text);
}

/* Probes come with modules, one after the other: their path is watched when the newest has come. */
static void a_path_is_watched_since_its_newest_probe_came(void **state)
{
	static const struct {
		const char *name;
		__u64 came_ns;
	} probes[] = {{"vfio_map", 20 * SECOND},
		      {"vfio_unmap", 31 * SECOND},
		      {"vfio_pin", 27 * SECOND},
		      {"iommu_map", 0},
		      {"mm_fault", 25 * SECOND}};
	struct stream stream = session_stream(session);
	char *text;
	size_t size;
	struct writer_config config = {.format = OUTPUT_TEXT, .file = open_memstream(&text, &size)};
	struct writer *writer;

	for (size_t i = 0; i < COUNT(probes); i++)
		probe(probes[i].name, probes[i].came_ns ? PROBE_OFF : PROBE_ON, "");
	for (__u64 now_ns = 20 * SECOND; now_ns <= 31 * SECOND; now_ns += SECOND) {
		stream.ops->tick(stream.self, now_ns);
		for (size_t i = 0; i < COUNT(probes); i++)
			if (probes[i].came_ns == now_ns)
				probe(probes[i].name, PROBE_ON, "");
	}
	assert_int_equal(writer_open(&writer, &config), 0);
	watched_write_since(session, writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	assert_string_equal(text, "Watched only from a part of the recording on: VFIO since "
				  "31.000 s after boot (3 probes); memory since 25.000 s after "
				  "boot (1 probes). What was before is not known. ");
	free(text);
}

/* A host that refuses everything with a reason of its own for each: the longest answer there is. */
static void nothing_is_cut(void **state)
{
	char *text, *joined, reason[REASON_TEXT];

	for (int i = 0; i < PROBE_COUNT; i++) {
		snprintf(reason, sizeof(reason), "attaching to number_%d_ failed: %0*d: the end %d",
			 i, REASON_TEXT - 80, 0, i);
		probe(probe_row(i)->name, PROBE_OFF, reason);
	}
	text = print(&joined);
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);
		char end[32];

		if (row->optional)
			continue;
		snprintf(reason, sizeof(reason), "number_%d_ ", i);
		snprintf(end, sizeof(end), "the end %d)", i);
		assert_int_equal(occurrences(joined, reason), 1);
		assert_int_equal(occurrences(joined, end), 1);
	}
	for (int path = PATH_NONE + 1; path < PATH_COUNT; path++)
		assert_non_null(strstr(joined, path_name(path)));
	free(text);
	free(joined);
}

static void lines_fit(void **state)
{
	char *text, *joined, *rest, *line;

	for (int i = 0; i < PROBE_COUNT; i++)
		probe(probe_row(i)->name, i % 3 ? PROBE_OFF : PROBE_ON, i % 3 ? REFUSED : "");
	text = rest = print(&joined);
	while ((line = strsep(&rest, "\n")))
		assert_true(strlen(line) <= 80);
	assert_int_equal(occurrences(joined, "no program is let onto"), 1);
	free(text);
	free(joined);
}

static void every_path_has_a_name_and_probes(void **state)
{
	for (int path = PATH_NONE + 1; path < PATH_COUNT; path++) {
		size_t probes = 0;

		assert_true(path_name(path)[0] && path_needs(path)[0]);
		/* Columns of doctor's table. */
		assert_true(strlen(path_name(path)) <= 22);
		for (int i = 0; i < PROBE_COUNT; i++)
			probes += path_of(probe_row(i)) == (enum path_id)path &&
				  !probe_row(i)->optional;
		assert_true(probes > 0);
	}
	for (int i = 0; i < PROBE_COUNT; i++)
		assert_int_not_equal(path_of(probe_row(i)), PATH_NONE);
}

/* The answer of a report, whole: what was seen of every kind there is, and then the paths. */
static void a_report_s_answer_is_whole(void **state)
{
	const struct host_info host = {.hostname = "h", .kernel = "k", .start_ns = 1};
	struct writer_config config = {.format = OUTPUT_TEXT};
	struct analysis *analysis;
	struct writer *writer;
	struct stream stream;
	char *text, last[64];
	size_t size;

	assert_int_equal(analysis_create(&analysis, NULL), 0);
	stream = analysis_stream(analysis);
	stream.ops->host(stream.self, &host);
	for (int i = 0; i < PROBE_COUNT; i++)
		tell(stream, probe_row(i)->name, PROBE_OFF, REFUSED);
	for (__u16 kind = EVENT_CPU_FAULT; kind < EVENT_KIND_MAX; kind++) {
		struct event e = {.time_ns = 1000 + kind, .kind = kind, .device = DEVICE_NONE};

		if (!event_kind(kind))
			continue;
		assert_int_equal(stream_events(stream, &e, 1), 0);
	}
	stream.ops->end(stream.self, 5000);
	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(analysis_write_findings(analysis, writer), 0);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	snprintf(last, sizeof(last), "x %s.", event_kind_name(EVENT_KIND_MAX - 1));
	assert_non_null(strstr(text, last));
	assert_non_null(strstr(text,
			       "Not watched: emulated machines; emulated hosts; hybrid guests; "
			       "kernel page requests;"));
	assert_int_equal(occurrences(text, "no program is let onto"), 1);
	free(text);
	analysis_destroy(analysis);
}

/* What is told of unknown numbers, lines joined. The caller frees it. */
static char *print_unknown(void)
{
	char *text;
	size_t size;
	struct writer_config config = {.format = OUTPUT_TEXT, .file = open_memstream(&text, &size)};
	struct writer *writer;

	assert_int_equal(writer_open(&writer, &config), 0);
	unknown_write(session, writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return text;
}

/* Nothing is told less well without these. */
static const char *const not_missed[] = {
	"device_release", /* a device's name is kept longer */
	"pasid_detach",	  /* Linux 6.1 has none */
	/* Memory of devices, not of the host. */
	"dma_map_resource",
	"dma_unmap_resource",
};

static void every_row_says_what_is_unknown_without_it(void **state)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);
		bool excused = row->optional;

		for (size_t k = 0; k < sizeof(not_missed) / sizeof(not_missed[0]); k++)
			excused |= !strcmp(not_missed[k], row->name);
		/* What some kernels lack may tell something all the same. */
		if (row->optional && row->without)
			continue;
		if (!row->without == !excused)
			fail_msg("%s: %s", row->name,
				 excused ? "excused, and said" : "nothing is said without it");
	}
}

/* Each probe of emulated machines in turn, while the others are on: what is not known is said. */
static void what_a_probe_would_have_told_is_unknown(void **state)
{
	const struct device_info device = {.handle = 1, .kind = DEVICE_EMULATED, .name = "t/d"};
	const struct device_info other = {.handle = 2, .kind = DEVICE_PCI, .name = "0000:00:01.0"};
	const struct {
		__u32 state;
		const char *reason;
		bool said;
	} cases[] = {
		{PROBE_ON, "", false},
		{PROBE_DISABLED, PROBE_LEFT_OUT, true},
		{PROBE_DISABLED, "its kind of event was not asked for", false},
		{PROBE_OFF, "the emulator has no such probe", true},
		{PROBE_OFF, REFUSED, true},
		{PROBE_OFF, "attaching to do_swap_page failed: Device or resource busy", true},
		{PROBE_OFF, "this kernel has no do_wp_page", true},
		{PROBE_OFF, "module iommufd is not loaded", false},
		{PROBE_OFF, place_lacking(PLACE_PAGE_REQUESTS), false},
	};
	static const unsigned int numbers[PROBE_COUNT] = {
		[PROBE_FAULT_DETECT] = UNKNOWN_FAULTS | UNKNOWN_BLOCKED | UNKNOWN_OVERFLOWED |
				       UNKNOWN_DISCARDED | UNKNOWN_ABANDONED | UNKNOWN_STATES,
		[PROBE_FAULT_REQUEST] = UNKNOWN_OVERFLOWED | UNKNOWN_DISCARDED | UNKNOWN_STATES,
		[PROBE_FAULT_RESPONSE] = UNKNOWN_ABANDONED | UNKNOWN_STATES,
		[PROBE_FAULT_RESUME] = UNKNOWN_BLOCKED | UNKNOWN_OVERFLOWED | UNKNOWN_DISCARDED |
				       UNKNOWN_ABANDONED | UNKNOWN_STATES,
		[PROBE_FAULT_OVERFLOW] =
			UNKNOWN_OVERFLOWED | UNKNOWN_DISCARDED | UNKNOWN_ABANDONED | UNKNOWN_STATES,
		[PROBE_FAULT_VOID] = UNKNOWN_DISCARDED | UNKNOWN_ABANDONED | UNKNOWN_STATES,
		[PROBE_FAULT_ABANDON] = UNKNOWN_BLOCKED | UNKNOWN_ABANDONED | UNKNOWN_STATES,
		[PROBE_IOPF_REPORT] = UNKNOWN_BLOCKED | UNKNOWN_FAULTS | UNKNOWN_DISCARDED,
		[PROBE_IOPF_DISCARD] = UNKNOWN_DISCARDED,
		[PROBE_IOPF_RESPONSE] = UNKNOWN_BLOCKED | UNKNOWN_DISCARDED | UNKNOWN_STATES,
	};
	size_t probes = 0, kernel = 0;
	char *nothing;

	session_stream(session).ops->device(session_stream(session).self, &device);
	session_stream(session).ops->device(session_stream(session).self, &other);
	for (int i = 0; i < PROBE_COUNT; i++)
		probe(probe_row(i)->name, PROBE_ON, "");
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		if (path_of(row) != PATH_EMULATED && !row->without)
			continue;
		probes += path_of(row) == PATH_EMULATED;
		kernel += path_of(row) != PATH_EMULATED;
		for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
			bool stage =
				row->kind >= EVENT_FAULT_DETECT && row->kind <= EVENT_FAULT_DISCARD;
			bool of_program = path_of(row) == PATH_EMULATED ||
					  path_of(row) == PATH_LEND || path_of(row) == PATH_HYV;
			/* What surrounds faults is not called where it is not. */
			bool is_said = cases[k].said &&
				       ((stage && !row->optional) || of_program ||
					strncmp(cases[k].reason, "this kernel", 11) != 0) &&
				       /* An emulator without NICs lacks nothing. */
				       !(row->optional && of_program &&
					 strstr(cases[k].reason, PROBE_NOT_IN_EMULATOR));
			unsigned int missing = is_said ? numbers[row->id] : 0;
			/* Of which of the two devices. */
			bool emulated = path_of(row) == PATH_EMULATED;
			char *said, *fact, begin[64];

			probe(row->name, cases[k].state, cases[k].reason);
			said = print_unknown();
			fact = unknown_text(session);
			snprintf(begin, sizeof(begin), "Probe %s is off: ", row->name);
			assert_int_equal(occurrences(said, begin), is_said);
			assert_int_equal(occurrences(said, " is off: "), is_said);
			/* "NAME: what", where "pin" is also the beginning of what pins are. */
			snprintf(begin, sizeof(begin), "%s: ", row->name);
			assert_int_equal(!strncmp(fact, begin, strlen(begin)), is_said);
			assert_int_equal(strstr(fact, "; ") != NULL, false);
			assert_int_equal(unknown_probe(session, row->id), is_said);
			assert_int_equal(unknown_numbers(session, 1), emulated ? missing : 0);
			assert_int_equal(unknown_numbers(session, 2), emulated ? 0 : missing);
			free(said);
			free(fact);
		}
		probe(row->name, PROBE_ON, "");
	}
	assert_true(probes >= 17);
	assert_true(kernel >= 80);
	/* What brought pages is a question only where page requests are seen. */
	probe("iopf_report", PROBE_OFF, place_lacking(PLACE_PAGE_REQUESTS));
	probe("mm_fault", PROBE_OFF, REFUSED);
	nothing = unknown_text(session);
	assert_string_equal(nothing, "");
	free(nothing);
	/* Without any machine there is nothing to tell. */
	for (int i = 0; i < PROBE_COUNT; i++)
		probe(probe_row(i)->name, PROBE_OFF, "no emulator");
	nothing = unknown_text(session);
	assert_string_equal(nothing, "");
	free(nothing);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(every_row_says_what_is_unknown_without_it),
		CASE(paths_and_reasons),
		CASE(what_cannot_be_there_is_not_missed),
		CASE(a_path_s_reasons_are_each_told_once),
		CASE(a_path_is_watched_since_its_newest_probe_came),
		CASE(nothing_is_cut),
		CASE(lines_fit),
		CASE(what_a_probe_would_have_told_is_unknown),
		cmocka_unit_test(every_path_has_a_name_and_probes),
		cmocka_unit_test(a_report_s_answer_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
