// SPDX-License-Identifier: GPL-2.0
#include "lib/job/expect.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/printable.h"

int expect_check(const struct job_text *text, const struct expression_scope *scope)
{
	const struct job_section *section = job_text_section(text, "expect", NULL);
	int err = 0;

	for (size_t i = 0; section && err >= 0 && i < section->entry_count; i++) {
		const struct job_entry *entry = &section->entries[i];

		for (size_t j = 0; j < i; j++)
			if (!strcmp(section->entries[j].key, entry->key))
				return failed(job_wrong(entry->where),
					      "%s: %s is already at %s; accepted: once",
					      entry->where, entry->key, section->entries[j].where);
		err = expression_evaluate(entry->value, scope, NULL, 0);
		if (err < 0)
			err = failed_in(err == -EBADMSG ? job_wrong(entry->where) : err, "%s: %s",
					entry->where, job_shown(entry->key).text);
	}
	return err < 0 ? err : 0;
}

int expect_judge(const struct job_text *text, const struct expression_scope *scope, FILE *file)
{
	const struct job_section *section = job_text_section(text, "expect", NULL);
	char measured[2048];
	int code = EXIT_OK;

	for (size_t i = 0; section && i < section->entry_count; i++) {
		const struct job_entry *entry = &section->entries[i];
		int verdict = expression_evaluate(entry->value, scope, measured, sizeof(measured));

		if (verdict < 0)
			fprintf(file, "ERROR %s: %s\n      %s\n", printable_of(entry->key).text,
				printable_of(entry->value).text, failure_text());
		else
			fprintf(file, "%s %s: %s\n      %s\n",
				verdict == EXPECT_HOLDS ? "PASS " : "FAIL ",
				printable_of(entry->key).text, printable_of(entry->value).text,
				printable_of(measured).text);
		if (verdict != EXPECT_HOLDS)
			code = EXIT_EXPECT;
	}
	return code;
}
