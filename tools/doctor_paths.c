// SPDX-License-Identifier: GPL-2.0
#include "tools/doctor_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/watched.h"
#include "lib/base/fail.h"
#include "lib/capture/verifier_log.h"
#include "lib/capture/permission.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct verdict {
	struct watched watched;
	char *why;	    /* owned; "" if nothing is missing */
	const char *change; /* "" likewise */
	const char *below;  /* the check of the host that says what would, or NULL */
	char rights[96];    /* what `change` may be */
};

static const struct host_check *missing_for(const struct host_check *checks, size_t count,
					    enum path_id path)
{
	for (size_t i = 0; i < count; i++)
		if (checks[i].path == path && !checks[i].good)
			return &checks[i];
	return NULL;
}

/* Said of a path although nothing is missing. */
static const char *caveat_of(const struct host_check *checks, size_t count, enum path_id path)
{
	for (size_t i = 0; i < count; i++)
		if (checks[i].path == path && checks[i].caveat)
			return checks[i].finding;
	return NULL;
}

static const char *remedy_named(const struct host_check *checks, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(checks[i].name, name) && !checks[i].good)
			return checks[i].remedy;
	return NULL;
}

/* Reasons of probes that are a matter of the whole host. */
static const struct {
	const char *reason, *check;
} of_the_host[] = {
	{"no program is let onto", "kernel functions"},
	{VERIFIER_LOCKED_DOWN, "lockdown"},
};

static void find_change(const struct host_check *checks, size_t count, enum path_id path,
			struct verdict *verdict)
{
	verdict->change = path_needs(path);
	for (size_t i = 0; i < COUNT(of_the_host) && !verdict->below; i++) {
		const char *remedy = remedy_named(checks, count, of_the_host[i].check);

		if (!remedy || !strstr(verdict->why, of_the_host[i].reason))
			continue;
		verdict->below = of_the_host[i].check;
		verdict->change = remedy;
	}
}

/* What the host lacks tells more than which of the probes would have nothing to see. */
static bool judge(const struct analysis *a, const struct host_check *checks, size_t count,
		  enum path_id path, struct verdict *verdict)
{
	const struct host_check *missing = missing_for(checks, count, path);
	const char *caveat = caveat_of(checks, count, path);
	const char *unmounted = remedy_named(checks, count, CHECK_MOUNTS);
	const char *lacking = count ? permission_lacking() : NULL; /* of this host */

	verdict->watched = watched_path(a->session, a->silent, path);
	verdict->why = watched_reasons(a->session, a->silent, path);
	verdict->change = "";
	verdict->below = NULL;
	if (!verdict->why)
		return false;
	/* Where one looks goes before what is found there, and whose it is before what it lacks. */
	if (unmounted && verdict->watched.state != WATCHED_WHOLE) {
		verdict->below = CHECK_MOUNTS;
		verdict->change = unmounted;
		free(verdict->why);
		verdict->why = strdup(checks[0].finding);
	} else if (lacking && strstr(verdict->why, lacking)) {
		verdict->below = "rights";
		verdict->change = permission_remedy();
	} else if (count && verdict->watched.state != WATCHED_WHOLE &&
		   permission_needed(verdict->why, verdict->rights, sizeof(verdict->rights))) {
		verdict->change = verdict->rights;
	} else if (missing) {
		if (verdict->watched.state == WATCHED_WHOLE ||
		    verdict->watched.state == WATCHED_PARTLY)
			verdict->watched.state = missing->partial ? WATCHED_PARTLY : WATCHED_NOT;
		free(verdict->why);
		verdict->why = strdup(missing->finding);
		verdict->change = missing->remedy;
	} else if (verdict->watched.state == WATCHED_PARTLY ||
		   verdict->watched.state == WATCHED_NOT) {
		find_change(checks, count, path, verdict);
	} else if (caveat && !verdict->why[0]) {
		free(verdict->why);
		verdict->why = strdup(caveat);
	}
	return verdict->why;
}

struct path_row {
	enum path_id path;
	const struct verdict *verdict;
	const char *why; /* in text with what to do */
};

#define PATHS(COLUMN)                                                                        \
	COLUMN(path, none, TEXT, 22, SHOWN, path_name(row->path))                            \
	COLUMN(state, none, TEXT, 9, SHOWN, watched_state_name(row->verdict->watched.state)) \
	COLUMN(probes, none, COUNT, 6, WIDE, row->verdict->watched.probes)                   \
	COLUMN(on, none, COUNT, 6, WIDE, row->verdict->watched.on)                           \
	COLUMN(silent, none, COUNT, 6, WIDE, row->verdict->watched.silent)                   \
	COLUMN(why, none, TEXT, 0, SHOWN, row->why)                                          \
	COLUMN(change, none, TEXT, 0, SHOWN, row->verdict->change)
TABLE(paths, NULL, PATHS, struct path_row, void)

static int write_path(struct writer *writer, enum path_id path, const struct verdict *v, bool text)
{
	char *change = NULL;
	int error;

	if (text && v->change[0] &&
	    asprintf(&change,
		     v->below ? "%s. To change that: see %s, below." : "%s. To change that: %s.",
		     v->why, v->below ? v->below : v->change) < 0)
		return failed(-ENOMEM, "no memory for a path");
	error = writer_row(writer, &(struct path_row){path, v, change ?: v->why});
	free(change);
	return error;
}

int doctor_write_paths(const struct analysis *a, const struct host_check *checks, size_t count,
		       struct writer *writer, bool text)
{
	struct table table = paths_table;
	int error;

	table.title = count ? "What this host can show" : "What the recording's host could show";
	table.column_count -= text; /* `change` stands in `why` */
	error = writer_begin(writer, &table);
	for (int path = PATH_NONE + 1; !error && path < PATH_COUNT; path++) {
		struct verdict verdict;

		if (!judge(a, checks, count, path, &verdict))
			return failed(-ENOMEM, "no memory for a path");
		error = write_path(writer, path, &verdict, text);
		free(verdict.why);
	}
	return error ? error : writer_end(writer);
}
