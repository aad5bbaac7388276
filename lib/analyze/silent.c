// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/silent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/watched.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/capture/probes.h"

#define STAGE_BIT(kind) (1u << ((kind)-EVENT_FAULT_DETECT))
#define NEIGHBOURS	4 /* probes that a row names as its neighbours */

/* Rows that another names, so that nothing is looked for by name when it is judged; PROBE_COUNT: none. */
struct neighbours {
	enum probe_id with[NEIGHBOURS];
	enum probe_id shares;
};

struct silent {
	struct session *session;
	struct neighbours neighbours[PROBE_COUNT];
	__u64 changes; /* of the session's probes: when they were judged last */
	__u64 completed[FAULT_ORIGINS];
	__u64 judged[FAULT_ORIGINS]; /* of these: when the counters were told last */
};

static unsigned int sources_of(const struct silent *silent, const struct fault *fault)
{
	const unsigned int served = STAGE_BIT(EVENT_FAULT_ISR) | STAGE_BIT(EVENT_FAULT_HANDLER) |
				    STAGE_BIT(EVENT_FAULT_RESOLVED) | STAGE_BIT(EVENT_FAULT_MAPPED);
	const struct device_info *device = session_device(silent->session, fault->device);
	unsigned int sources;

	/* A full queue may have been answered by the hardware alone. */
	if (!fault->kernel)
		return fault->seen & served ? FROM_EMULATED : 0;
	if (device && device->kind == DEVICE_IB)
		return fault->seen & STAGE_BIT(EVENT_FAULT_RESPONSE) ? FROM_ODP | FROM_MLX5
								     : FROM_ODP;
	sources = FROM_CORE;
	if (fault->consumer == CONSUMER_SVA)
		sources |= FROM_SVA;
	if (fault->seen & STAGE_BIT(EVENT_FAULT_HANDLER))
		sources |= FROM_WORKER | (sources & FROM_SVA ? FROM_SVA_WORKER : 0);
	return sources;
}

static void silent_on_finished(void *self, const struct fault *fault)
{
	struct silent *silent = self;
	unsigned int sources;

	if (fault->state != FAULT_COMPLETE || fault->code != RESPONSE_SUCCESS)
		return;
	sources = sources_of(silent, fault);
	for (unsigned int i = 0; i < FAULT_ORIGINS; i++)
		silent->completed[i] += sources >> i & 1;
}

static __u64 faults_of(const struct silent *silent, unsigned int sources)
{
	__u64 most = 0;

	for (unsigned int i = 0; i < FAULT_ORIGINS; i++)
		if (sources >> i & 1 && silent->judged[i] > most)
			most = silent->judged[i];
	return most;
}

static __u64 hits_of(const struct probe_info *probe)
{
	return probe && probe->state == PROBE_ON ? probe->hits : 0;
}

/* The neighbour that was hit most. */
static const struct probe_info *silent_nearest(const struct silent *silent,
					       const struct probe_row *row)
{
	const struct probe_info *most = NULL;

	for (size_t i = 0; i < NEIGHBOURS; i++) {
		const struct probe_info *probe =
			session_probe_of(silent->session, silent->neighbours[row->id].with[i]);

		if (probe && (!most || hits_of(probe) > hits_of(most)))
			most = probe;
	}
	return most;
}

/* Takes what came through another probe from the hits of the one that both lead to. */
static __u64 without_those_of(__u64 hits, const struct probe_row *other,
			      const struct probe_info *probe)
{
	__u64 explained;

	if (!probe)
		return hits;
	if (probe->state != PROBE_ON)
		return probe->state == PROBE_DISABLED ||
				       (watched_could(probe) && !watched_absent(probe))
			       ? 0
			       : hits;
	explained = probe->hits + probe->missed;
	if (explained >= hits || (other->many && explained))
		return 0;
	return hits - explained;
}

/*
 * Hits of what is shared that came through no other probe. Where others explain most of them the rest
 * may be of the time while probes were being attached.
 */
static __u64 unexplained(const struct silent *silent, const struct probe_row *row)
{
	enum probe_id shares = silent->neighbours[row->id].shares;
	__u64 all = hits_of(session_probe_of(silent->session, shares)), hits = all;

	for (int i = 0; i < PROBE_COUNT && hits; i++)
		if (i != (int)row->id && silent->neighbours[i].shares == shares)
			hits = without_those_of(hits, probe_row(i),
						session_probe_of(silent->session, i));
	return 2 * hits >= all ? hits : 0;
}

/* What passed where this row looks, and who saw it: NULL is faults. */
static __u64 passed_row(const struct silent *silent, const struct probe_row *row,
			const char **neighbour)
{
	const struct probe_info *other;
	__u64 passed;

	*neighbour = NULL;
	passed = faults_of(silent, row->every);
	if (passed >= SILENT_FAULTS)
		return passed;
	other = silent_nearest(silent, row);
	if (hits_of(other) < SILENT_HITS)
		return 0;
	*neighbour = row->shares ? row->shares : other->name;
	passed = row->shares ? unexplained(silent, row) : other->hits;
	return passed >= SILENT_HITS ? passed : 0;
}

static bool saw_nothing(const struct probe_info *probe)
{
	return probe->state == PROBE_ON && !probe->hits && !probe->missed;
}

static __u64 passed_by(const struct silent *silent, const struct probe_info *probe,
		       const struct probe_row *row, const char **neighbour)
{
	return row && saw_nothing(probe) ? passed_row(silent, row, neighbour) : 0;
}

/* Whether what completed since shows more than what had until the counters were told last. */
static bool take_completed(struct silent *silent)
{
	bool more = false;

	for (unsigned int i = 0; i < FAULT_ORIGINS; i++)
		more |= silent->judged[i] < SILENT_FAULTS && silent->completed[i] >= SILENT_FAULTS;
	memcpy(silent->judged, silent->completed, sizeof(silent->judged));
	return more;
}

static int silent_on_loss(void *self, const struct loss_info *loss)
{
	struct silent *silent = self;
	__u64 changes = session_probe_changes(silent->session);
	bool passed[PROBE_COUNT];
	const char *neighbour;

	(void)loss;
	/* Without its end, or parts of it: what came last was counted by nobody. */
	if (floor_of_loss(session_loss(silent->session), 0) &
	    (1u << FLOOR_CUT | 1u << FLOOR_DAMAGED))
		return 0;
	if (!take_completed(silent) && changes == silent->changes)
		return 0;
	silent->changes = changes;
	/* A recording may have many probes of one row. */
	for (int i = 0; i < PROBE_COUNT; i++)
		passed[i] = passed_row(silent, probe_row(i), &neighbour);
	for (size_t i = 0; i < session_probe_count(silent->session); i++) {
		const struct probe_row *row = session_probe_row(silent->session, i);

		session_set_silent(silent->session, i,
				   row && passed[row->id] &&
					   saw_nothing(session_probe(silent->session, i)));
	}
	return 0;
}

static int silent_on_end(void *self, __u64 end_ns)
{
	(void)end_ns;
	return silent_on_loss(self, NULL);
}

static enum probe_id silent_id_of(const char *name, size_t length)
{
	char text[NAME_TEXT];
	const struct probe_row *row;

	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	row = probe_row_named(text);
	return row ? row->id : PROBE_COUNT;
}

static void find_neighbours(struct neighbours *neighbours, const struct probe_row *row)
{
	const char *with = row->with ?: "";

	for (size_t i = 0; i < NEIGHBOURS; i++) {
		size_t length = strcspn(with, " ");

		neighbours->with[i] = silent_id_of(with, length);
		with += length;
		with += strspn(with, " ");
	}
	if (*with)
		abort(); /* a row names more: every test that analyzes looks at all of them */
	neighbours->shares =
		row->shares ? silent_id_of(row->shares, strlen(row->shares)) : PROBE_COUNT;
}

static int create_silent(struct analysis *a, const struct analysis_config *config)
{
	struct silent *s = a->silent = memory_calloc(1, sizeof(*s));

	(void)config;
	if (!s)
		return failed(-ENOMEM, "no memory for the judgement of probes");
	s->session = a->session;
	for (int i = 0; i < PROBE_COUNT; i++)
		find_neighbours(&s->neighbours[i], probe_row(i));
	/* Counters are of the whole recording, whatever part of it was asked for. */
	return faults_subscribe(a->faults, (struct fault_sink){NULL, silent_on_finished, s, true});
}

static struct stream silent_stream(struct silent *silent)
{
	static const struct stream_ops ops = {.loss = silent_on_loss, .end = silent_on_end};

	return (struct stream){&ops, silent};
}

static void silent_destroy(struct silent *silent)
{
	memory_free(silent);
}

__u64 silent_passed(const struct silent *silent, const struct probe_info *probe, bool *faults)
{
	const char *neighbour = NULL;
	__u64 passed = passed_by(silent, probe, probe_row_named(probe->name), &neighbour);

	if (faults)
		*faults = passed && !neighbour;
	return passed;
}

size_t silent_count(const struct silent *silent)
{
	const char *neighbour;
	size_t count = 0;

	for (size_t i = 0; i < session_probe_count(silent->session); i++)
		count += passed_by(silent, session_probe(silent->session, i),
				   session_probe_row(silent->session, i), &neighbour) != 0;
	return count;
}

/* What is lost with it: a timestamp's stage is part of the next. */
static void add_stage(const struct probe_row *row, char *text, size_t size)
{
	unsigned int stage = row->kind - EVENT_FAULT_DETECT;

	/* Another probe gives the stage, and this one what has no other (its `without`). */
	if (row->optional || row->kind <= EVENT_FAULT_DETECT || row->kind >= EVENT_FAULT_RESUME)
		return;
	snprintf(text, size, " Stage %s is merged into the next one seen%s.", stage_name(stage - 1),
		 row->kind == EVENT_FAULT_RESOLVED
			 ? ", and whether storage was read is not known of these faults"
			 : "");
}

const char *silent_sentence(const struct silent *silent, const struct probe_info *probe,
			    char text[SILENT_TEXT])
{
	const struct probe_row *row = probe_row_named(probe->name);
	char passed[128], lost[160] = "";
	const char *neighbour = NULL;
	__u64 count = passed_by(silent, probe, probe_row_named(probe->name), &neighbour);

	text[0] = '\0';
	if (!count || !row)
		return text;
	if (!neighbour) {
		snprintf(passed, sizeof(passed), "%llu faults passed its neighbours", count);
		add_stage(row, lost, sizeof(lost));
	} else {
		snprintf(passed, sizeof(passed), "its neighbour %s was hit %llu times", neighbour,
			 count);
	}
	snprintf(text, SILENT_TEXT,
		 "Probe %s is attached (%s) and was never hit, while %s: this kernel may call "
		 "something else.%s",
		 probe->name, probe->attach, passed, lost);
	return text;
}

void silent_write_findings(const struct analysis *a, struct writer *writer)
{
	const struct silent *silent = a->silent;
	char text[SILENT_TEXT];

	for (size_t i = 0; i < session_probe_count(silent->session); i++) {
		silent_sentence(silent, session_probe(silent->session, i), text);
		if (text[0])
			writer_note(writer, "%s", text);
	}
}

struct silent_row {
	const struct probe_info *probe;
	__u64 since;
	bool counted;		  /* the recording has an account of it */
	char silent[SILENT_TEXT]; /* what it says if it is; else "" */
};

static const char *silent_state_name(const struct silent_row *row)
{
	switch (row->probe->state) {
	case PROBE_ON:
		return row->silent[0] ? "silent" : "on";
	case PROBE_OFF:
		return "off";
	default:
		return "not asked";
	}
}

#define PROBES(COLUMN)                                                                          \
	COLUMN(probe, none, TEXT, 20, SHOWN, row->probe->name)                                  \
	COLUMN(state, none, TEXT, 9, SHOWN, silent_state_name(row))                             \
	COLUMN(hits, none, COUNT, 12, SHOWN, count_if(row->counted, row->probe->hits))          \
	COLUMN(emitted, none, COUNT, 12, WIDE, count_if(row->counted, row->probe->emitted))     \
	COLUMN(lost, none, COUNT, 8, SHOWN, count_if(row->counted, row->probe->lost))           \
	COLUMN(missed, none, COUNT, 8, SHOWN, count_if(row->counted, row->probe->missed))       \
	COLUMN(attach, none, TEXT, 40, WIDE, row->probe->attach)                                \
	COLUMN(reason, none, TEXT, 0, SHOWN, row->silent[0] ? row->silent : row->probe->reason) \
	COLUMN(since, none, TIME, 30, WIDE, count_or_none(row->since))
TABLE(probes, "Probes", PROBES, struct silent_row, void)

void silent_write_probes(const struct analysis *analysis, struct writer *writer,
			 const struct table_wish *wish)
{
	const struct silent *silent = analysis->silent;

	const bool counted = !session_is_unaccounted(silent->session);

	(void)wish;
	writer_begin(writer, &probes_table);
	for (size_t i = 0; i < session_probe_count(silent->session); i++) {
		struct silent_row row = {session_probe(silent->session, i),
					 session_probe_since(silent->session, i), counted, ""};

		silent_sentence(silent, row.probe, row.silent);
		writer_row(writer, &row);
	}
	writer_end(writer);
}

static void silent_live(const struct analysis *a, struct live_summary *summary)
{
	summary->probes_silent = silent_count(a->silent);
}

static const struct analyzer_table tables[] = {{&probes_table, silent_write_probes}, {0}};

DEFINE_ANALYZER(silent, .tables = tables, .chapter = REPORT_LIMITS,
		.findings = silent_write_findings, .summary = silent_live)
