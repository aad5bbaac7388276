// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/import_flt.h"

#define RECORD_BYTES 48
#define LINE	     1024
#define PAGE_LEVELS  3

/* One key a file, source and domain. */
static __u64 key_of(__u32 number, __u64 source, __u64 domain)
{
	return (__u64)number << 32 | source << 16 | domain;
}

static __u64 little_endian(const unsigned char *bytes, int count)
{
	__u64 value = 0;

	while (count--)
		value = value << 8 | bytes[count];
	return value;
}

static int import_record(struct store *store, const char *path, __u64 index, __u32 number,
			 const unsigned char *bytes)
{
	__u64 source = little_endian(bytes + 4, 2), domain = little_endian(bytes + 6, 2);
	__u64 iova = little_endian(bytes + 8, 8), level = little_endian(bytes + 24, 8);

	if (!level || level > PAGE_LEVELS)
		return failed(-EINVAL,
			      "%s:record %llu: level %llu: accepted: 1 (4K), 2 (2M), 3 (1G)", path,
			      index, level);
	if (iova >> 57)
		return failed(-EINVAL, "%s:record %llu: address 0x%llx: accepted: below 2^57", path,
			      index, iova);
	return store_add(store, key_of(number, source, domain), iova, 3 + 9 * (__u32)level);
}

static int import_hypersio(struct store *store, const char *path, FILE *file, __u32 number)
{
	unsigned char bytes[RECORD_BYTES];
	size_t got;
	int error = 0;

	for (__u64 index = 1; !error && (got = fread(bytes, 1, sizeof(bytes), file)); index++)
		error = got < sizeof(bytes)
				? failed(-EINVAL,
					 "%s:record %llu: %zu bytes: accepted: records of %d bytes",
					 path, index, got, RECORD_BYTES)
				: import_record(store, path, index, number, bytes);
	return error;
}

/* The hexadecimal number behind " NAME 0x"; false if there is none. */
static bool number_behind(const char *line, const char *name, __u64 *value)
{
	const char *at = strstr(line, name);
	char *end;

	if (!at)
		return false;
	at += strlen(name);
	errno = 0;
	*value = strtoull(at, &end, 16);
	return end > at && !errno && !strchr("+-", *at) && (isspace((unsigned char)*end) || !*end);
}

/* Level 1 to 3, or a mask of the address's bits below the page, else 4 KiB. */
static bool page_shift_of(const char *line, __u32 *shift)
{
	__u64 value;

	*shift = 12;
	if (strstr(line, " level ")) {
		if (!number_behind(line, " level ", &value) || !value || value > PAGE_LEVELS)
			return false;
		*shift = 3 + 9 * (__u32)value;
	} else if (strstr(line, " mask ")) {
		if (!number_behind(line, " mask ", &value))
			return false;
		value = ~value ? ~value : 0xfff;
		value = value >> 30 & 1 ? 0 : value + 1;
		if (value != 1ull << 12 && value != 1ull << 21 && value != 1ull << 30)
			return false;
		*shift = (__u32)__builtin_ctzll(value);
	}
	return true;
}

static int import_line(struct store *store, const char *path, __u64 index, __u32 number,
		       const char *line)
{
	__u64 source, iova, domain;
	__u32 shift;

	if (!strstr(line, "vtd_iotlb_page_update ") && !strstr(line, "vtd_iotlb_page_hit "))
		return 0;
	if (!number_behind(line, " sid ", &source) || !number_behind(line, " iova ", &iova) ||
	    !number_behind(line, " domain ", &domain) || !page_shift_of(line, &shift) ||
	    source > 0xffff || domain > 0xffff || iova >> 57)
		return failed(-EINVAL,
			      "%s:%llu: '%.80s': accepted: sid and domain of 16 bits, iova of 57, "
			      "all hexadecimal, level 1 to 3 if there is one",
			      path, index, line);
	return store_add(store, key_of(number, source, domain), iova, shift);
}

static int import_qemu(struct store *store, const char *path, FILE *file, __u32 number)
{
	__u64 before = store_records(store);
	char line[LINE];
	int error = 0;

	for (__u64 index = 1; !error && fgets(line, sizeof(line), file); index++) {
		size_t length = strcspn(line, "\n");

		if (!line[length] && !feof(file))
			return failed(-EINVAL, "%s:%llu: a line of more than %d characters", path,
				      index, LINE - 2);
		line[length] = '\0';
		error = import_line(store, path, index, number, line);
	}
	if (!error && store_records(store) == before)
		error = failed(
			-EINVAL,
			"%s: no line of vtd_iotlb_page_update or vtd_iotlb_page_hit; run QEMU "
			"with --trace 'vtd_iotlb_page*'",
			path);
	return error;
}

/* By the first bytes: a recording's magic, text, else records if there is a whole number of them. */
static int guess(const char *path, FILE *file, enum import_format *format)
{
	unsigned char bytes[RECORD_BYTES];
	size_t got = fread(bytes, 1, sizeof(bytes), file), text = 0;
	long size;

	if (import_flt_knows(bytes, got)) {
		*format = IMPORT_FLT;
		return 0;
	}
	while (text < got && (isprint(bytes[text]) || isspace(bytes[text])))
		text++;
	*format = text == got ? IMPORT_QEMU : IMPORT_HYPERSIO;
	if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		return failed(-errno, "%s: %s", path, strerror(errno));
	if (!size || (*format == IMPORT_HYPERSIO && size % RECORD_BYTES))
		return failed(
			-EPROTO,
			"%s: neither a .flt recording, nor QEMU's trace lines, nor HyperSIO's "
			"records of %d bytes",
			path, RECORD_BYTES);
	return 0;
}

int import_file(struct store *store, const char *path, enum import_format format, __u32 number)
{
	FILE *file = fopen(path, "re");
	int error = 0;

	if (!file)
		return failed(-errno, "%s: %s", path, strerror(errno));
	if (format == IMPORT_AUTO)
		error = guess(path, file, &format);
	if (!error && format == IMPORT_HYPERSIO)
		error = import_hypersio(store, path, file, number);
	if (!error && format == IMPORT_QEMU)
		error = import_qemu(store, path, file, number);
	if (!error && ferror(file))
		error = failed(-EIO, "%s: reading failed", path);
	fclose(file);
	if (!error && format == IMPORT_FLT)
		error = import_flt(store, path, number);
	return error;
}

const char *import_format_name(enum import_format format)
{
	static const char *const names[IMPORT_FORMATS] = {"auto", "flt", "hypersio", "qemu"};

	return format < IMPORT_FORMATS ? names[format] : "unknown";
}
