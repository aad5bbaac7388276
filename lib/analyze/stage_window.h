/* SPDX-License-Identifier: GPL-2.0 */
/* Like lib/analyze/stages.h by device, but of the faults that completed in the last seconds only. */
#ifndef FAULTLINE_STAGE_WINDOW_H
#define FAULTLINE_STAGE_WINDOW_H

#include "lib/analyze/stages.h"

struct stage_window;

int stage_window_create(struct stage_window **window, struct faults *faults);
void stage_window_destroy(struct stage_window *window);
/* From now on the groups are of what the length_ns before now_ns (both CLOCK_MONOTONIC) have. */
void stage_window_look(struct stage_window *window, __u64 now_ns, __u64 length_ns);
/* NULL if no fault of the device completed in the window of the last look. */
const struct stage_group *stage_window_of(const struct stage_window *window, __u32 device);
/* There were more faults than are kept: the oldest of the window are left out. */
bool stage_window_is_cut(const struct stage_window *window);

#endif
