// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/asked.h"

#include <stdio.h>

#include "lib/analyze/unknown.h"
#include "lib/base/kinds.h"

bool asked_for_everything(const struct session *s)
{
	const struct host_info *host = session_host(s);

	return !host || (!host->devices[0] && !host->kinds[0]);
}

bool asked_left_out(const struct session *s, __u64 *count)
{
	const struct host_info *host = session_host(s);
	bool some = false;

	*count = session_loss(s)->filtered;
	for (unsigned int kind = EVENT_FAULT_DETECT; kind <= EVENT_FAULT_ABANDON; kind++)
		some |= host && host->kinds[0] && kinds_name(host->kinds, kind);
	return !some || !(unknown_of_all(s) & UNKNOWN_FAULTS);
}

const char *asked_text(const struct session *s, char text[ASKED_TEXT])
{
	const struct host_info *host = session_host(s);
	char left_out[32] = "an unknown number of";
	__u64 filtered;

	text[0] = '\0';
	if (asked_for_everything(s))
		return text;
	if (asked_left_out(s, &filtered))
		snprintf(left_out, sizeof(left_out), "%llu", filtered);
	else
		filtered = 0;
	snprintf(text, ASKED_TEXT, "Asked for: %s%s%s%s%s. Left out: %s page request%s",
		 host->devices[0] ? "devices " : "", host->devices,
		 host->devices[0] && host->kinds[0] ? "; " : "", host->kinds[0] ? "kinds " : "",
		 host->kinds, left_out, filtered == 1 ? "" : "s");
	return text;
}

void asked_write(const struct session *s, struct writer *writer)
{
	char text[ASKED_TEXT];

	if (*asked_text(s, text))
		writer_note(writer, "%s.", text);
}
