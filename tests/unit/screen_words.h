/* SPDX-License-Identifier: GPL-2.0 */
/* A screen as text, its rows ended by newlines; whether it shows half of a word as if it were one. */
#ifndef FAULTLINE_TEST_SCREEN_WORDS_H
#define FAULTLINE_TEST_SCREEN_WORDS_H

#include "tools/top/canvas.h"

/* The rows of the canvas as such a text, which is `text`. */
const char *screen_text(const struct canvas *canvas, int rows, char *text, size_t size);

/*
 * The first word that is none of `whole`, a screen wide and high enough for everything, and does not end with
 * CANVAS_CUT; NULL if there is none. Cuts `text` into pieces. What has less than two letters is no word.
 */
const char *screen_cut_word(const char *whole, char *text);

#endif
