// SPDX-License-Identifier: GPL-2.0
/* The slowest faults, stage by stage. */
#include <string.h>

#include "lib/analyze/session.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"
#include "lib/base/units.h"
#include "lib/output/html.h"
#include "tools/page/page_private.h"

#define BAR_UNITS 1000

/* What nobody told is left out. */
static void put_known(FILE *out, const char *what, const char *value)
{
	if (!strcmp(value, "-"))
		return;
	fprintf(out, ", %s", what);
	html_text(out, value);
}

static void put_fault_head(const struct page_draft *page, const struct fault *fault)
{
	const struct session *session = page->analysis->session;
	char name[DEVICE_NAME_TEXT], text[SESSION_WHEN_TEXT], time[UNITS_TEXT];
	unsigned int unknown = unknown_numbers(session, fault->device);

	fprintf(page->out, "<p><b>%s</b> ", units_format_duration(page_fault_ns(fault), time));
	html_text(page->out, session_device_name(session, fault->device, name));
	if (fault->queue != QUEUE_NONE)
		fprintf(page->out, " queue %u", fault->queue);
	fprintf(page->out, ", fault %u.%u, address 0x%llx, %s", fault->group, fault->instance,
		fault->address, unknown_state_name(unknown, fault->state));
	put_known(page->out, "", fault_effort_name(fault));
	put_known(page->out, "cause ", fault_cause_name(fault));
	put_known(page->out, "response ", fault_response_name(fault));
	put_known(page->out, "", fault->comm[0] ? fault->comm : "-");
	if (fault->pid)
		fprintf(page->out, ", pid %u", fault->pid);
	fprintf(page->out, " <time>%s</time></p>\n",
		session_when(session, fault_first_ns(fault), text));
}

/* Each stage where it lies in the whole; what has a time is at least a unit wide. */
static void put_fault_bar(FILE *out, const struct stage_times *times)
{
	__u64 total = 0, before = 0;

	for (unsigned int s = 0; s < STAGES; s++)
		total += times->ns[s];
	fprintf(out,
		"<svg class=\"bar\" viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\">",
		BAR_UNITS);
	for (unsigned int s = 0; s < STAGES && total; s++) {
		double from = BAR_UNITS * ((double)before / (double)total);
		double width = BAR_UNITS * ((double)times->ns[s] / (double)total);

		before += times->ns[s];
		if (times->ns[s])
			fprintf(out,
				"<rect class=\"st%u\" x=\"%.1f\" width=\"%.1f\" height=\"10\"/>", s,
				from, width < 1 ? 1 : width);
	}
	fputs("</svg>\n", out);
}

static void put_fault_stages(FILE *out, const struct stage_times *times)
{
	char text[UNITS_TEXT], name[STAGE_MARKED_TEXT];

	fputs("<p class=\"key\">", out);
	for (unsigned int s = 0; s < STAGES; s++)
		if (times->measured & 1u << s)
			fprintf(out,
				"<span><i class=\"st%u\"></i>%s <b data-v=\"%llu\">%s</b></span> ",
				s, stage_marked_name(s, times->merged & 1u << s, name),
				times->ns[s], units_format_duration(times->ns[s], text));
	fputs("</p>\n", out);
}

void page_write_slowest(const struct page_draft *page)
{
	__u8 merged = 0;

	fputs("<ol class=\"slowest\">\n", page->out);
	for (size_t i = 0; i < page->slowest_count; i++) {
		struct stage_times times;

		stage_times(&page->slowest[i], &times);
		merged |= times.merged;
		fputs("<li>", page->out);
		put_fault_head(page, &page->slowest[i]);
		put_fault_bar(page->out, &times);
		put_fault_stages(page->out, &times);
		fputs("</li>\n", page->out);
	}
	fputs("</ol>\n", page->out);
	if (merged)
		fprintf(page->out, "<p>%s</p>\n", STAGE_MERGED_NOTE);
}
