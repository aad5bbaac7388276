/* SPDX-License-Identifier: GPL-2.0 */
/* Like lib/analyze/stages.h by device, but of the faults that completed in the last seconds only. */
#ifndef FAULTLINE_STAGE_WINDOW_H
#define FAULTLINE_STAGE_WINDOW_H

#include "lib/analyze/stages.h"

struct stage_window;

/* There were more faults than are kept: the oldest of the window are left out. */
bool stage_window_is_cut(const struct stage_window *window);

#endif
