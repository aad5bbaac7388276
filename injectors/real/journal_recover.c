// SPDX-License-Identifier: GPL-2.0
/* Part of journal.h: the journals that dead programs left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "injectors/real/journal.h"
#include "injectors/real/journal_file.h"
#include "injectors/real/journal_replay.h"
#include "lib/base/fail.h"
#include "lib/base/run_directory.h"
#include "lib/capture/process.h"

static bool parse_name(const char *name, __u32 *pid, __u64 *start)
{
	unsigned long long began;
	unsigned int owner;
	int end = 0;

	if (sscanf(name, "%u-%llu" JOURNAL_SUFFIX "%n", &owner, &began, &end) != 2 || !end ||
	    name[end])
		return false;
	*pid = owner;
	*start = began;
	return true;
}

/* The changes of an earlier boot are gone with it, only their journal is not. */
static bool is_of_this_boot(int file)
{
	struct journal_content content;
	char boot[48], *bytes;
	bool ours = true;
	size_t size;

	if (journal_boot(boot) || journal_read(file, &bytes, &size))
		return true;
	if (!journal_parse(bytes, size, &content)) {
		const struct journal_record *first = content.records;

		if (content.count && first->type == JOURNAL_OWNER && first->texts[2])
			ours = !strcmp(first->texts[2], boot);
		journal_content_free(&content);
	}
	free(bytes);
	return ours;
}

static int recover_file(int directory, const char *name, const struct journal_options *options,
			struct journal_recovery *recovery)
{
	unsigned int undone = recovery->undone, left = recovery->left;
	int file = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC), err = 0;

	/* Undoing needs no more than to read. */
	if (file < 0)
		file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT ? 0 : failed(-errno, "%s: %s", name, strerror(errno));
	/* Held by its owner while it lives, and by whoever recovers it just now. */
	if (flock(file, LOCK_EX | LOCK_NB)) {
		close(file);
		return 0;
	}
	recovery->journals++;
	if (is_of_this_boot(file))
		err = journal_replay(file, options->dry_run, options->log, &recovery->undone,
				     &recovery->left);
	if (err)
		failed_in(err, "%s/%s", run_directory(), name);
	if (!err && !options->dry_run && recovery->left == left)
		err = journal_remove(directory, name);
	if (options->log && recovery->undone > undone)
		fprintf(options->log, "%u change%s undone that process %.*s left behind\n",
			recovery->undone - undone, recovery->undone - undone == 1 ? "" : "s",
			(int)strcspn(name, "-"), name);
	close(file);
	return err;
}

static bool has_set(int file, const char *path)
{
	struct journal_content content;
	bool found = false;
	char *bytes;
	size_t size;

	if (journal_read(file, &bytes, &size))
		return false;
	if (!journal_parse(bytes, size, &content)) {
		for (size_t i = 0; i < content.count && !found; i++)
			found = content.records[i].type == JOURNAL_SET &&
				content.records[i].texts[0] && !content.records[i].undone &&
				!strcmp(content.records[i].texts[0], path);
		journal_content_free(&content);
	}
	free(bytes);
	return found;
}

int journal_refuse_set(int directory, const char *own, const char *path)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	__u64 start;
	__u32 pid;

	if (!list) {
		err = failed(-errno, "%s: %s", run_directory(), strerror(errno));
		if (copy >= 0)
			close(copy);
		return err;
	}
	while (!err && (entry = readdir(list)) != NULL) {
		int file;

		if (!strcmp(entry->d_name, own) || !parse_name(entry->d_name, &pid, &start))
			continue;
		file = openat(directory, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (file >= 0 && has_set(file, path))
			err = failed(-EBUSY,
				     "%s: process %u has set it and will give it back; wait until "
				     "that ends, or run faultline-inject recover if it was killed",
				     path, pid);
		if (file >= 0)
			close(file);
	}
	closedir(list);
	return err;
}

int journal_recover(const struct journal_options *options, struct journal_recovery *recovery)
{
	int directory = run_directory_open(false), err = 0, this;
	char sentence[512] = "";
	struct dirent *entry;
	__u64 start;
	__u32 pid;
	DIR *list;

	*recovery = (struct journal_recovery){0};
	if (directory < 0)
		return directory == -ENOENT ? 0 : directory;
	list = fdopendir(directory);
	if (!list) {
		close(directory);
		return failed(-ENOMEM, "%s: %s", run_directory(), strerror(errno));
	}
	while ((entry = readdir(list)) != NULL) {
		if (!parse_name(entry->d_name, &pid, &start) || process_runs(pid, start))
			continue;
		this = recover_file(directory, entry->d_name, options, recovery);
		if (this && !err)
			snprintf(sentence, sizeof(sentence), "%s", failure_text());
		err = err ? err : this;
	}
	closedir(list);
	/* Whatever was refused and did not matter since then has a sentence, too. */
	return err ? failed(err, "%s", sentence) : 0;
}
