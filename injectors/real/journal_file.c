// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/journal_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"

#define MAGIC 0x314a4c46u /* "FLJ1" */

struct head {
	__u32 magic;
	__u16 type, texts;
	__u32 sequence, bytes;
	__u64 checksum;
};

#define HEAD_SUMMED offsetof(struct head, checksum)
_Static_assert(sizeof(struct head) == 24, "the head has no padding");

static __u64 journal_checksum(const struct head *head, const char *texts)
{
	char all[HEAD_SUMMED + JOURNAL_TEXT_BYTES];

	memcpy(all, head, HEAD_SUMMED);
	memcpy(all + HEAD_SUMMED, texts, head->bytes);
	return XXH64(all, HEAD_SUMMED + head->bytes, 0);
}

int journal_append(int file, enum journal_type type, __u32 sequence,
		   const char *const texts[JOURNAL_TEXTS])
{
	char record[sizeof(struct head) + JOURNAL_TEXT_BYTES];
	struct head head = {.magic = MAGIC, .type = (__u16)type, .sequence = sequence};
	off_t before = lseek(file, 0, SEEK_END);
	int err;

	for (; head.texts < JOURNAL_TEXTS && texts[head.texts]; head.texts++) {
		size_t length = strlen(texts[head.texts]) + 1;

		if (head.bytes + length > JOURNAL_TEXT_BYTES)
			return failed(-ENAMETOOLONG,
				      "journal: %.64s...: accepted: %d bytes a record",
				      texts[head.texts], JOURNAL_TEXT_BYTES);
		memcpy(record + sizeof(head) + head.bytes, texts[head.texts], length);
		head.bytes += (__u32)length;
	}
	head.checksum = journal_checksum(&head, record + sizeof(head));
	memcpy(record, &head, sizeof(head));
	err = files_write(file, "journal", record, sizeof(head) + head.bytes, NULL);
	if (!err && fsync(file))
		err = failed(-errno, "journal: cannot be synced: %s", strerror(errno));
	if (err && before >= 0 && ftruncate(file, before))
		return failed(err, "journal: cannot be written, and not be shortened either");
	return err;
}

/* Texts end where they say, and there are as many as the head says. */
static bool texts_fit(const struct head *head, const char *texts)
{
	__u32 ends = 0;

	if (head->texts > JOURNAL_TEXTS || head->bytes > JOURNAL_TEXT_BYTES)
		return false;
	for (__u32 i = 0; i < head->bytes; i++)
		ends += !texts[i];
	return ends == head->texts && (!head->bytes || !texts[head->bytes - 1]);
}

/* Bytes of the whole record that starts here, 0 if none does. */
static size_t record_at(const char *bytes, size_t size, struct head *head)
{
	if (size < sizeof(*head))
		return 0;
	memcpy(head, bytes, sizeof(*head));
	if (head->magic != MAGIC || head->type < JOURNAL_OWNER || head->type > JOURNAL_UNDONE ||
	    head->bytes > size - sizeof(*head) || !texts_fit(head, bytes + sizeof(*head)) ||
	    head->checksum != journal_checksum(head, bytes + sizeof(*head)))
		return 0;
	return sizeof(*head) + head->bytes;
}

static void mark_undone(struct journal_content *content, const char *sequence)
{
	unsigned long undone = sequence ? strtoul(sequence, NULL, 10) : 0;

	for (size_t i = 0; i < content->count; i++)
		if (content->records[i].sequence == undone)
			content->records[i].undone = true;
}

static void journal_take(struct journal_content *content, const struct head *head,
			 const char *texts, size_t at)
{
	struct journal_record *record = &content->records[content->count];

	*record = (struct journal_record){
		.type = (enum journal_type)head->type, .sequence = head->sequence, .at = at};
	for (__u32 i = 0; i < head->texts; i++, texts += strlen(texts) + 1)
		record->texts[i] = texts;
	if (record->type == JOURNAL_UNDONE)
		mark_undone(content, record->texts[0]);
	else
		content->count++;
}

int journal_parse(const char *bytes, size_t size, struct journal_content *content)
{
	struct head head;
	size_t at = 0;

	*content = (struct journal_content){0};
	content->records = calloc(size / sizeof(head) + 1, sizeof(*content->records));
	if (!content->records)
		return failed(-ENOMEM, "no memory for a journal of %zu bytes", size);
	while (at < size) {
		size_t length = record_at(bytes + at, size - at, &head);

		if (!length) {
			at++;
			continue;
		}
		if (at != content->valid)
			content->damaged = true;
		journal_take(content, &head, bytes + at + sizeof(head), at);
		at += length;
		content->valid = at;
	}
	return 0;
}

void journal_content_free(struct journal_content *content)
{
	free(content->records);
	*content = (struct journal_content){0};
}

int journal_read(int file, char **bytes, size_t *size)
{
	struct stat status;

	if (fstat(file, &status))
		return failed(-errno, "journal: %s", strerror(errno));
	if (status.st_size > (off_t)JOURNAL_BYTES_MAX)
		return failed(-EFBIG, "journal: %lld bytes: accepted: %u",
			      (long long)status.st_size, JOURNAL_BYTES_MAX);
	*size = (size_t)status.st_size;
	*bytes = malloc(*size + 1);
	if (!*bytes)
		return failed(-ENOMEM, "no memory for a journal of %zu bytes", *size);
	if (pread(file, *bytes, *size, 0) == (ssize_t)*size)
		return 0;
	free(*bytes);
	*bytes = NULL;
	return failed(-EIO, "journal: cannot be read");
}
