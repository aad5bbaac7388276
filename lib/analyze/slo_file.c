// SPDX-License-Identifier: GPL-2.0
/* The keys of [slo NAME] sections. Their file is read, and what is wrong with it said, as a job file is. */
#include "lib/analyze/slo.h"

#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"
#include "lib/job/idle_keys.h"

#define FIELD(member) \
	offsetof(struct slo_objective, member), sizeof(((struct slo_objective *)0)->member)
#define DAY (86400 * NSEC_PER_SEC)
#define TIB 0x1p40

/* The least itself is refused where it is said to be. */
static int parse_percent(const struct option_row *row, const char *text, bool above_least,
			 void *fields)
{
	double percent;

	if (units_parse_percent(text, &percent))
		return -EINVAL;
	if (!(percent >= row->min && percent <= row->max) || (above_least && percent <= row->min))
		return -ERANGE;
	memcpy((char *)fields + row->offset, &percent, sizeof(percent));
	return 0;
}

static int parse_percentile(const struct option_row *row, const char *text, void *fields)
{
	return parse_percent(row, text, true, fields);
}

static const struct option_own own_percentile = {
	.name = "percentile",
	.beginning = "such as 99.9, more than ",
	.parse = parse_percentile,
};

static int parse_loss(const struct option_row *row, const char *text, void *fields)
{
	return parse_percent(row, text, false, fields);
}

static const struct option_own own_loss = {
	.name = "percent",
	.beginning = "such as 0.1, ",
	.parse = parse_loss,
};

static const struct option_row rows[] = {
	{"slo", "device", OPTION_TEXT, FIELD(device), 1, .otherwise = "*",
	 .meaning = "pattern of device names"},
	{"slo", "latency_target", OPTION_TIME, FIELD(latency_target_ns), 1, DAY, "",
	 .meaning = "what an I/O may take"},
	{"slo", "latency_percentile", OPTION_OWN, FIELD(latency_percentile), 0, 100, "100",
	 .own = &own_percentile, .meaning = "percent of a window's I/Os that must keep to it",
	 .needs = {{"latency_target", NULL}}},
	{"slo", "latency_window", OPTION_TIME, FIELD(window_ns), NSEC_PER_SEC, DAY, "1s",
	 .meaning = "of all objectives of the section, as I/Os are counted by the second",
	 .multiple = AGGREGATE_WINDOW_NS},
	{"slo", "min_iops", OPTION_RATE, FIELD(min_iops), 0.001, 1e12, "",
	 .meaning = "I/Os per second in every whole window"},
	{"slo", "min_bandwidth", OPTION_BYTES, FIELD(min_bandwidth), 1, TIB, "",
	 .meaning = "bytes per second in every whole window"},
	{"slo", "fault_rate", OPTION_RATE, FIELD(fault_rate), 0, 1e12, "",
	 .meaning = "I/O page faults per second at most in a window"},
	{"slo", "burst", OPTION_COUNT, FIELD(burst), 1, 1000, "",
	 .meaning = "faults at most within any one second"},
	{"slo", "loss", OPTION_OWN, FIELD(loss), 0, 100, "", .own = &own_loss,
	 .meaning = "percent of a NIC's frames that may be lost in a window"},
	{"slo", "max_stall", OPTION_TIME, FIELD(max_stall_ns), 1, DAY, "",
	 .meaning = "how long a TCP flow of a NIC may stall"},
	{"slo", "min_throughput", OPTION_BYTES, FIELD(min_throughput), 1, TIB, "",
	 .meaning = "bytes per second of a NIC in every 100 ms"},
};

/* Those of a job file, whose objectives are beside what they are of, are somebody else's to read. */
static const struct option_section sections[] = {
	{"slo", "An objective.", .named = true, .any_name = true},
	{"machine", .meaning = ""},
	{"protector", .meaning = ""},
	{"tenant", .meaning = "", .named = true},
	{"device", .meaning = "", .named = true},
	{"workload", .meaning = "", .named = true},
	{"traffic", .meaning = "", .named = true},
	{"program", .meaning = "", .named = true},
	{"kvstore", .meaning = "", .named = true},
	{"ranks", .meaning = "", .named = true},
	{"verbs", .meaning = "", .named = true},
	{"inject", .meaning = "", .named = true},
	{"sweep", .meaning = ""},
	{"expect", .meaning = ""},
	{"short", .meaning = ""},
};

const struct option_table slo_options = {
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
	.sections = sections,
	.section_count = sizeof(sections) / sizeof(sections[0]),
	.help = "`faultline slo -h`",
};

static int add_objective(struct slo_set *set, const struct job_section *section)
{
	struct slo_objective *o = &set->objectives[set->count];
	int err;

	if (set->count == SLO_MAX)
		return failed(-EBADMSG, "%s: [slo %s]: accepted: up to %d objectives",
			      section->where, section->name, SLO_MAX);
	*o = (struct slo_objective){0};
	snprintf(o->name, sizeof(o->name), "%s", section->name);
	err = options_fill(&slo_options, section, o);
	if (err)
		return err;
	o->has_fault_rate = job_section_entry(section, "fault_rate");
	o->has_burst = job_section_entry(section, "burst");
	o->has_loss = job_section_entry(section, "loss");
	if (!o->latency_target_ns && !(o->min_iops > 0) && !o->min_bandwidth &&
	    !o->has_fault_rate && !o->has_burst && !o->has_loss && !o->max_stall_ns &&
	    !o->min_throughput)
		return failed(-EBADMSG,
			      "%s: [slo %s] states no objective; accepted: latency_target, "
			      "min_iops, min_bandwidth, fault_rate, burst, loss, max_stall, "
			      "min_throughput",
			      section->where, section->name);
	set->count++;
	return 0;
}

static int add_objectives(struct slo_set *set, const struct job_text *text)
{
	struct idle_keys idle = {0};
	int err = options_check_headings(&slo_options, text);

	for (size_t i = 0; !err && i < text->section_count; i++)
		if (!strcmp(text->sections[i].type, "slo"))
			err = add_objective(set, &text->sections[i]);
	if (!err && !set->count)
		err = failed(-ENODATA, "%s: no [slo NAME] section", text->path);
	if (!err)
		err = idle_keys_add(&idle, &slo_options, text);
	if (!err)
		err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	return err;
}

int slo_read(const char *path, struct slo_set *set)
{
	struct job_text *text;
	int err = job_text_read(&text, path, "an SLO file");

	set->count = 0;
	if (err == -EBADMSG)
		return err;
	if (err)
		return failed(err, "%s: %s", path, strerror(-err));
	err = add_objectives(set, text);
	job_text_free(text);
	return err;
}
