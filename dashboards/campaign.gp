# SPDX-License-Identifier: GPL-2.0
# A sweep: one result over one dimension, a line for each value of others, the baseline dashed. Words have no order: points.
# Points of later lines are smaller, so that none hides another.
# campaign: blocks (one a line) of: place on the axis, value of the dimension, result
load "style.gp"
set title content("title") font "sans,13"
set xlabel content("x")
set ylabel content("y")
set yrange [0:*]
set offsets 0.3, 0.3, graph 0.05, 0
how = words ? "points" : "linespoints"
plot for [i = 0:lines - 1] "campaign" index i using 1:3:xtic(2) with @how linetype (i + 1) \
     linewidth 2 pointtype 7 pointsize (0.9 + 0.5 * (lines - 1 - i)) title columnheader(1), \
     baseline with lines linecolor rgb "#555555" dashtype 2 title (baseline == baseline) ? "baseline" : ""
