// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/screen_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* With blanks around it. */
static bool has_word(const char *screen, const char *word, size_t length)
{
	for (const char *at = screen; (at = strstr(at, word)); at++)
		if ((at == screen || isspace((unsigned char)at[-1])) &&
		    (!at[length] || isspace((unsigned char)at[length])))
			return true;
	return false;
}

const char *screen_cut_word(const char *whole, char *text)
{
	for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n")) {
		size_t length = strlen(word), letters = 0;

		for (size_t i = 0; i < length; i++)
			letters += isalpha((unsigned char)word[i]) != 0;
		if (letters > 1 && word[length - 1] != CANVAS_CUT && !has_word(whole, word, length))
			return word;
	}
	return NULL;
}

const char *screen_text(const struct canvas *canvas, int rows, char *text, size_t size)
{
	size_t used = 0;

	for (int row = 0; row < rows; row++) {
		canvas_read_row(canvas, row, text + used, size - used);
		used += strlen(text + used);
		text[used++] = '\n';
	}
	text[used] = '\0';
	return text;
}
