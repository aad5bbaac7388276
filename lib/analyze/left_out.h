/* SPDX-License-Identifier: GPL-2.0 */
/* What a period (lib/analyze/period.h) leaves out of all tables, in a sentence. */
#ifndef FAULTLINE_LEFT_OUT_H
#define FAULTLINE_LEFT_OUT_H

#include "lib/analyze/analysis.h"

#define LEFT_OUT_TEXT 256
/* "" where nothing is. */
const char *left_out_text(const struct analysis *analysis, char text[LEFT_OUT_TEXT]);
/* The same as a note. */
void left_out_write(const struct analysis *analysis, struct writer *writer);

#endif
