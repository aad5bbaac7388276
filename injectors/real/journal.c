// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "injectors/real/journal_file.h"
#include "injectors/real/journal_replay.h"
#include "injectors/real/mapper.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/run_directory.h"
#include "lib/capture/process.h"

struct journal {
	struct journal_options options;
	char name[JOURNAL_NAME];
	int directory, file;
	__u64 start;
	__u32 sequence;
	off_t last; /* where the record of the last change begins */
};

static int make_file(struct journal *journal)
{
	char pid[16], start[24], boot[48];
	const char *const owner[JOURNAL_TEXTS] = {pid, start, boot};
	int err = journal_boot(boot);

	if (err)
		return err;
	snprintf(pid, sizeof(pid), "%d", getpid());
	snprintf(start, sizeof(start), "%llu", journal->start);
	journal->file = openat(journal->directory, journal->name,
			       O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (journal->file < 0)
		return failed(-errno, "%s/%s: %s", run_directory(), journal->name, strerror(errno));
	if (flock(journal->file, LOCK_EX | LOCK_NB))
		return failed(-errno, "%s/%s: cannot be locked: %s", run_directory(), journal->name,
			      strerror(errno));
	err = journal_append(journal->file, JOURNAL_OWNER, journal->sequence++, owner);
	if (!err && fsync(journal->directory))
		err = failed(-errno, "%s: %s", run_directory(), strerror(errno));
	return err;
}

static void journal_release(struct journal *journal)
{
	if (journal->file >= 0)
		close(journal->file);
	if (journal->directory >= 0)
		close(journal->directory);
	free(journal);
}

int journal_open(struct journal **journal, const struct journal_options *options)
{
	struct journal_recovery recovery;
	struct journal *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return failed(-ENOMEM, "no memory for a journal");
	new->options = *options;
	new->file = new->directory = -1;
	new->sequence = 1;
	new->start = process_start((__u32)getpid());
	journal_name(new->name, (__u32)getpid(), new->start);
	err = journal_recover(options, &recovery);
	if (!err && !options->dry_run) {
		err = new->directory = run_directory_open(true);
		if (err >= 0)
			err = make_file(new);
	}
	if (err < 0) {
		if (new->file >= 0)
			unlinkat(new->directory, new->name, 0);
		journal_release(new);
		return err;
	}
	*journal = new;
	return 0;
}

int journal_undo(struct journal *journal)
{
	unsigned int undone = 0, left = 0;
	char said[512];
	int err;

	if (journal->options.dry_run)
		return 0;
	/* Why we end is said after us: what is gone already and needs no undoing must not take its place. */
	snprintf(said, sizeof(said), "%s", failure_text());
	err = journal_replay(journal->file, false, journal->options.log, &undone, &left);
	return err ? err : failed(0, "%s", said);
}

int journal_close(struct journal *journal)
{
	int err;

	if (!journal)
		return 0;
	err = journal_undo(journal);
	if (err)
		failed_in(err, "not everything could be undone (when that is mended, run "
			       "faultline-inject recover)");
	else if (!journal->options.dry_run)
		err = journal_remove(journal->directory, journal->name);
	journal_release(journal);
	return err;
}

/* Puts it on file; from here on a crash is undone. */
static int journal_add(struct journal *journal, enum journal_type type, const char *first,
		       const char *second, const char *third)
{
	const char *const texts[JOURNAL_TEXTS] = {first, second, third};

	journal->last = lseek(journal->file, 0, SEEK_END);
	return journal_append(journal->file, type, journal->sequence++, texts);
}

/* The change recorded last was refused: it must not be undone, as it may be another's. */
static int journal_withdraw(struct journal *journal, int error)
{
	/* Cutting takes no room, which may be all used. */
	if (ftruncate(journal->file, journal->last))
		failed_in(error, "still in the journal (%s)", strerror(errno));
	return error;
}

static bool only_print(const struct journal *journal, const char *format, const char *first,
		       const char *second)
{
	if (journal->options.dry_run && journal->options.log) {
		fprintf(journal->options.log, format, printable_of(first).text,
			printable_of(second).text);
		putc('\n', journal->options.log);
	}
	return journal->options.dry_run;
}

int journal_set(struct journal *journal, const char *path, const char *value)
{
	char before[4096] = "";
	int err;

	if (only_print(journal, "write \"%s\" to %s", value, path))
		return 0;
	err = journal_refuse_set(journal->directory, journal->name, path);
	err = err ? err : attribute_read(path, before, sizeof(before));
	if (err)
		return err;
	err = journal_add(journal, JOURNAL_SET, path, before, value);
	if (err)
		return err;
	/* Of two at the same time at least one finds the other. */
	err = journal_refuse_set(journal->directory, journal->name, path);
	err = err ? err : attribute_write(path, value);
	return err ? journal_withdraw(journal, err) : 0;
}

int journal_act(struct journal *journal, const char *path, const char *value, const char *undo_path,
		const char *undo_value)
{
	int err = 0;

	if (path && only_print(journal, "write \"%s\" to %s", value, path))
		return 0;
	if (journal->options.dry_run)
		return 0;
	if (undo_path)
		err = journal_add(journal, JOURNAL_ACT, undo_path, undo_value, NULL);
	if (err || !path)
		return err;
	err = attribute_write(path, value);
	return err && undo_path ? journal_withdraw(journal, err) : err;
}

int journal_make_directory(struct journal *journal, const char *path)
{
	struct stat status;
	int err;

	if (!lstat(path, &status))
		return failed(-EEXIST, "%s: the name is taken; choose another one", path);
	if (only_print(journal, "mkdir %s%s", path, ""))
		return 0;
	err = journal_add(journal, JOURNAL_DIRECTORY, path, NULL, NULL);
	if (err)
		return err;
	if (!mkdir(path, 0755))
		return 0;
	return journal_withdraw(journal, failed(-errno, "mkdir %s: %s", path, strerror(errno)));
}

int journal_swap_on(struct journal *journal, const char *path, int flags)
{
	int err;

	if (only_print(journal, "swapon %s%s", path, ""))
		return 0;
	err = journal_add(journal, JOURNAL_SWAP, path, NULL, NULL);
	if (err)
		return err;
	if (!swapon(path, flags))
		return 0;
	return journal_withdraw(journal, failed(-errno, "swapon %s: %s%s", path, strerror(errno),
						errno == EBUSY ? ": it is in use already" : ""));
}

int journal_make_mapper(struct journal *journal, const char *name, const char *target,
			unsigned long long sectors, const char *parameters, char *node, size_t size)
{
	char uuid[128], table[640];
	int err;

	snprintf(table, sizeof(table), "0 %llu %s %s", sectors, target, parameters);
	snprintf(node, size, "/dev/mapper/%s", name);
	if (only_print(journal, "dmsetup create %s --table \"%s\"", name, table))
		return 0;
	err = mapper_exists(name);
	if (err < 0)
		return err;
	if (err)
		return failed(-EEXIST, "device mapper: %s: the name is taken; choose another one",
			      name);
	snprintf(uuid, sizeof(uuid), "FAULTLINE-%d-%llu-%u", getpid(), journal->start,
		 journal->sequence);
	err = journal_add(journal, JOURNAL_MAPPER, name, uuid, NULL);
	if (err)
		return err;
	err = mapper_create(name, uuid, target, sectors, parameters, node, size);
	return err ? journal_withdraw(journal, err) : 0;
}
