// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/translate/import_private.h"

/* By the first bytes. */
static int import_guess(const char *path, FILE *file, enum import_format *format)
{
	unsigned char bytes[IMPORT_RECORD_BYTES];
	size_t got = fread(bytes, 1, sizeof(bytes), file);

	rewind(file);
	if (import_flt_knows(bytes, got))
		*format = IMPORT_FLT;
	else if (import_hypersio_knows(bytes, got))
		*format = IMPORT_HYPERSIO;
	else if (import_qemu_knows(bytes, got))
		*format = IMPORT_QEMU;
	else
		return failed(-EPROTO,
			      "%s: %sneither a .flt recording, nor QEMU's trace lines, nor "
			      "HyperSIO's records of %d bytes",
			      path, got ? "" : "is empty: ", IMPORT_RECORD_BYTES);
	return 0;
}

/* What is read twice or sought in must be a file; a FIFO without a writer must not make us wait. */
static int import_open(const char *path, FILE **file)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), error;
	struct stat status;

	if (fd < 0)
		return failed(-errno, "%s: %s", path, strerror(errno));
	error = fstat(fd, &status) ? failed(-errno, "%s: %s", path, strerror(errno)) : 0;
	if (!error && files_kind(&status))
		error = failed(-EPROTO, "%s: is %s; accepted: a file", path, files_kind(&status));
	*file = error ? NULL : fdopen(fd, "r");
	if (!error && !*file)
		error = failed(-errno, "%s: %s", path, strerror(errno));
	if (error)
		close(fd);
	return error;
}

int import_file(struct store *store, const char *path, enum import_format format, __u32 number,
		struct import_missing *missing)
{
	FILE *file = NULL;
	int error = import_open(path, &file);

	*missing = (struct import_missing){0};
	if (error)
		return error;
	if (format == IMPORT_AUTO)
		error = import_guess(path, file, &format);
	if (!error && format == IMPORT_HYPERSIO)
		error = import_hypersio(store, path, file, number);
	if (!error && format == IMPORT_QEMU)
		error = import_qemu(store, path, file, number);
	if (!error && ferror(file))
		error = failed(-EIO, "%s: reading failed", path);
	fclose(file);
	if (!error && format == IMPORT_FLT)
		error = import_flt(store, path, 0, number, missing);
	return error;
}

int import_hosts(const char *path, enum import_format format, struct trace_hosts *hosts)
{
	FILE *file = NULL;
	int error = 0;

	*hosts = (struct trace_hosts){0};
	if (format == IMPORT_AUTO) {
		error = import_open(path, &file);
		error = error ? error : import_guess(path, file, &format);
		if (file)
			fclose(file);
	}
	return error || format != IMPORT_FLT ? error : trace_hosts_read(path, hosts);
}

int import_host(struct store *store, const char *path, __u32 host, __u32 number,
		struct import_missing *missing)
{
	*missing = (struct import_missing){0};
	return import_flt(store, path, host, number, missing);
}

const char *import_format_name(enum import_format format)
{
	static const char *const names[IMPORT_FORMATS] = {"auto", "flt", "hypersio", "qemu"};

	return format < IMPORT_FORMATS ? names[format] : "unknown";
}
