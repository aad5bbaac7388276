// SPDX-License-Identifier: GPL-2.0
/* The keys of a study: what is pinned, by which rule it is judged, and what the log has lost. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "tools/protect/study.h"

#define FIELD(member) \
	offsetof(struct study_config, member), sizeof(((struct study_config *)0)->member)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DAY	     (86400.0 * NSEC_PER_SEC)
#define POLICIES_MAX 32

_Static_assert(!offsetof(struct study_config, protector), "rows of [protector] begin there");

static const struct option_choice rules[] = {
	{"interval", WHAT_IF_INTERVAL}, {"reclaim", WHAT_IF_RECLAIM}, {NULL, 0}};

static const struct option_row own_rows[] = {
	{"protector", "oracle", OPTION_REAL, FIELD(oracle), 0, 1, "5%",
	 .meaning = "share of the memory that is pinned on average",
	 .needs = {{"policy", "oracle"}}},
	{"protector", "memory", OPTION_BYTES, FIELD(memory_bytes), 4096, 0x1p52, "",
	 .meaning = "what shares are shares of; unless said, what the recording says of a device"},

	{"rule", "kind", OPTION_CHOICE, FIELD(rule), .otherwise = "interval", .choices = rules,
	 .meaning = "when an access faults (docs/protect.md)"},
	{"rule", "idle", OPTION_TIME, FIELD(idle_ns), 1, DAY, "300s",
	 .meaning = "an access that comes later than this after the one before it faults",
	 .needs = {{"kind", "interval"}}},
	{"rule", "low", OPTION_REAL, FIELD(share_low), 0, 1, "0",
	 .meaning = "least share of the touched pages that is taken",
	 .needs = {{"kind", "reclaim"}}},
	{"rule", "high", OPTION_REAL, FIELD(share_high), 0, 1, "50%",
	 .meaning = "largest share of the touched pages that is taken",
	 .needs = {{"kind", "reclaim"}}},
	{"rule", "period", OPTION_TIME, FIELD(share_period_ns), 0, DAY, "1h",
	 .meaning = "from low to high and back; 0: always high", .needs = {{"kind", "reclaim"}}},
	{"rule", "sample", OPTION_TIME, FIELD(sample_ns), 0, DAY, "10s",
	 .meaning = "between two rows of table protect_curve; 0: there are none"},

	{"log", "drop", OPTION_REAL, FIELD(drop), 0, 1, "0",
	 .meaning =
		 "share of the accesses that the policy is not told of; they are judged all the same"},
	{"log", "seed", OPTION_COUNT, FIELD(seed), 0, 1e15, "1", .meaning = "of what is lost",
	 .needs = {{"drop", NULL}}},
};

static const struct option_section sections[] = {
	{"protector", "What is pinned.", false},
	{"rule", "When an access faults.", false},
	{"log", "What the access log loses.", false},
	{"sweep", "NAME = SECTION.KEY: V1, V2 ... runs every combination.", false},
	{"expect", "NAME = EXPRESSION over results; the run fails if one is false.", false},
	{"short", "SECTION.KEY = VALUE: what --short replaces.", false},
};

static struct option_row rows[PROTECTOR_ROWS + COUNT(own_rows)];
static struct option_choice policies[POLICIES_MAX];
static const struct option_table table = {
	.rows = rows,
	.row_count = COUNT(rows),
	.sections = sections,
	.section_count = COUNT(sections),
	.columns = &study_columns,
	.help = "`faultline protect --keys`",
};

static void study_join(void)
{
	size_t count = 0;

	memcpy(rows, protector_rows, sizeof(protector_rows));
	memcpy(rows + PROTECTOR_ROWS, own_rows, sizeof(own_rows));
	for (; protector_policies[count].name && count < POLICIES_MAX - 2; count++)
		policies[count] = protector_policies[count];
	policies[count] = (struct option_choice){"oracle", STUDY_ORACLE};
	rows[0].choices = policies;
}

const struct option_table *study_options(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, study_join);
	return &table;
}

int study_complete(struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < COUNT(sections); i++)
		err = job_text_need(text, sections[i].type, "the command line");
	return err;
}

static bool has_keys(const char *type)
{
	return !strcmp(type, "protector") || !strcmp(type, "rule") || !strcmp(type, "log");
}

int study_check_values(const struct job_text *text)
{
	struct study_config config = {0};
	int err = 0;

	for (size_t i = 0; !err && i < text->section_count; i++)
		if (has_keys(text->sections[i].type))
			err = options_check_values(study_options(), &text->sections[i], &config);
	return err;
}

/* Where somebody wrote a key, or `otherwise`. */
static const char *written_where(const struct job_text *text, const char *type, const char *key,
				 const char *otherwise)
{
	const struct job_section *section = job_text_section(text, type, NULL);
	const struct job_entry *entry = section ? job_section_entry(section, key) : NULL;

	return entry ? entry->where : otherwise;
}

static int study_check(const struct study_config *config, const struct job_text *text)
{
	const char *where;

	if (config->share_low > config->share_high) {
		where = written_where(text, "rule", "high", text->path);
		where = written_where(text, "rule", "low", where);
		return failed(job_wrong(where),
			      "%s: low=%g, high=%g: accepted: low of at most high", where,
			      config->share_low, config->share_high);
	}
	if (config->protector.keys.policy == STUDY_ORACLE && config->rule != WHAT_IF_INTERVAL) {
		where = written_where(text, "protector", "policy", text->path);
		return failed(
			job_wrong(where),
			"%s: policy=oracle: knows the future of rule interval alone; accepted: "
			"kind=interval",
			where);
	}
	return 0;
}

int study_configure(struct study_config *config, const struct job_text *text,
		    struct idle_keys *idle)
{
	int err = options_check_headings(study_options(), text);

	*config = (struct study_config){0};
	for (size_t i = 0; !err && i < COUNT(sections); i++) {
		const struct job_section defaults = {
			.type = (char *)sections[i].type, .name = (char *)"", .where = (char *)""};
		const struct job_section *section = job_text_section(text, sections[i].type, NULL);

		if (has_keys(sections[i].type))
			err = options_fill(study_options(), section ?: &defaults, config);
	}
	if (!err)
		err = study_check(config, text);
	return err ? err : idle_keys_add(idle, study_options(), text);
}

static const struct job_column columns[STUDY_COLUMNS] = {
	[STUDY_DOMAINS] = {"domains", NULL, NULL, COLUMN_COUNT, 7, true, "that had an access"},
	[STUDY_ACCESSES] = {"accesses", NULL, NULL, COLUMN_COUNT, 9, true, NULL},
	[STUDY_PAGES] = {"pages", NULL, NULL, COLUMN_COUNT, 8, true,
			 "touched; so many first accesses there are, which are no faults"},
	[STUDY_PAGES_TOLD] = {"pages_told", NULL, NULL, COLUMN_COUNT, 10, true,
			      "of these, those that the policy was told of"},
	[STUDY_FOOTPRINT] = {"footprint", NULL, "percent", COLUMN_REAL, 9, true,
			     "touched pages, of the memory"},
	[STUDY_FIRST_PINNED] = {"first_pinned", NULL, NULL, COLUMN_COUNT, 12, true,
				"first accesses to a page that was pinned ahead"},
	[STUDY_FAULTS_NONE] = {"faults_none", NULL, NULL, COLUMN_COUNT, 11, true,
			       "if nothing is pinned"},
	[STUDY_FAULTS] = {"faults", NULL, NULL, COLUMN_COUNT, 8, false, "that are left"},
	[STUDY_AVOIDED] = {"avoided", NULL, "percent", COLUMN_REAL, 7, false,
			   "of the faults if nothing is pinned"},
	[STUDY_PINNED_MEAN] = {"pinned_mean", NULL, "percent", COLUMN_REAL, 11, false,
			       "of the memory, over time"},
	[STUDY_PINNED_MAX] = {"pinned_max", NULL, "percent", COLUMN_REAL, 10, true,
			      "most of its memory that a domain had pinned"},
	[STUDY_PINS] = {"pins", NULL, NULL, COLUMN_COUNT, 8, true, NULL},
	[STUDY_UNPINS] = {"unpins", NULL, NULL, COLUMN_COUNT, 8, true, NULL},
	[STUDY_USELESS] =
		{"useless", NULL, NULL, COLUMN_COUNT, 8, true,
		 "unpins of pages of which the policy was told no use since they were pinned"},
	[STUDY_BROUGHT] = {"brought", NULL, NULL, COLUMN_COUNT, 8, true,
			   "rule reclaim: pages that a pin brought back"},
	[STUDY_RPR] = {"rpr", NULL, NULL, COLUMN_REAL, 6, false,
		       "avoided over pinned_mean, the paper's reduction-to-pinned ratio"},
	[STUDY_ORACLE_AVOIDED] =
		{"oracle_avoided", "oracle", "percent", COLUMN_REAL, 14, true,
		 "what can be avoided at most with the same pinned_mean; rule interval"},
	[STUDY_PAGES_BELOW_10] = {"pages_below_10", NULL, "percent", COLUMN_REAL, 14, true,
				  "of the touched pages, those with fewer than 10 accesses"},
	[STUDY_FAULTS_BELOW_50] = {"faults_below_50", NULL, "percent", COLUMN_REAL, 15, true,
				   "of faults_none, those on pages with fewer than 50 accesses"},
};

const struct job_columns study_columns = {
	.columns = columns,
	.count = STUDY_COLUMNS,
	.heading = "columns of table results and names in [expect]; sums over all domains.",
	.unknown = "there is nothing to divide by, or it is not known under this rule",
	.help = "`faultline protect --keys`",
};
