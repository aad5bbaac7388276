// SPDX-License-Identifier: GPL-2.0
#include "lib/job/overrides.h"

#define OVERRIDES(member) CLI_FIELD(struct job_overrides, member)

const struct cli_option job_override_options[] = {
	{"set", 0, "SECTION.KEY=VALUE", "Replace a value of the job; repeatable", CLI_LIST,
	 OVERRIDES(sets), .most = JOB_SETS, .count = offsetof(struct job_overrides, set_count)},
	{"short", 0, NULL, "Use the smaller grid of the job's [short] section", CLI_FLAG,
	 OVERRIDES(shorten)},
	{0},
};

int job_overrides_assign(const struct job_overrides *overrides, struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < overrides->set_count; i++)
		err = job_text_assign(text, overrides->sets[i]);
	return err;
}
