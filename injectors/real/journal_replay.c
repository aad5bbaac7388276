// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/journal_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <unistd.h>

#include "injectors/real/journal_file.h"
#include "injectors/real/mapper.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/run_directory.h"

#define NO_OVERRIDE  "(null)" /* how the kernel shows an empty driver_override */
#define REMOVE_TRIES 20
#define REMOVE_WAIT  50000

void journal_name(char name[JOURNAL_NAME], __u32 pid, __u64 start)
{
	snprintf(name, JOURNAL_NAME, "%u-%llu%s", pid, start, JOURNAL_SUFFIX);
}

int journal_boot(char boot[48])
{
	return attribute_read("/proc/sys/kernel/random/boot_id", boot, 48);
}

int journal_remove(int directory, const char *name)
{
	if (!unlinkat(directory, name, 0))
		return 0;
	return failed(-errno, "%s/%s: cannot be removed, though all that it holds is undone: %s",
		      run_directory(), name, strerror(errno));
}

int attribute_read(const char *path, char *value, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (file < 0)
		return failed(-errno, "%s: %s", path, strerror(errno));
	length = read(file, value, size - 1);
	close(file);
	if (length < 0)
		return failed(-errno, "%s: cannot be read: %s", path, strerror(errno));
	value[length] = '\0';
	value[strcspn(value, "\n")] = '\0';
	return 0;
}

int attribute_write(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), err = 0;
	ssize_t length;
	char line[4096];

	if (file < 0)
		return failed(-errno, "%s: %s", path, strerror(errno));
	/* The newline also makes an empty value something that can be written. */
	length = snprintf(line, sizeof(line), "%s\n", value);
	if (length >= (ssize_t)sizeof(line) || write(file, line, (size_t)length) != length)
		err = failed(errno ? -errno : -EIO, "%s: \"%s\" cannot be written: %s", path, value,
			     strerror(errno));
	close(file);
	return err;
}

static int undo_set(const char *path, const char *before, const char *wrote, FILE *log)
{
	char now[4096];
	int err = attribute_read(path, now, sizeof(now));

	if (err == -ENOENT || err == -ENODEV)
		return 0; /* gone with its device */
	if (err)
		return err;
	if (!strcmp(now, before))
		return 0;
	if (strcmp(now, wrote) != 0 && log)
		fprintf(log,
			"%s was \"%s\" by now, neither what it had been nor what it was set "
			"to\n",
			printable_of(path).text, printable_of(now).text);
	return attribute_write(path, strcmp(before, NO_OVERRIDE) ? before : "");
}

static bool ends_in(const char *path, const char *end)
{
	size_t length = strlen(path), tail = strlen(end);

	return length >= tail && !strcmp(path + length - tail, end);
}

static int undo_act(const char *path, const char *value)
{
	int err = attribute_write(path, value);

	/* A device that has its driver, or by now another one, is not bound. */
	if (err == -EBUSY && ends_in(path, "/bind"))
		return 0;
	return err == -ENOENT || err == -ENODEV ? 0 : err;
}

static int undo_directory(const char *path)
{
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (!rmdir(path) || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		usleep(REMOVE_WAIT);
	}
	return failed(-errno, "%s: cannot be removed: %s", path, strerror(errno));
}

static int undo_swap(const char *path)
{
	/* EINVAL: no swap is on there. */
	if (!swapoff(path) || errno == EINVAL || errno == ENOENT || errno == ENXIO)
		return 0;
	return failed(-errno, "swapoff %s: %s", path, strerror(errno));
}

static int journal_undo_change(const struct journal_record *record, FILE *log)
{
	const char *const *texts = record->texts;

	switch (record->type) {
	case JOURNAL_SET:
		return undo_set(texts[0], texts[1], texts[2], log);
	case JOURNAL_ACT:
		return undo_act(texts[0], texts[1]);
	case JOURNAL_DIRECTORY:
		return undo_directory(texts[0]);
	case JOURNAL_SWAP:
		return undo_swap(texts[0]);
	case JOURNAL_MAPPER:
		return mapper_remove(texts[0], texts[1]);
	default:
		return 0;
	}
}

static void journal_print(const struct journal_record *record, FILE *log)
{
	const char *const *texts = record->texts;

	switch (record->type) {
	case JOURNAL_SET:
		fprintf(log, "write \"%s\" to %s\n",
			strcmp(texts[1], NO_OVERRIDE) ? printable_of(texts[1]).text : "",
			printable_of(texts[0]).text);
		break;
	case JOURNAL_ACT:
		fprintf(log, "write \"%s\" to %s\n", printable_of(texts[1]).text,
			printable_of(texts[0]).text);
		break;
	case JOURNAL_DIRECTORY:
		fprintf(log, "rmdir %s\n", printable_of(texts[0]).text);
		break;
	case JOURNAL_SWAP:
		fprintf(log, "swapoff %s\n", printable_of(texts[0]).text);
		break;
	default:
		fprintf(log, "remove device mapper's %s\n", printable_of(texts[0]).text);
	}
}

static bool is_whole(const struct journal_record *record)
{
	static const unsigned char texts[] = {
		[JOURNAL_SET] = 3,  [JOURNAL_ACT] = 2,	  [JOURNAL_DIRECTORY] = 1,
		[JOURNAL_SWAP] = 1, [JOURNAL_MAPPER] = 2, [JOURNAL_UNDONE] = 0};
	unsigned int needed = texts[record->type];

	return needed && record->texts[needed - 1];
}

static int replay_record(int file, struct journal_record *record, bool dry_run, FILE *log)
{
	int err;

	if (dry_run) {
		journal_print(record, log);
		return 0;
	}
	err = journal_undo_change(record, log);
	if (err)
		return err;
	record->undone = true;
	/* Takes no room, which may be all used; if it fails all the same: undoing twice is harmless. */
	if (ftruncate(file, (off_t)record->at) && log)
		fprintf(log, "a change is undone and stays on file: %s\n", strerror(errno));
	return 0;
}

static unsigned int count_left(const struct journal_content *content)
{
	unsigned int left = 0;

	for (size_t i = 0; i < content->count; i++)
		left += is_whole(&content->records[i]) && !content->records[i].undone;
	return left;
}

int journal_replay(int file, bool dry_run, FILE *log, unsigned int *undone, unsigned int *left)
{
	struct journal_content content;
	unsigned int before;
	size_t size;
	char *bytes;
	int err = journal_read(file, &bytes, &size);

	if (err)
		return err;
	err = journal_parse(bytes, size, &content);
	if (!err) {
		if (content.damaged && log)
			fprintf(log, "the journal is damaged: some of its changes are not known\n");
		before = count_left(&content);
		for (size_t i = content.count; i-- > 0 && !err;)
			if (is_whole(&content.records[i]) && !content.records[i].undone)
				err = replay_record(file, &content.records[i], dry_run, log);
		*left += count_left(&content);
		*undone += before - count_left(&content);
		journal_content_free(&content);
	}
	free(bytes);
	return err;
}
