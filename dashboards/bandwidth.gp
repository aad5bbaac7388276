# SPDX-License-Identifier: GPL-2.0
# What gets through the link over the last dimension of a simulation's sweep, a line for each combination
# of the others; the link's rate is the dashed line (the kind of HyperTRIO's figure 10).
# bandwidth: blocks (one a combination) of: value, or its place where values are words, Gb/s, value
load "style.gp"
set title "Bandwidth over " . content("last") . " (model)" font "sans,13"
set xlabel content("last") . (logarithmic ? ", logarithmic" : "")
set ylabel "bandwidth (Gb/s)"
set key title content("others")
titles = content("titles")
set yrange [0:*]
if (logarithmic) set logscale x 2
set offsets graph 0.03, graph 0.03, graph 0.02, 0
plot for [i = 0:lines - 1] "bandwidth" index i using 1:2:xtic(3) with linespoints linetype (i + 1) linewidth 2 \
     pointtype 7 title word(titles, i + 1), \
     link with lines linecolor rgb "#222222" dashtype 2 title (link == link) ? "link" : "", \
     baseline with lines linecolor rgb "#999999" dashtype 4 title (baseline == baseline) ? "baseline" : ""
