// SPDX-License-Identifier: GPL-2.0
#include "tools/record_snapshots.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/numbered_files.h"
#include "lib/base/units.h"
#include "lib/trace/trace.h"

/* Snapshots of earlier recorders stay until it is their turn: the number behind all is the next that is free. */
static int snapshots_place(const struct numbered_files *files, __u32 *number, char path[PATH_MAX])
{
	struct stat status;
	int err = numbered_files_next(files, trace_is_own_recording, number);

	for (; !err; ++*number) {
		if (!*number)
			return failed(-EEXIST, "%s%u%s: leaves no number for the next; remove it",
				      files->before, UINT32_MAX, files->after);
		err = numbered_files_path(files, *number, path);
		if (!err && lstat(path, &status))
			return 0;
	}
	return err;
}

static int snapshots_save_one(const struct snapshots_config *config,
			      const struct numbered_files *files, __u64 since_ns, __u64 until_ns,
			      char path[PATH_MAX])
{
	char size[UNITS_TEXT], most[UNITS_TEXT];
	__u32 number;
	__u64 bytes;
	int err = snapshots_place(files, &number, path);

	err = err ? err : trace_snapshot(config->recording, path, false, since_ns, until_ns);
	if (err || !trace_is_recording(path, &bytes) || bytes <= config->bytes)
		return err;
	unlink(path);
	return failed(-EFBIG, "%s: would have %s; all snapshots may have %s (--snapshots-size)",
		      path, units_format_size(bytes, size), units_format_size(config->bytes, most));
}

/* From the newest back, as many as both bounds allow. */
static void let_go(const struct snapshots_config *config, const struct numbered_files *files)
{
	struct numbers numbers;
	__u64 count = 0, total = 0, bytes;
	char path[PATH_MAX];

	if (numbered_files_list(files, &numbers))
		return;
	for (size_t i = numbers.count; i-- > 0;) {
		if (numbered_files_path(files, numbers.all[i], path) ||
		    !trace_is_recording(path, &bytes))
			continue;
		total += bytes;
		if (++count > config->count || total > config->bytes)
			unlink(path);
	}
	numbers_free(&numbers);
}

bool snapshots_save(const struct snapshots_config *config, __u64 since_ns, __u64 until_ns,
		    char path[PATH_MAX], struct snapshots_result *result)
{
	struct numbered_files files;
	int err = numbered_files_beside(&files, config->recording, "trigger");

	err = err ? err : snapshots_save_one(config, &files, since_ns, until_ns, path);
	if (err) {
		result->failed++;
		fprintf(stderr,
			"faultline: what surrounds a fault could not be saved: %s; the recorder "
			"goes on\n",
			failure_text());
		return false;
	}
	result->saved++;
	let_go(config, &files);
	return true;
}
