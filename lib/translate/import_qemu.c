// SPDX-License-Identifier: GPL-2.0
/*
 * Lines such as QEMU's trace backend `log` writes, one a translation:
 *
 *   vtd_iotlb_page_update IOTLB page update sid 0x10 iova 0xffffe000 slpte 0x1516d003 domain 0x4
 *
 * with -msg timestamp=on (and before QEMU 5.2 always) behind "THREAD@SECONDS.MICROSECONDS:". HyperSIO
 * has QEMU print the page's size, too: "level 0x1" in an update, "pmask 0xfffffffffffff000" in a hit.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/import_private.h"

#define LINE	   1024
#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define PRINTED	   80	  /* bytes of a wrong line that its error repeats */
#define LARGE_PAGE 1 << 7 /* of an entry above the last level (VT-d specification, 9.8) */

enum field { SOURCE, IOVA, ENTRY, DOMAIN, LEVEL, MASK, FIELDS };

static const struct {
	const char *word;
	enum field field;
	__u64 most;
} words[] = {
	{"sid", SOURCE, UINT16_MAX},	{"iova", IOVA, (1ull << IMPORT_ADDRESS_BITS) - 1},
	{"slpte", ENTRY, UINT64_MAX},	{"pte", ENTRY, UINT64_MAX},
	{"domain", DOMAIN, UINT16_MAX}, {"level", LEVEL, IMPORT_LEVELS},
	{"mask", MASK, UINT64_MAX},	{"pmask", MASK, UINT64_MAX},
};

struct qemu_line {
	bool given[FIELDS];
	__u64 values[FIELDS];
};

bool import_qemu_knows(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] < 0x80 && !isprint(bytes[i]) && !isspace(bytes[i]))
			return false;
	return count > 0;
}

/* The line behind its event's name, NULL if it is none of ours. */
static const char *behind_name(const char *text)
{
	static const char *const names[] = {"vtd_iotlb_page_update", "vtd_iotlb_page_hit"};

	for (size_t i = 0; i < COUNT(names); i++) {
		const char *at = strstr(text, names[i]);
		const char *end = at ? at + strlen(names[i]) : NULL;

		if (at && (at == text || strchr(" \t:", at[-1])) &&
		    (!*end || isspace((unsigned char)*end)))
			return end;
	}
	return NULL;
}

/* As QEMU prints them: 0x and up to 16 digits, and nothing behind. */
static bool qemu_parse_number(const char *text, __u64 *value)
{
	size_t digits;

	if (strncmp(text, "0x", 2) != 0)
		return false;
	digits = strspn(text + 2, "0123456789abcdefABCDEF");
	*value = strtoull(text + 2, NULL, 16);
	return digits && digits <= 16 && !text[2 + digits];
}

static bool qemu_parse_field(struct qemu_line *line, const char *word, const char *value)
{
	for (size_t i = 0; i < COUNT(words); i++) {
		enum field field = words[i].field;

		if (strcmp(word, words[i].word) != 0)
			continue;
		if (line->given[field] || !value ||
		    !qemu_parse_number(value, &line->values[field]) ||
		    line->values[field] > words[i].most)
			return false;
		line->given[field] = true;
		return true;
	}
	return true;
}

/* Pairs of a word and a number, in any order; what else there is says nothing. Once each. */
static bool qemu_parse_line(struct qemu_line *line, const char *behind)
{
	char text[LINE], *rest, *word, *value;

	*line = (struct qemu_line){0};
	snprintf(text, sizeof(text), "%s", behind);
	for (word = strtok_r(text, " \t\r\n\f\v", &rest); word; word = value) {
		value = strtok_r(NULL, " \t\r\n\f\v", &rest);
		if (!qemu_parse_field(line, word, value))
			return false;
	}
	return line->given[SOURCE] && line->given[IOVA] && line->given[DOMAIN];
}

/* By level or mask; else by the entry, which does not tell 2 MiB from 1 GiB: rare enough. */
static bool page_shift_of(const struct qemu_line *line, __u32 *shift)
{
	*shift = 12;
	if (line->given[LEVEL])
		*shift = import_page_shift(line->values[LEVEL]);
	else if (line->given[MASK])
		*shift = line->values[MASK] ? (__u32)__builtin_ctzll(line->values[MASK]) : 0;
	else if (line->given[ENTRY] && line->values[ENTRY] & LARGE_PAGE)
		*shift = 21;
	if (line->given[MASK] && line->values[MASK] != ~0ull << *shift)
		return false;
	return *shift == 12 || *shift == 21 || *shift == 30;
}

static int import_line(struct store *store, const char *path, __u64 index, __u32 number,
		       const char *text)
{
	const char *behind = behind_name(text);
	struct qemu_line line;
	__u32 shift;

	if (!behind)
		return 0;
	if (!qemu_parse_line(&line, behind) || !page_shift_of(&line, &shift))
		return failed(-EINVAL,
			      "%s:%llu: '%.*s': accepted: sid and domain of 16 bits, iova of %d, "
			      "each once and as 0x...; level of 0x1 to 0x3 or mask of such a page "
			      "if there is one",
			      path, index, PRINTED, text, IMPORT_ADDRESS_BITS);
	return store_add(store, import_key(number, line.values[SOURCE], line.values[DOMAIN]),
			 line.values[IOVA], shift);
}

enum ending { END_WHOLE, END_CUT, END_LONG, END_ZERO };

/* The beginning of a line that may be of any length, and how it ended; false behind the last. */
static bool qemu_read_line(FILE *file, char text[LINE], enum ending *ending)
{
	size_t length = 0;
	int c;

	*ending = END_WHOLE;
	while ((c = getc_unlocked(file)) != EOF && c != '\n') {
		if (!c)
			*ending = END_ZERO;
		else if (length < LINE - 1)
			text[length++] = (char)c;
		else if (*ending == END_WHOLE)
			*ending = END_LONG;
	}
	text[length] = '\0';
	if (c == EOF && *ending == END_WHOLE)
		*ending = END_CUT;
	return c != EOF || length;
}

int import_qemu(struct store *store, const char *path, FILE *file, __u32 number)
{
	static const char *const wrong[] = {
		[END_CUT] = "it does not end in a newline, as if cut off or still being written",
		[END_LONG] = "it has more than 1023 characters",
		[END_ZERO] = "it has bytes of zero",
	};
	__u64 before = store_records(store);
	enum ending ending;
	char text[LINE];
	int error = 0;

	for (__u64 index = 1; !error && qemu_read_line(file, text, &ending); index++)
		error = ending == END_WHOLE || !behind_name(text)
				? import_line(store, path, index, number, text)
				: failed(-EINVAL, "%s:%llu: '%.*s': %s: accepted: whole lines",
					 path, index, PRINTED, text, wrong[ending]);
	if (!error && !ferror(file) && store_records(store) == before)
		error = failed(
			-EINVAL,
			"%s: accepted: lines of vtd_iotlb_page_update and vtd_iotlb_page_hit; "
			"there is none; run QEMU with -trace 'vtd_iotlb_page*'",
			path);
	return error;
}
