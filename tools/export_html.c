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

static int open_page(const struct export_job *job, FILE **out)
{
	int fd = files_create_unnamed(AT_FDCWD, job->target, 0666, job->force);

	if (fd < 0)
		return fd;
	*out = fdopen(fd, "w");
	if (*out)
		return 0;
	files_discard(fd, AT_FDCWD, job->target, job->force);
	close(fd);
	return failed(-ENOMEM, "%s: no memory to write it", job->target);
}

/* With its name once it is whole; else nothing of it is left. */
static int close_page(const struct export_job *job, FILE *out, int err)
{
	if (!err && (fflush(out) || ferror(out)))
		err = failed(errno ? -errno : -EIO, "%s: cannot be written: %s", job->target,
			     strerror(errno ? errno : EIO));
	if (!err)
		err = files_name(fileno(out), AT_FDCWD, job->target, job->force);
	if (err)
		files_discard(fileno(out), AT_FDCWD, job->target, job->force);
	fclose(out);
	return err;
}

static int write_html(const struct export_job *job, const struct export_part *part)
{
	unsigned int floor = 0;
	const struct page_options options = {.slos = job->slos, .floor = &floor};
	const struct output_options told = {.to.format = OUTPUT_HTML};
	int damage = EXIT_OK, limits, err;
	FILE *out;

	err = open_page(job, &out);
	if (err)
		return common_failed(err);
	if (!page_has_plots())
		common_aside(&told, "built without uPlot: the page has tables and SVG");
	err = page_write(part, &options, out);
	if (err == -EBADMSG) {
		common_failed(err);
		damage = EXIT_LOSS;
		err = 0;
	}
	err = close_page(job, out, err);
	if (err)
		return common_failed(err);
	limits = common_limits(&told, "", floor);
	return damage ?: limits;
}

const struct export_format export_html = {check_html, write_html};
