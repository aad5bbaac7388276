// SPDX-License-Identifier: GPL-2.0
/* A page of a recording (tools/page/): one file, for a ticket. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/files.h"
#include "lib/base/printable.h"
#include "tools/export.h"
#include "tools/page/page.h"

static int check_html(const struct export_job *job, const struct export_part *part)
{
	struct stat status, input;

	if (export_seen_count(job->seen) > 1)
		return failed(-EINVAL,
			      "--html %s: %s is a second host's: a page is of one; accepted: a "
			      "recording of one host",
			      job->target, part->name);
	if (stat(job->target, &status))
		return 0;
	for (const char *const *name = job->inputs; *name; name++)
		if (!stat(*name, &input) && same_file(&input, &status))
			return failed(-EINVAL,
				      "%s: is the input %s; choose another name for the output",
				      job->target, *name);
	return 0;
}

/* The sentences that text has on stderr are in the page. */
static int write_html(const struct export_job *job, const struct export_part *part)
{
	const struct page_options options = {.slos = job->slos};
	int fd = files_create_unnamed(AT_FDCWD, job->target, 0666, job->force), err, damage = 0;
	FILE *out;

	if (fd < 0)
		return common_failed(fd);
	out = fdopen(fd, "w");
	if (!out) {
		files_discard(fd, AT_FDCWD, job->target, job->force);
		close(fd);
		return common_failed(failed(-ENOMEM, "%s: no memory to write it", job->target));
	}
	err = page_write(part, &options, out);
	if (err == -EBADMSG)
		damage = common_failed(err), err = 0;
	if (!err && (fflush(out) || ferror(out)))
		err = failed(errno ? -errno : -EIO, "%s: cannot be written: %s", job->target,
			     strerror(errno ? errno : EIO));
	if (!err)
		err = files_name(fileno(out), AT_FDCWD, job->target, job->force);
	if (err)
		files_discard(fileno(out), AT_FDCWD, job->target, job->force);
	fclose(out);
	if (err)
		return common_failed(err);
	return damage ? EXIT_LOSS : EXIT_OK;
}

const struct export_format export_html = {check_html, write_html};
