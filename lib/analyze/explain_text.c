// SPDX-License-Identifier: GPL-2.0
/* Explanations: made sentence by sentence, and written. */
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/base/array.h"

static const char *const part_names[EXPLAIN_PARTS] = {
	[EXPLAIN_WHO] = "who",
	[EXPLAIN_MEMORY] = "memory",
	[EXPLAIN_OUTCOME] = "outcome",
	[EXPLAIN_CAUSE] = "cause",
	[EXPLAIN_STAGE] = "stage",
	[EXPLAIN_WAITED] = "waited",
	[EXPLAIN_OBJECTIVE] = "objective",
	[EXPLAIN_HELP] = "help",
	[EXPLAIN_UNKNOWN] = "unknown",
};

static const char *const cause_names[EXPLAIN_CAUSES] = {
	[CAUSE_UNKNOWN] = "unknown",	 [CAUSE_INJECTION] = "injection",
	[CAUSE_HELD_BACK] = "held_back", [CAUSE_ORDER] = "queue_order",
	[CAUSE_GROUP] = "group",	 [CAUSE_BUSY] = "busy_handler",
	[CAUSE_CPU] = "cpu_wait",	 [CAUSE_STORAGE] = "storage",
	[CAUSE_MEMORY] = "memory",	 [CAUSE_PEERS] = "other_groups",
	[CAUSE_INTERRUPT] = "interrupt", [CAUSE_IOMMU] = "iommu",
	[CAUSE_LOST] = "response_lost",	 [CAUSE_SILENT] = "no_response",
	[CAUSE_OVERFLOW] = "overflow",	 [CAUSE_DISCARDED] = "discarded",
};

const char *explain_cause_name(enum explain_cause cause)
{
	return cause_names[cause];
}

const char *explain_part_name(enum explain_part part)
{
	return part_names[part];
}

void explanation_begin(struct explanation *to, const struct analysis *analysis,
		       const struct explain_fault *fault)
{
	to->analysis = analysis;
	to->fault = fault->fault;
	to->row = fault->row;
	to->cause = CAUSE_UNKNOWN;
	to->count = to->used = 0;
}

static const char no_text[] = "";

const char *explanation_text(const struct explanation *explanation, const struct explained *item)
{
	return item->text == SIZE_MAX ? no_text : explanation->texts + item->text;
}

/* Without memory the reading stops, and is said to have. */
struct explained *explanation_add(struct explanation *to, struct explained item,
				  const struct sentence *words)
{
	if (!array_grow(&to->items, &to->room, to->count + 1, sizeof(item), ARRAY_LIMITED))
		return NULL;
	item.text = SIZE_MAX;
	if (words) {
		if (!array_grow(&to->texts, &to->texts_room, to->used + words->used + 1, 1,
				ARRAY_LIMITED))
			return NULL;
		item.text = to->used;
		memcpy(to->texts + to->used, words->text, words->used + 1);
		to->used += words->used + 1;
	}
	to->items[to->count] = item;
	return &to->items[to->count++];
}

void explanation_free(struct explanation *explanation)
{
	memory_free(explanation->items);
	memory_free(explanation->texts);
	*explanation = (struct explanation){0};
}

bool explanation_copy(struct explanation *to, const struct explanation *from)
{
	struct explanation copy = *from;

	copy.items = NULL;
	copy.texts = NULL;
	copy.room = copy.texts_room = 0;
	if (!array_grow(&copy.items, &copy.room, from->count + 1, sizeof(*from->items),
			ARRAY_LIMITED) ||
	    !array_grow(&copy.texts, &copy.texts_room, from->used + 1, 1, ARRAY_LIMITED)) {
		memory_free(copy.items);
		return false;
	}
	if (from->count)
		memcpy(copy.items, from->items, from->count * sizeof(*from->items));
	if (from->used)
		memcpy(copy.texts, from->texts, from->used);
	*to = copy;
	return true;
}

static void tell_those(struct sentence *words, const struct explain_injected *injected)
{
	static const struct {
		const char *verb, *rest; /* of several; of one it has an s */
	} does[INJECT_POINTS] = {
		[INJECT_DELIVERY] = {"delay", "stage delivery"},
		[INJECT_DISPATCH] = {"delay", "stage dispatch"},
		[INJECT_RESOLVE] = {"delay", "stage resolve"},
		[INJECT_RESPOND] = {"delay", "stage respond"},
		[INJECT_RESPONSE_LOST] = {"lose", "responses"},
		[INJECT_RESPONSE_FAILURE] = {"make", "responses failures"},
		[INJECT_OVERFLOW] = {"make", "the page request queue behave as if full"},
		[INJECT_DUPLICATE] = {"raise", "requests twice"},
		[INJECT_EVICT] = {"evict", "pages"},
		[INJECT_CPU_HOG] = {"keep", "CPUs busy"},
	};
	unsigned int point = injected->all[0]->point;
	bool known = point < INJECT_POINTS && does[point].verb;
	const char *verb = known ? does[point].verb : "act";
	const char *rest = known ? does[point].rest : "elsewhere";

	if (injected->count == 1) {
		sentence_add(words, "an injection that %ss %s (id %llu)", verb, rest,
			     injected->all[0]->id);
		return;
	}
	sentence_add(words, "injections");
	for (size_t i = 0; i < injected->count; i++)
		sentence_add(words, "%s %llu",
			     !i				? ""
			     : i + 1 == injected->count ? " and"
							: ",",
			     injected->all[i]->id);
	sentence_add(words, " that %s %s", verb, rest);
}

void explain_tell_injected(struct sentence *words, const struct explain_injected *injected)
{
	tell_those(words, injected);
	sentence_add(words, "%s", injected->count == 1 ? " was" : " were");
}

void explain_tell_perhaps(const struct explain *e, struct sentence *words,
			  const struct explain_injected *perhaps)
{
	if (!perhaps->count)
		return;
	sentence_add(words, "; ");
	tell_those(words, perhaps);
	sentence_add(words, " had begun: %s end was not seen, and %s: %s may have ended",
		     perhaps->count == 1 ? "its" : "their",
		     explain_lossy(e) ? "events were lost" : "ends of injections were not recorded",
		     perhaps->count == 1 ? "it" : "they");
}

void explanation_add_injected(struct explanation *to, enum explain_part part, unsigned int stage,
			      const struct explain_injected *injected)
{
	for (size_t i = 0; i < injected->count; i++)
		explanation_add(to, explained_injection(part, stage, injected->all[i]), NULL);
}

void explanation_add_perhaps(struct explanation *to, enum explain_part part, unsigned int stage,
			     const struct explain_injected *perhaps)
{
	for (size_t i = 0; i < perhaps->count; i++) {
		struct explained item = explained_injection(part, stage, perhaps->all[i]);

		item.cause = CAUSE_UNKNOWN;
		explanation_add(to, item, NULL);
	}
}

void explain_tell_group(struct sentence *words, const struct explain *e, __u32 device, __u32 group,
			__u32 instance)
{
	char name[DEVICE_NAME_TEXT];

	sentence_add(words, "group %u.%u of %s", group, instance,
		     session_device_name(e->analysis->session, device, name));
}

struct explained explained_fault(enum explain_part part, unsigned int stage,
				 enum explain_cause cause, const struct fault *fault)
{
	return (struct explained){.part = part,
				  .stage = stage,
				  .cause = cause,
				  .evidence = "fault",
				  .from_ns = fault_known_ns(fault),
				  .to_ns = fault_over(fault) ? fault_end_ns(fault) : 0,
				  .address = fault->address,
				  .device = fault->device,
				  .pasid = fault->pasid,
				  .group = fault->group,
				  .instance = fault->instance,
				  .queue = fault->queue};
}

void explained_by_invalidation(struct explained *item, const struct taken_time *taken)
{
	item->evidence = "invalidation";
	item->from_ns = taken->sent_ns;
	item->to_ns = taken->freed_ns;
	item->count = taken->token;
	item->instance = 0;
}

struct explained explained_injection(enum explain_part part, unsigned int stage,
				     const struct explain_injection *injection)
{
	return (struct explained){.part = part,
				  .stage = stage,
				  .cause = CAUSE_INJECTION,
				  .evidence = "injection",
				  .from_ns = injection->from_ns,
				  .to_ns = injection->to_ns,
				  .count = injection->id,
				  .device = injection->device == DEVICE_ALL ? DEVICE_NONE
									    : injection->device,
				  .pasid = PASID_NONE,
				  .queue = QUEUE_NONE};
}

void explanation_write_text(const struct explanation *explanation, struct writer *writer)
{
	for (int part = 0; part < EXPLAIN_PARTS; part++) {
		for (size_t i = 0; i < explanation->count; i++) {
			const struct explained *item = &explanation->items[i];
			const char *text = explanation_text(explanation, item);

			if ((int)item->part == part && *text)
				writer_note(writer, "%s", text);
		}
	}
}

struct explain_row {
	const struct explanation *explanation;
	const struct explained *item;
	__u64 sentence, start, total;
};

static bool evidence_has_device(const struct explain_row *row)
{
	return row->item->evidence && row->item->device != DEVICE_NONE;
}

static bool names_group(const struct explain_row *row)
{
	return evidence_has_device(row) && row->item->instance;
}

/* Stages are of the fault's time; I/Os, windows and the like last longer, or lie elsewhere. */
static bool is_of_stages(enum explain_part part)
{
	return part == EXPLAIN_CAUSE || part == EXPLAIN_STAGE;
}

static double explained_share(const struct explain_row *row)
{
	if (!row->total || row->item->ns == 0 || !is_of_stages(row->item->part))
		return 0.0 / 0.0;
	return 100.0 * (double)row->item->ns / (double)row->total;
}

/* Without a row it is of the recording. */
static const char *explained_device(const struct explain_row *row, const struct session *session,
				    char *text)
{
	return row->explanation->row
		       ? session_device_name(session, row->explanation->fault.device, text)
		       : "-";
}

#define EXPLANATION(COLUMN)                                                                      \
	COLUMN(row, none, COUNT, 6, SHOWN, count_or_none(row->explanation->row))                 \
	COLUMN(sentence, none, COUNT, 8, SHOWN, row->sentence)                                   \
	COLUMN(start, none, TIME, 15, WIDE, count_or_none(row->start))                           \
	COLUMN(device, none, TEXT, 12, SHOWN, explained_device(row, context, text))              \
	COLUMN(handle, none, COUNT, 6, WIDE,                                                     \
	       count_if(row->explanation->row, row->explanation->fault.device))                  \
	COLUMN(group, none, COUNT, 5, WIDE,                                                      \
	       count_if(row->explanation->row, row->explanation->fault.group))                   \
	COLUMN(instance, none, COUNT, 8, WIDE,                                                   \
	       count_if(row->explanation->row, row->explanation->fault.instance))                \
	COLUMN(address, none, ADDRESS, 12, WIDE,                                                 \
	       count_if(row->explanation->row, row->explanation->fault.address))                 \
	COLUMN(part, none, TEXT, 9, SHOWN, explain_part_name(row->item->part))                   \
	COLUMN(stage, none, TEXT, 8, WIDE,                                                       \
	       row->item->stage < STAGES ? stage_name(row->item->stage) : "-")                   \
	COLUMN(cause, none, TEXT, 13, SHOWN, explain_cause_name(row->item->cause))               \
	COLUMN(time, none, DURATION, 8, SHOWN, count_or_none(row->item->ns))                     \
	COLUMN(share, percent, REAL, 6, WIDE, explained_share(row))                              \
	COLUMN(evidence, none, TEXT, 12, SHOWN, row->item->evidence ? row->item->evidence : "-") \
	COLUMN(of_device, none, TEXT, 12, WIDE,                                                  \
	       evidence_has_device(row) ? session_device_name(context, row->item->device, text)  \
					: "-")                                                   \
	COLUMN(of_handle, none, COUNT, 9, WIDE,                                                  \
	       count_if(evidence_has_device(row), row->item->device))                            \
	COLUMN(of_queue, none, COUNT, 8, WIDE,                                                   \
	       count_if(evidence_has_device(row) && row->item->queue != QUEUE_NONE,              \
			row->item->queue))                                                       \
	COLUMN(of_group, none, COUNT, 8, WIDE, count_if(names_group(row), row->item->group))     \
	COLUMN(of_instance, none, COUNT, 11, WIDE,                                               \
	       count_if(names_group(row), row->item->instance))                                  \
	COLUMN(of_address, none, ADDRESS, 12, WIDE,                                              \
	       count_if(evidence_has_device(row), row->item->address))                           \
	COLUMN(from, none, TIME, 15, WIDE, count_or_none(row->item->from_ns))                    \
	COLUMN(to, none, TIME, 15, WIDE, count_or_none(row->item->to_ns))                        \
	COLUMN(number, none, COUNT, 8, WIDE, count_or_none(row->item->count))                    \
	COLUMN(text, none, TEXT, 0, WIDE, explanation_text(row->explanation, row->item))
TABLE(explanation, "Explanation", EXPLANATION, struct explain_row, struct session)

/* Not before the first row: by then the clock is known, which decides how times are headed. */
static void explain_begin_table(const struct analysis *a, struct writer *writer)
{
	if (!a->explain || !a->explain->begun)
		writer_begin_with(writer, &explanation_table, a->session);
	if (a->explain)
		a->explain->begun = true;
}

static void explain_end_table(const struct analysis *a, struct writer *writer,
			      const struct table_wish *wish)
{
	(void)wish;
	explain_begin_table(a, writer);
	if (a->explain)
		a->explain->begun = false;
	writer_end(writer);
}

const struct analyzer_table explain_tables[] = {{&explanation_table, explain_end_table}, {0}};

void explanation_write_rows(const struct explanation *explanation, struct writer *writer)
{
	struct explain_row row = {.explanation = explanation,
				  .start = fault_first_ns(&explanation->fault),
				  .total = explain_stages_ns(&explanation->fault)};

	explain_begin_table(explanation->analysis, writer);
	for (size_t i = 0; i < explanation->count; i++) {
		row.item = &explanation->items[i];
		row.sentence += row.item->text != SIZE_MAX;
		writer_row(writer, &row);
	}
}
