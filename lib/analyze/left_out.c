// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/left_out.h"

#include <stdio.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/session.h"

const char *left_out_text(const struct analysis *a, char text[LEFT_OUT_TEXT])
{
	const struct period *period = session_period(a->session);
	char since[SESSION_WHEN_TEXT], until[SESSION_WHEN_TEXT], across[64] = "";
	struct faults_counts counts;
	int used = 0;

	faults_counts(a->faults, &counts);
	text[0] = '\0';
	if (counts.left_across)
		snprintf(across, sizeof(across), " (%llu of them went on after it)",
			 counts.left_across);
	if (counts.left_before)
		used = snprintf(text, LEFT_OUT_TEXT,
				"Left out: %llu fault%s that began before %s%s", counts.left_before,
				counts.left_before == 1 ? "" : "s",
				session_when(a->session, period->since_ns, since), across);
	if (counts.left_after)
		used += snprintf(text + used, LEFT_OUT_TEXT - (size_t)used,
				 "%s%llu fault%s that began at %s or later",
				 used ? ", " : "Left out: ", counts.left_after,
				 counts.left_after == 1 ? "" : "s",
				 session_when(a->session, period->until_ns, until));
	if (used)
		snprintf(text + used, LEFT_OUT_TEXT - (size_t)used, ".");
	return text;
}

void left_out_write(const struct analysis *a, struct writer *writer)
{
	char text[LEFT_OUT_TEXT];

	if (*left_out_text(a, text))
		writer_note(writer, "%s", text);
}
