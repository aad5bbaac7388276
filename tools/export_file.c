// SPDX-License-Identifier: GPL-2.0
#include "tools/export_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"

#define FILE_HOST_TEXT 64

/* Of a host's name what no shell and no folder minds. */
static void plain_name(const char *name, char out[FILE_HOST_TEXT])
{
	char *at = out;

	for (; *name && at < out + FILE_HOST_TEXT - 1; name++)
		*at++ = (char)(isalnum((unsigned char)*name) || *name == '-' ? *name : '_');
	*at = '\0';
}

static int export_file_path(struct export_file *out, const struct export_job *job,
			    const struct export_part *part)
{
	const char *name = strrchr(job->target, '/'), *end;
	char host[FILE_HOST_TEXT];
	int length;

	name = name ? name + 1 : job->target;
	end = strrchr(name, '.');
	end = end && end > name ? end : name + strlen(name);
	plain_name(part->name, host);
	if (job->parts == 1)
		length = snprintf(out->path, sizeof(out->path), "%s", job->target);
	else
		length = snprintf(out->path, sizeof(out->path), "%.*s.%s.%016llx%s",
				  (int)(end - job->target), job->target, *host ? host : "_",
				  export_part_id(part), end);
	if (length < 0 || (size_t)length >= sizeof(out->path))
		return failed(-ENAMETOOLONG, "%s: the name is too long", job->target);
	return 0;
}

static int is_no_input(const struct export_file *out, const struct export_job *job)
{
	struct stat output, input;

	if (stat(out->path, &output))
		return 0;
	for (const char *const *path = job->inputs; *path; path++)
		if (!stat(*path, &input) && same_file(&input, &output))
			return failed(-EINVAL,
				      "%s: is the input %s; choose another name for the output",
				      out->path, *path);
	return 0;
}

int export_file_create(struct export_file *out, const struct export_job *job,
		       const struct export_part *part)
{
	int err = export_file_path(out, job, part), fd;

	out->overwrite = job->force;
	err = err ?: is_no_input(out, job);
	if (err)
		return err;
	fd = files_create_unnamed(AT_FDCWD, out->path, 0666, out->overwrite);
	if (fd < 0)
		return fd;
	out->file = fdopen(fd, "w");
	if (out->file)
		return 0;
	files_discard(fd, AT_FDCWD, out->path, out->overwrite);
	close(fd);
	return failed(-ENOMEM, "%s: no memory to write it", out->path);
}

int export_file_name(struct export_file *out)
{
	int err = 0;

	errno = 0;
	if (fflush(out->file) || ferror(out->file))
		err = failed(errno ? -errno : -EIO, "%s: cannot be written: %s", out->path,
			     strerror(errno ? errno : EIO));
	else
		err = files_name(fileno(out->file), AT_FDCWD, out->path, out->overwrite);
	if (err) {
		export_file_discard(out);
		return err;
	}
	if (fclose(out->file))
		err = failed(-errno, "%s: cannot be written: %s", out->path, strerror(errno));
	out->file = NULL;
	return err;
}

void export_file_discard(struct export_file *out)
{
	if (!out->file)
		return;
	files_discard(fileno(out->file), AT_FDCWD, out->path, out->overwrite);
	fclose(out->file);
	out->file = NULL;
}
