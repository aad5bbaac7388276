/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was watched and what could not be, by path: the negative answer's other half. Each path is
 * named once with what it shows, each reason once with the paths that it concerns; nothing is cut.
 */
#ifndef FAULTLINE_WATCHED_H
#define FAULTLINE_WATCHED_H

#include "lib/analyze/session.h"
#include "lib/capture/paths.h"

enum watched_state {
	WATCHED_UNKNOWN,    /* the session has none of its probes */
	WATCHED_WHOLE,	    /* all of its probes that this host can have */
	WATCHED_PARTLY,	    /* some are off, or silent */
	WATCHED_NOT,	    /* none */
	WATCHED_NOT_WANTED, /* left out by who recorded */
};

/* Probes that this kernel need not have (`optional` in their row) are not counted. */
struct watched {
	enum watched_state state;
	size_t probes, on, silent, waiting; /* waiting: for their module or hardware */
};

struct silent;

/* `silent` may be NULL: then no probe is. */
struct watched watched_path(const struct session *session, const struct silent *silent,
			    enum path_id path);
/*
 * Off, and yet what the probe would have seen may have happened: not where its module or hardware is
 * not there. Not of what was left out or not asked for.
 */
bool watched_could(const struct probe_info *probe);
/* Off, because this kernel has none of the functions that would do: nor, as a rule, callers of them. */
bool watched_absent(const struct probe_info *probe);
/* "shown", "partly", "not shown", "not asked". */
const char *watched_state_name(enum watched_state state);
/*
 * Why the path is not shown whole: "no program is let onto kernel functions here (...); modules not
 * loaded: kvm". "" if it is. The caller frees it; NULL without memory.
 */
char *watched_reasons(const struct session *session, const struct silent *silent,
		      enum path_id path);
/* A sentence on the paths of which probes came while the recording ran, and since when; none if none did. */
void watched_write_since(const struct session *session, struct writer *writer);
/* Sentences: what was watched, in part, not; then each reason. */
void watched_write(const struct session *session, const struct silent *silent,
		   struct writer *writer);

#endif
