/* SPDX-License-Identifier: GPL-2.0 */
/* A fault's stages drawn one under the other, each where it lies in the whole. */
#ifndef FAULTLINE_STAGE_BAR_H
#define FAULTLINE_STAGE_BAR_H

#include "lib/analyze/stage.h"

#define STAGE_BAR_MAX 200

/*
 * Draws the bar of one stage into `text`: `width` (up to STAGE_BAR_MAX) columns stand for the time
 * from the fault's first timestamp to its last. A stage that has a time has at least one mark;
 * nothing but blanks if it has none. No blanks at the end.
 */
void stage_bar(const struct stage_times *times, unsigned int stage, unsigned int width,
	       char text[STAGE_BAR_MAX + 1]);

#endif
