// SPDX-License-Identifier: GPL-2.0
#include "lib/base/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE_TEXT sizeof("\\U0010ffff")

size_t utf8_character(const char *text, __u32 *character)
{
	static const __u32 least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)*text;
	size_t length = first < 0x80	       ? first != 0
			: (first >> 5) == 0x6  ? 2
			: (first >> 4) == 0xe  ? 3
			: (first >> 3) == 0x1e ? 4
					       : 0;

	if (length < 2) {
		*character = first;
		return length;
	}
	*character = first & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (*character < least[length] || *character > 0x10ffff ||
	    (*character >= 0xd800 && *character <= 0xdfff))
		return 0;
	return length;
}

/* One character of `text`, which moves behind it. */
static size_t escape_character(const char **text, char out[ESCAPE_TEXT])
{
	__u32 character;
	size_t length = utf8_character(*text, &character);
	const char *format = character > 0xffff ? "\\U%08x" : "\\u%04x";

	if (length < 2) {
		character = (unsigned char)**text;
		format = "\\x%02x";
		length = 1;
	}
	*text += length;
	if (character >= ' ' && character <= '~')
		format = "%c";
	else if (character == '\n')
		format = "\\n";
	else if (character == '\r')
		format = "\\r";
	else if (character == '\t')
		format = "\\t";
	return (size_t)snprintf(out, ESCAPE_TEXT, format, character);
}

const char *printable(const char *text, char *out, size_t size)
{
	char one[ESCAPE_TEXT];
	size_t used = 0;

	while (*text) {
		size_t length = escape_character(&text, one);

		if (used + length >= size)
			break;
		memcpy(out + used, one, length);
		used += length;
	}
	out[used] = '\0';
	return out;
}

struct printable printable_of(const char *text)
{
	struct printable shown;

	printable(text, shown.text, sizeof(shown.text));
	return shown;
}

char *printable_copy(const char *text)
{
	size_t size = PRINTABLE_MOST * strlen(text) + 1;
	char *copy = malloc(size);

	if (copy)
		printable(text, copy, size);
	return copy;
}
