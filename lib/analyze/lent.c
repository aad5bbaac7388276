// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/lent.h"

#include <string.h>

#include "lib/analyze/unknown.h"
#include "lib/output/table.h"

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

enum lent_kind lent_kind(const struct session *session, __u32 device)
{
	const struct device_info *info = session_device(session, device);
	const char *slash;

	if (!info || info->kind != DEVICE_EMULATED)
		return LENT_OTHER;
	slash = strchr(info->model, '/');
	if (!strcmp(info->model, "ntb"))
		return LENT_ADAPTER;
	if (slash && !strcmp(slash, "/lent"))
		return LENT_SHADOW;
	if (begins(info->model, "client/") || begins(info->model, "guest/") ||
	    begins(info->model, "target/") || begins(info->model, "initiator/"))
		return LENT_USER;
	return slash ? LENT_OTHER : LENT_OWN;
}

/* Between `from` and the first of `ends`. */
static const char *part(const char *from, const char *ends, char text[NAME_TEXT])
{
	size_t length = strcspn(from, ends);

	if (!length)
		return "-";
	if (length >= NAME_TEXT)
		length = NAME_TEXT - 1;
	memcpy(text, from, length);
	text[length] = '\0';
	return text;
}

const char *lent_host(const struct session *session, __u32 device, char text[NAME_TEXT])
{
	const struct device_info *info = session_device(session, device);

	return info ? part(info->name, "/", text) : "-";
}

const char *lent_device(const struct session *session, __u32 device, char text[NAME_TEXT])
{
	const struct device_info *info = session_device(session, device);
	const char *slash;

	if (!info)
		return "-";
	slash = strchr(lent_kind(session, device) == LENT_USER ? info->model : info->name, '/');
	return slash ? part(slash + 1, "@", text) : "-";
}

const char *lent_lender(const struct session *session, __u32 device, char text[NAME_TEXT])
{
	const struct device_info *info = session_device(session, device);
	const char *at = info ? strchr(info->name, '@') : NULL;

	return at ? part(at + 1, "", text) : "-";
}

__u32 lent_known(const struct session *session)
{
	__u32 known = 0;

	for (__u32 kind = EVENT_LEND_STEP; kind <= EVENT_LEND_LOST; kind++)
		if (!unknown_kind(session, kind))
			known |= 1u << (kind - EVENT_LEND_STEP);
	return known;
}

__u64 lent_told(__u32 known, __u16 kind, __u64 number)
{
	return count_if(known >> (kind - EVENT_LEND_STEP) & 1, number);
}

bool lent_counters_take(struct lent_counters *c, const struct session *session,
			const struct event *e, const __u64 now[LENT_COUNTERS], __u32 wraps)
{
	const struct device_info *info = session_device(session, e->device);
	const struct period *period = session_period(session);
	__u64 before_ns = c->last_ns;
	bool counts;

	if (e->time_ns <= c->last_ns)
		return false;
	if (!before_ns && info && session_began_within(session, info))
		before_ns = info->first_ns < e->time_ns ? info->first_ns : e->time_ns;
	counts = before_ns && period_touches(period, before_ns, e->time_ns);
	for (unsigned int i = 0; i < LENT_COUNTERS; i++) {
		__u64 by = wraps >> i & 1	 ? (__u32)(now[i] - c->last[i])
			   : now[i] > c->last[i] ? now[i] - c->last[i]
						 : 0;

		c->grown[i] += counts ? by : 0;
		c->last[i] = now[i];
	}
	c->watched_ns += counts ? e->time_ns - before_ns : 0;
	c->last_ns = e->time_ns;
	return !period_is_after(period, e->time_ns);
}
