// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/watched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/silent.h"
#include "lib/base/fail.h"
#include "lib/capture/probes.h"

#define LACKS "this kernel has no "

/* Why a probe is off. The last method's trouble is what counts, a function's absence least of all. */
enum reason_class {
	REASON_NONE,
	REASON_LACKS,  /* this kernel has none of the functions that would do */
	REASON_MODULE, /* a module is not loaded */
	REASON_OTHER,  /* in its own words */
};

struct reason {
	enum reason_class class;
	const char
		*text; /* of OTHER: the reason, of MODULE: the module's name; both unterminated */
	size_t length;
};

static bool starts_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

static size_t segment_length(const char *text)
{
	const char *end = strstr(text, "; ");

	return end ? (size_t)(end - text) : strlen(text);
}

static struct reason reason_of(const struct probe_info *probe)
{
	static const char module[] = "module ", unloaded[] = " is not loaded";
	struct reason reason = {REASON_LACKS, probe->reason, strlen(probe->reason)};
	const char *at = probe->reason;

	if (probe->state == PROBE_ON || (probe->state == PROBE_DISABLED && !reason.length))
		return (struct reason){REASON_NONE, "", 0};
	while (*at) {
		size_t length = segment_length(at);

		if (!starts_with(at, LACKS))
			reason = (struct reason){REASON_OTHER, at, length};
		at += length;
		at += strspn(at, "; ");
	}
	if (reason.class == REASON_OTHER && starts_with(reason.text, module) &&
	    reason.length > sizeof(module) + sizeof(unloaded) &&
	    starts_with(reason.text + reason.length - sizeof(unloaded) + 1, unloaded)) {
		reason.class = REASON_MODULE;
		reason.text += sizeof(module) - 1;
		reason.length -= sizeof(module) + sizeof(unloaded) - 2;
	}
	return reason;
}

/* Its hardware is not there: the probe comes with it. What would fire it cannot happen before. */
static bool watched_lacks_place(const struct reason *reason)
{
	for (int place = PLACE_ANYWHERE + 1; place < PLACE_COUNT; place++)
		if (reason->class == REASON_OTHER &&
		    reason->length == strlen(place_lacking(place)) &&
		    !memcmp(reason->text, place_lacking(place), reason->length))
			return true;
	return false;
}

bool watched_could(const struct probe_info *probe)
{
	struct reason reason = reason_of(probe);

	return probe->state == PROBE_OFF && reason.class != REASON_MODULE &&
	       !watched_lacks_place(&reason);
}

bool watched_absent(const struct probe_info *probe)
{
	return probe->state == PROBE_OFF && probe->reason[0] &&
	       reason_of(probe).class == REASON_LACKS;
}

static bool watched_counts(const struct probe_info *probe, enum path_id path)
{
	const struct probe_row *row = probe_row_named(probe->name);

	return path_of(row) == path && !(row && row->optional);
}

static bool is_counted(const struct probe_info *probe)
{
	const struct probe_row *row = probe_row_named(probe->name);

	return !row || !row->optional;
}

struct watched watched_path(const struct session *s, const struct silent *silent, enum path_id path)
{
	struct watched w = {0};
	size_t unwanted = 0;

	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_info *probe = session_probe(s, i);
		struct reason reason;

		if (!watched_counts(probe, path))
			continue;
		w.probes++;
		w.on += probe->state == PROBE_ON;
		w.silent += silent && silent_passed(silent, probe, NULL);
		reason = reason_of(probe);
		w.waiting += reason.class == REASON_MODULE || watched_lacks_place(&reason);
		unwanted += probe->state == PROBE_DISABLED;
	}
	if (!w.probes)
		w.state = WATCHED_UNKNOWN;
	else if (unwanted == w.probes)
		w.state = WATCHED_NOT_WANTED;
	else if (!w.on)
		w.state = WATCHED_NOT;
	/* What a module or hardware would do is nothing while it is not there. */
	else if (w.on + w.waiting == w.probes && !w.silent)
		w.state = WATCHED_WHOLE;
	else
		w.state = WATCHED_PARTLY;
	return w;
}

const char *watched_state_name(enum watched_state state)
{
	switch (state) {
	case WATCHED_WHOLE:
		return "shown";
	case WATCHED_PARTLY:
		return "partly";
	case WATCHED_NOT_WANTED:
		return "not asked";
	default:
		return "not shown";
	}
}

/* Words separated by commas, each once. */
struct list {
	FILE *file;
	char *text;
	size_t size, count;
};

/* `writer`, which may be NULL, is told where there is no memory. */
static bool list_open(struct list *list, struct writer *writer)
{
	*list = (struct list){0};
	list->file = open_memstream(&list->text, &list->size);
	if (!list->file && writer)
		writer_fail(writer, failed(-ENOMEM, "no memory for a sentence"));
	return list->file;
}

static void list_close(struct list *list)
{
	if (list->file)
		fclose(list->file);
	free(list->text);
}

static bool list_has(struct list *list, const char *word, size_t length)
{
	const char *at;

	fflush(list->file);
	for (at = list->text; at && *at; at += strspn(at, ", ")) {
		size_t here = strcspn(at, ",");

		if (here == length && !memcmp(at, word, length))
			return true;
		at += here;
	}
	return false;
}

static void list_add(struct list *list, const char *word, size_t length)
{
	if (list_has(list, word, length))
		return;
	fprintf(list->file, "%s%.*s", list->count++ ? ", " : "", (int)length, word);
	fflush(list->file);
}

/* "this kernel has no A or B; ...": A, B. */
static void add_lacking(struct list *list, const char *reason)
{
	while (*reason) {
		size_t length = segment_length(reason);
		const char *at = reason, *end = reason + length;

		if (starts_with(reason, LACKS))
			at += strlen(LACKS);
		while (at < end) {
			const char *next = strstr(at, " or ");
			size_t word = next && next < end ? (size_t)(next - at) : (size_t)(end - at);

			list_add(list, at, word);
			at += word;
			at += at < end ? strlen(" or ") : 0;
		}
		reason = end + strspn(end, "; ");
	}
}

/* The words that belong to a path's part of a reason: functions, modules. */
static size_t add_details(const struct session *s, enum path_id path, enum reason_class class,
			  struct list *list)
{
	size_t concerned = 0;

	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_info *probe = session_probe(s, i);
		struct reason reason;

		if (!watched_counts(probe, path))
			continue;
		reason = reason_of(probe);
		if (reason.class != class)
			continue;
		concerned++;
		if (class == REASON_MODULE)
			list_add(list, reason.text, reason.length);
		else
			add_lacking(list, probe->reason);
	}
	return concerned;
}

/* "Because PREFIX: PATH (details), PATH (details).": all paths that a kind of reason concerns. */
static void write_class(const struct session *s, struct writer *writer, enum reason_class class,
			const char *prefix)
{
	struct list sentence;

	if (!list_open(&sentence, writer))
		return;
	for (int path = 0; path < PATH_COUNT; path++) {
		struct watched w = watched_path(s, NULL, path);
		struct list details;
		size_t concerned;

		if (!list_open(&details, writer))
			break;
		concerned = add_details(s, path, class, &details);
		if (concerned) {
			fprintf(sentence.file, "%s%s", sentence.count++ ? "; " : "",
				path_name(path));
			/* Of what is missing altogether the names of its functions tell nothing. */
			if (class == REASON_MODULE || concerned < w.probes)
				fprintf(sentence.file, " (%s)", details.text);
		}
		list_close(&details);
	}
	fflush(sentence.file);
	if (sentence.count)
		writer_note(writer, "%s: %s.", prefix, sentence.text);
	list_close(&sentence);
}

static bool watched_same(const struct reason *a, const struct reason *b)
{
	return a->class == b->class && a->length == b->length &&
	       !memcmp(a->text, b->text, a->length);
}

/* Whether an earlier probe has the same reason; PATH_COUNT: of any path. */
static bool watched_told_before(const struct session *s, size_t index, const struct reason *reason,
				enum path_id path)
{
	for (size_t i = 0; i < index; i++) {
		const struct probe_info *probe = session_probe(s, i);
		struct reason before = reason_of(probe);

		/* Comparing first: looking a row up takes longer. */
		if (watched_same(&before, reason) &&
		    (path == PATH_COUNT ? is_counted(probe) : watched_counts(probe, path)))
			return true;
	}
	return false;
}

/* One reason in its own words, with every path that it concerns. */
static void write_other(const struct session *s, struct writer *writer, const struct reason *reason)
{
	struct list paths;
	size_t head, tail;
	const char *colon;

	if (!list_open(&paths, writer))
		return;
	for (int path = 0; path < PATH_COUNT; path++) {
		/* A path that is watched whole lacks nothing for want of another maker's IOMMU. */
		if (watched_lacks_place(reason) &&
		    watched_path(s, NULL, path).state == WATCHED_WHOLE)
			continue;
		for (size_t i = 0; i < session_probe_count(s); i++) {
			struct reason here = reason_of(session_probe(s, i));

			if (!watched_same(&here, reason) ||
			    !watched_counts(session_probe(s, i), path))
				continue;
			fprintf(paths.file, "%s%s", paths.count++ ? "; " : "", path_name(path));
			break;
		}
	}
	fflush(paths.file);
	/* "X: Y" is told as "X (Y)": what follows the colon of the sentence are the paths. */
	colon = memmem(reason->text, reason->length, ": ", 2);
	head = colon ? (size_t)(colon - reason->text) : reason->length;
	tail = colon ? reason->length - head - 2 : 0;
	if (paths.count)
		writer_note(writer, "Because %.*s%s%.*s%s: %s.", (int)head, reason->text,
			    colon ? " (" : "", (int)tail, colon ? colon + 2 : "", colon ? ")" : "",
			    paths.text);
	list_close(&paths);
}

static void write_others(const struct session *s, struct writer *writer)
{
	for (size_t i = 0; i < session_probe_count(s); i++) {
		struct reason reason = reason_of(session_probe(s, i));

		if (reason.class == REASON_OTHER && is_counted(session_probe(s, i)) &&
		    !watched_told_before(s, i, &reason, PATH_COUNT))
			write_other(s, writer, &reason);
	}
}

static void write_state(const struct session *s, const struct silent *silent, struct writer *writer,
			enum watched_state state, const char *prefix)
{
	struct list paths;

	if (!list_open(&paths, writer))
		return;
	for (int path = 0; path < PATH_COUNT; path++) {
		struct watched w = watched_path(s, silent, path);

		if (w.state != state)
			continue;
		fprintf(paths.file, "%s%s", paths.count++ ? "; " : "", path_name(path));
		if (state == WATCHED_PARTLY)
			fprintf(paths.file, " (%zu of %zu probes)", w.on - w.silent, w.probes);
	}
	fflush(paths.file);
	if (paths.count)
		writer_note(writer, "%s: %s.", prefix, paths.text);
	list_close(&paths);
}

void watched_write(const struct session *s, const struct silent *silent, struct writer *writer)
{
	write_state(s, silent, writer, WATCHED_WHOLE, "Watched");
	write_state(s, silent, writer, WATCHED_PARTLY, "Watched in part");
	write_state(s, silent, writer, WATCHED_NOT, "Not watched");
	write_state(s, silent, writer, WATCHED_NOT_WANTED, "Not asked for");
	write_others(s, writer);
	write_class(s, writer, REASON_MODULE,
		    "Because modules are not loaded (probes come with them)");
	write_class(s, writer, REASON_LACKS, "Because this kernel does not have it");
}

void watched_write_since(const struct session *s, struct writer *writer)
{
	char when[SESSION_WHEN_TEXT];
	struct list paths;

	if (!list_open(&paths, writer))
		return;
	for (int path = 0; path < PATH_COUNT; path++) {
		__u64 since_ns = 0, late = 0;

		for (size_t i = 0; i < session_probe_count(s); i++) {
			__u64 since = session_probe_since(s, i);

			if (!since || path_of(probe_row_named(session_probe(s, i)->name)) !=
					      (enum path_id)path)
				continue;
			late++;
			since_ns = since > since_ns ? since : since_ns;
		}
		if (late)
			fprintf(paths.file, "%s%s since %s (%llu probes)",
				paths.count++ ? "; " : "", path_name(path),
				session_when(s, since_ns, when), late);
	}
	fflush(paths.file);
	if (paths.count)
		writer_note(writer,
			    "Watched only from a part of the recording on: %s. What was before "
			    "is not known.",
			    paths.text);
	list_close(&paths);
}

char *watched_reasons(const struct session *s, const struct silent *silent, enum path_id path)
{
	struct watched w = watched_path(s, silent, path);
	struct list all, modules, lacking;
	char *text;
	size_t lacks;

	if (!list_open(&all, NULL) || !list_open(&modules, NULL) || !list_open(&lacking, NULL))
		return NULL;
	for (size_t i = 0; i < session_probe_count(s); i++) {
		const struct probe_info *probe = session_probe(s, i);
		struct reason reason = reason_of(probe);

		if (w.state == WATCHED_WHOLE && watched_lacks_place(&reason))
			continue;
		if (reason.class == REASON_OTHER && watched_counts(probe, path) &&
		    !watched_told_before(s, i, &reason, path))
			fprintf(all.file, "%s%.*s", all.count++ ? "; " : "", (int)reason.length,
				reason.text);
	}
	lacks = add_details(s, path, REASON_LACKS, &lacking);
	if (lacks && lacks == w.probes)
		fprintf(all.file, "%snot in this kernel", all.count++ ? "; " : "");
	else if (lacks)
		fprintf(all.file, "%s" LACKS "%s", all.count++ ? "; " : "", lacking.text);
	if (add_details(s, path, REASON_MODULE, &modules))
		fprintf(all.file, "%snot loaded: %s", all.count++ ? "; " : "", modules.text);
	if (w.silent)
		fprintf(all.file, "%s%zu probes attached and never hit", all.count++ ? "; " : "",
			w.silent);
	fclose(all.file);
	text = all.text;
	list_close(&modules);
	list_close(&lacking);
	return text;
}

/* Who asks why nothing was seen must know what could have been. */
static void watched_write_findings(const struct analysis *a, struct writer *writer)
{
	if (!faults_began(a->faults))
		watched_write(a->session, a->silent, writer);
}

const struct analyzer watched_analyzer = {.chapter = REPORT_LIMITS,
					  .findings = watched_write_findings};
