/* SPDX-License-Identifier: GPL-2.0 */
/* A program's command line, taken apart as far as needed without a shell. */
#ifndef FAULTLINE_PROGRAM_WORDS_H
#define FAULTLINE_PROGRAM_WORDS_H

#define PROGRAM_WORDS 64
#define PROGRAM_TEXT  2048

/* Words behind each other, each with its end, as they go to another process. */
struct program_words {
	unsigned int count, bytes;
	char text[PROGRAM_TEXT];
};

/* What a word in braces becomes; the last one has no name. */
struct program_place {
	const char *name, *address;
};

/*
 * Words are parted by blanks; "..." and '...' keep blanks, and nothing else has a meaning, but `places` if there are some:
 * {guest} and {wire} then become two addresses. -EINVAL with a sentence that says what is accepted.
 */
int program_words_split(const char *run, const struct program_place *places,
			struct program_words *words);

/* As exec wants them; pointers into `words`. */
void program_argv(struct program_words *words, char *argv[PROGRAM_WORDS + 1]);

#endif
