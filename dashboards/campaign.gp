# SPDX-License-Identifier: GPL-2.0
# A sweep: one result over one dimension, a line for each value of a second one, the baseline dashed.
# campaign: blocks (one a line) of: place on the axis, value of the dimension, result
load "style.gp"
set title content("title") font "sans,13"
set xlabel content("x")
set ylabel content("y")
set yrange [0:*]
set offsets 0.3, 0.3, 0, 0
plot for [i = 0:lines - 1] "campaign" index i using 1:3:xtic(2) with linespoints linetype (i + 1) \
     linewidth 2 pointtype 7 title columnheader(1), \
     baseline with lines linecolor rgb "#555555" dashtype 2 title (baseline == baseline) ? "baseline" : ""
