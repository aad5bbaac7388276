// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/asked.h"

bool asked_for_everything(const struct session *s)
{
	const struct host_info *host = session_host(s);

	return !host || (!host->devices[0] && !host->kinds[0]);
}

int asked_write(const struct session *s, struct writer *writer)
{
	const struct host_info *host = session_host(s);
	__u64 filtered = session_loss(s)->filtered;

	if (asked_for_everything(s))
		return 0;
	return writer_note(writer, "Asked for: %s%s%s%s%s. Left out: %llu page request%s.",
			   host->devices[0] ? "devices " : "", host->devices,
			   host->devices[0] && host->kinds[0] ? "; " : "",
			   host->kinds[0] ? "kinds " : "", host->kinds, filtered,
			   filtered == 1 ? "" : "s");
}
