// SPDX-License-Identifier: GPL-2.0
#include "lib/base/program_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fail.h"

static bool word_put(struct program_words *words, const char *bytes, size_t length)
{
	if (words->bytes + length > sizeof(words->text))
		return false;
	memcpy(words->text + words->bytes, bytes, length);
	words->bytes += (unsigned int)length;
	return true;
}

static int words_too_long(const char *run)
{
	return failed(-EINVAL, "run: '%.32s...' is too long; accepted: %d words, %d characters",
		      run, PROGRAM_WORDS, PROGRAM_TEXT - 1);
}

/* "{guest}" at `*next`: its address. A brace that begins no lower-case word is itself. */
static int put_place(struct program_words *words, const char *run, const char **next,
		     const struct program_place *places)
{
	size_t length = 1;

	while (islower((unsigned char)(*next)[length]))
		length++;
	if (!places || length == 1 || (*next)[length] != '}') {
		*next += 1;
		return word_put(words, "{", 1) ? 0 : words_too_long(run);
	}
	for (const struct program_place *place = places; place->name; place++) {
		if (strncmp(*next, place->name, length + 1) != 0)
			continue;
		*next += length + 1;
		return word_put(words, place->address, strlen(place->address))
			       ? 0
			       : words_too_long(run);
	}
	return failed(-EINVAL, "run: %.*s is no address; accepted: {guest}, {wire}",
		      (int)length + 1, *next);
}

static int words_take(struct program_words *words, const char *run, const char **next,
		      const struct program_place *places)
{
	char quote = '\0';
	int err = 0;

	while (!err && **next && (quote || !strchr(" \t", **next))) {
		char c = **next;

		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? '\0' : c;
			*next += 1;
		} else if (c == '{') {
			err = put_place(words, run, next, places);
		} else {
			err = word_put(words, next[0], 1) ? 0 : words_too_long(run);
			*next += 1;
		}
	}
	if (!err && quote)
		return failed(-EINVAL, "run: %c without its end; accepted: \"...\", '...'", quote);
	if (!err && (!word_put(words, "", 1) || ++words->count > PROGRAM_WORDS))
		return words_too_long(run);
	return err;
}

int program_words_split(const char *run, const struct program_place *places,
			struct program_words *words)
{
	const char *next = run;
	int err = 0;

	words->count = words->bytes = 0;
	while (!err && *(next += strspn(next, " \t")))
		err = words_take(words, run, &next, places);
	if (!err && (!words->count || !words->text[0]))
		return failed(-EINVAL, "run: no program; accepted: a program and its arguments");
	return err;
}

void program_argv(struct program_words *words, char *argv[PROGRAM_WORDS + 1])
{
	char *word = words->text;
	unsigned int count = 0;

	for (; count < words->count && count < PROGRAM_WORDS; count++) {
		argv[count] = word;
		word += strlen(word) + 1;
	}
	argv[count] = NULL;
}
