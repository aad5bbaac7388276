/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The journal's file: records, each with a checksum, appended and synced one by one. journal.h is
 * the interface.
 *
 *	 0 u32 magic "FLJ1"	 4 u16 type	 6 u16 number of texts
 *	 8 u32 sequence		12 u32 bytes of the texts, each with its NUL
 *	16 u64 XXH64 of these 16 bytes and the texts
 *	24 the texts
 */
#ifndef FAULTLINE_REAL_JOURNAL_FILE_H
#define FAULTLINE_REAL_JOURNAL_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_TEXTS	   3
#define JOURNAL_TEXT_BYTES 16384 /* the most that the texts of one record may take */
#define JOURNAL_BYTES_MAX  (16u << 20)

enum journal_type {
	JOURNAL_OWNER = 1, /* pid, start time, boot id: the first record */
	JOURNAL_SET,	   /* path, old value, new value */
	JOURNAL_ACT,	   /* path and value to write when undone */
	JOURNAL_DIRECTORY, /* path */
	JOURNAL_SWAP,	   /* path */
	JOURNAL_MAPPER,	   /* name, uuid */
	JOURNAL_UNDONE, /* sequence of the record that was undone: of older versions, read only */
};

struct journal_record {
	enum journal_type type;
	__u32 sequence;
	size_t at; /* where it begins */
	bool undone;
	const char *texts[JOURNAL_TEXTS]; /* into the bytes that were parsed; NULL: fewer */
};

struct journal_content {
	struct journal_record *records; /* without JOURNAL_UNDONE */
	size_t count;
	size_t valid; /* bytes up to the end of the last whole record */
	bool damaged; /* something between whole records is none */
};

/* Appends one record (NULL ends the texts early) and syncs. On failure the file is as it was. */
int journal_append(int file, enum journal_type type, __u32 sequence,
		   const char *const texts[JOURNAL_TEXTS]);

/* Finds all whole records; any bytes are good input. -ENOMEM is the only error. */
int journal_parse(const char *bytes, size_t size, struct journal_content *content);
void journal_content_free(struct journal_content *content);

/* The whole file, to be freed. */
int journal_read(int file, char **bytes, size_t *size);

#endif
