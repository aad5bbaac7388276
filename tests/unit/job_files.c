// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/job_files.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int read_job(struct job_text **text, const char *content)
{
	FILE *file = fopen(JOB_PATH, "w");
	int err;

	if (!file)
		return -errno;
	fputs(content, file);
	fclose(file);
	err = job_text_read(text, JOB_PATH, "a job file");
	unlink(JOB_PATH);
	return err;
}
